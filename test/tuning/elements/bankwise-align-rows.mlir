// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-align-rows))' --mlir-print-local-scope | FileCheck %s

// A lane has two vectors in each of two steps, 256 elements apart.

// CHECK-LABEL: func.func @elements
// CHECK:         scf.forall
// CHECK:           vector.load %{{.+}} alignment = 16 : memref<4x4096xf16>
// CHECK:           vector.load %{{.+}} alignment = 16 : memref<4x4096xf16>
// CHECK:           vector.store %{{.+}} alignment = 16 : memref<4x4096xf16>
func.func @elements(%from: memref<4x4096xf16>, %to: memref<4x4096xf16>, %lane: index, %row: index) {
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  %in = memref.assume_alignment %from, 64 : memref<4x4096xf16>
  %out = memref.assume_alignment %to, 64 : memref<4x4096xf16>
  %first = arith.muli %lane, %c8 overflow<nsw, nuw> : index
  scf.forall (%i) = (0) to (4096) step (2048) {
    %o = arith.addi %i, %first overflow<nsw> : index
    %p = arith.addi %o, %c256 overflow<nsw> : index
    %x = vector.load %in[%row, %o] : memref<4x4096xf16>, vector<8xf16>
    %y = vector.load %in[%row, %p] : memref<4x4096xf16>, vector<8xf16>
    %sum = arith.addf %x, %y : vector<8xf16>
    vector.store %sum, %out[%row, %p] : memref<4x4096xf16>, vector<8xf16>
  }
  return
}

// Rows of 4,100 elements begin at multiples of 8 bytes, an argument at any address, and a lane's
// own index at any element. What was stated before stays if it is more.

// CHECK-LABEL: func.func @less
// CHECK:         scf.forall
// CHECK:           vector.load %{{.+}} alignment = 8 : memref<4x4100xf16>
// CHECK:           vector.load %{{.+}} : memref<4x4100xf16>
// CHECK:           vector.load %{{.+}} : memref<4x4100xf16>
// CHECK:           vector.load %{{.+}} alignment = 32 : memref<4x4100xf16>
func.func @less(%from: memref<4x4100xf16>, %to: memref<vector<8xf16>>, %lane: index, %row: index) {
  %c8 = arith.constant 8 : index
  %in = memref.assume_alignment %from, 64 : memref<4x4100xf16>
  %first = arith.muli %lane, %c8 overflow<nsw, nuw> : index
  scf.forall (%i) = (0) to (4096) step (2048) {
    %o = arith.addi %i, %first overflow<nsw> : index
    %any = arith.addi %i, %lane overflow<nsw> : index
    %a = vector.load %in[%row, %o] : memref<4x4100xf16>, vector<8xf16>
    %b = vector.load %from[%row, %o] : memref<4x4100xf16>, vector<8xf16>
    %c = vector.load %in[%row, %any] : memref<4x4100xf16>, vector<8xf16>
    %d = vector.load %in[%row, %o] alignment = 32 : memref<4x4100xf16>, vector<8xf16>
    %ab = arith.addf %a, %b : vector<8xf16>
    %cd = arith.addf %c, %d : vector<8xf16>
    %sum = arith.addf %ab, %cd : vector<8xf16>
    memref.store %sum, %to[] : memref<vector<8xf16>>
  }
  return
}

// A loop that carries a sum is left alone, and so is what becomes lanes.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     alignment = 
// CHECK:         return
func.func @others(%in: memref<4x4096xf16>, %lane: index, %row: index) -> vector<8xf16> {
  %c0 = arith.constant 0 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xf16>
  %aligned = memref.assume_alignment %in, 64 : memref<4x4096xf16>
  %sum = scf.for %i = %c0 to %c4096 step %c2048 iter_args(%before = %zero) -> (vector<8xf16>) {
    %x = vector.load %aligned[%row, %i] : memref<4x4096xf16>, vector<8xf16>
    %after = arith.addf %before, %x : vector<8xf16>
    scf.yield %after : vector<8xf16>
  }
  scf.forall (%i) = (0) to (4096) step (2048) {
    %x = vector.load %aligned[%row, %i] : memref<4x4096xf16>, vector<8xf16>
    vector.store %x, %aligned[%row, %i] : memref<4x4096xf16>, vector<8xf16>
  } {mapping = [#gpu.thread<x>]}
  return %sum : vector<8xf16>
}
