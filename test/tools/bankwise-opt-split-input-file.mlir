// Diagnostics of later parts point into the whole file; the other parts are printed.
// RUN: not bankwise-opt %s --split-input-file 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR < %t.err
// RUN: not bankwise-opt %s --split-input-file --output-split-marker="// ====" 2> /dev/null | FileCheck %s --check-prefix=MARKER

// CHECK: func.func @first
// CHECK: // -----
// CHECK-NEXT: // -----
// CHECK: func.func @last
// CHECK-NOT: // -----
// MARKER: @first
// MARKER: // ====
// MARKER: @last
func.func @first() { return }
// -----
func.func @undeclared(%x: i32) -> i32 {
  // ERROR: bankwise-opt-split-input-file.mlir:20:23: error: use of undeclared SSA value name
  // ERROR-NEXT: %y = arith.addi %x, %z : i32
  // ERROR-NEXT: ^
  %y = arith.addi %x, %z : i32
  return %y : i32
}
// -----
func.func @last() { return }
