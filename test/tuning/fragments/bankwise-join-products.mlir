// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-join-products,canonicalize))' --iree-gpu-test-target=gfx950 --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-join-products))' --iree-gpu-test-target=gfx942 | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: 32x32x16

// The third product of the chain has nobody to be joined with.

// CHECK-LABEL: func.func @chain
// CHECK-SAME:    %[[A:.+]]: vector<4xf16>, %[[B:.+]]: vector<4xf16>, %[[C:.+]]: vector<16xf32>
// CHECK:         %[[LEFT:.+]] = vector.insert_strided_slice %[[B]], %{{.+}} offsets = [4]
// CHECK:         %[[RIGHT:.+]] = vector.insert_strided_slice %[[A]], %{{.+}} offsets = [4]
// CHECK:         %[[XY:.+]] = amdgpu.mfma 32x32x16 %[[LEFT]] * %[[RIGHT]] + %[[C]] : vector<8xf16>, vector<8xf16>, vector<16xf32>
// CHECK:         amdgpu.mfma 32x32x8 %[[A]] * %[[A]] + %[[XY]]
// expected-remark @+1 {{2 products are 1 of twice as many summed elements}}
func.func @chain(%a: vector<4xf16>, %b: vector<4xf16>, %c: vector<16xf32>) -> vector<16xf32> {
  %x = amdgpu.mfma 32x32x8 %a * %b + %c : vector<4xf16>, vector<4xf16>, vector<16xf32>
  %y = amdgpu.mfma 32x32x8 %b * %a + %x : vector<4xf16>, vector<4xf16>, vector<16xf32>
  %z = amdgpu.mfma 32x32x8 %a * %a + %y : vector<4xf16>, vector<4xf16>, vector<16xf32>
  return %z : vector<16xf32>
}

// -----

// The first sum is wanted itself; f32 has no instruction that multiplies twice as much.

// CHECK-LABEL: func.func @alone
// CHECK-COUNT-2: amdgpu.mfma 16x16x16
// CHECK-COUNT-2: amdgpu.mfma 16x16x4
func.func @alone(%a: vector<4xbf16>, %s: f32, %c: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  %x = amdgpu.mfma 16x16x16 %a * %a + %c : vector<4xbf16>, vector<4xbf16>, vector<4xf32>
  %y = amdgpu.mfma 16x16x16 %a * %a + %x : vector<4xbf16>, vector<4xbf16>, vector<4xf32>
  %v = amdgpu.mfma 16x16x4 %s * %s + %c : f32, f32, vector<4xf32>
  %w = amdgpu.mfma 16x16x4 %s * %s + %v : f32, f32, vector<4xf32>
  return %x, %y, %w : vector<4xf32>, vector<4xf32>, vector<4xf32>
}
