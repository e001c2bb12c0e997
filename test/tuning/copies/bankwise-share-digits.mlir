// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-share-digits))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope | FileCheck %s

// 128 places further on are 8 rows of 16, and 2 blocks of 64, so that all digits but the first are the same. 40 are no
// whole row. Of a number that may be below 0 nothing is said.

// CHECK-LABEL: func.func @digits
// CHECK:         %[[T:.+]] = gpu.thread_id
// CHECK:         %[[D:.+]]:2 = affine.delinearize_index %[[T]] into (64, 16)
// CHECK:         %[[ROW:.+]] = arith.addi %[[D]]#0, %{{.+}} overflow<nsw, nuw> : index
// CHECK:         %[[E:.+]]:3 = affine.delinearize_index %[[T]] into (4, 16)
// CHECK:         %[[BLOCK:.+]] = arith.addi %[[E]]#0, %{{.+}} overflow<nsw, nuw> : index
// CHECK:         %[[ODD:.+]] = arith.addi %[[T]], %c40
// CHECK:         %[[F:.+]]:2 = affine.delinearize_index %[[ODD]] into (64, 16)
// CHECK:         %[[G:.+]]:2 = affine.delinearize_index %{{.+}} into (64, 16)
// CHECK:         return %[[ROW]], %[[D]]#1, %[[BLOCK]], %[[E]]#1, %[[E]]#2, %[[F]]#0, %[[F]]#1, %[[G]]#0, %[[G]]#1
func.func @digits(%n: index) -> (index, index, index, index, index, index, index, index, index) {
  %c40 = arith.constant 40 : index
  %c128 = arith.constant 128 : index
  %t = gpu.thread_id x upper_bound 128
  %0 = arith.addi %t, %c128 overflow<nsw> : index
  %d:2 = affine.delinearize_index %0 into (64, 16) : index, index
  %e:3 = affine.delinearize_index %0 into (4, 16) : index, index, index
  %1 = arith.addi %t, %c40 : index
  %f:2 = affine.delinearize_index %1 into (64, 16) : index, index
  %2 = arith.addi %n, %c128 : index
  %g:2 = affine.delinearize_index %2 into (64, 16) : index, index
  return %d#0, %d#1, %e#0, %e#1, %e#2, %f#0, %f#1, %g#0, %g#1 : index, index, index, index, index, index, index, index, index
}

// Beside wgmma, which leaves no mma.sync, addresses of cp.async gain nothing.

// CHECK-LABEL: func.func @beside_wgmma
// CHECK:         %[[N:.+]] = arith.addi
// CHECK:         %[[D:.+]]:2 = affine.delinearize_index %[[N]] into (64, 16)
// CHECK:         nvgpu.device_async_copy %{{.+}}[%[[D]]#0, %[[D]]#1]
func.func @beside_wgmma(%from: memref<64x16xf32>, %to: memref<64x16xf32, #gpu.address_space<workgroup>>) {
  %c128 = arith.constant 128 : index
  %t = gpu.thread_id x upper_bound 128
  %0 = arith.addi %t, %c128 overflow<nsw> : index
  %d:2 = affine.delinearize_index %0 into (64, 16) : index, index
  %copied = nvgpu.device_async_copy %from[%d#0, %d#1], %to[%d#0, %d#1], 1 : memref<64x16xf32> to memref<64x16xf32, #gpu.address_space<workgroup>>
  return
}

// The same beside mma.sync.

// CHECK-LABEL: func.func @beside_mma_sync
// CHECK:         %[[D:.+]]:2 = affine.delinearize_index %thread_id_x into (64, 16)
// CHECK:         arith.addi %[[D]]#0, %{{.+}} overflow<nsw, nuw> : index
func.func @beside_mma_sync(%from: memref<64x16xf32>, %to: memref<64x16xf32, #gpu.address_space<workgroup>>, %a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %c128 = arith.constant 128 : index
  %t = gpu.thread_id x upper_bound 128
  %0 = arith.addi %t, %c128 overflow<nsw> : index
  %d:2 = affine.delinearize_index %0 into (64, 16) : index, index
  %copied = nvgpu.device_async_copy %from[%d#0, %d#1], %to[%d#0, %d#1], 1 : memref<64x16xf32> to memref<64x16xf32, #gpu.address_space<workgroup>>
  %r = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %r : vector<2x2xf32>
}
