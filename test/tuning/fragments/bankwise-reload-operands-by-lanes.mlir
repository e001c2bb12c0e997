// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-reload-operands{most-registers=30 by-lanes=true}))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// Two vectors of 4 and a sum of 4 live through the loop. They are scaled as they are stored.

// CHECK-LABEL: func.func @by_lanes
// CHECK:         %[[W:.+]] = arith.mulf %arg0, %{{.+}} : vector<4xf32>
// CHECK-NEXT:    vector.store %[[W]], %[[TILE:.+]][%arg2]
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    scf.for {{.+}} iter_args(%[[X:.+]] = %{{.+}})
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %[[A:.+]] = vector.load %[[TILE]][%arg2]
// CHECK-NEXT:      %[[Y:.+]] = math.fma %[[A]], %arg1, %[[X]]
// CHECK-NEXT:      %[[B:.+]] = vector.load %[[TILE]][%arg3]
// CHECK-NEXT:      math.fma %[[B]], %arg1, %[[Y]]
func.func @by_lanes(%v: vector<4xf32>, %k: vector<4xf32>, %i: index, %j: index) -> vector<4xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4xf32>
  %tile = memref.alloc() : memref<512xf32, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %a = vector.load %tile[%i] : memref<512xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %b = vector.load %tile[%j] : memref<512xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %p = arith.mulf %a, %s : vector<4xf32>
  %q = arith.mulf %b, %s : vector<4xf32>
  // expected-remark @+1 {{operands from memref<512xf32> are read in every iteration: the loop needs about 36 registers of 30, and 34 so}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %v) -> (vector<4xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = math.fma %p, %k, %x : vector<4xf32>
    %z = math.fma %q, %k, %y : vector<4xf32>
    scf.yield %z : vector<4xf32>
  }
  return %r : vector<4xf32>
}
