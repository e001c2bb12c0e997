// RUN: bankwise-opt %s --split-input-file --verify-diagnostics --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-verify-lds-conflicts))'

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Lanes read one row: no conflict.
func.func @row() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%c0, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Lanes read one column: all rows of 64 words begin at bank 0.
func.func @column() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{read of 1 element a lane of memref<64x64xf32> has 62 conflict cycles: ds_read_b32 takes 32 cycles where lanes 0, 1, 2, 3, 4, 5, 6, 7, ... (32 lanes) want 32 words of bank 0}}
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// The worst access is named, the others are counted.
func.func @worst(%v: f32) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{write of 1 element a lane of memref<64x64xf32> has 62 conflict cycles: ds_write_b32 takes 32 cycles where lanes 0, 1, 2, 3, 4, 5, 6, 7, ... (32 lanes) want 32 words of bank 0 (and 2 more such accesses)}}
  memref.store %v, %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %two = affine.apply affine_map<()[s0] -> (s0 * 2)>()[%x]
  %f = memref.collapse_shape %a [[0, 1]] : memref<64x64xf32, #gpu.address_space<workgroup>> into memref<4096xf32, #gpu.address_space<workgroup>>
  memref.store %v, %f[%two] : memref<4096xf32, #gpu.address_space<workgroup>>
  %quarter = affine.apply affine_map<()[s0] -> (s0 floordiv 4)>()[%x]
  %r = memref.load %a[%quarter, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A hint is honoured: column 0 of row r lies at bank r % 32.
func.func @hinted() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 1>] : memref<4096xf32, #gpu.address_space<workgroup>>
  %e = memref.expand_shape %h [[0, 1]] output_shape [64, 64] : memref<4096xf32, #gpu.address_space<workgroup>> into memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %e[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// A hint that cannot be resolved is none: the vector may cross its groups.
func.func @dropped_hint() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 4>] : memref<4096xf32, #gpu.address_space<workgroup>>
  %o = affine.apply affine_map<()[s0] -> (s0 * 64 + 2)>()[%x]
  // expected-error @+1 {{read of 4 elements a lane of memref<4096xf32>}}
  %r = vector.load %h[%o] : memref<4096xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// What cannot be evaluated has not been verified.
func.func @unknown_index(%n: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{an access to memref<64x64xf32> cannot be verified: memref.load: index depends on the block argument of func.func}}
  %r = memref.load %a[%n, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

func.func @atomic(%v: f32) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{an access to memref<64x64xf32> cannot be verified: used by memref.atomic_rmw}}
  %r = memref.atomic_rmw addf %v, %a[%c0, %x] : (f32, memref<64x64xf32, #gpu.address_space<workgroup>>) -> f32
  return
}

// -----

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

func.func @dynamic_lds(%n: index) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  // expected-error @+1 {{an access to memref<?x64xf32> cannot be verified: its shape is dynamic}}
  %a = memref.alloc(%n) : memref<?x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%c0, %x] : memref<?x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// Without a launch nothing is known.
// expected-error @+1 {{LDS accesses cannot be verified: the function has no translation_info with workgroup and subgroup size}}
func.func @no_launch(%x: index) {
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// Without LDS there is nothing to know.
func.func @no_lds(%x: index) {
  return
}
