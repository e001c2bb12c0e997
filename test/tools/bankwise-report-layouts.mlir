// RUN: bankwise-report %s --target=gfx942 | FileCheck %s
// RUN: bankwise-report %s --target=sm_80 | FileCheck %s --check-prefix=WARPS

// Memrefs, after the passes: the layout that the IR says.

#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
#ws = #gpu.address_space<workgroup>

// WARPS: @hinted: sm_80
// WARPS: not known: waves of 64 lanes, but sm_80 has waves of 32

// A flat hinted allocation counts as the tile that it is expanded to.

// CHECK-LABEL: @hinted:
// CHECK:       memref<2048xf32> as 64x32
// CHECK-NEXT:  swizzled with xor_shuffle<32, 1, 32, 1>: 62 -> 0 conflict cycles
// CHECK-NEXT:  LDS cycles as it stands / ideal: 2 / 2
// CHECK-NEXT:  LDS bytes before / padded / chosen: 8,192 / 8,704 / 8,192
// CHECK:       read: 1 ds_read_b32 {{.*}} 1 62 2 0 2 2
// CHECK-NEXT:  row = lane, column = 0
func.func @hinted() -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<2048xf32, #ws>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 1>] : memref<2048xf32, #ws>
  %t = memref.expand_shape %h [[0, 1]] output_shape [64, 32] : memref<2048xf32, #ws> into memref<64x32xf32, #ws>
  %v = memref.load %t[%x, %c0] : memref<64x32xf32, #ws>
  return %v : f32
}

// Rows with padding are the view of a larger allocation.

// CHECK-LABEL: @padded:
// CHECK:       memref<64x33xf32> as 64x32
// CHECK-NEXT:  padded by 4 bytes a row: 62 -> 0 conflict cycles
// CHECK-NEXT:  LDS cycles as it stands / ideal: 2 / 2
// CHECK-NEXT:  LDS bytes before / padded / chosen: 8,192 / 8,704 / 8,448
// CHECK:       row = lane, column = 0
func.func @padded() -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x33xf32, #ws>
  %t = memref.subview %m[0, 0] [64, 32] [1, 1] : memref<64x33xf32, #ws> to memref<64x32xf32, strided<[33, 1]>, #ws>
  %v = memref.load %t[%x, %c0] : memref<64x32xf32, strided<[33, 1]>, #ws>
  return %v : f32
}

// Resolved hints are address arithmetic: it counts as it stands.

// CHECK-LABEL: @resolved:
// CHECK:       memref<2048xf32>
// CHECK-NEXT:  the plain layout has no bank conflicts
// CHECK:       element = 33*(lane%32) + 1024*(lane/32)
func.func @resolved() -> f32 attributes {translation_info = #info} {
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  %row = arith.muli %x, %c32 : index
  %col = arith.andi %x, %c31 : index
  %o = arith.xori %row, %col : index
  %m = memref.alloc() : memref<2048xf32, #ws>
  %v = memref.load %m[%o] : memref<2048xf32, #ws>
  return %v : f32
}

// What cannot be read is said.

// CHECK-LABEL: @unknown:
// CHECK:       conflict cycles of a workgroup: at least 62 before
// CHECK:       plain; 2 uses are not known, so nothing can be proposed
// CHECK:       not known: memref.load: index depends on the {{.+}}
// CHECK-NEXT:  not known: used by func.call ({{[0-9]+:[0-9]+}})
func.func private @callee(memref<64x32xf32, #ws>)
func.func @unknown(%i: index) -> (f32, f32) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x32xf32, #ws>
  %v = memref.load %m[%x, %c0] : memref<64x32xf32, #ws>
  %u = memref.load %m[%i, %c0] : memref<64x32xf32, #ws>
  func.call @callee(%m) : (memref<64x32xf32, #ws>) -> ()
  return %v, %u : f32, f32
}

// CHECK-LABEL: @two_swizzles:
// CHECK:       not known: its accesses go through different swizzles: none, xor_shuffle<32, 1, 32, 1>
func.func @two_swizzles() -> (f32, f32) attributes {translation_info = #info} {
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<2048xf32, #ws>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<32, 1>] : memref<2048xf32, #ws>
  %v = memref.load %m[%x] : memref<2048xf32, #ws>
  %u = memref.load %h[%x] : memref<2048xf32, #ws>
  return %v, %u : f32, f32
}

// Between bufferization and distribution, whole vectors do not say what a lane does.

#rows = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [64, 1], element_tile = [1, 32], subgroup_strides = [0, 0], thread_strides = [1, 0]>
// CHECK-LABEL: @undistributed:
// CHECK:       not known: on memrefs, but its vectors are not distributed to lanes yet
func.func @undistributed(%v: vector<64x32xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<64x32xf32, #ws>
  %l = iree_vector_ext.to_layout %v to layout(#rows) : vector<64x32xf32>
  vector.transfer_write %l, %m[%c0, %c0] {in_bounds = [true, true]} : vector<64x32xf32>, memref<64x32xf32, #ws>
  return
}

// CHECK-LABEL: @other_memory:
// CHECK:       not known: made by memref.alloca, which is not followed
func.func @other_memory() attributes {translation_info = #info} {
  %m = memref.alloca() : memref<64xf32, #ws>
  return
}
