// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-defer-lane-sums))' --mlir-print-local-scope | FileCheck %s

#terms = #iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>

// The sum of an attention: it is scaled by what is the same for a whole row.

// CHECK-LABEL: func.func @scaled
// CHECK:         %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : vector<64x4xf32>
// CHECK:         %[[LOOP:.+]]:2 = scf.for {{.+}} iter_args(%[[OWN:.+]] = %[[ZEROS]], %{{.+}} = %{{.+}}) -> (vector<64x4xf32>, vector<64xf32>)
// CHECK:           %[[SOFAR:.+]] = iree_vector_ext.to_layout %[[OWN]] to layout(#iree_vector_ext.nested_layout<subgroup_tile = [4, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 1], subgroup_strides = [1, 0], thread_strides = [1, 16]>)
// CHECK:           %[[WIDE:.+]] = vector.broadcast %{{.+}} : vector<64xf32> to vector<4x64xf32>
// CHECK:           %[[TURNED:.+]] = vector.transpose %[[WIDE]], [1, 0]
// CHECK:           %[[SCALED:.+]] = arith.mulf %[[SOFAR]], %[[TURNED]] : vector<64x4xf32>
// CHECK:           %[[CUT:.+]] = iree_vector_ext.to_simd %{{.+}} : vector<1x1x1x1x1x1x1x1x16xf32> -> vector<64x4x16xf32>
// CHECK:           %[[TERMS:.+]] = iree_vector_ext.to_layout %[[CUT]]
// CHECK:           vector.multi_reduction <add>, %[[TERMS]], %[[SCALED]] [2] : vector<64x4x16xf32> to vector<64x4xf32>
// CHECK:         %[[LANES:.+]] = iree_vector_ext.to_layout %[[LOOP]]#0
// CHECK:         vector.multi_reduction <add>, %[[LANES]], %{{.+}} [1] : vector<64x4xf32> to vector<64xf32>
func.func @scaled(%x: vector<64x64xf32>, %scale: vector<64xf32>, %n: index) -> vector<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = arith.constant dense<0.000000e+00> : vector<64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %init, %other = %init) -> (vector<64xf32>, vector<64xf32>) {
    %y = iree_vector_ext.to_layout %x to layout(#terms) : vector<64x64xf32>
    %scaled = arith.mulf %scale, %sum : vector<64xf32>
    %next = vector.multi_reduction <add>, %y, %scaled [1] : vector<64x64xf32> to vector<64xf32>
    scf.yield %next, %other : vector<64xf32>, vector<64xf32>
  }
  return %r#0 : vector<64xf32>
}

// A sum that is not scaled.

// CHECK-LABEL: func.func @plain
// CHECK:         vector.multi_reduction <add>, %{{.+}} [2] : vector<64x4x16xf32> to vector<64x4xf32>
// CHECK:         vector.multi_reduction <add>, %{{.+}} [1] : vector<64x4xf32> to vector<64xf32>
func.func @plain(%x: vector<64x64xf32>, %scale: vector<64xf32>, %n: index) -> vector<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = arith.constant dense<0.000000e+00> : vector<64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %init, %other = %init) -> (vector<64xf32>, vector<64xf32>) {
    %y = iree_vector_ext.to_layout %x to layout(#terms) : vector<64x64xf32>
    %next = vector.multi_reduction <add>, %y, %sum [1] : vector<64x64xf32> to vector<64xf32>
    scf.yield %next, %other : vector<64xf32>, vector<64xf32>
  }
  return %r#0 : vector<64xf32>
}
