// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-form-ldmatrix,canonicalize,cse))' --iree-gpu-test-target=sm_80 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#two_warps = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 32>

// Lane l gives the row l mod 8 of matrix l / 8: 8 rows further down for bit 0 of the matrix, 8 columns
// further right for bit 1. The rows of the second operand begin 16 columns behind those of the first.

// CHECK-LABEL: func.func @operands_a
//   CHECK-DAG:   %[[T:.+]] = gpu.thread_id
//   CHECK-DAG:   %[[A:.+]] = memref.alloc() alignment = 16
// CHECK-COUNT-2:   = arith.addi %{{.+}} : index
//       CHECK:   %[[F0:.+]] = nvgpu.ldmatrix %[[A]][%[[ROW:.+]], %[[COLUMN:.+]]] numTiles = 4 transpose = false : {{.*}} -> vector<4x2xf16>
//       CHECK:   %[[C16:.+]] = arith.addi %[[COLUMN]], %{{.+}} overflow<nsw>
//       CHECK:   %[[F1:.+]] = nvgpu.ldmatrix %[[A]][%[[ROW]], %[[C16]]] numTiles = 4 transpose = false
//   CHECK-NOT:   vector.load
//       CHECK:   nvgpu.mma.sync
func.func @operands_a(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<16x32xf16> 8 loads become 2 ldmatrix}}
  %m = memref.alloc() : memref<16x32xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %r8 = affine.apply affine_map<(t) -> (t floordiv 4 + 8)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %k16 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 16)>(%t)
  %k24 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 24)>(%t)
  %0 = vector.load %m[%r, %k] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r8, %k] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %2 = vector.load %m[%r, %k8] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %3 = vector.load %m[%r8, %k8] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %4 = vector.load %m[%r, %k16] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %5 = vector.load %m[%r8, %k16] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %6 = vector.load %m[%r, %k24] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %7 = vector.load %m[%r8, %k24] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %e2:2 = vector.to_elements %2 : vector<2xf16>
  %e3:2 = vector.to_elements %3 : vector<2xf16>
  %a0 = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1, %e2#0, %e2#1, %e3#0, %e3#1 : vector<4x2xf16>
  %e4:2 = vector.to_elements %4 : vector<2xf16>
  %e5:2 = vector.to_elements %5 : vector<2xf16>
  %e6:2 = vector.to_elements %6 : vector<2xf16>
  %e7:2 = vector.to_elements %7 : vector<2xf16>
  %a1 = vector.from_elements %e4#0, %e4#1, %e5#0, %e5#1, %e6#0, %e6#1, %e7#0, %e7#1 : vector<4x2xf16>
  %x = nvgpu.mma.sync(%a0, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a1, %b, %x) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %y : vector<2x2xf32>
}

// A row-major B: a lane reads rows 2 t, 2 t + 1 and 8 below of one column. Of the three operands two make
// one ldmatrix of 4 matrices, and one of 2 is left. The factor between load and register stays there.

// CHECK-LABEL: func.func @operands_b
//       CHECK:   nvgpu.ldmatrix %{{.+}} numTiles = 4 transpose = true : {{.*}} -> vector<4x2xbf16>
//       CHECK:   arith.mulf
//       CHECK:   nvgpu.ldmatrix %{{.+}} numTiles = 2 transpose = true : {{.*}} -> vector<2x2xbf16>
//   CHECK-NOT:   .load
//       CHECK:   nvgpu.mma.sync
func.func @operands_b(%a: vector<4x2xbf16>, %c: vector<2x2xf32>, %factor: vector<1xbf16>) -> (vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #info} {
  %t = gpu.thread_id x
  %two = arith.constant dense<2.0> : vector<1xbf16>
  // expected-remark @+1 {{of memref<16x24xbf16> 12 loads become 2 ldmatrix, 2 of them transposing}}
  %m = memref.alloc() : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %k0 = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k1 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 1)>(%t)
  %k2 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %k3 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 9)>(%t)
  %n = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %n8 = affine.apply affine_map<(t) -> (t floordiv 4 + 8)>(%t)
  %n16 = affine.apply affine_map<(t) -> (t floordiv 4 + 16)>(%t)
  %0 = vector.load %m[%k0, %n] : memref<16x24xbf16, #gpu.address_space<workgroup>>, vector<1xbf16>
  %1 = vector.load %m[%k1, %n] : memref<16x24xbf16, #gpu.address_space<workgroup>>, vector<1xbf16>
  %2 = vector.load %m[%k2, %n] : memref<16x24xbf16, #gpu.address_space<workgroup>>, vector<1xbf16>
  %3 = vector.load %m[%k3, %n] : memref<16x24xbf16, #gpu.address_space<workgroup>>, vector<1xbf16>
  %s0 = arith.mulf %0, %two : vector<1xbf16>
  %e0 = vector.extract %s0[0] : bf16 from vector<1xbf16>
  %e1 = vector.extract %1[0] : bf16 from vector<1xbf16>
  %e2 = vector.extract %2[0] : bf16 from vector<1xbf16>
  %e3 = vector.extract %3[0] : bf16 from vector<1xbf16>
  %b0 = vector.from_elements %e0, %e1, %e2, %e3 : vector<2x2xbf16>
  %4 = memref.load %m[%k0, %n8] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %5 = memref.load %m[%k1, %n8] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %6 = memref.load %m[%k2, %n8] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %7 = memref.load %m[%k3, %n8] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %b1 = vector.from_elements %4, %5, %6, %7 : vector<2x2xbf16>
  %8 = memref.load %m[%k0, %n16] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %9 = memref.load %m[%k1, %n16] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %10 = memref.load %m[%k2, %n16] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %11 = memref.load %m[%k3, %n16] : memref<16x24xbf16, #gpu.address_space<workgroup>>
  %b2 = vector.from_elements %8, %9, %10, %11 : vector<2x2xbf16>
  %x = nvgpu.mma.sync(%a, %b0, %c) mmaShape = [16, 8, 16] : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = nvgpu.mma.sync(%a, %b1, %c) mmaShape = [16, 8, 16] : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %z = nvgpu.mma.sync(%a, %b2, %c) mmaShape = [16, 8, 16] : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x, %y, %z : vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>
}

// The condition holds in whole warps, and the swizzle moves 16 bytes together.

// CHECK-LABEL: func.func @in_one_warp_swizzled
//       CHECK:   scf.if
//       CHECK:     nvgpu.ldmatrix %{{.+}} numTiles = 2 transpose = false
func.func @in_one_warp_swizzled(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #two_warps} {
  %t = gpu.thread_id x
  %c32 = arith.constant 32 : index
  // expected-remark @+1 {{2 loads become 1 ldmatrix}}
  %m = memref.alloc() : memref<512xf16, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<64, 8>] : memref<512xf16, #gpu.address_space<workgroup>>
  %first = arith.cmpi ult, %t, %c32 : index
  %r = scf.if %first -> (vector<2x2xf32>) {
    %o = affine.apply affine_map<(t) -> (t mod 32 floordiv 4 * 64 + t mod 4 * 2)>(%t)
    %o8 = affine.apply affine_map<(t) -> (t mod 32 floordiv 4 * 64 + t mod 4 * 2 + 8)>(%t)
    %0 = vector.load %h[%o] : memref<512xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %1 = vector.load %h[%o8] : memref<512xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %e0:2 = vector.to_elements %0 : vector<2xf16>
    %e1:2 = vector.to_elements %1 : vector<2xf16>
    %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
    %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %x : vector<2x2xf32>
  } else {
    scf.yield %c : vector<2x2xf32>
  }
  return %r : vector<2x2xf32>
}

#two_rows = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 2, 1] subgroup_size = 32>

// What is computed in one branch is not there in the other one. The warp of a thread is its y.

// CHECK-LABEL: func.func @in_both_branches
//   CHECK-DAG:   %[[Y:.+]] = gpu.thread_id y
//       CHECK:   scf.if
//       CHECK:     %[[ROW:.+]] = affine.apply {{.*}}%[[Y]]
//       CHECK:     nvgpu.ldmatrix %{{.+}}[%[[ROW]], %{{.+}}] numTiles = 2 transpose = false
//       CHECK:   } else {
//       CHECK:     %[[OTHER:.+]] = affine.apply {{.*}}%[[Y]]
//       CHECK:     nvgpu.ldmatrix %{{.+}}[%[[OTHER]], %{{.+}}] numTiles = 2 transpose = false
func.func @in_both_branches(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #two_rows} {
  %t = gpu.thread_id x
  %y = gpu.thread_id y
  %zero = arith.constant 0 : index
  // expected-remark @+1 {{4 loads become 2 ldmatrix}}
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t, y) -> (t floordiv 4 + y * 8)>(%t, %y)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %on = arith.cmpi eq, %y, %zero : index
  %s = scf.if %on -> (vector<2x2xf32>) {
    %p0 = vector.load %m[%r, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %p1 = vector.load %m[%r, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %p2:2 = vector.to_elements %p0 : vector<2xf16>
    %p3:2 = vector.to_elements %p1 : vector<2xf16>
    %p4 = vector.from_elements %p2#0, %p2#1, %p3#0, %p3#1 : vector<2x2xf16>
    %px = nvgpu.mma.sync(%a, %p4, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %px : vector<2x2xf32>
  } else {
    %q0 = vector.load %m[%r, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %q1 = vector.load %m[%r, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %q2:2 = vector.to_elements %q0 : vector<2xf16>
    %q3:2 = vector.to_elements %q1 : vector<2xf16>
    %q4 = vector.from_elements %q2#0, %q2#1, %q3#0, %q3#1 : vector<2x2xf16>
    %qx = nvgpu.mma.sync(%a, %q4, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %qx : vector<2x2xf32>
  }
  return %s : vector<2x2xf32>
}

// Each operand has its own tile, and only half of an operand would be read from one tile.

// CHECK-LABEL: func.func @of_two_tiles
//       CHECK:   nvgpu.ldmatrix %{{.+}}[%[[ROW:.+]], %[[COLUMN:.+]]] numTiles = 2 transpose = false
//       CHECK:   nvgpu.ldmatrix %{{.+}}[%[[ROW]], %[[COLUMN]]] numTiles = 2 transpose = false
//   CHECK-NOT:   nvgpu.ldmatrix
//       CHECK:   vector.load
//       CHECK:   vector.load
func.func @of_two_tiles(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> (vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>) attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<16x16xf16> 2 loads become 1 ldmatrix; loads kept: 1 (they read different memrefs)}}
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{of memref<16x16xf16> 2 loads become 1 ldmatrix; loads kept: 1 (they read different memrefs)}}
  %n = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %r8 = affine.apply affine_map<(t) -> (t floordiv 4 + 8)>(%t)
    %p0 = vector.load %m[%r, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %p1 = vector.load %m[%r, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %p2:2 = vector.to_elements %p0 : vector<2xf16>
    %p3:2 = vector.to_elements %p1 : vector<2xf16>
    %p4 = vector.from_elements %p2#0, %p2#1, %p3#0, %p3#1 : vector<2x2xf16>
    %px = nvgpu.mma.sync(%a, %p4, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %q0 = vector.load %n[%r, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %q1 = vector.load %n[%r, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %q2:2 = vector.to_elements %q0 : vector<2xf16>
    %q3:2 = vector.to_elements %q1 : vector<2xf16>
    %q4 = vector.from_elements %q2#0, %q2#1, %q3#0, %q3#1 : vector<2x2xf16>
    %qx = nvgpu.mma.sync(%a, %q4, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %z0 = vector.load %m[%r8, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %z1 = vector.load %n[%r8, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
    %z2:2 = vector.to_elements %z0 : vector<2xf16>
    %z3:2 = vector.to_elements %z1 : vector<2xf16>
    %z4 = vector.from_elements %z2#0, %z2#1, %z3#0, %z3#1 : vector<2x2xf16>
    %zx = nvgpu.mma.sync(%a, %z4, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %px, %qx, %zx : vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>
}

// The tile times itself: what the first operand has loaded serves the second one too.

// CHECK-LABEL: func.func @loads_of_two_operands
//       CHECK:   %[[F:.+]] = nvgpu.ldmatrix %{{.+}} numTiles = 4 transpose = false
//   CHECK-NOT:   nvgpu.ldmatrix
//   CHECK-NOT:   vector.load
func.func @loads_of_two_operands(%c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<16x16xf16> 4 loads become 1 ldmatrix}}
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %r8 = affine.apply affine_map<(t) -> (t floordiv 4 + 8)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r8, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %2 = vector.load %m[%r, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %3 = vector.load %m[%r8, %k8] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %e2:2 = vector.to_elements %2 : vector<2xf16>
  %e3:2 = vector.to_elements %3 : vector<2xf16>
  %a = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1, %e2#0, %e2#1, %e3#0, %e3#1 : vector<4x2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e2#0, %e2#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// One register holds neighbours of a row and the other one neighbours of a column: no matrix of ours.

// CHECK-LABEL: func.func @of_two_kinds
//   CHECK-NOT:   nvgpu.ldmatrix
func.func @of_two_kinds(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<16x16xf16> nothing becomes ldmatrix: no narrow loads from it fill the registers of a matrix operand, alike in each register}}
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k1 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 1)>(%t)
  %0 = vector.load %m[%r, %k] : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = memref.load %m[%k, %r] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %2 = memref.load %m[%k1, %r] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %e:2 = vector.to_elements %0 : vector<2xf16>
  %b = vector.from_elements %e#0, %e#1, %1, %2 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}

// The second operand is 8 rows behind the first one for warp 0, in its rows for warp 1.

// CHECK-LABEL: func.func @apart_by_warps
//       CHECK:   nvgpu.ldmatrix %{{.+}} numTiles = 2 transpose = false
//       CHECK:   nvgpu.ldmatrix %{{.+}} numTiles = 2 transpose = false
//   CHECK-NOT:   vector.load
func.func @apart_by_warps(%a: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #two_warps} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<16x48xf16> 4 loads become 2 ldmatrix}}
  %m = memref.alloc() : memref<16x48xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %other = affine.apply affine_map<(t) -> (t mod 32 floordiv 4 + 8)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %p0 = vector.load %m[%r, %k] : memref<16x48xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %p1 = vector.load %m[%r, %k8] : memref<16x48xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %p2:2 = vector.to_elements %p0 : vector<2xf16>
  %p3:2 = vector.to_elements %p1 : vector<2xf16>
  %p4 = vector.from_elements %p2#0, %p2#1, %p3#0, %p3#1 : vector<2x2xf16>
  %q0 = vector.load %m[%other, %k] : memref<16x48xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %q1 = vector.load %m[%other, %k8] : memref<16x48xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %q2:2 = vector.to_elements %q0 : vector<2xf16>
  %q3:2 = vector.to_elements %q1 : vector<2xf16>
  %q4 = vector.from_elements %q2#0, %q2#1, %q3#0, %q3#1 : vector<2x2xf16>
  %px = nvgpu.mma.sync(%a, %p4, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  %qx = nvgpu.mma.sync(%a, %q4, %px) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %qx : vector<2x2xf32>
}

// The fourth matrix is 8 columns too far right: the halves of the operand are read each by itself.

// CHECK-LABEL: func.func @fourth_matrix_elsewhere
//       CHECK:   nvgpu.ldmatrix %{{.+}} numTiles = 2 transpose = false
//       CHECK:   nvgpu.ldmatrix %{{.+}} numTiles = 2 transpose = false
//   CHECK-NOT:   nvgpu.ldmatrix
func.func @fourth_matrix_elsewhere(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> attributes {translation_info = #info} {
  %t = gpu.thread_id x
  // expected-remark @+1 {{of memref<16x32xf16> 4 loads become 2 ldmatrix}}
  %m = memref.alloc() : memref<16x32xf16, #gpu.address_space<workgroup>>
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %r8 = affine.apply affine_map<(t) -> (t floordiv 4 + 8)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %k16 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 16)>(%t)
  %0 = vector.load %m[%r, %k] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %1 = vector.load %m[%r8, %k] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %2 = vector.load %m[%r, %k8] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %3 = vector.load %m[%r8, %k16] : memref<16x32xf16, #gpu.address_space<workgroup>>, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %e2:2 = vector.to_elements %2 : vector<2xf16>
  %e3:2 = vector.to_elements %3 : vector<2xf16>
  %a = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1, %e2#0, %e2#1, %e3#0, %e3#1 : vector<4x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}
