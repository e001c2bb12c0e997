	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 5
	.protected	row_major               ; -- Begin function row_major
	.globl	row_major
	.p2align	8
	.type	row_major,@function
row_major:                              ; @row_major
.Lfunc_begin0:
	.file	0 "." "transpose.hip" md5 0x61ac43cb17cd7a1b3e1a48640b0a2c71
	.cfi_sections .debug_frame
	.cfi_startproc
; %bb.0:                                ; %entry
	.loc	0 27 11 prologue_end            ; transpose.hip:27:11
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	.loc	0 31 35                         ; transpose.hip:31:35
	v_lshlrev_b32_e32 v6, 3, v0
	.loc	0 31 15 is_stmt 0               ; transpose.hip:31:15
	v_lshrrev_b32_e32 v1, 2, v0
	.loc	0 31 35                         ; transpose.hip:31:35
	v_and_b32_e32 v7, 24, v6
	.loc	0 32 42 is_stmt 1               ; transpose.hip:32:42
	s_lshl_b32 s3, s3, 6
	.loc	0 32 69 is_stmt 0               ; transpose.hip:32:69
	s_lshl_b32 s2, s2, 5
	.loc	0 32 47                         ; transpose.hip:32:47
	v_or_b32_e32 v5, s3, v1
	.loc	0 32 64                         ; transpose.hip:32:64
	v_or_b32_e32 v4, s2, v7
	.loc	0 32 74                         ; transpose.hip:32:74
	s_waitcnt lgkmcnt(0)
	v_mad_u64_u32 v[4:5], s[0:1], v5, s9, v[4:5]
	.loc	0 27 11 is_stmt 1               ; transpose.hip:27:11
	v_mov_b32_e32 v2, s4
	v_mov_b32_e32 v3, s5
	.loc	0 32 35                         ; transpose.hip:32:35
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[2:3], v[4:5], 1, v[2:3]
	.loc	0 32 18 is_stmt 0               ; transpose.hip:32:18
	global_load_dwordx4 v[2:5], v[2:3], off
	.loc	0 37 36 is_stmt 1               ; transpose.hip:37:36
	v_lshrrev_b32_e32 v0, 3, v0
	.loc	0 37 21 is_stmt 0               ; transpose.hip:37:21
	v_and_b32_e32 v6, 56, v6
	.loc	0 40 15 is_stmt 1               ; transpose.hip:40:15
	v_lshlrev_b32_e32 v8, 1, v0
	.loc	0 33 24                         ; transpose.hip:33:24
	v_lshlrev_b32_e32 v7, 1, v7
	.loc	0 40 15                         ; transpose.hip:40:15
	v_lshl_or_b32 v8, v6, 6, v8
	.loc	0 33 24                         ; transpose.hip:33:24
	v_lshl_or_b32 v1, v1, 6, v7
	.loc	0 41 27                         ; transpose.hip:41:27
	v_or_b32_e32 v9, s2, v0
	.loc	0 41 43 is_stmt 0               ; transpose.hip:41:43
	v_or_b32_e32 v0, s3, v6
	.loc	0 40 13 is_stmt 1               ; transpose.hip:40:13
	s_mov_b32 s4, 0x5040100
	.loc	0 27 11                         ; transpose.hip:27:11
	v_mov_b32_e32 v6, s6
	v_mov_b32_e32 v7, s7
	.loc	0 33 42                         ; transpose.hip:33:42
	s_waitcnt vmcnt(0)
	ds_write_b128 v1, v[2:5]
.Ltmp0:
	.loc	0 19 3                          ; transpose.hip:19:3
	s_waitcnt lgkmcnt(0)
	.loc	0 20 3                          ; transpose.hip:20:3
	s_barrier
.Ltmp1:
	.loc	0 40 15                         ; transpose.hip:40:15
	ds_read_u16 v10, v8
	ds_read_u16 v11, v8 offset:64
	ds_read_u16 v1, v8 offset:128
	ds_read_u16 v12, v8 offset:192
	ds_read_u16 v2, v8 offset:256
	ds_read_u16 v13, v8 offset:320
	ds_read_u16 v3, v8 offset:384
	ds_read_u16 v8, v8 offset:448
	.loc	0 41 53                         ; transpose.hip:41:53
	s_waitcnt lgkmcnt(5)
	v_mad_u64_u32 v[4:5], s[0:1], v9, s8, v[0:1]
	.loc	0 41 14 is_stmt 0               ; transpose.hip:41:14
	v_ashrrev_i32_e32 v5, 31, v4
	.loc	0 40 13 is_stmt 1               ; transpose.hip:40:13
	s_waitcnt lgkmcnt(2)
	v_perm_b32 v2, v13, v2, s4
	s_waitcnt lgkmcnt(0)
	v_perm_b32 v3, v8, v3, s4
	v_perm_b32 v1, v12, v1, s4
	v_perm_b32 v0, v11, v10, s4
	.loc	0 41 14                         ; transpose.hip:41:14
	v_lshl_add_u64 v[4:5], v[4:5], 1, v[6:7]
	.loc	0 41 62 is_stmt 0               ; transpose.hip:41:62
	global_store_dwordx4 v[4:5], v[0:3], off
.Ltmp2:
	.loc	0 48 1 is_stmt 1                ; transpose.hip:48:1
	s_endpgm
.Ltmp3:
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel row_major
		.amdhsa_group_segment_fixed_size 4096
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 14
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 16
		.amdhsa_reserve_vcc 0
		.amdhsa_reserve_xnack_mask 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	row_major, .Lfunc_end0-row_major
	.cfi_endproc
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 300
; NumSgprs: 16
; NumVgprs: 14
; NumAgprs: 0
; TotalNumVgprs: 14
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 4096 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 14
; AccumOffset: 16
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 3
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	padded                  ; -- Begin function padded
	.globl	padded
	.p2align	8
	.type	padded,@function
padded:                                 ; @padded
.Lfunc_begin1:
	.cfi_startproc
; %bb.0:                                ; %entry
	.loc	0 27 11 prologue_end            ; transpose.hip:27:11
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	.loc	0 31 35                         ; transpose.hip:31:35
	v_lshlrev_b32_e32 v6, 3, v0
	.loc	0 31 15 is_stmt 0               ; transpose.hip:31:15
	v_lshrrev_b32_e32 v1, 2, v0
	.loc	0 31 35                         ; transpose.hip:31:35
	v_and_b32_e32 v7, 24, v6
	.loc	0 32 42 is_stmt 1               ; transpose.hip:32:42
	s_lshl_b32 s3, s3, 6
	.loc	0 32 69 is_stmt 0               ; transpose.hip:32:69
	s_lshl_b32 s2, s2, 5
	.loc	0 32 47                         ; transpose.hip:32:47
	v_or_b32_e32 v5, s3, v1
	.loc	0 32 64                         ; transpose.hip:32:64
	v_or_b32_e32 v4, s2, v7
	.loc	0 32 74                         ; transpose.hip:32:74
	s_waitcnt lgkmcnt(0)
	v_mad_u64_u32 v[4:5], s[0:1], v5, s9, v[4:5]
	.loc	0 27 11 is_stmt 1               ; transpose.hip:27:11
	v_mov_b32_e32 v2, s4
	v_mov_b32_e32 v3, s5
	.loc	0 32 35                         ; transpose.hip:32:35
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[2:3], v[4:5], 1, v[2:3]
	.loc	0 32 18 is_stmt 0               ; transpose.hip:32:18
	global_load_dwordx4 v[2:5], v[2:3], off
	.loc	0 37 36 is_stmt 1               ; transpose.hip:37:36
	v_lshrrev_b32_e32 v0, 3, v0
	s_movk_i32 s0, 0x44
	.loc	0 37 21 is_stmt 0               ; transpose.hip:37:21
	v_and_b32_e32 v6, 56, v6
	.loc	0 40 15 is_stmt 1               ; transpose.hip:40:15
	v_lshlrev_b32_e32 v8, 1, v0
	.loc	0 33 24                         ; transpose.hip:33:24
	v_lshlrev_b32_e32 v7, 1, v7
	.loc	0 40 15                         ; transpose.hip:40:15
	v_mad_u32_u24 v8, v6, s0, v8
	.loc	0 33 24                         ; transpose.hip:33:24
	v_mad_u32_u24 v1, v1, s0, v7
	.loc	0 41 27                         ; transpose.hip:41:27
	v_or_b32_e32 v9, s2, v0
	.loc	0 41 43 is_stmt 0               ; transpose.hip:41:43
	v_or_b32_e32 v0, s3, v6
	.loc	0 40 13 is_stmt 1               ; transpose.hip:40:13
	s_mov_b32 s4, 0x5040100
	.loc	0 27 11                         ; transpose.hip:27:11
	v_mov_b32_e32 v6, s6
	v_mov_b32_e32 v7, s7
	.loc	0 33 42                         ; transpose.hip:33:42
	s_waitcnt vmcnt(0)
	ds_write2_b32 v1, v4, v5 offset0:2 offset1:3
	ds_write2_b32 v1, v2, v3 offset1:1
.Ltmp4:
	.loc	0 19 3                          ; transpose.hip:19:3
	s_waitcnt lgkmcnt(0)
	.loc	0 20 3                          ; transpose.hip:20:3
	s_barrier
.Ltmp5:
	.loc	0 40 15                         ; transpose.hip:40:15
	ds_read_u16 v10, v8
	ds_read_u16 v11, v8 offset:68
	ds_read_u16 v1, v8 offset:136
	ds_read_u16 v12, v8 offset:204
	ds_read_u16 v2, v8 offset:272
	ds_read_u16 v13, v8 offset:340
	ds_read_u16 v3, v8 offset:408
	ds_read_u16 v8, v8 offset:476
	.loc	0 41 53                         ; transpose.hip:41:53
	s_waitcnt lgkmcnt(5)
	v_mad_u64_u32 v[4:5], s[0:1], v9, s8, v[0:1]
	.loc	0 41 14 is_stmt 0               ; transpose.hip:41:14
	v_ashrrev_i32_e32 v5, 31, v4
	.loc	0 40 13 is_stmt 1               ; transpose.hip:40:13
	s_waitcnt lgkmcnt(2)
	v_perm_b32 v2, v13, v2, s4
	s_waitcnt lgkmcnt(0)
	v_perm_b32 v3, v8, v3, s4
	v_perm_b32 v1, v12, v1, s4
	v_perm_b32 v0, v11, v10, s4
	.loc	0 41 14                         ; transpose.hip:41:14
	v_lshl_add_u64 v[4:5], v[4:5], 1, v[6:7]
	.loc	0 41 62 is_stmt 0               ; transpose.hip:41:62
	global_store_dwordx4 v[4:5], v[0:3], off
.Ltmp6:
	.loc	0 54 1 is_stmt 1                ; transpose.hip:54:1
	s_endpgm
.Ltmp7:
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel padded
		.amdhsa_group_segment_fixed_size 4352
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 14
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 16
		.amdhsa_reserve_vcc 0
		.amdhsa_reserve_xnack_mask 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end1:
	.size	padded, .Lfunc_end1-padded
	.cfi_endproc
                                        ; -- End function
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 312
; NumSgprs: 16
; NumVgprs: 14
; NumAgprs: 0
; TotalNumVgprs: 14
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 4352 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 14
; AccumOffset: 16
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 3
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.type	__hip_cuid_,@object             ; @__hip_cuid_
	.section	.bss,"aw",@nobits
	.globl	__hip_cuid_
__hip_cuid_:
	.byte	0                               ; 0x0
	.size	__hip_cuid_, 1

	.section	.debug_abbrev,"",@progbits
	.byte	1                               ; Abbreviation Code
	.byte	17                              ; DW_TAG_compile_unit
	.byte	1                               ; DW_CHILDREN_yes
	.byte	37                              ; DW_AT_producer
	.byte	37                              ; DW_FORM_strx1
	.byte	19                              ; DW_AT_language
	.byte	5                               ; DW_FORM_data2
	.byte	3                               ; DW_AT_name
	.byte	37                              ; DW_FORM_strx1
	.byte	114                             ; DW_AT_str_offsets_base
	.byte	23                              ; DW_FORM_sec_offset
	.byte	16                              ; DW_AT_stmt_list
	.byte	23                              ; DW_FORM_sec_offset
	.byte	27                              ; DW_AT_comp_dir
	.byte	37                              ; DW_FORM_strx1
	.byte	17                              ; DW_AT_low_pc
	.byte	27                              ; DW_FORM_addrx
	.byte	18                              ; DW_AT_high_pc
	.byte	6                               ; DW_FORM_data4
	.byte	115                             ; DW_AT_addr_base
	.byte	23                              ; DW_FORM_sec_offset
	.byte	0                               ; EOM(1)
	.byte	0                               ; EOM(2)
	.byte	2                               ; Abbreviation Code
	.byte	46                              ; DW_TAG_subprogram
	.byte	0                               ; DW_CHILDREN_no
	.byte	3                               ; DW_AT_name
	.byte	37                              ; DW_FORM_strx1
	.byte	32                              ; DW_AT_inline
	.byte	33                              ; DW_FORM_implicit_const
	.byte	1
	.byte	0                               ; EOM(1)
	.byte	0                               ; EOM(2)
	.byte	3                               ; Abbreviation Code
	.byte	46                              ; DW_TAG_subprogram
	.byte	1                               ; DW_CHILDREN_yes
	.byte	17                              ; DW_AT_low_pc
	.byte	27                              ; DW_FORM_addrx
	.byte	18                              ; DW_AT_high_pc
	.byte	6                               ; DW_FORM_data4
	.byte	122                             ; DW_AT_call_all_calls
	.byte	25                              ; DW_FORM_flag_present
	.byte	3                               ; DW_AT_name
	.byte	37                              ; DW_FORM_strx1
	.byte	0                               ; EOM(1)
	.byte	0                               ; EOM(2)
	.byte	4                               ; Abbreviation Code
	.byte	29                              ; DW_TAG_inlined_subroutine
	.byte	1                               ; DW_CHILDREN_yes
	.byte	49                              ; DW_AT_abstract_origin
	.byte	19                              ; DW_FORM_ref4
	.byte	17                              ; DW_AT_low_pc
	.byte	27                              ; DW_FORM_addrx
	.byte	18                              ; DW_AT_high_pc
	.byte	6                               ; DW_FORM_data4
	.byte	88                              ; DW_AT_call_file
	.byte	11                              ; DW_FORM_data1
	.byte	89                              ; DW_AT_call_line
	.byte	11                              ; DW_FORM_data1
	.byte	87                              ; DW_AT_call_column
	.byte	11                              ; DW_FORM_data1
	.byte	0                               ; EOM(1)
	.byte	0                               ; EOM(2)
	.byte	5                               ; Abbreviation Code
	.byte	29                              ; DW_TAG_inlined_subroutine
	.byte	0                               ; DW_CHILDREN_no
	.byte	49                              ; DW_AT_abstract_origin
	.byte	19                              ; DW_FORM_ref4
	.byte	17                              ; DW_AT_low_pc
	.byte	27                              ; DW_FORM_addrx
	.byte	18                              ; DW_AT_high_pc
	.byte	6                               ; DW_FORM_data4
	.byte	88                              ; DW_AT_call_file
	.byte	11                              ; DW_FORM_data1
	.byte	89                              ; DW_AT_call_line
	.byte	11                              ; DW_FORM_data1
	.byte	87                              ; DW_AT_call_column
	.byte	11                              ; DW_FORM_data1
	.byte	0                               ; EOM(1)
	.byte	0                               ; EOM(2)
	.byte	0                               ; EOM(3)
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0 ; Length of Unit
.Ldebug_info_start0:
	.short	5                               ; DWARF version number
	.byte	1                               ; DWARF Unit Type
	.byte	8                               ; Address Size (in bytes)
	.long	.debug_abbrev                   ; Offset Into Abbrev. Section
	.byte	1                               ; Abbrev [1] 0xc:0x64 DW_TAG_compile_unit
	.byte	0                               ; DW_AT_producer
	.short	33                              ; DW_AT_language
	.byte	1                               ; DW_AT_name
	.long	.Lstr_offsets_base0             ; DW_AT_str_offsets_base
	.long	.Lline_table_start0             ; DW_AT_stmt_list
	.byte	2                               ; DW_AT_comp_dir
	.byte	0                               ; DW_AT_low_pc
	.long	.Lfunc_end1-.Lfunc_begin0       ; DW_AT_high_pc
	.long	.Laddr_table_base0              ; DW_AT_addr_base
	.byte	2                               ; Abbrev [2] 0x23:0x2 DW_TAG_subprogram
	.byte	3                               ; DW_AT_name
                                        ; DW_AT_inline
	.byte	2                               ; Abbrev [2] 0x25:0x2 DW_TAG_subprogram
	.byte	4                               ; DW_AT_name
                                        ; DW_AT_inline
	.byte	3                               ; Abbrev [3] 0x27:0x23 DW_TAG_subprogram
	.byte	0                               ; DW_AT_low_pc
	.long	.Lfunc_end0-.Lfunc_begin0       ; DW_AT_high_pc
                                        ; DW_AT_call_all_calls
	.byte	6                               ; DW_AT_name
	.byte	4                               ; Abbrev [4] 0x2e:0x1b DW_TAG_inlined_subroutine
	.long	35                              ; DW_AT_abstract_origin
	.byte	0                               ; DW_AT_low_pc
	.long	.Ltmp2-.Lfunc_begin0            ; DW_AT_high_pc
	.byte	0                               ; DW_AT_call_file
	.byte	47                              ; DW_AT_call_line
	.byte	3                               ; DW_AT_call_column
	.byte	5                               ; Abbrev [5] 0x3b:0xd DW_TAG_inlined_subroutine
	.long	37                              ; DW_AT_abstract_origin
	.byte	1                               ; DW_AT_low_pc
	.long	.Ltmp1-.Ltmp0                   ; DW_AT_high_pc
	.byte	0                               ; DW_AT_call_file
	.byte	34                              ; DW_AT_call_line
	.byte	3                               ; DW_AT_call_column
	.byte	0                               ; End Of Children Mark
	.byte	0                               ; End Of Children Mark
	.byte	2                               ; Abbrev [2] 0x4a:0x2 DW_TAG_subprogram
	.byte	5                               ; DW_AT_name
                                        ; DW_AT_inline
	.byte	3                               ; Abbrev [3] 0x4c:0x23 DW_TAG_subprogram
	.byte	2                               ; DW_AT_low_pc
	.long	.Lfunc_end1-.Lfunc_begin1       ; DW_AT_high_pc
                                        ; DW_AT_call_all_calls
	.byte	7                               ; DW_AT_name
	.byte	4                               ; Abbrev [4] 0x53:0x1b DW_TAG_inlined_subroutine
	.long	74                              ; DW_AT_abstract_origin
	.byte	2                               ; DW_AT_low_pc
	.long	.Ltmp6-.Lfunc_begin1            ; DW_AT_high_pc
	.byte	0                               ; DW_AT_call_file
	.byte	53                              ; DW_AT_call_line
	.byte	3                               ; DW_AT_call_column
	.byte	5                               ; Abbrev [5] 0x60:0xd DW_TAG_inlined_subroutine
	.long	37                              ; DW_AT_abstract_origin
	.byte	3                               ; DW_AT_low_pc
	.long	.Ltmp5-.Ltmp4                   ; DW_AT_high_pc
	.byte	0                               ; DW_AT_call_file
	.byte	34                              ; DW_AT_call_line
	.byte	3                               ; DW_AT_call_column
	.byte	0                               ; End Of Children Mark
	.byte	0                               ; End Of Children Mark
	.byte	0                               ; End Of Children Mark
.Ldebug_info_end0:
	.section	.debug_str_offsets,"",@progbits
	.long	36                              ; Length of String Offsets Set
	.short	5
	.short	0
.Lstr_offsets_base0:
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"Debian clang version 19.1.7 (3~deb12u1)" ; string offset=0
.Linfo_string1:
	.asciz	"transpose.hip"                 ; string offset=40
.Linfo_string2:
	.asciz	"."                             ; string offset=54
.Linfo_string3:
	.asciz	"transpose<32>"                 ; string offset=56
.Linfo_string4:
	.asciz	"__syncthreads"                 ; string offset=70
.Linfo_string5:
	.asciz	"transpose<34>"                 ; string offset=84
.Linfo_string6:
	.asciz	"row_major"                     ; string offset=98
.Linfo_string7:
	.asciz	"padded"                        ; string offset=108
	.section	.debug_str_offsets,"",@progbits
	.long	.Linfo_string0
	.long	.Linfo_string1
	.long	.Linfo_string2
	.long	.Linfo_string3
	.long	.Linfo_string4
	.long	.Linfo_string5
	.long	.Linfo_string6
	.long	.Linfo_string7
	.section	.debug_addr,"",@progbits
	.long	.Ldebug_addr_end0-.Ldebug_addr_start0 ; Length of contribution
.Ldebug_addr_start0:
	.short	5                               ; DWARF version number
	.byte	8                               ; Address size
	.byte	0                               ; Segment selector size
.Laddr_table_base0:
	.quad	.Lfunc_begin0
	.quad	.Ltmp0
	.quad	.Lfunc_begin1
	.quad	.Ltmp4
.Ldebug_addr_end0:
	.ident	"Debian clang version 19.1.7 (3~deb12u1)"
	.section	".note.GNU-stack","",@progbits
	.addrsig
	.addrsig_sym __hip_cuid_
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .name:           in.coerce
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           out.coerce
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           rows
        .offset:         16
        .size:           4
        .value_kind:     by_value
      - .name:           columns
        .offset:         20
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 4096
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           row_major
    .private_segment_fixed_size: 0
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         row_major.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     14
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .name:           in.coerce
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           out.coerce
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           rows
        .offset:         16
        .size:           4
        .value_kind:     by_value
      - .name:           columns
        .offset:         20
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 4352
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           padded
    .private_segment_fixed_size: 0
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         padded.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     14
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
	.section	.debug_line,"",@progbits
.Lline_table_start0:
