// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-join-rows))' --iree-gpu-test-target=sm_90a --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#read = #hal.pipeline.binding<storage_buffer, ReadOnly>
#layout = #hal.pipeline.layout<bindings = [#read, #hal.pipeline.binding<storage_buffer>]>
#warp = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    workgroup_size = [256, 1, 1] subgroup_size = 32
// CHECK:         partial_reduction = [0, 128], subgroup_basis = {{\[}}[8, 1], [0, 1]], thread = [0, 4], workgroup = [8, 0]
// CHECK:         serial = [0, 128], subgroup_basis = {{\[}}[8, 1], [0, 1]], thread = [0, 4]
// expected-remark @+9 {{tile of a workgroup: 8 rows for 8 warps}}
func.func @rows() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<16000x128xf32>
  %none = tensor.empty() : tensor<16000xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<16000xf32>) -> tensor<16000xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<16000x128xf32>) outs(%zeros : tensor<16000xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4], workgroup = [1, 0]}>} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<16000xf32>
  %empty = tensor.empty() : tensor<16000x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<16000x128xf32>, tensor<16000xf32>) outs(%empty : tensor<16000x128xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], serial = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4]}>} {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<16000x128xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<16000x128xf32> into memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// What is computed of the sums has its rows along another loop, and writes sectors of 8.

// CHECK-LABEL: func.func @transposed_rows
// CHECK-SAME:    workgroup_size = [128, 1, 1] subgroup_size = 32
// CHECK:         subgroup_basis = {{\[}}[1, 4, 1], [0, 1, 2]], thread = [0, 0, 3], workgroup = [1, 8, 0]
// CHECK:         subgroup_basis = {{\[}}[1, 1, 4], [0, 1, 2]], thread = [0, 3, 0]
// expected-remark @+9 {{tile of a workgroup: 8 rows for 4 warps}}
func.func @transposed_rows() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<8x3136x96xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<8x96x3136xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<8x3136x96xf32, #hal.descriptor_type<storage_buffer>> -> tensor<8x3136x96xf32>
  %none = tensor.empty() : tensor<8x3136xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<8x3136xf32>) -> tensor<8x3136xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in : tensor<8x3136x96xf32>) outs(%zeros : tensor<8x3136xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 96], subgroup_basis = [[1, 1, 1], [0, 1, 2]], thread = [0, 0, 3], workgroup = [1, 1, 0]}>} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x3136xf32>
  %empty = tensor.empty() : tensor<8x96x3136xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%in, %sums : tensor<8x3136x96xf32>, tensor<8x3136xf32>) outs(%empty : tensor<8x96x3136xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32, 1], [0, 1, 2]], serial = [0, 96, 0], subgroup_basis = [[1, 1, 1], [0, 1, 2]], thread = [0, 3, 0]}>} {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<8x96x3136xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<8x96x3136xf32> into memref<8x96x3136xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// 8 does not divide 3,132.

// CHECK-LABEL: func.func @odd_transposed_rows
// CHECK-SAME:    workgroup_size = [32, 1, 1] subgroup_size = 32
// expected-remark @+1 {{a workgroup keeps its row: 3132 rows are written across, and are no multiple of 8}}
func.func @odd_transposed_rows() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<8x3132x96xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<8x96x3132xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<8x3132x96xf32, #hal.descriptor_type<storage_buffer>> -> tensor<8x3132x96xf32>
  %none = tensor.empty() : tensor<8x3132xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<8x3132xf32>) -> tensor<8x3132xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%in : tensor<8x3132x96xf32>) outs(%zeros : tensor<8x3132xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 96], subgroup_basis = [[1, 1, 1], [0, 1, 2]], thread = [0, 0, 3], workgroup = [1, 1, 0]}>} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x3132xf32>
  %empty = tensor.empty() : tensor<8x96x3132xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%in, %sums : tensor<8x3132x96xf32>, tensor<8x3132xf32>) outs(%empty : tensor<8x96x3132xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32, 1], [0, 1, 2]], serial = [0, 96, 0], subgroup_basis = [[1, 1, 1], [0, 1, 2]], thread = [0, 3, 0]}>} {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<8x96x3132xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<8x96x3132xf32> into memref<8x96x3132xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// There is no number of warps that all workgroups have rows for.

// CHECK-LABEL: func.func @odd_rows
// CHECK-SAME:    workgroup_size = [32, 1, 1]
// expected-remark @+1 {{a workgroup keeps its row: 15999 rows are not shared evenly}}
func.func @odd_rows() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<15999x128xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<15999x128xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<15999x128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<15999x128xf32>
  %none = tensor.empty() : tensor<15999xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<15999xf32>) -> tensor<15999xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<15999x128xf32>) outs(%zeros : tensor<15999xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4], workgroup = [1, 0]}>} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<15999xf32>
  %empty = tensor.empty() : tensor<15999x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<15999x128xf32>, tensor<15999xf32>) outs(%empty : tensor<15999x128xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], serial = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4]}>} {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<15999x128xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<15999x128xf32> into memref<15999x128xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// CHECK-LABEL: func.func @shared_row
// CHECK-SAME:    workgroup_size = [32, 1, 1]
// expected-remark @+1 {{a workgroup keeps its row: its warps are not understood}}
func.func @shared_row() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<16000x128xf32>
  %none = tensor.empty() : tensor<16000xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<16000xf32>) -> tensor<16000xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<16000x128xf32>) outs(%zeros : tensor<16000xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4], workgroup = [1, 0]}>} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<16000xf32>
  %empty = tensor.empty() : tensor<16000x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<16000x128xf32>, tensor<16000xf32>) outs(%empty : tensor<16000x128xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], serial = [0, 128], subgroup_basis = [[1, 2], [0, 1]], thread = [0, 4]}>} {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<16000x128xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<16000x128xf32> into memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// Such a workgroup has several warps already.

// CHECK-LABEL: func.func @several_warps
// CHECK-SAME:    workgroup_size = [64, 1, 1]
func.func @several_warps() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<16000x128xf32>
  %none = tensor.empty() : tensor<16000xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<16000xf32>) -> tensor<16000xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%in : tensor<16000x128xf32>) outs(%zeros : tensor<16000xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4], workgroup = [1, 0]}>} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<16000xf32>
  %empty = tensor.empty() : tensor<16000x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%in, %sums : tensor<16000x128xf32>, tensor<16000xf32>) outs(%empty : tensor<16000x128xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], serial = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4]}>} {
  ^bb0(%x: f32, %s: f32, %o: f32):
    %d = arith.subf %x, %s : f32
    linalg.yield %d : f32
  } -> tensor<16000x128xf32>
  iree_codegen.store_to_buffer %r, %1 : tensor<16000x128xf32> into memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// All rows of a matrix are multiplied by one vector: IREE's workgroups are what other passes expect.

// CHECK-LABEL: func.func @multiplied
// CHECK-SAME:    workgroup_size = [32, 1, 1]
func.func @multiplied() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<16000xf32, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<128xf32, #hal.descriptor_type<storage_buffer>>
  %in = iree_codegen.load_from_buffer %0 : memref<16000x128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<16000x128xf32>
  %by = iree_codegen.load_from_buffer %2 : memref<128xf32, #hal.descriptor_type<storage_buffer>> -> tensor<128xf32>
  %none = tensor.empty() : tensor<16000xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%none : tensor<16000xf32>) -> tensor<16000xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%in, %by : tensor<16000x128xf32>, tensor<128xf32>) outs(%zeros : tensor<16000xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 128], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 4], workgroup = [1, 0]}>} {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<16000xf32>
  iree_codegen.store_to_buffer %sums, %1 : tensor<16000xf32> into memref<16000xf32, #hal.descriptor_type<storage_buffer>>
  return
}
