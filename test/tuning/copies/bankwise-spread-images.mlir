// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-spread-images))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --bankwise-remarks | FileCheck %s

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// Every second pixel of rows of 56, and no window: a word of 16 bytes has 4 of them, and the lanes of
// a warp have 128 neighbours.

// CHECK-LABEL: func.func @every_second(
// CHECK:         linalg.copy {lowering_config = #iree_gpu.lowering_config<{thread = [1, 4]}>}
func.func @every_second(%k: index, %m: index) -> tensor<64x128xf16> {
  %c0 = arith.constant 0 : index
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.strided = {dims = [array<i64: 256, 3136>, array<i64: 8, 802816, 28, 112, 28, 2>], elements = 6422528 : i64, offset = 0 : i64}} : memref<256x6272xf16>
  %image = iree_codegen.load_from_buffer %b : memref<256x6272xf16> -> tensor<256x6272xf16>
  %part = tensor.extract_slice %image[%k, %m] [64, 128] [1, 1] : tensor<256x6272xf16> to tensor<64x128xf16>
  %e = tensor.empty() : tensor<64x128xf16>
  %copy = linalg.copy {lowering_config = #iree_gpu.derived_thread_config} ins(%part : tensor<64x128xf16>) outs(%e : tensor<64x128xf16>) -> tensor<64x128xf16>
  return %copy : tensor<64x128xf16>
}

// Rows of 56: words bring 8 neighbours.

// CHECK-LABEL: func.func @rows_of_56(
// CHECK:         linalg.copy {lowering_config = #iree_gpu.lowering_config<{thread = [1, 8]}>}
func.func @rows_of_56(%k: index, %m: index) -> tensor<64x64xf16> {
  %c0 = arith.constant 0 : index
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.strided = {dims = [array<i64: 64, 3364, 3, 58, 3, 1>, array<i64: 8, 215296, 56, 58, 56, 1>], elements = 1722368 : i64, offset = 0 : i64}} : memref<576x25088xf16>
  %image = iree_codegen.load_from_buffer %b : memref<576x25088xf16> -> tensor<576x25088xf16>
  %part = tensor.extract_slice %image[%k, %m] [64, 64] [1, 1] : tensor<576x25088xf16> to tensor<64x64xf16>
  %e = tensor.empty() : tensor<64x64xf16>
  %copy = linalg.copy {lowering_config = #iree_gpu.derived_thread_config} ins(%part : tensor<64x64xf16>) outs(%e : tensor<64x64xf16>) -> tensor<64x64xf16>
  return %copy : tensor<64x64xf16>
}

// IREE's width stays: `cp.async` copies 8 channels that lie side by side; f32; what has a width.

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: linalg.copy {lowering_config = #iree_gpu.derived_thread_config}
// CHECK:         linalg.copy {lowering_config = #iree_gpu.lowering_config<{thread = [1, 4]}>}
func.func @others(%k: index, %m: index) -> (tensor<64x64xf16>, tensor<64x64xf32>, tensor<64x64xf16>) {
  %c0 = arith.constant 0 : index
  %a = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.strided = {dims = [array<i64: 8, 215296, 56, 3712, 56, 64>, array<i64: 3, 3712, 192, 1>], elements = 1722368 : i64, offset = 0 : i64}} : memref<25088x576xf16>
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.strided = {dims = [array<i64: 64, 3364, 3, 58, 3, 1>, array<i64: 8, 215296, 56, 58, 56, 1>], elements = 1722368 : i64, offset = 0 : i64}} : memref<576x25088xf32>
  %c = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.strided = {dims = [array<i64: 256, 256, 3, 16, 3, 1>, array<i64: 8, 65536, 14, 16, 14, 1>], elements = 524288 : i64, offset = 0 : i64}} : memref<2304x1568xf16>
  %la = iree_codegen.load_from_buffer %a : memref<25088x576xf16> -> tensor<25088x576xf16>
  %lb = iree_codegen.load_from_buffer %b : memref<576x25088xf32> -> tensor<576x25088xf32>
  %lc = iree_codegen.load_from_buffer %c : memref<2304x1568xf16> -> tensor<2304x1568xf16>
  %pa = tensor.extract_slice %la[%m, %k] [64, 64] [1, 1] : tensor<25088x576xf16> to tensor<64x64xf16>
  %pb = tensor.extract_slice %lb[%k, %m] [64, 64] [1, 1] : tensor<576x25088xf32> to tensor<64x64xf32>
  %pc = tensor.extract_slice %lc[%k, %m] [64, 64] [1, 1] : tensor<2304x1568xf16> to tensor<64x64xf16>
  %e = tensor.empty() : tensor<64x64xf16>
  %f = tensor.empty() : tensor<64x64xf32>
  %ca = linalg.copy {lowering_config = #iree_gpu.derived_thread_config} ins(%pa : tensor<64x64xf16>) outs(%e : tensor<64x64xf16>) -> tensor<64x64xf16>
  %cb = linalg.copy {lowering_config = #iree_gpu.derived_thread_config} ins(%pb : tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %cc = linalg.copy {lowering_config = #iree_gpu.lowering_config<{thread = [1, 4]}>} ins(%pc : tensor<64x64xf16>) outs(%e : tensor<64x64xf16>) -> tensor<64x64xf16>
  return %ca, %cb, %cc : tensor<64x64xf16>, tensor<64x64xf32>, tensor<64x64xf16>
}
