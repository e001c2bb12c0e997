// The dialects are listed as iree-opt lists them, and no input is read.
// RUN: bankwise-opt --show-dialects > %t.ours
// RUN: iree-opt --show-dialects > %t.theirs
// RUN: diff %t.ours %t.theirs
// RUN: FileCheck %s --input-file=%t.ours
// RUN: bankwise-opt --show-dialects %t.missing | FileCheck %s
// RUN: bankwise-opt --help | FileCheck %s --check-prefix=HELP

// CHECK: Available Dialects: {{.*}}func,{{.*}}iree_gpu,{{.*}}memref,{{.*}}vector
// HELP-DAG: --dump-pass-pipeline
// HELP-DAG: --emit-bytecode
// HELP-DAG: --emit-bytecode-version=<value>
// HELP-DAG: --show-dialects
