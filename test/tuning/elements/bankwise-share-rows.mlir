// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-share-rows))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-share-rows{other-order=false}))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope | FileCheck %s --check-prefix=ORDER

#read = #hal.pipeline.binding<storage_buffer, ReadOnly>
#layout = #hal.pipeline.layout<bindings = [#read, #hal.pipeline.binding<storage_buffer>]>
#lanes = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>
#config = #iree_gpu.lowering_config<{reduction = [0, 3], thread = [1, 0], workgroup = [32, 0]}>
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A row of 777 becomes one of 800, whose end does not count. What is computed of the sums has the same lanes.

// CHECK-LABEL: func.func @parts
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32
// CHECK:         memref<3000x800xf32
// CHECK:         partial_reduction = [0, 800], subgroup_basis = {{\[}}[4, 1], [0, 1]], thread = [0, 1], workgroup = [4, 0]
// CHECK:         %[[COLUMN:.+]] = linalg.index 1
// CHECK:         %[[THERE:.+]] = arith.cmpi ult, %[[COLUMN]], %c777
// CHECK:         %[[COUNTED:.+]] = arith.select %[[THERE]], %{{.+}}, %{{.+}} : f32
// CHECK:         arith.addf %[[COUNTED]], %{{.+}} : f32
// CHECK:         lane_basis = {{\[}}[1, 32], [0, 1]], serial = [0, 800]
// ORDER-LABEL: func.func @parts
// ORDER-SAME:    TileAndFuse
// ORDER:         memref<3000x777xf32
// expected-remark @+9 {{tile of a workgroup: 4 rows, of each of which 32 lanes have 25 x 1 a step}}
func.func @parts() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<3000x777xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<3000x777xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<3000x777xf32, #hal.descriptor_type<storage_buffer>> -> tensor<3000x777xf32>
  %none = tensor.empty() : tensor<3000xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<3000xf32>) -> tensor<3000xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<3000x777xf32>) outs(%zeros : tensor<3000xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<3000xf32>
  %empty = tensor.empty() : tensor<3000x777xf32>
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<3000x777xf32>, tensor<3000xf32>) outs(%empty : tensor<3000x777xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.divf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<3000x777xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<3000x777xf32> into memref<3000x777xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// All 768 rows of a norm are computed at once where a multiprocessor holds 6 workgroups.

// CHECK-LABEL: func.func @norm_at_once
// CHECK-SAME:    nvvm.minctasm = 6 : i32
// ORDER-LABEL: func.func @norm_at_once
// ORDER-NOT:     nvvm.minctasm
// expected-remark @+9 {{tile of a workgroup: a row, of each of which 128 lanes have 8 x 8 a step}}
func.func @norm_at_once() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<768x8192xf16, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<768x8192xf16, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<768x8192xf16, #hal.descriptor_type<storage_buffer>> -> tensor<768x8192xf16>
  %none = tensor.empty() : tensor<768xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<768xf32>) -> tensor<768xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<768x8192xf16>) outs(%zeros : tensor<768xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f16, %o: f32):
    %w = arith.extf %x : f16 to f32
    %q = arith.mulf %w, %w : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<768xf32>
  %empty = tensor.empty() : tensor<768x8192xf16>
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<768x8192xf16>, tensor<768xf32>) outs(%empty : tensor<768x8192xf16>) {
  ^bb0(%x: f16, %s: f32, %o: f16):
    %w = arith.extf %x : f16 to f32
    %d = arith.mulf %w, %s : f32
    %t = arith.truncf %d : f32 to f16
    linalg.yield %t : f16
  } -> tensor<768x8192xf16>
  iree_codegen.store_to_buffer %r, %1 : tensor<768x8192xf16> into memref<768x8192xf16, #hal.descriptor_type<storage_buffer>>
  return
}

// A maximum is the same in any order. Rows of 1000 are read 4 at a time, and 4 warps have a row of which there are few.

// CHECK-LABEL: func.func @maxima
// CHECK:         partial_reduction = [0, 1024], subgroup_basis = {{\[}}[1, 4], [0, 1]], thread = [0, 4], workgroup = [1, 0]
// ORDER-LABEL: func.func @maxima
// ORDER:         partial_reduction = [0, 1024], subgroup_basis = {{\[}}[1, 4], [0, 1]], thread = [0, 4], workgroup = [1, 0]
// ORDER:         arith.constant 0xFF800000 : f32
// ORDER:         arith.maximumf
// expected-remark @+9 {{tile of a workgroup: a row, of each of which 128 lanes have 2 x 4 a step}}
func.func @maxima() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<7x1000xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<7xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<7x1000xf32, #hal.descriptor_type<storage_buffer>> -> tensor<7x1000xf32>
  %none = tensor.empty() : tensor<7xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<7xf32>) -> tensor<7xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<7x1000xf32>) outs(%zeros : tensor<7xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.maximumf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<7xf32> into memref<7xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// The place of the largest element is the least one of those that equal it, before the first NaN.

// CHECK-LABEL: func.func @searched
// CHECK:         arith.cmpf uno
// CHECK:         arith.minui
// CHECK:         arith.maxnumf
// CHECK:         partial_reduction = [0, 1024], {{.*}} workgroup = [1, 0]
// CHECK:         arith.cmpf oeq
// CHECK:         arith.minui
// CHECK:         linalg.generic
// CHECK:         arith.cmpf ogt
// CHECK:         linalg.yield %{{.+}} : i64
// ORDER-LABEL: func.func @searched
// ORDER:         arith.cmpf oeq
// expected-remark @+12 {{tile of a workgroup: a row, of each of which 128 lanes have 2 x 4 a step}}
func.func @searched() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : i64
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<7x1000xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<7xi64, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<7x1000xf32, #hal.descriptor_type<storage_buffer>> -> tensor<7x1000xf32>
  %none = tensor.empty() : tensor<7xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<7xf32>) -> tensor<7xf32>
  %nowhere = tensor.empty() : tensor<7xi64>
  %firsts = linalg.fill ins(%first : i64) outs(%nowhere : tensor<7xi64>) -> tensor<7xi64>
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<7x1000xf32>) outs(%zeros, %firsts : tensor<7xf32>, tensor<7xi64>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32, %p: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %s = arith.maximumf %x, %o : f32
    %c = arith.cmpf ogt, %x, %o : f32
    %q = arith.select %c, %n, %p : i64
    linalg.yield %s, %q : f32, i64
  } -> (tensor<7xf32>, tensor<7xi64>)
  iree_codegen.store_to_buffer %r#1, %1 : tensor<7xi64> into memref<7xi64, #hal.descriptor_type<storage_buffer>>
  return
}

// Columns are no rows: their elements are no neighbours.

// CHECK-LABEL: func.func @columns
// CHECK-SAME:    TileAndFuse
// expected-remark @below {{lanes keep their rows: rows lie across}}
func.func @columns() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1000x7xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<7xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<1000x7xf32, #hal.descriptor_type<storage_buffer>> -> tensor<1000x7xf32>
  %none = tensor.empty() : tensor<7xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<7xf32>) -> tensor<7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<1000x7xf32>) outs(%zeros : tensor<7xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<7xf32> into memref<7xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// What lanes cannot reduce stays, as bytes do.

// CHECK-LABEL: func.func @bytes
// CHECK-SAME:    TileAndFuse
// expected-remark @below {{lanes keep their rows: lanes exchange no i8}}
func.func @bytes() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<7x1000xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<7xi8, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<7x1000xi8, #hal.descriptor_type<storage_buffer>> -> tensor<7x1000xi8>
  %none = tensor.empty() : tensor<7xi8>
  %zeros = linalg.fill ins(%zero : i8) outs(%none : tensor<7xi8>) -> tensor<7xi8>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<7x1000xi8>) outs(%zeros : tensor<7xi8>) attrs = {lowering_config = #config} {
  ^bb0(%x: i8, %o: i8):
    %s = arith.maxsi %x, %o : i8
    linalg.yield %s : i8
  } -> tensor<7xi8>
  iree_codegen.store_to_buffer %r, %1 : tensor<7xi8> into memref<7xi8, #hal.descriptor_type<storage_buffer>>
  return
}

// A row is longer than a step: what is read again is computed again, so that no lane keeps it in memory.

// CHECK-LABEL: func.func @again
// CHECK:         %[[X:.+]] = iree_codegen.load_from_buffer
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<64x51200xf32>)
// CHECK:         arith.maximumf
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %{{.+}} : tensor<64x51200xf32>, tensor<64xf32>)
// CHECK:         arith.subf
// CHECK:         arith.addf
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %{{.+}}, %{{.+}} : tensor<64x51200xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK:         arith.subf
// CHECK:         arith.mulf
// expected-remark @+20 {{tile of a workgroup: a row, of each of which 1024 lanes have 10 x 1 a step}}
func.func @again() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<64x50257xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<64x50257xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<64x50257xf32, #hal.descriptor_type<storage_buffer>> -> tensor<64x50257xf32>
  %none = tensor.empty() : tensor<64xf32>
  %empty = tensor.empty() : tensor<64x50257xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<64xf32>) -> tensor<64xf32>
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<64x50257xf32>) outs(%zeros : tensor<64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.maximumf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %below = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%in, %max : tensor<64x50257xf32>, tensor<64xf32>) outs(%empty : tensor<64x50257xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<64x50257xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%below : tensor<64x50257xf32>) outs(%zeros : tensor<64xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%below, %sums : tensor<64x50257xf32>, tensor<64xf32>) outs(%empty : tensor<64x50257xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.mulf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<64x50257xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<64x50257xf32> into memref<64x50257xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// IREE gives a single row to one lane. What is computed of its number has no loop that lanes could share.

#lane = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<Distribute> workgroup_size = [1, 1, 1]>
#none = #iree_codegen.lowering_config<tile_sizes = [[]]>

// CHECK-LABEL: func.func @single
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [1024, 1, 1] subgroup_size = 32
// CHECK-COUNT-2: partial_reduction = [5120]
// CHECK:         return
// expected-remark @+20 {{tile of a workgroup: a row, of each of which 1024 lanes have 5 x 1 a step}}
func.func @single() attributes {translation_info = #lane} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 5001.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<5001xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<f32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<5001xf32, #hal.descriptor_type<storage_buffer>> -> tensor<5001xf32>
  %none = tensor.empty() : tensor<f32>
  %zeros = linalg.fill {lowering_config = #none} ins(%zero : f32) outs(%none : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%in : tensor<5001xf32>) outs(%zeros : tensor<f32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %mean = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%sum : tensor<f32>) outs(%none : tensor<f32>) attrs = {lowering_config = #none} {
  ^bb0(%x: f32, %o: f32):
    %d = arith.divf %x, %n : f32
    linalg.yield %d : f32
  } -> tensor<f32>
  %squares = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%in, %mean : tensor<5001xf32>, tensor<f32>) outs(%zeros : tensor<f32>) {
  ^bb0(%x: f32, %m: f32, %o: f32):
    %d = arith.subf %x, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  iree_codegen.store_to_buffer %squares, %1 : tensor<f32> into memref<f32, #hal.descriptor_type<storage_buffer>>
  return
}

// Parts of rows that are views of a buffer are read from a binding that remembers where they are.

#thread = #iree_gpu.lowering_config<{reduction = [0, 0, 1], thread = [1, 4, 0], workgroup = [4, 32, 0]}>

// CHECK-LABEL: func.func @views
// CHECK:         hal.interface.binding.subspan {{.*}}bankwise.shape = array<i64: 4, 8, 375>, bankwise.strided = {dims = [array<i64: 4, 3007>, array<i64: 8, 375>, array<i64: 375, 1>], elements = 12028 : i64, offset = 5 : i64}} : memref<4x8x384xf32
// CHECK:         iree_codegen.load_from_buffer %{{.*}} : memref<4x8x384xf32, #hal.descriptor_type<storage_buffer>> -> tensor<4x8x384xf32>
// CHECK:         partial_reduction = [0, 0, 384]
// CHECK:         arith.cmpi ult, %{{.*}}, %c375
// expected-remark @+11 {{tile of a workgroup: a row, of each of which 64 lanes have 6 x 1 a step}}
func.func @views() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<4x3007xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<4x8xf32, #hal.descriptor_type<storage_buffer>>
  %part = memref.subview %0[0, 5] [4, 3000] [1, 1] : memref<4x3007xf32, #hal.descriptor_type<storage_buffer>> to memref<4x3000xf32, strided<[3007, 1], offset: 5>, #hal.descriptor_type<storage_buffer>>
  %view = memref.expand_shape %part [[0], [1, 2]] output_shape [4, 8, 375] : memref<4x3000xf32, strided<[3007, 1], offset: 5>, #hal.descriptor_type<storage_buffer>> into memref<4x8x375xf32, strided<[3007, 375, 1], offset: 5>, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %view : memref<4x8x375xf32, strided<[3007, 375, 1], offset: 5>, #hal.descriptor_type<storage_buffer>> -> tensor<4x8x375xf32>
  %none = tensor.empty() : tensor<4x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<4x8xf32>) -> tensor<4x8xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in : tensor<4x8x375xf32>) outs(%zeros : tensor<4x8xf32>) attrs = {lowering_config = #thread} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  iree_codegen.store_to_buffer %sums, %1 : tensor<4x8xf32> into memref<4x8xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// A norm of rows of 16,384 bytes has 128 of them a lane. Where exponentials are computed a lane has half as many.

// CHECK-LABEL: func.func @norm
// CHECK:         partial_reduction = [0, 4096], subgroup_basis = {{\[}}[1, 4], [0, 1]], thread = [0, 4], workgroup = [1, 0]
// expected-remark @+9 {{tile of a workgroup: a row, of each of which 128 lanes have 8 x 4 a step}}
func.func @norm() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>> -> tensor<1024x4096xf32>
  %none = tensor.empty() : tensor<1024xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<1024xf32>) -> tensor<1024xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<1024x4096xf32>) outs(%zeros : tensor<1024xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<1024xf32>
  %empty = tensor.empty() : tensor<1024x4096xf32>
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<1024x4096xf32>, tensor<1024xf32>) outs(%empty : tensor<1024x4096xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.divf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<1024x4096xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<1024x4096xf32> into memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// CHECK-LABEL: func.func @exponentials
// CHECK:         partial_reduction = [0, 4096], subgroup_basis = {{\[}}[1, 8], [0, 1]], thread = [0, 4], workgroup = [1, 0]
// expected-remark @+9 {{tile of a workgroup: a row, of each of which 256 lanes have 4 x 4 a step}}
func.func @exponentials() attributes {translation_info = #lanes} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>> -> tensor<1024x4096xf32>
  %none = tensor.empty() : tensor<1024xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<1024xf32>) -> tensor<1024xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<1024x4096xf32>) outs(%zeros : tensor<1024xf32>) attrs = {lowering_config = #config} {
  ^bb0(%x: f32, %o: f32):
    %e = math.exp %x : f32
    %s = arith.addf %e, %o : f32
    linalg.yield %s : f32
  } -> tensor<1024xf32>
  %empty = tensor.empty() : tensor<1024x4096xf32>
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<1024x4096xf32>, tensor<1024xf32>) outs(%empty : tensor<1024x4096xf32>) {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %e = math.exp %x : f32
    %d = arith.divf %e, %s : f32
    linalg.yield %d : f32
  } -> tensor<1024x4096xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<1024x4096xf32> into memref<1024x4096xf32, #hal.descriptor_type<storage_buffer>>
  return
}
