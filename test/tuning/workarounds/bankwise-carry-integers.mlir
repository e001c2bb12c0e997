// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-carry-integers))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#target = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>

// CHECK-LABEL: func.func @stored
// CHECK-SAME:    bankwise.carries_integers
// CHECK-SAME:    workgroup_size = [128, 1, 1] subgroup_size = 32
// CHECK-DAG:     %[[A:.+]] = iree_codegen.load_from_buffer %{{.+}} -> tensor<128x64xf8E4M3FN>
// CHECK-DAG:     %[[B:.+]] = iree_codegen.load_from_buffer %{{.+}} -> tensor<128x64xf8E4M3FN>
// CHECK:         %[[F:.+]] = linalg.fill ins(%{{.+}} : f32)
// CHECK:         %[[R:.+]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}} outs(%[[F]] : tensor<128x128xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x32_F8E4M3FN>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>}
// CHECK:         iree_codegen.store_to_buffer %[[R]], %{{.+}} : tensor<128x128xf32> into memref<128x128xf32,
// expected-remark @+11 {{tile of a workgroup: 128 x 128, 64 a step, 2 x 2 warps, by matrix instructions in the place of scalar ones}}
func.func @stored() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  %a = iree_codegen.load_from_buffer %0 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %b = iree_codegen.load_from_buffer %1 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x64xi8>, tensor<128x64xi8>) outs(%f : tensor<128x128xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %3 = arith.extsi %x : i8 to i32
    %4 = arith.extsi %y : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %z, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<128x128xi32>
  iree_codegen.store_to_buffer %r, %2 : tensor<128x128xi32> into memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  return
}

// What uses the result reads the bits as i32.

// CHECK-LABEL: func.func @used
// CHECK:         ins(%{{.+}} : tensor<128x128xf32>) outs(%{{.+}} : tensor<128x128xi8>)
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %{{.+}}: i8):
// CHECK-NEXT:      %[[I:.+]] = arith.bitcast %[[X]] : f32 to i32
// CHECK-NEXT:      arith.trunci %[[I]] : i32 to i8
// expected-remark @+11 {{tile of a workgroup: 128 x 128, 64 a step, 2 x 2 warps, by matrix instructions in the place of scalar ones}}
func.func @used() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  %a = iree_codegen.load_from_buffer %0 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %b = iree_codegen.load_from_buffer %1 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x64xi8>, tensor<128x64xi8>) outs(%f : tensor<128x128xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %3 = arith.extsi %x : i8 to i32
    %4 = arith.extsi %y : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %z, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<128x128xi32>
  %7 = hal.interface.binding.subspan layout(#layout) binding(3) alignment(64) offset(%c0) : memref<128x128xi8, #hal.descriptor_type<storage_buffer>>
  %g = tensor.empty() : tensor<128x128xi8>
  %h = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<128x128xi32>) outs(%g : tensor<128x128xi8>) {
  ^bb0(%x: i32, %y: i8):
    %8 = arith.trunci %x : i32 to i8
    linalg.yield %8 : i8
  } -> tensor<128x128xi8>
  iree_codegen.store_to_buffer %h, %7 : tensor<128x128xi8> into memref<128x128xi8, #hal.descriptor_type<storage_buffer>>
  return
}

// The instruction for signed and unsigned integers is another one.

// CHECK-LABEL: func.func @unsigned
// CHECK:         ins(%{{.+}}, %{{.+}} : tensor<{{.*}}xi8>, tensor<{{.*}}xi8>)
// expected-remark @+1 {{the contraction of i8 keeps scalar instructions: it does more than to multiply and to add}}
func.func @unsigned() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  %a = iree_codegen.load_from_buffer %0 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %b = iree_codegen.load_from_buffer %1 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x64xi8>, tensor<128x64xi8>) outs(%f : tensor<128x128xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %3 = arith.extsi %x : i8 to i32
    %4 = arith.extui %y : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %z, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<128x128xi32>
  iree_codegen.store_to_buffer %r, %2 : tensor<128x128xi32> into memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  return
}

// CHECK-LABEL: func.func @begun
// CHECK:         ins(%{{.+}}, %{{.+}} : tensor<{{.*}}xi8>, tensor<{{.*}}xi8>)
// expected-remark @+1 {{the contraction of i8 keeps scalar instructions: its sums do not begin with zero}}
func.func @begun() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 1 : i32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  %a = iree_codegen.load_from_buffer %0 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %b = iree_codegen.load_from_buffer %1 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x64xi8>, tensor<128x64xi8>) outs(%f : tensor<128x128xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %3 = arith.extsi %x : i8 to i32
    %4 = arith.extsi %y : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %z, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<128x128xi32>
  iree_codegen.store_to_buffer %r, %2 : tensor<128x128xi32> into memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  return
}

// Where no tile divides the sizes, `bankwise-enlarge-matmuls` finds one; it looks for `padding`.

// CHECK-LABEL: func.func @ragged
// CHECK:         ins(%{{.+}}, %{{.+}} : tensor<100x64xf8E4M3FN>, tensor<128x64xf8E4M3FN>)
// CHECK-SAME:    padding = [64, 64, 64]
func.func @ragged() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<100x64xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<100x128xi32, #hal.descriptor_type<storage_buffer>>
  %a = iree_codegen.load_from_buffer %0 : memref<100x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<100x64xi8>
  %b = iree_codegen.load_from_buffer %1 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %e = tensor.empty() : tensor<100x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<100x128xi32>) -> tensor<100x128xi32>
  // expected-remark @+1 {{tile of a workgroup: 64 x 64, 64 a step, 2 x 2 warps, by matrix instructions in the place of scalar ones}}
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<100x64xi8>, tensor<128x64xi8>) outs(%f : tensor<100x128xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %3 = arith.extsi %x : i8 to i32
    %4 = arith.extsi %y : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %z, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<100x128xi32>
  iree_codegen.store_to_buffer %r, %2 : tensor<100x128xi32> into memref<100x128xi32, #hal.descriptor_type<storage_buffer>>
  return
}

// CHECK-LABEL: func.func @computed
// CHECK:         ins(%{{.+}}, %{{.+}} : tensor<{{.*}}xi8>, tensor<{{.*}}xi8>)
// expected-remark @+1 {{the contraction of i8 keeps scalar instructions: an operand is computed in the kernel, by linalg.generic}}
func.func @computed() attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 8, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(ReadOnly) : memref<128x64xi8, #hal.descriptor_type<storage_buffer>>
  %2 = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) : memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  %a = iree_codegen.load_from_buffer %0 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %b = iree_codegen.load_from_buffer %1 : memref<128x64xi8, #hal.descriptor_type<storage_buffer>> -> tensor<128x64xi8>
  %n = tensor.empty() : tensor<128x64xi8>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<128x64xi8>) outs(%n : tensor<128x64xi8>) {
  ^bb0(%x: i8, %y: i8):
    %8 = arith.addi %x, %x : i8
    linalg.yield %8 : i8
  } -> tensor<128x64xi8>
  %e = tensor.empty() : tensor<128x128xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %b : tensor<128x64xi8>, tensor<128x64xi8>) outs(%f : tensor<128x128xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0], workgroup = [32, 128, 1]}>} {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %3 = arith.extsi %x : i8 to i32
    %4 = arith.extsi %y : i8 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %z, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<128x128xi32>
  iree_codegen.store_to_buffer %r, %2 : tensor<128x128xi32> into memref<128x128xi32, #hal.descriptor_type<storage_buffer>>
  return
}
