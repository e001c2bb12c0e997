// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-tile-elements))' --iree-gpu-test-target=sm_90a --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#read = #hal.pipeline.binding<storage_buffer, ReadOnly>
#layout = #hal.pipeline.layout<bindings = [#read, #read, #hal.pipeline.binding<storage_buffer>]>
#warp = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>
#copy = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<Distribute> workgroup_size = [64, 1, 1] subgroup_size = 32>

// CHECK-LABEL: func.func @converted
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32
// CHECK:         lowering_config = #iree_gpu.lowering_config<{thread = [4], workgroup = [1024]}>
// expected-remark @+7 {{tile of a workgroup: 1024, of which a lane has 4}}
func.func @converted() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<4194304xf32, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<4194304xf16, #hal.descriptor_type<storage_buffer>>
  %in0 = iree_codegen.load_from_buffer %0 : memref<4194304xf32, #hal.descriptor_type<storage_buffer>> -> tensor<4194304xf32>
  %empty = tensor.empty() : tensor<4194304xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%in0 : tensor<4194304xf32>) outs(%empty : tensor<4194304xf16>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [4], workgroup = [128]}>} {
  ^bb0(%x0: f32, %o: f16):
    %t = arith.truncf %x0 : f32 to f16
    linalg.yield %t : f16
  } -> tensor<4194304xf16>
  iree_codegen.store_to_buffer %r, %out : tensor<4194304xf16> into memref<4194304xf16, #hal.descriptor_type<storage_buffer>>
  return
}

// A number that all elements are computed with is no tensor.

// CHECK-LABEL: func.func @scaled
// CHECK-SAME:    workgroup_size = [256, 1, 1]
// CHECK:         lowering_config = #iree_gpu.lowering_config<{thread = [4], workgroup = [1024]}>
// expected-remark @+10 {{tile of a workgroup: 1024, of which a lane has 4}}
func.func @scaled() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<4194304xf32, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) : memref<f32, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<4194304xf32, #hal.descriptor_type<storage_buffer>>
  %in0 = iree_codegen.load_from_buffer %0 : memref<4194304xf32, #hal.descriptor_type<storage_buffer>> -> tensor<4194304xf32>
  %in1 = iree_codegen.load_from_buffer %1 : memref<f32, #hal.descriptor_type<storage_buffer>> -> tensor<f32>
  %empty = tensor.empty() : tensor<4194304xf32>
  %scale = tensor.extract %in1[] : tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%scale, %in0 : f32, tensor<4194304xf32>) outs(%empty : tensor<4194304xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [4], workgroup = [128]}>} {
  ^bb0(%s: f32, %x0: f32, %o: f32):
    %t = arith.mulf %s, %x0 : f32
    linalg.yield %t : f32
  } -> tensor<4194304xf32>
  iree_codegen.store_to_buffer %r, %out : tensor<4194304xf32> into memref<4194304xf32, #hal.descriptor_type<storage_buffer>>
  return
}

// A lane computes once what it writes up to 32 times.

// CHECK-LABEL: func.func @copied
// CHECK-SAME:    workgroup_size = [256, 1, 1]
// CHECK:         lowering_config = #iree_gpu.lowering_config<{thread = [1, 25, 4], workgroup = [1, 25, 1000]}>
// expected-remark @+7 {{tile of a workgroup: 1 x 25 x 1000, of which a lane has 1 x 25 x 4}}
func.func @copied() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1000xi64, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<12x1000x1000xi8, #hal.descriptor_type<storage_buffer>>
  %in0 = iree_codegen.load_from_buffer %0 : memref<1000xi64, #hal.descriptor_type<storage_buffer>> -> tensor<1000xi64>
  %empty = tensor.empty() : tensor<12x1000x1000xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%in0 : tensor<1000xi64>) outs(%empty : tensor<12x1000x1000xi8>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [1, 1, 1], workgroup = [1, 4, 8]}>} {
  ^bb0(%x0: i64, %o: i8):
    %t = arith.trunci %x0 : i64 to i8
    linalg.yield %t : i8
  } -> tensor<12x1000x1000xi8>
  iree_codegen.store_to_buffer %r, %out : tensor<12x1000x1000xi8> into memref<12x1000x1000xi8, #hal.descriptor_type<storage_buffer>>
  return
}

// 197 lanes are no whole warps: the last lanes of the workgroup have nothing to do.

// CHECK-LABEL: func.func @by_index
// CHECK-SAME:    workgroup_size = [224, 1, 1]
// CHECK:         lowering_config = #iree_gpu.lowering_config<{thread = [1, 1], workgroup = [1, 197]}>
// expected-remark @+5 {{tile of a workgroup: 1 x 197, of which a lane has 1 x 1}}
func.func @by_index() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<96x38809xi8, #hal.descriptor_type<storage_buffer>>
  %empty = tensor.empty() : tensor<96x38809xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<96x38809xi8>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [1, 1], workgroup = [32, 1]}>} {
  ^bb0(%o: i8):
    %i = linalg.index 0 : index
    %t = arith.index_cast %i : index to i8
    linalg.yield %t : i8
  } -> tensor<96x38809xi8>
  iree_codegen.store_to_buffer %r, %out : tensor<96x38809xi8> into memref<96x38809xi8, #hal.descriptor_type<storage_buffer>>
  return
}

// Lanes beside each other write neighbours, and each reads the 32 bytes of a sector.

// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    workgroup_size = [224, 1, 1]
// CHECK:         lowering_config = #iree_gpu.lowering_config<{thread = [1, 1, 16], workgroup = [1, 197, 16]}>
// expected-remark @+7 {{tile of a workgroup: 1 x 197 x 16, of which a lane has 1 x 1 x 16}}
func.func @transposed() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<8x197x768xf16, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<8x768x197xf16, #hal.descriptor_type<storage_buffer>>
  %in0 = iree_codegen.load_from_buffer %0 : memref<8x197x768xf16, #hal.descriptor_type<storage_buffer>> -> tensor<8x197x768xf16>
  %empty = tensor.empty() : tensor<8x768x197xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%in0 : tensor<8x197x768xf16>) outs(%empty : tensor<8x768x197xf16>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [1, 1, 8], workgroup = [1, 1, 256]}>} {
  ^bb0(%x0: f16, %o: f16):
    linalg.yield %x0 : f16
  } -> tensor<8x768x197xf16>
  iree_codegen.store_to_buffer %r, %out : tensor<8x768x197xf16> into memref<8x768x197xf16, #hal.descriptor_type<storage_buffer>>
  return
}

// 79,999 is a prime number. Lanes beyond its end have no elements.

// CHECK-LABEL: func.func @few_divisors
// CHECK:         memref<80128xf16
// CHECK:         thread = [1], workgroup = [256]
// expected-remark @+7 {{tile of a workgroup: 256, of which a lane has 1}}
func.func @few_divisors() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<79999xf16, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<79999xf16, #hal.descriptor_type<storage_buffer>>
  %in0 = iree_codegen.load_from_buffer %0 : memref<79999xf16, #hal.descriptor_type<storage_buffer>> -> tensor<79999xf16>
  %empty = tensor.empty() : tensor<79999xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%in0 : tensor<79999xf16>) outs(%empty : tensor<79999xf16>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [1], workgroup = [32]}>} {
  ^bb0(%x0: f16, %o: f16):
    %t = arith.negf %x0 : f16
    linalg.yield %t : f16
  } -> tensor<79999xf16>
  iree_codegen.store_to_buffer %r, %out : tensor<79999xf16> into memref<79999xf16, #hal.descriptor_type<storage_buffer>>
  return
}

// The GPU has 33,792 lanes in 132 workgroups of 256: IREE's tile is as good.

// CHECK-LABEL: func.func @few_elements
// CHECK:         thread = [1], workgroup = [32]
func.func @few_elements() attributes {translation_info = #warp} {
  %c0 = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<32768xf16, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<32768xf16, #hal.descriptor_type<storage_buffer>>
  %in0 = iree_codegen.load_from_buffer %0 : memref<32768xf16, #hal.descriptor_type<storage_buffer>> -> tensor<32768xf16>
  %empty = tensor.empty() : tensor<32768xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%in0 : tensor<32768xf16>) outs(%empty : tensor<32768xf16>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [1], workgroup = [32]}>} {
  ^bb0(%x0: f16, %o: f16):
    %t = arith.negf %x0 : f16
    linalg.yield %t : f16
  } -> tensor<32768xf16>
  iree_codegen.store_to_buffer %r, %out : tensor<32768xf16> into memref<32768xf16, #hal.descriptor_type<storage_buffer>>
  return
}

// IREE lets a lane copy an element of a buffer.

// CHECK-LABEL: func.func @part
// CHECK-SAME:    pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 32
// CHECK:         %[[PART:.+]] = memref.subview
// CHECK:         %[[LOADED:.+]] = iree_codegen.load_from_buffer %[[PART]] : memref<1000x768xf16, strided<[2304, 1], offset: 768>, {{.+}} -> tensor<1000x768xf16>
// CHECK:         %[[MOVED:.+]] = linalg.generic {{.+}} ins(%[[LOADED]] : tensor<1000x768xf16>) outs({{.+}} : tensor<1000x768xf16>) attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [1, 8], workgroup = [2, 768]}>}
// CHECK:         iree_codegen.store_to_buffer %[[MOVED]], %{{.+}} : tensor<1000x768xf16> into memref<1000x768xf16,
// expected-remark @+6 {{tile of a workgroup: 2 x 768, of which a lane has 1 x 8}}
func.func @part() attributes {translation_info = #copy} {
  %c0 = arith.constant 0 : index
  %in = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1000x2304xf16, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<1000x768xf16, #hal.descriptor_type<storage_buffer>>
  %part = memref.subview %in[0, 768] [1000, 768] [1, 1] : memref<1000x2304xf16, #hal.descriptor_type<storage_buffer>> to memref<1000x768xf16, strided<[2304, 1], offset: 768>, #hal.descriptor_type<storage_buffer>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%part : memref<1000x768xf16, strided<[2304, 1], offset: 768>, #hal.descriptor_type<storage_buffer>>) outs(%out : memref<1000x768xf16, #hal.descriptor_type<storage_buffer>>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1, 64]]>} {
  ^bb0(%x: f16, %o: f16):
    linalg.yield %x : f16
  }
  return
}

// Its rows begin at single elements: lanes beside each other have neighbours.

// CHECK-LABEL: func.func @unaligned_part
// CHECK:         thread = [1, 1], workgroup = [1, 256]
// expected-remark @+6 {{tile of a workgroup: 1 x 256, of which a lane has 1 x 1}}
func.func @unaligned_part() attributes {translation_info = #copy} {
  %c0 = arith.constant 0 : index
  %in = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1000x2304xf16, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<1000x768xf16, #hal.descriptor_type<storage_buffer>>
  %part = memref.subview %in[0, 767] [1000, 768] [1, 1] : memref<1000x2304xf16, #hal.descriptor_type<storage_buffer>> to memref<1000x768xf16, strided<[2304, 1], offset: 767>, #hal.descriptor_type<storage_buffer>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%part : memref<1000x768xf16, strided<[2304, 1], offset: 767>, #hal.descriptor_type<storage_buffer>>) outs(%out : memref<1000x768xf16, #hal.descriptor_type<storage_buffer>>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1, 64]]>} {
  ^bb0(%x: f16, %o: f16):
    linalg.yield %x : f16
  }
  return
}

// CHECK-LABEL: func.func @no_launch
// CHECK:         tile_sizes
// expected-remark @+1 {{the function has no translation_info}}
func.func @no_launch() {
  %c0 = arith.constant 0 : index
  %in = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) : memref<1000x2304xf16, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<1000x768xf16, #hal.descriptor_type<storage_buffer>>
  %part = memref.subview %in[0, 768] [1000, 768] [1, 1] : memref<1000x2304xf16, #hal.descriptor_type<storage_buffer>> to memref<1000x768xf16, strided<[2304, 1], offset: 768>, #hal.descriptor_type<storage_buffer>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%part : memref<1000x768xf16, strided<[2304, 1], offset: 768>, #hal.descriptor_type<storage_buffer>>) outs(%out : memref<1000x768xf16, #hal.descriptor_type<storage_buffer>>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1, 64]]>} {
  ^bb0(%x: f16, %o: f16):
    linalg.yield %x : f16
  }
  return
}
