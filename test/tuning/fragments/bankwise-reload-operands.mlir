// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-reload-operands{most-registers=33}))' --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-reload-operands))' --bankwise-remarks 2>&1 | FileCheck %s --check-prefix=ENOUGH
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-reload-operands{most-registers=33}))' | FileCheck %s --check-prefix=AMD

// Two operands of 4 registers, one of 2 and an accumulator of 4 live through the
// loop, and 20 are added for the rest. With one operand at a time, and two addresses, it is 32.

// CHECK-LABEL: func.func @scaled
// CHECK-SAME:    (%[[V:.+]]: vector<8xf16>, %[[B:.+]]: vector<2x2xf16>, %{{.+}}: vector<2x2xf32>, %[[I:.+]]: index, %[[J:.+]]: index)
// CHECK:         %[[TILE:.+]] = memref.alloc()
// CHECK-NEXT:    %[[S:.+]] = arith.constant dense<1.250000e-01> : vector<8xf16>
// CHECK-NEXT:    %[[W:.+]] = arith.mulf %[[V]], %[[S]] : vector<8xf16>
// CHECK-NEXT:    vector.store %[[W]], %[[TILE]][%[[I]]]
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    scf.for {{.+}} iter_args(%[[X:.+]] = %{{.+}})
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      %[[M0:.+]] = nvgpu.ldmatrix %[[TILE]][%[[I]]]
// CHECK-NEXT:      %[[Y:.+]] = nvgpu.mma.sync(%[[M0]], %[[B]], %[[X]])
// CHECK-NEXT:      %[[M1:.+]] = nvgpu.ldmatrix %[[TILE]][%[[J]]]
// CHECK-NEXT:      nvgpu.mma.sync(%[[M1]], %[[B]], %[[Y]])

// ENOUGH: remark: operands from memref<512xf16> stay in registers: the loop needs about 34 registers of 255
// ENOUGH-LABEL: func.func @scaled
// ENOUGH-COUNT-2: nvgpu.ldmatrix
// ENOUGH:         scf.for

// AMD-LABEL: func.func @scaled
// AMD-COUNT-2: nvgpu.ldmatrix
// AMD:         scf.for

func.func @scaled(%v: vector<8xf16>, %b: vector<2x2xf16>, %acc: vector<2x2xf32>, %i: index, %j: index) -> vector<2x2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant dense<1.250000e-01> : vector<4x2xf16>
  %tile = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  vector.store %v, %tile[%i] : memref<512xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  gpu.barrier memfence [#gpu.address_space<workgroup>]
  %m0 = nvgpu.ldmatrix %tile[%i] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %m1 = nvgpu.ldmatrix %tile[%j] numTiles = 4 transpose = false : memref<512xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
  %q0 = arith.mulf %m0, %s : vector<4x2xf16>
  %q1 = arith.mulf %m1, %s : vector<4x2xf16>
  // expected-remark @+1 {{operands from memref<512xf16> are read in every iteration: the loop needs about 34 registers of 33, and 32 so}}
  %r = scf.for %t = %c0 to %c4 step %c1 iter_args(%x = %acc) -> (vector<2x2xf32>) {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %y = nvgpu.mma.sync(%q0, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z = nvgpu.mma.sync(%q1, %b, %y) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %z : vector<2x2xf32>
  }
  memref.dealloc %tile : memref<512xf16, #gpu.address_space<workgroup>>
  return %r : vector<2x2xf32>
}
