// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-pad-unhinted-allocs,canonicalize))' --iree-gpu-test-target=gfx942 --mlir-print-local-scope | FileCheck %s

// A column of f16: rows of 128 bytes start on one bank, 132 bytes apart they do not.
// Stock pads by 8 bytes.

#launch = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
// CHECK-LABEL: func.func @column(
// CHECK: %[[P:.+]] = memref.alloc() : memref<64x66xf16, #gpu.address_space<workgroup>>
// CHECK-NEXT: %[[V:.+]] = memref.subview %[[P]][0, 0] [64, 64] [1, 1] : memref<64x66xf16, #gpu.address_space<workgroup>> to memref<64x64xf16, strided<[66, 1]>, #gpu.address_space<workgroup>>
// CHECK-NEXT: memref.load %[[V]][%{{.+}}, %{{.+}}] : memref<64x64xf16, strided<[66, 1]>, #gpu.address_space<workgroup>>
// CHECK-NEXT: memref.dealloc %[[V]]
func.func @column() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  memref.dealloc %m : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// Every view follows the new strides.

// CHECK-LABEL: func.func @views(
// CHECK: memref.alloc() : memref<8x8x66xf16, #gpu.address_space<workgroup>>
// CHECK: memref.collapse_shape {{.+}} into memref<64x64xf16, strided<[66, 1]>, #gpu.address_space<workgroup>>
// CHECK: memref.subview {{.+}} to memref<32x16xf16, strided<[132, 1], offset: 74>, #gpu.address_space<workgroup>>
// CHECK: memref.expand_shape {{.+}} into memref<4x8x16xf16, strided<[1056, 132, 1], offset: 74>, #gpu.address_space<workgroup>>
func.func @views() -> (f16, f16) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.thread_id x
  %h:2 = affine.delinearize_index %x into (8, 8) : index, index
  %m = memref.alloc() : memref<8x8x64xf16, #gpu.address_space<workgroup>>
  %c = memref.collapse_shape %m [[0, 1], [2]] : memref<8x8x64xf16, #gpu.address_space<workgroup>> into memref<64x64xf16, #gpu.address_space<workgroup>>
  %s = memref.subview %c[1, 8] [32, 16] [2, 1] : memref<64x64xf16, #gpu.address_space<workgroup>> to memref<32x16xf16, strided<[128, 1], offset: 72>, #gpu.address_space<workgroup>>
  %e = memref.expand_shape %s [[0, 1], [2]] output_shape [4, 8, 16] : memref<32x16xf16, strided<[128, 1], offset: 72>, #gpu.address_space<workgroup>> into memref<4x8x16xf16, strided<[1024, 128, 1], offset: 72>, #gpu.address_space<workgroup>>
  %v = memref.load %c[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  %w = memref.load %e[%c1, %h#1, %c0] : memref<4x8x16xf16, strided<[1024, 128, 1], offset: 72>, #gpu.address_space<workgroup>>
  return %v, %w : f16, f16
}

// Lanes read 16 bytes of their own row: 4 bytes of padding would take the alignment away, and 8
// bytes are what the LDS budget (stock's padding) allows.

// CHECK-LABEL: func.func @rows(
// CHECK: memref.alloc() : memref<64x68xf16, #gpu.address_space<workgroup>>
func.func @rows() -> vector<8xf16> attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = vector.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  return %v : vector<8xf16>
}

// Four lanes read 16 bytes of each row: stock's 8 bytes leave two rows on the same banks, 16 do not.
// A tile beside it needs no padding: what that one leaves is used here.

// CHECK-LABEL: func.func @unused_budget(
// CHECK-DAG: memref.alloc() : memref<64x72xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.alloc() : memref<64x2xf16, #gpu.address_space<workgroup>>
func.func @unused_budget() -> (vector<2xf16>, vector<2xf16>) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %r = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%x)
  %q = affine.apply affine_map<(d0) -> (d0 mod 4 * 2)>(%x)
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %n = memref.alloc() : memref<64x2xf16, #gpu.address_space<workgroup>>
  %v = vector.load %m[%r, %q] : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %w = vector.load %n[%x, %c0] : memref<64x2xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  return %v, %w : vector<2xf16>, vector<2xf16>
}

// A swizzled tile is left alone; what stock would have padded it by goes to the other one.

// CHECK-LABEL: func.func @beside_a_hint(
// CHECK-DAG: memref.alloc() : memref<64x72xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
func.func @beside_a_hint() -> (vector<2xf16>, vector<8xf16>) attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %r = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%x)
  %q = affine.apply affine_map<(d0) -> (d0 mod 4 * 2)>(%x)
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %n = memref.alloc() : memref<4096xf16, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %n[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xf16, #gpu.address_space<workgroup>>
  %e = memref.expand_shape %h [[0, 1]] output_shape [64, 64] : memref<4096xf16, #gpu.address_space<workgroup>> into memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = vector.load %m[%r, %q] : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %w = vector.load %e[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<8xf16>
  return %v, %w : vector<2xf16>, vector<8xf16>
}

// An access that is not known: stock's amount.

// CHECK-LABEL: func.func @unknown_access(
// CHECK: memref.alloc() : memref<64x68xf16, #gpu.address_space<workgroup>>
func.func @unknown_access(%i: index) -> f16 attributes {translation_info = #launch} {
  %m = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%i, %i] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// The allocation's alignment stays.

// CHECK-LABEL: func.func @aligned(
// CHECK: memref.alloc() alignment = 64 : memref<64x66xf16, #gpu.address_space<workgroup>>
func.func @aligned() -> f16 attributes {translation_info = #launch} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() alignment = 64 : memref<64x64xf16, #gpu.address_space<workgroup>>
  %v = memref.load %m[%x, %c0] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return %v : f16
}

// What distribution allocates for reductions across subgroups: four lanes of each wave store to a
// row, and all lanes read columns of 16-byte pieces. Rows 8 bytes apart make a ds_read2_b64 of each,
// without conflicts: 256 cycles. Rows 16 bytes apart run fewer phases, and take 320.

#eight_waves = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64>
// CHECK-LABEL: func.func @late(
// CHECK: memref.alloc() : memref<8x1x34xf32, #gpu.address_space<workgroup>>
func.func @late(%v: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>) attributes {translation_info = #eight_waves} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x upper_bound 512
  %a = memref.alloc() : memref<8x1x32xf32, #gpu.address_space<workgroup>>
  %wave = affine.apply affine_map<(d0) -> (d0 floordiv 64)>(%x)
  %row = affine.apply affine_map<(d0) -> (d0 mod 8)>(%x)
  %c = affine.apply affine_map<(d0) -> (d0 mod 64 floordiv 16 * 4)>(%x)
  %d = affine.apply affine_map<(d0) -> (d0 mod 64 floordiv 16 * 4 + 16)>(%x)
  %lane = affine.apply affine_map<(d0) -> (d0 mod 16)>(%x)
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    vector.store %v, %a[%wave, %c0, %c] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    vector.store %v, %a[%wave, %c0, %d] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  }
  gpu.barrier
  %0 = vector.load %a[%row, %c0, %c] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  %1 = vector.load %a[%row, %c0, %d] : memref<8x1x32xf32, #gpu.address_space<workgroup>>, vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}
