// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-part-scatters))' | FileCheck %s

#gaps = strided<[12, 3], offset: ?>

// CHECK-LABEL: func.func @scatter
// CHECK-SAME:    %[[M:.+]]: memref<4x4xf32, {{.*}}>, %[[I:.+]]: index, %[[AT:.+]]: vector<2xindex>, %[[MASK:.+]]: vector<2xi1>, %[[X:.+]]: vector<2xf32>
// CHECK-DAG:     %[[P0:.+]] = vector.extract %[[AT]][0]
// CHECK-DAG:     %[[M0:.+]] = vector.extract %[[MASK]][0]
// CHECK-DAG:     %[[X0:.+]] = vector.extract %[[X]][0]
// CHECK:         %[[J:.+]] = arith.addi %[[I]], %[[P0]]
// CHECK:         scf.if %[[M0]] {
// CHECK:           memref.store %[[X0]], %[[M]][%[[I]], %[[J]]]
// CHECK:         scf.if
// CHECK:           memref.store
// CHECK-NOT:     vector.scatter
func.func @scatter(%m: memref<4x4xf32, #gaps>, %i: index, %at: vector<2xindex>, %mask: vector<2xi1>, %x: vector<2xf32>) {
  vector.scatter %m[%i, %i] [%at], %mask, %x : memref<4x4xf32, #gaps>, vector<2xindex>, vector<2xi1>, vector<2xf32>
  return
}

// CHECK-LABEL: func.func @gather
// CHECK:         %[[E0:.+]] = scf.if
// CHECK:           memref.load
// CHECK:         else
// CHECK:         %[[E1:.+]] = scf.if
// CHECK:         vector.from_elements %[[E0]], %[[E1]]
func.func @gather(%m: memref<4x4xf32, #gaps>, %i: index, %at: vector<2xindex>, %mask: vector<2xi1>, %x: vector<2xf32>) -> vector<2xf32> {
  %0 = vector.gather %m[%i, %i] [%at], %mask, %x : memref<4x4xf32, #gaps>, vector<2xindex>, vector<2xi1>, vector<2xf32> into vector<2xf32>
  return %0 : vector<2xf32>
}

// CHECK-LABEL: func.func @no_gaps
// CHECK:         vector.scatter
func.func @no_gaps(%m: memref<4x4xf32>, %i: index, %at: vector<2xindex>, %mask: vector<2xi1>, %x: vector<2xf32>) {
  vector.scatter %m[%i, %i] [%at], %mask, %x : memref<4x4xf32>, vector<2xindex>, vector<2xi1>, vector<2xf32>
  return
}
