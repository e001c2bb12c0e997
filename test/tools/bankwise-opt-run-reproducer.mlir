// RUN: bankwise-opt %s --run-reproducer --dump-pass-pipeline 2>&1 | FileCheck %s
// RUN: sed 's/bankwise-flatten/bankwise-flutten/' %s | not bankwise-opt --run-reproducer 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: sed 's/mlir_reproducer/mlir_other/' %s | not bankwise-opt --run-reproducer 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bankwise-opt %s --run-reproducer --cse 2>&1 | FileCheck %s --check-prefix=BOTH

// The pipeline that the file names, ours among the compiler's passes, and nothing else.

// CHECK: Pass Manager with 1 passes:
// CHECK: builtin.module(func.func(canonicalize{{{.*}}},bankwise-flatten-swizzle-hints))
// CHECK-LABEL: func.func @f
// CHECK-NEXT: return %arg0 : i32
// CHECK-NOT: reproducer

// UNKNOWN: <stdin>:[[#]]:{{[0-9]+}}: error: 'bankwise-flutten-swizzle-hints' does not refer to a registered pass
// NONE: error: the input names no pipeline: it has no 'mlir_reproducer'
// BOTH: bankwise-opt: error: --run-reproducer runs the input's pipeline alone

func.func @f(%a: i32) -> i32 {
  %c = arith.constant 0 : i32
  %b = arith.addi %a, %c : i32
  return %b : i32
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(canonicalize,bankwise-flatten-swizzle-hints))",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
