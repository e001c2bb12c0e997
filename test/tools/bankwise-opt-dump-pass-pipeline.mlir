// The pipeline is printed to stderr with all its options, and then runs.
// RUN: bankwise-opt %s --dump-pass-pipeline --pass-pipeline='builtin.module(func.func(bankwise-pad-unhinted-allocs{padding-bits=64},cse),any(cse))' 2> %t.err | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=TEXT --input-file=%t.err

// What is printed can be given back: it prints itself again, and does the same.
// RUN: sed -n 's/^builtin/--pass-pipeline=builtin/p' %t.err > %t.flag
// RUN: cat %t.flag | tr '\n' '\0' | xargs -0 bankwise-opt %s --dump-pass-pipeline -o %t.again 2> %t.err2
// RUN: diff %t.err %t.err2
// RUN: FileCheck %s --check-prefix=IR --input-file=%t.again

// Flags of passes of ours run on every function: the text names their places.
// RUN: bankwise-opt %s --dump-pass-pipeline --cse --bankwise-pad-unhinted-allocs 2>&1 >/dev/null | FileCheck %s --check-prefix=FLAGS

// The compiler cannot read what this name stands for: the name stays.
// RUN: bankwise-opt %s --dump-pass-pipeline --pass-pipeline='builtin.module(iree-hal-transformation-pipeline)' 2>&1 >/dev/null | FileCheck %s --check-prefix=NAMED

// RUN: bankwise-opt %s --dump-pass-pipeline 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE
// RUN: bankwise-opt %s --dump-pass-pipeline=false --cse 2> %t.off >/dev/null
// RUN: diff %t.off /dev/null

// IR: memref<64x68xf16
// TEXT: Pass Manager with 2 passes:
// TEXT-NEXT: {{^}}builtin.module(func.func(bankwise-pad-unhinted-allocs{padding-bits=64 lds-limit-bytes=0 unresolved-only=false},cse),any(cse)){{$}}
// FLAGS: Pass Manager with 3 passes:
// FLAGS-NEXT: builtin.module(cse,func.func(bankwise-pad-unhinted-allocs{{.*}}),builtin.module(func.func(bankwise-pad-unhinted-allocs{{.*}}))){{$}}
// NAMED: Pass Manager with 1 passes:
// NAMED-NEXT: builtin.module(iree-hal-transformation-pipeline){{$}}
// NONE: Pass Manager with 0 passes:
// NONE-NEXT: builtin.module(){{$}}
func.func @outer(%x: index, %v: f16) {
  %tile = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  memref.store %v, %tile[%x, %x] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return
}
module {
  func.func @inner() { return }
}
