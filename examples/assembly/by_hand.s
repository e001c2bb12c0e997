// An f32 matrix [64, 64] is transposed by one workgroup of 64 work items, in hand-written assembly.
//
// Work item t writes row t of a tile in LDS, 4 elements at a time. Then all work items read one row of
// the result after another: work item t reads an element of row t, which is 256 bytes behind that of
// work item t - 1, on the same bank.
//
//   bankwise-run examples/assembly/by_hand.s --grid=1 --block=64 --counters \
//     --arg=64x64xf32=1 --arg=64x64xf32

.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text

.globl transpose
.p2align 8
.type transpose,@function
transpose:
    s_load_dwordx4 s[4:7], s[0:1], 0x0          // s[4:5]: in, s[6:7]: out
    v_lshlrev_b32 v1, 2, v0                     // 4 * t: the place in a row of the result
    v_lshlrev_b32 v2, 8, v0                     // 256 * t: row t in memory and in LDS
    v_mov_b32 v3, v2
    s_movk_i32 s2, 16                           /* 16 times 4 elements */
    s_waitcnt lgkmcnt(0)
transpose_write:
    global_load_dwordx4 v[4:7], v2, s[4:5]
    s_waitcnt vmcnt(0)
    ds_write_b128 v3, v[4:7]
    v_add_u32 v2, 16, v2
    v_add_u32 v3, 16, v3
    s_sub_u32 s2, s2, 1
    s_cmp_lg_u32 s2, 0
    s_cbranch_scc1 transpose_write
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_mov_b32 v3, v1
    s_movk_i32 s2, 64
    v_lshlrev_b32 v2, 8, v0
    v_mov_b32 v8, v2
transpose_read:                                 // element [t, i] of the tile, for i from 0
    ds_read_b32 v4, v8
    s_waitcnt lgkmcnt(0)
    global_store_dword v3, v4, s[6:7]
    v_add_u32 v8, 4, v8
    v_add_u32 v3, 0x100, v3
    s_sub_u32 s2, s2, 1
    s_cmp_lg_u32 s2, 0
    s_cbranch_scc1 transpose_read
    s_endpgm
.size transpose, .-transpose

.rodata
.p2align 6
.amdhsa_kernel transpose
    .amdhsa_group_segment_fixed_size 16384
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
    .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
    .amdhsa_accum_offset 12
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: transpose
    .symbol: transpose.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 16384
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 9
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
