// Bad input: one located line on stderr, and the tool fails.
// RUN: not bankwise-report %s 2>&1 | FileCheck %s --check-prefix=PARSE
// RUN: not bankwise-report %t.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not bankwise-report 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bankwise-report %s --target=gfx1 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not bankwise-report %s --format=pdf 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not bankwise-report %s --bank-maps 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not bankwise-report %s --compile --target=gfx942 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not bankwise-report %s --bankwise-decisions=d.json 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: echo 'module {}' | not bankwise-report - --access=1 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not bankwise-report %s -o %t.missing/out 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: not bankwise-report %s -o %S 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// RUN: not bankwise-report %s --compile -o %S 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// RUN: echo 'module {}' | not bankwise-report - --fail-on-conflicts 2>&1 | FileCheck %s --check-prefix=EMPTY

// PARSE: bankwise-report-bad-input.mlir:{{[0-9]+:[0-9]+}}: error: custom op 'this' is unknown
// MISSING: bankwise-report: error: cannot open input '{{.*}}.missing': No such file or directory
// NONE: bankwise-report: error: no input file; name one, or `-` for stdin
// TARGET: bankwise-report: error: --target: 'gfx1' is not known; there are gfx90a, gfx942,
// FORMAT: bankwise-report: error: --format: 'pdf' is not one of text, json, markdown, html
// FLAG: bankwise-report: error: unknown flag '--bank-maps'
// BOTH: bankwise-report: error: --target is for IR that is only read
// OUTPUT: bankwise-report: error: --bankwise-decisions has no meaning for a report
// NUMBER: bankwise-report: error: --access=1: the report has none
// The output is looked at before the input: nothing is said of that.
// UNWRITABLE-NOT: unknown
// UNWRITABLE: bankwise-report: error: cannot write '{{.*}}.missing/out': there is no directory '{{.*}}.missing'
// UNWRITABLE-NOT: unknown
// DIRECTORY-NOT: unknown
// DIRECTORY: bankwise-report: error: cannot write '{{.*}}': Is a directory
// DIRECTORY-NOT: unknown
// EMPTY: <stdin>: no workgroup allocations
// EMPTY: bankwise-report: error: --fail-on-conflicts: nothing was compiled and the input holds no kernel

this is not MLIR
