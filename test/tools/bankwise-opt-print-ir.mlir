// RUN: bankwise-opt %s --mlir-disable-threading --mlir-print-ir-after=cse,bankwise-pad-unhinted-allocs --pass-pipeline='builtin.module(func.func(cse,canonicalize,bankwise-pad-unhinted-allocs))' 2>&1 >/dev/null | FileCheck %s
// RUN: bankwise-opt %s --mlir-disable-threading --mlir-print-ir-before-all --pass-pipeline='builtin.module(func.func(cse,bankwise-pad-unhinted-allocs))' 2>&1 >/dev/null | FileCheck %s --check-prefix=ALL
// RUN: bankwise-opt %s --mlir-timing --pass-pipeline='builtin.module(func.func(cse,bankwise-pad-unhinted-allocs))' 2>&1 >/dev/null | FileCheck %s --check-prefix=TIME

// CHECK: IR Dump After CSEPass: cse
// CHECK-NEXT: func.func @f
// CHECK-NOT: canonicalize
// CHECK: IR Dump After PadUnhintedAllocs: bankwise-pad-unhinted-allocs
// CHECK-NEXT: func.func @f

// ALL: IR Dump Before CSEPass: cse
// ALL: IR Dump Before PadUnhintedAllocs: bankwise-pad-unhinted-allocs
// ALL-NOT: IR Dump

// TIME: Execution time report
// TIME: CSEPass
// TIME: Bankwise pass execution time report
// TIME: bankwise-pad-unhinted-allocs
// TIME: Total
func.func @f() { return }
