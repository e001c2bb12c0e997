// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-multiply-unsigned))' --mlir-print-local-scope --split-input-file --verify-diagnostics --bankwise-remarks | FileCheck %s

// u b = (u - 128) b - (-128) b: one more instruction, and a difference.

// CHECK-LABEL: func.func @one
// CHECK-NOT:     bankwise.unsigned_factors
// CHECK:         %[[SIGN:.+]] = arith.constant dense<-128> : vector<8xi8>
// CHECK-NEXT:    %[[C:.+]] = arith.constant dense<-128> : vector<8xi8>
// CHECK:         %[[S:.+]] = arith.xori %arg1, %[[C]] : vector<8xi8>
// CHECK:         %[[Z:.+]] = arith.constant dense<0> : vector<4xi32>
// CHECK:         %[[OF_A:.+]] = iree_codegen.inner_tiled ins(%arg0, %[[C]]) outs(%[[Z]]) {{.+}}MFMA_I32_16x16x32_I8
// CHECK:         %[[REST:.+]] = arith.subi %arg2, %[[OF_A]]
// CHECK:         %[[R:.+]] = iree_codegen.inner_tiled ins(%arg0, %[[S]]) outs(%[[REST]]) {{.+}}MFMA_I32_16x16x32_I8
// CHECK:         return %[[R]]
// expected-remark @+1 {{1 contractions multiply unsigned 8-bit integers}}
func.func @one(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xi32>) -> vector<4xi32> attributes {bankwise.unsigned_factors = array<i64: 1>} {
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : vector<8xi8>, vector<8xi8> into vector<4xi32>
  return %d : vector<4xi32>
}

// -----

// CHECK-LABEL: func.func @both
// CHECK:         %[[OF_B:.+]] = iree_codegen.inner_tiled ins(%[[C:[a-z_0-9]+]], %[[SB:.+]]) outs(%[[Z:.+]]) <
// CHECK:         %[[D:.+]] = arith.subi %arg2, %[[OF_B]]
// CHECK:         %[[OF_A:.+]] = iree_codegen.inner_tiled ins(%[[SA:.+]], %{{.+}}) outs(%[[Z]]) <
// CHECK:         %[[E:.+]] = arith.subi %[[D]], %[[OF_A]]
// CHECK:         %[[OF_NONE:.+]] = iree_codegen.inner_tiled ins(%[[C]], %{{.+}}) outs(%[[Z]]) <
// CHECK:         %[[F:.+]] = arith.addi %[[E]], %[[OF_NONE]]
// CHECK:         iree_codegen.inner_tiled ins(%[[SA]], %[[SB]]) outs(%[[F]]) <
// expected-remark @+1 {{1 contractions multiply unsigned 8-bit integers}}
func.func @both(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xi32>) -> vector<4xi32> attributes {bankwise.unsigned_factors = array<i64: 0, 1>} {
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : vector<8xi8>, vector<8xi8> into vector<4xi32>
  return %d : vector<4xi32>
}

// -----

// A function that says nothing has signed factors.

// CHECK-LABEL: func.func @signed
// CHECK-NOT:     arith.xori
func.func @signed(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<4xi32>) -> vector<4xi32> {
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = [], kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, semantics = #iree_gpu.mma_semantics<distributed = true, opaque = false>> : vector<8xi8>, vector<8xi8> into vector<4xi32>
  return %d : vector<4xi32>
}

// -----

// What multiplies here is not known.

// expected-error @+1 {{unsigned 8-bit integers are to be multiplied by a matrix instruction, and none was reached}}
func.func @none() attributes {bankwise.unsigned_factors = array<i64: 0>} {
  return
}
