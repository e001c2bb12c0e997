// Bad input: one located line on stderr, and the tool fails.
// RUN: not bankwise-opt %s --pass-pipeline='builtin.module(func.func(cse,bankwise-pad-unhinted-alloc))' 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: not bankwise-opt %s --pass-pipeline='builtin.module(cse,foo)' 2>&1 | FileCheck %s --check-prefix=NATIVE
// RUN: not bankwise-opt %s --pass-pipeline='builtin.module(canonicalize{max-iterations=x})' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not bankwise-opt %s --pass-pipeline='func.func(cse)' 2>&1 | FileCheck %s --check-prefix=ANCHOR
// RUN: not bankwise-opt %s --unknown-flag-of-nobody 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not bankwise-opt %s --bankwise-pad-unhinted-allocs --iree-gpu-test-target=gfx1 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not bankwise-opt %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not bankwise-opt %s -o %t.missing/out 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: not bankwise-opt %s --cse --pass-pipeline='any(cse)' 2>&1 | FileCheck %s --check-prefix=BOTH

// PASS: <pass-pipeline>:1:30: error: 'bankwise-pad-unhinted-alloc' does not refer to a registered pass; did you mean 'bankwise-pad-unhinted-allocs'?
// PASS-NEXT: builtin.module(func.func(cse,bankwise-pad-unhinted-alloc))
// PASS-NEXT: ^
// NATIVE: <pass-pipeline>:1:20: error: 'foo' does not refer to a registered pass or pass pipeline
// OPTION: <pass-pipeline>:1:16: error: for the --max-iterations option: 'x' value invalid
// ANCHOR: bankwise-opt-bad-input.mlir:{{[0-9:]+}}: error: can't run 'func.func' pass manager on 'builtin.module' op
// FLAG: Unknown command line argument '--unknown-flag-of-nobody'
// TARGET: error: {{.*}}gfx1{{.*}}gfx942
// MISSING: error: cannot open input file '{{.*}}.missing': No such file or directory
// UNWRITABLE: error: cannot write '{{.*}}.missing/out': there is no directory '{{.*}}.missing'
// BOTH: error: --pass-pipeline can't be used with individual pass options
func.func @f() { return }
