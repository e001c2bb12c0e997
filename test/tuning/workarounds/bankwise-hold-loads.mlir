// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-hold-loads))' | FileCheck %s

// CHECK-LABEL: func.func @held
// CHECK:         %[[FIVE:.+]] = vector.load
// CHECK:         %[[HELD:.+]] = llvm.freeze %[[FIVE]] : vector<5xf16>
// CHECK:         arith.extf %[[HELD]] : vector<5xf16> to vector<5xf32>
// CHECK:         %[[OTHER:.+]] = llvm.freeze %{{.+}} : vector<7xf16>
// CHECK:         arith.extf %[[OTHER]] : vector<7xf16> to vector<7xf32>
func.func @held(%memory: memref<64x5xf16>, %row: index, %seven: vector<7xf16>) -> (vector<5xf32>, vector<7xf32>) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %memory[%row, %c0] : memref<64x5xf16>, vector<5xf16>
  %1 = arith.extf %0 : vector<5xf16> to vector<5xf32>
  %2 = arith.extf %seven : vector<7xf16> to vector<7xf32>
  return %1, %2 : vector<5xf32>, vector<7xf32>
}

// CHECK-LABEL: func.func @stay
// CHECK-NOT:     llvm.freeze
func.func @stay(%a: vector<4xf16>, %b: vector<8xf16>, %c: vector<5xbf16>, %d: f16)
    -> (vector<4xf32>, vector<8xf32>, vector<5xf32>, f32) {
  %0 = arith.extf %a : vector<4xf16> to vector<4xf32>
  %1 = arith.extf %b : vector<8xf16> to vector<8xf32>
  %2 = arith.extf %c : vector<5xbf16> to vector<5xf32>
  %3 = arith.extf %d : f16 to f32
  return %0, %1, %2, %3 : vector<4xf32>, vector<8xf32>, vector<5xf32>, f32
}
