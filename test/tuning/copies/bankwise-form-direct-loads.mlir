// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-form-direct-loads,canonicalize,cse))' --iree-gpu-test-target=gfx950 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Two waves copy 16 bytes of each lane, one behind another. Each gives the element that its first lane stores at.

// CHECK-LABEL: func.func @one_tile
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   %[[FIRST:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 64) * 64)>()[%[[T]]]
//       CHECK:   %[[WAVE:.+]] = gpu.subgroup_broadcast %[[FIRST]], first_active_lane : index
//       CHECK:   %[[TILE:.+]] = memref.alloc() alignment = 16 : memref<1024xf16, #gpu.address_space<workgroup>>
//       CHECK:   scf.for %[[I:[a-z0-9]+]] =
//       CHECK:     gpu.barrier
//       CHECK:     %[[BASE:.+]] = affine.apply affine_map<()[s0] -> (s0 * 8)>()[%[[WAVE]]]
//   CHECK-NOT:     vector.store
//       CHECK:     amdgpu.gather_to_lds async %{{.+}}[%[[I]], %{{.+}}], %[[TILE]][%[[BASE]]] : vector<8xf16>
//  CHECK-NEXT:     rocdl.asyncmark
//  CHECK-NEXT:     rocdl.wait.asyncmark 0
//  CHECK-NEXT:     gpu.barrier
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [128, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @one_tile(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x upper_bound 128
  // expected-remark @+1 {{memref<1024xf16> is filled without registers}}
  %m = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<8x1024xf16>
  %a = memref.assume_alignment %g, 64 : memref<8x1024xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<8x1024xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<1024xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<1024xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// Lanes store every other 16 bytes, which a wave cannot do at once.

// CHECK-LABEL: func.func @apart
//   CHECK-NOT:   gather_to_lds
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @apart(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<1024xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<8x1024xf16>
  %a = memref.assume_alignment %g, 64 : memref<8x1024xf16>
  %at = affine.apply affine_map<(t) -> (t * 16)>(%t)
  // expected-remark @+1 {{copies to the LDS go through registers: lanes do not store one behind another}}
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<8x1024xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<1024xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<1024xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// Half of the lanes take no part.

// CHECK-LABEL: func.func @some_lanes
//   CHECK-NOT:   gather_to_lds
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @some_lanes(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<8x512xf16>
  %a = memref.assume_alignment %g, 64 : memref<8x512xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %few = arith.cmpi ult, %t, %c32 : index
  // expected-remark @+1 {{copies to the LDS go through registers: some lanes of a wave take no part in a copy}}
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<8x512xf16>, vector<8xf16>
    scf.if %few {
      vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    }
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// One of two waves takes part in a copy: it takes part whole.

// CHECK-LABEL: func.func @some_waves
//       CHECK:   %[[T:.+]] = gpu.thread_id x
//       CHECK:   %[[FEW:.+]] = arith.cmpi ult, %[[T]],
//       CHECK:   scf.if %[[FEW]] {
//       CHECK:     amdgpu.gather_to_lds async
//       CHECK:   }
//  CHECK-NEXT:   rocdl.asyncmark
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [128, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @some_waves(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %t = gpu.thread_id x upper_bound 128
  // expected-remark @+1 {{memref<512xf16> is filled without registers}}
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<8x512xf16>
  %a = memref.assume_alignment %g, 64 : memref<8x512xf16>
  %here = arith.minui %t, %c63 : index
  %at = affine.apply affine_map<(t) -> (t * 8)>(%here)
  %few = arith.cmpi ult, %t, %c64 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<8x512xf16>, vector<8xf16>
    scf.if %few {
      vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    }
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// Rows that are not there are read behind the end of the buffer, of which a descriptor gives zeros.

// CHECK-LABEL: func.func @absent_rows
//       CHECK:   %[[C7:.+]] = arith.constant 7 : index
//       CHECK:   %[[RAW:.+]] = amdgpu.fat_raw_buffer_cast
//       CHECK:   %[[THERE:.+]] = arith.cmpi ule
//       CHECK:   %[[ROW:.+]] = arith.minui
//       CHECK:   %[[READ:.+]] = arith.select %[[THERE]], %[[ROW]], %[[C7]] : index
//       CHECK:   amdgpu.gather_to_lds async %[[RAW]][%[[READ]], %{{.+}}]
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @absent_rows(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf16>
  %t = gpu.thread_id x upper_bound 64
  // expected-remark @+1 {{memref<512xf16> is filled without registers}}
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<7x512xf16>
  %g = memref.assume_alignment %b, 64 : memref<7x512xf16>
  %raw = amdgpu.fat_raw_buffer_cast %g resetOffset : memref<7x512xf16> to memref<7x512xf16, #amdgpu.address_space<fat_raw_buffer>>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %there = arith.cmpi ule, %i, %c6 : index
    %row = arith.minui %i, %c6 : index
    %v = vector.load %raw[%row, %at] : memref<7x512xf16, #amdgpu.address_space<fat_raw_buffer>>, vector<8xf16>
    %w = arith.select %there, %v, %zero : vector<8xf16>
    vector.store %w, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// Without a descriptor something lies behind the end of the buffer.

// CHECK-LABEL: func.func @no_descriptor
//   CHECK-NOT:   gather_to_lds
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @no_descriptor(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf16>
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<7x512xf16>
  %g = memref.assume_alignment %b, 64 : memref<7x512xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS go through registers: zeros are chosen in the place of what is loaded, without a descriptor}}
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %there = arith.cmpi ule, %i, %c6 : index
    %row = arith.minui %i, %c6 : index
    %v = vector.load %g[%row, %at] : memref<7x512xf16>, vector<8xf16>
    %w = arith.select %there, %v, %zero : vector<8xf16>
    vector.store %w, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// Nothing is known of a descriptor that ends elsewhere than the buffer.

// CHECK-LABEL: func.func @other_end
//   CHECK-NOT:   gather_to_lds
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @other_end(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf16>
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<7x512xf16>
  %g = memref.assume_alignment %b, 64 : memref<7x512xf16>
  %bytes = arith.constant 8192 : i64
  %raw = amdgpu.fat_raw_buffer_cast %g validBytes(%bytes) resetOffset : memref<7x512xf16> to memref<7x512xf16, #amdgpu.address_space<fat_raw_buffer>>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS go through registers: zeros are chosen in the place of what is loaded, without a descriptor}}
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %there = arith.cmpi ule, %i, %c6 : index
    %row = arith.minui %i, %c6 : index
    %v = vector.load %raw[%row, %at] : memref<7x512xf16, #amdgpu.address_space<fat_raw_buffer>>, vector<8xf16>
    %w = arith.select %there, %v, %zero : vector<8xf16>
    vector.store %w, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// A descriptor that is not checked gives what lies there.

// CHECK-LABEL: func.func @no_bounds
//   CHECK-NOT:   gather_to_lds
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @no_bounds(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info, bankwise.slots = 2} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<8xf16>
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<7x512xf16>
  %g = memref.assume_alignment %b, 64 : memref<7x512xf16>
  %raw = amdgpu.fat_raw_buffer_cast %g boundsCheck(false) resetOffset : memref<7x512xf16> to memref<7x512xf16, #amdgpu.address_space<fat_raw_buffer>>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  // expected-remark @+1 {{copies to the LDS go through registers: zeros are chosen in the place of what is loaded, and no bounds are checked}}
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %there = arith.cmpi ule, %i, %c6 : index
    %row = arith.minui %i, %c6 : index
    %v = vector.load %raw[%row, %at] : memref<7x512xf16, #amdgpu.address_space<fat_raw_buffer>>, vector<8xf16>
    %w = arith.select %there, %v, %zero : vector<8xf16>
    vector.store %w, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// -----

// Nobody has chosen a tile for such copies.

// CHECK-LABEL: func.func @not_chosen
//       CHECK:   vector.store
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
func.func @not_chosen(%x: vector<8xf16>) -> vector<8xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<8x512xf16>
  %a = memref.assume_alignment %g, 64 : memref<8x512xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %x) -> vector<8xf16> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %at] : memref<8x512xf16>, vector<8xf16>
    vector.store %v, %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %z = vector.load %m[%at] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    scf.yield %z : vector<8xf16>
  }
  return %r : vector<8xf16>
}
