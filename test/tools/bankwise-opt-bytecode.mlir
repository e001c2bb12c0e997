// Bytecode is written to files and pipes, and read again; iree-opt reads it too.
// RUN: bankwise-opt %s --bankwise-pad-unhinted-allocs=padding-bits=64 --emit-bytecode -o %t.mlirbc
// RUN: bankwise-opt %t.mlirbc | FileCheck %s
// RUN: iree-opt %t.mlirbc | FileCheck %s
// RUN: bankwise-opt %s --bankwise-pad-unhinted-allocs=padding-bits=64 --emit-bytecode | bankwise-opt - --cse --emit-bytecode | iree-opt | FileCheck %s

// An older version, which is written behind the name of the format, and one that there is not.
// RUN: bankwise-opt %s --emit-bytecode --emit-bytecode-version=3 -o %t.old
// RUN: od -An -tx1 -N5 %t.old | FileCheck %s --check-prefix=OLD
// RUN: od -An -tx1 -N5 %t.mlirbc | FileCheck %s --check-prefix=NEW
// RUN: bankwise-opt %t.old | FileCheck %s --check-prefix=PLAIN
// RUN: not bankwise-opt %s --emit-bytecode --emit-bytecode-version 99 -o %t.none 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not ls %t.none
// RUN: not bankwise-opt %s --emit-bytecode --split-input-file 2>&1 | FileCheck %s --check-prefix=SPLIT

// CHECK: memref<64x68xf16
// PLAIN: memref<64x64xf16
// OLD: 4d 4c ef 52 07
// NEW: 4d 4c ef 52 0d
// VERSION: bankwise-opt-bytecode.mlir:{{[0-9:]+}}: error: unsupported version requested 99
// SPLIT: error: --emit-bytecode can't be used with --split-input-file
func.func @f(%x: index, %v: f16) {
  %tile = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  memref.store %v, %tile[%x, %x] : memref<64x64xf16, #gpu.address_space<workgroup>>
  return
}
