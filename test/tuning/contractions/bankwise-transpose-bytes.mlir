// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-transpose-bytes))' | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-transpose-bytes))' | FileCheck %s --check-prefix=NVIDIA

// NVIDIA-NOT: llvm.amdgcn.perm

// Eight rows of four bytes are two blocks of 4 x 4: 16 permutations for 8 words.

// CHECK-LABEL: func.func @rows_of_four
// CHECK:         %[[ROWS:.+]] = vector.shape_cast %{{.+}} : vector<1x8x4x1xi8> to vector<8x4xi8>
// CHECK:         %[[ROW:.+]] = vector.extract %[[ROWS]][0] : vector<4xi8>
// CHECK-NEXT:    vector.bitcast %[[ROW]] : vector<4xi8> to vector<1xi32>
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.amdgcn.perm"
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         %[[LAST:.+]] = vector.insert %{{.+}}, %{{.+}} [3] : vector<8xi8> into vector<4x8xi8>
// CHECK-NEXT:    %[[RESULT:.+]] = vector.shape_cast %[[LAST]] : vector<4x8xi8> to vector<1x4x1x8xi8>
// CHECK-NEXT:    return %[[RESULT]]
func.func @rows_of_four(%m: memref<8x64xi8, #gpu.address_space<workgroup>>, %i: index) -> vector<1x4x1x8xi8> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %r = vector.transfer_read %m[%c0, %i], %pad {in_bounds = [true, true]} : memref<8x64xi8, #gpu.address_space<workgroup>>, vector<8x4xi8>
  %s = vector.shape_cast %r : vector<8x4xi8> to vector<1x8x4x1xi8>
  %t = vector.transpose %s, [0, 2, 3, 1] : vector<1x8x4x1xi8> to vector<1x4x1x8xi8>
  return %t : vector<1x4x1x8xi8>
}

// CHECK-LABEL: func.func @rows_of_two
// CHECK:         vector.bitcast %{{.+}} : vector<2xf8E4M3FNUZ> to vector<1xi16>
// CHECK:         arith.extui %{{.+}} : i16 to i32
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.amdgcn.perm"
// CHECK-NOT:     llvm.call_intrinsic
func.func @rows_of_two(%m: memref<4x64xf8E4M3FNUZ, #gpu.address_space<workgroup>>, %i: index) -> vector<2x4xf8E4M3FNUZ> {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f8E4M3FNUZ
  %r = vector.transfer_read %m[%c0, %i], %pad {in_bounds = [true, true]} : memref<4x64xf8E4M3FNUZ, #gpu.address_space<workgroup>>, vector<4x2xf8E4M3FNUZ>
  %t = vector.transpose %r, [1, 0] : vector<4x2xf8E4M3FNUZ> to vector<2x4xf8E4M3FNUZ>
  return %t : vector<2x4xf8E4M3FNUZ>
}

// LLVM packs single bytes best by itself, and elements of 16 bits too.

// CHECK-LABEL: func.func @single_bytes
// CHECK-NOT:     llvm.call_intrinsic
func.func @single_bytes(%m: memref<8x4x64xi8, #gpu.address_space<workgroup>>, %h: memref<4x64xf16, #gpu.address_space<workgroup>>, %v: vector<4x4xi8>, %i: index) -> (vector<4x8xi8>, vector<4x4xf16>, vector<4x4xi8>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f16
  %r = vector.transfer_read %m[%c0, %c0, %i], %pad {in_bounds = [true, true, true]} : memref<8x4x64xi8, #gpu.address_space<workgroup>>, vector<8x4x1xi8>
  %s = vector.shape_cast %r : vector<8x4x1xi8> to vector<8x4xi8>
  %t = vector.transpose %s, [1, 0] : vector<8x4xi8> to vector<4x8xi8>
  %q = vector.transfer_read %h[%c0, %i], %zero {in_bounds = [true, true]} : memref<4x64xf16, #gpu.address_space<workgroup>>, vector<4x4xf16>
  %u = vector.transpose %q, [1, 0] : vector<4x4xf16> to vector<4x4xf16>
  %w = vector.transpose %v, [1, 0] : vector<4x4xi8> to vector<4x4xi8>
  return %t, %u, %w : vector<4x8xi8>, vector<4x4xf16>, vector<4x4xi8>
}
