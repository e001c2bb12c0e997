// RUN: bankwise-opt %s --verify-roundtrip --split-input-file | FileCheck %s
// RUN: bankwise-opt %S/bankwise-opt.mlir --verify-roundtrip > /dev/null

// What is printed, as text, generic text and bytecode, is read as the same program.

// CHECK-LABEL: func.func @hinted
// CHECK: iree_codegen.swizzle_hint
func.func @hinted(%m: memref<4096xf16>) -> memref<4096xf16> {
  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<64, 8>] : memref<4096xf16>
  return %h : memref<4096xf16>
}

// -----

// CHECK-LABEL: func.func @constant
// CHECK: dense_resource<c>
func.func @constant() -> tensor<2xf32> {
  %c = arith.constant dense_resource<c> : tensor<2xf32>
  return %c : tensor<2xf32>
}

{-#
  dialect_resources: { builtin: { c: "0x040000000000803F0000803F" } }
#-}
