// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-step-maxima))' --iree-gpu-test-target=gfx942 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#lanes = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>
#of_sum = #iree_gpu.lowering_config<{reduction = [0, 5], thread = [1, 0], workgroup = [64, 0]}>
#of_planes = #iree_gpu.lowering_config<{reduction = [0, 3, 1], thread = [1, 0, 0], workgroup = [64, 0, 0]}>
#shared = #iree_gpu.lowering_config<{lane_basis = [[1, 64], [0, 1]], partial_reduction = [0, 6720], subgroup_basis = [[1, 1], [0, 1]], thread = [0, 1], workgroup = [1, 0]}>
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#across = affine_map<(d0, d1) -> (d1, d0)>
#column = affine_map<(d0, d1) -> (d1)>
#plane = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#number = affine_map<(d0, d1, d2) -> (d0)>

// A step has 125 elements, the largest divisor of 6,625 up to 128.

// CHECK-LABEL: func.func @softmax
// CHECK:         linalg.generic {{.*}} attrs =  {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 125]}>}
// CHECK:           arith.maxnumf
// CHECK:         linalg.generic {{.*}} attrs =  {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 5], thread = [1, 0], workgroup = [64, 0]}>}
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins({{.*}}) outs({{.*}}) {
func.func @softmax(%x: tensor<160x6625xf32>, %none: tensor<160xf32>, %empty: tensor<160x6625xf32>) -> tensor<160x6625xf32> attributes {translation_info = #lanes} {
  // expected-remark @+1 {{a step has 125 elements of a row}}
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<160x6625xf32>) outs(%none : tensor<160xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maxnumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<160xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<160x6625xf32>, tensor<160xf32>) outs(%none : tensor<160xf32>) attrs = {lowering_config = #of_sum} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %e = math.exp %d : f32
    %s = arith.addf %e, %out : f32
    linalg.yield %s : f32
  } -> tensor<160xf32>
  %r = linalg.generic {indexing_maps = [#all, #row, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %max, %sum : tensor<160x6625xf32>, tensor<160xf32>, tensor<160xf32>) outs(%empty : tensor<160x6625xf32>) {
  ^bb0(%in: f32, %most: f32, %all: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %e = math.exp %d : f32
    %p = arith.divf %e, %all : f32
    linalg.yield %p : f32
  } -> tensor<160x6625xf32>
  return %r : tensor<160x6625xf32>
}

// The loops of the maximum come in another order. 50,257 is 29 * 1,733.

// CHECK-LABEL: func.func @another_order
// CHECK:         reduction = [29, 0]
func.func @another_order(%x: tensor<6x50257xf32>, %none: tensor<6xf32>) -> tensor<6xf32> attributes {translation_info = #lanes} {
  // expected-remark @+1 {{a step has 29 elements of a row}}
  %max = linalg.generic {indexing_maps = [#across, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<6x50257xf32>) outs(%none : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maximumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<6x50257xf32>, tensor<6xf32>) outs(%none : tensor<6xf32>) attrs = {lowering_config = #of_sum} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %s = arith.addf %d, %out : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

// Of 4,098 = 6 * 683 elements no step has 8 to 128, and of a prime number of them a step has one.

// CHECK-LABEL: func.func @no_short_step
// CHECK:         lowering_config = #iree_gpu.lowering_config<{reduction = [0, 683]}>
func.func @no_short_step(%x: tensor<6x4098xi32>, %none: tensor<6xi32>) -> tensor<6xi32> attributes {translation_info = #lanes} {
  // expected-remark @+1 {{a step has 683 elements of a row}}
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x4098xi32>) outs(%none : tensor<6xi32>) {
  ^bb0(%in: i32, %out: i32):
    %m = arith.maxsi %in, %out : i32
    linalg.yield %m : i32
  } -> tensor<6xi32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<6x4098xi32>, tensor<6xi32>) outs(%none : tensor<6xi32>) attrs = {lowering_config = #of_sum} {
  ^bb0(%in: i32, %most: i32, %out: i32):
    %d = arith.muli %in, %most : i32
    %s = arith.addi %d, %out : i32
    linalg.yield %s : i32
  } -> tensor<6xi32>
  return %sum : tensor<6xi32>
}

// CHECK-LABEL: func.func @prime
// CHECK:         lowering_config = #iree_gpu.lowering_config<{reduction = [0, 1]}>
func.func @prime(%x: tensor<6x6007xf32>, %none: tensor<6xf32>) -> tensor<6xf32> attributes {translation_info = #lanes} {
  // expected-remark @+1 {{a step has 1 element of a row}}
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x6007xf32>) outs(%none : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.minimumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<6x6007xf32>, tensor<6xf32>) outs(%none : tensor<6xf32>) attrs = {lowering_config = #of_sum} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %s = arith.addf %d, %out : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

// The rows of planes go along two loops.

// CHECK-LABEL: func.func @planes
// CHECK:         lowering_config = #iree_gpu.lowering_config<{reduction = [0, 1, 107]}>
func.func @planes(%x: tensor<6x41x107xf32>, %none: tensor<6xf32>) -> tensor<6xf32> attributes {translation_info = #lanes} {
  // expected-remark @+1 {{a step has 107 elements of a row}}
  %max = linalg.generic {indexing_maps = [#plane, #number], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<6x41x107xf32>) outs(%none : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maxnumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#plane, #number, #number], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %max : tensor<6x41x107xf32>, tensor<6xf32>) outs(%none : tensor<6xf32>) attrs = {lowering_config = #of_planes} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %s = arith.addf %d, %out : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

// A sum of floats depends on the order, and IREE's code for 4,095 elements is faster. Lanes share the third function's rows.

// CHECK-LABEL: func.func @sums
// CHECK-NOT:     reduction = [0, 1
// CHECK:         return
func.func @sums(%x: tensor<6x6625xf32>, %none: tensor<6xf32>) -> tensor<6xf32> attributes {translation_info = #lanes} {
  %first = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x6625xf32>) outs(%none : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.addf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %first : tensor<6x6625xf32>, tensor<6xf32>) outs(%none : tensor<6xf32>) attrs = {lowering_config = #of_sum} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %s = arith.addf %d, %out : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

// CHECK-LABEL: func.func @short
// CHECK-NOT:     reduction = [0, 1
// CHECK:         return
func.func @short(%x: tensor<6x4095xf32>, %none: tensor<6xf32>) -> tensor<6xf32> attributes {translation_info = #lanes} {
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x4095xf32>) outs(%none : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maxnumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<6x4095xf32>, tensor<6xf32>) outs(%none : tensor<6xf32>) attrs = {lowering_config = #of_sum} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %s = arith.addf %d, %out : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}

// CHECK-LABEL: func.func @shared_rows
// CHECK-NOT:     {reduction
// CHECK:         return
func.func @shared_rows(%x: tensor<6x6625xf32>, %none: tensor<6xf32>) -> tensor<6xf32> attributes {translation_info = #lanes} {
  %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x6625xf32>) outs(%none : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.maxnumf %in, %out : f32
    linalg.yield %m : f32
  } -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %max : tensor<6x6625xf32>, tensor<6xf32>) outs(%none : tensor<6xf32>) attrs = {lowering_config = #shared} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %d = arith.subf %in, %most : f32
    %s = arith.addf %d, %out : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %sum : tensor<6xf32>
}
