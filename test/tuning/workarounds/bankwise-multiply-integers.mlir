// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-multiply-integers))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// The four registers of A, the two of B and the four sums are i32; the instruction has no `satfinite`.

// CHECK-LABEL: func.func @moved
// CHECK-NOT:     bankwise.carries_integers
// CHECK-DAG:     %[[ROW:.+]] = vector.extract %arg0[3] : vector<4xf8E4M3FN>
// CHECK-DAG:     %[[CAST:.+]] = vector.bitcast %[[ROW]] : vector<4xf8E4M3FN> to vector<1xi32>
// CHECK-DAG:     %[[A:.+]] = vector.extract %[[CAST]][0]
// CHECK-DAG:     %[[SUM:.+]] = vector.extract %{{.+}}[1, 1] : f32 from vector<2x2xf32>
// CHECK-DAG:     %[[C:.+]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK:         %[[D:.+]] = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.s8"(%{{.+}}, %{{.+}}, %{{.+}}, %[[A]], %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[C]]) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
// CHECK:         llvm.extractvalue %[[D]][0]
// CHECK-NOT:     nvgpu.mma.sync
// expected-remark @+1 {{1 mma.sync multiply 8-bit integers}}
func.func @moved(%a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>) -> i32 attributes {bankwise.carries_integers = ""} {
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %z) -> (vector<2x2xf32>) {
    %d = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %d : vector<2x2xf32>
  }
  %e = vector.extract %r[0, 1] : f32 from vector<2x2xf32>
  %s = arith.bitcast %e : f32 to i32
  return %s : i32
}

// Sums that lie in memory meanwhile are read as what they are.

// CHECK-LABEL: func.func @kept_in_memory
// CHECK:         llvm.call_intrinsic
// expected-remark @+1 {{1 mma.sync multiply 8-bit integers}}
func.func @kept_in_memory(%a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>) -> i32 attributes {bankwise.carries_integers = ""} {
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %c0 = arith.constant 0 : index
  %m = memref.alloca() : memref<2x2xf32, #gpu.address_space<private>>
  %d = nvgpu.mma.sync(%a, %b, %z) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = vector.extract %d[0] : vector<2xf32> from vector<2x2xf32>
  vector.store %e, %m[%c0, %c0] : memref<2x2xf32, #gpu.address_space<private>>, vector<2xf32>
  %l = vector.load %m[%c0, %c0] : memref<2x2xf32, #gpu.address_space<private>>, vector<1xf32>
  %x = vector.extract %l[0] : f32 from vector<1xf32>
  %s = arith.bitcast %x : f32 to i32
  return %s : i32
}

// CHECK-LABEL: func.func @added
// CHECK-SAME:    bankwise.carries_integers = "arith.addf computes with sums of integers carried as vector<2x2xf32>"
// CHECK:         nvgpu.mma.sync
// expected-remark @+1 {{arith.addf computes with sums of integers carried as vector<2x2xf32>}}
func.func @added(%a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>, %v: vector<2x2xf32>) -> i32 attributes {bankwise.carries_integers = ""} {
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %d = nvgpu.mma.sync(%a, %b, %z) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  %g = arith.addf %d, %v : vector<2x2xf32>
  %e = vector.extract %g[0, 1] : f32 from vector<2x2xf32>
  %s = arith.bitcast %e : f32 to i32
  return %s : i32
}

// The bits of -0.0 are those of the least i32.

// CHECK-LABEL: func.func @begun_with_negative_zero
// CHECK:         nvgpu.mma.sync
// expected-remark @+1 {{arith.constant makes a sum of integers carried as f32}}
func.func @begun_with_negative_zero(%a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>) -> i32 attributes {bankwise.carries_integers = ""} {
  %z = arith.constant dense<-0.0> : vector<2x2xf32>
  %d = nvgpu.mma.sync(%a, %b, %z) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = vector.extract %d[0, 1] : f32 from vector<2x2xf32>
  %s = arith.bitcast %e : f32 to i32
  return %s : i32
}

// CHECK-LABEL: func.func @widened
// CHECK:         nvgpu.mma.sync
// expected-remark @+1 {{arith.extf computes with integers carried as f8}}
func.func @widened(%a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>, %f: f8E4M3FN) -> (i32, f32) attributes {bankwise.carries_integers = ""} {
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %w = arith.extf %f : f8E4M3FN to f32
  %d = nvgpu.mma.sync(%a, %b, %z) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = vector.extract %d[0, 1] : f32 from vector<2x2xf32>
  %s = arith.bitcast %e : f32 to i32
  return %s, %w : i32, f32
}

// Functions whose f8 are numbers keep their instructions.

// CHECK-LABEL: func.func @numbers
// CHECK:         nvgpu.mma.sync
func.func @numbers(%a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %d = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  return %d : vector<2x2xf32>
}

// What lies beyond the end of a matrix is zero, in i8 as in f8.

// CHECK-LABEL: func.func @chosen
// CHECK:         llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.s8"
// expected-remark @+1 {{1 mma.sync multiply 8-bit integers}}
func.func @chosen(%c: i1, %a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>) -> i32 attributes {bankwise.carries_integers = ""} {
  %none = arith.constant dense<0.0> : vector<4x4xf8E4M3FN>
  %x = arith.select %c, %a, %none : vector<4x4xf8E4M3FN>
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %d = nvgpu.mma.sync(%x, %b, %z) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = vector.extract %d[0, 1] : f32 from vector<2x2xf32>
  %s = arith.bitcast %e : f32 to i32
  return %s : i32
}

// The bits of other constants are other numbers in i8: those of -0.0 are -128.

// CHECK-LABEL: func.func @constant
// CHECK:         nvgpu.mma.sync
// expected-remark @+1 {{arith.constant computes with integers carried as f8}}
func.func @constant(%c: i1, %a: vector<4x4xf8E4M3FN>, %b: vector<2x4xf8E4M3FN>) -> i32 attributes {bankwise.carries_integers = ""} {
  %none = arith.constant dense<-0.0> : vector<4x4xf8E4M3FN>
  %x = arith.select %c, %a, %none : vector<4x4xf8E4M3FN>
  %z = arith.constant dense<0.0> : vector<2x2xf32>
  %d = nvgpu.mma.sync(%x, %b, %z) mmaShape = [16, 8, 32] : (vector<4x4xf8E4M3FN>, vector<2x4xf8E4M3FN>, vector<2x2xf32>) -> vector<2x2xf32>
  %e = vector.extract %d[0, 1] : f32 from vector<2x2xf32>
  %s = arith.bitcast %e : f32 to i32
  return %s : i32
}
