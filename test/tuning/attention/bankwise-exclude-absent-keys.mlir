// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-exclude-absent-keys))' --verify-diagnostics | FileCheck %s

// Of 96 keys only the first 70 are there: all that uses the scores, the maximum first of all, uses
// -inf in the place of those of the others.

// CHECK-LABEL: func.func @step_by_step(
// CHECK-NOT:     bankwise.keys
// CHECK-SAME:    %[[SCORES:.+]]: vector<4x32xf32>, %[[OLD:.+]]: vector<4xf32>
// CHECK:         scf.for %[[FIRST:.+]] = %{{.+}} to %{{.+}} step
// CHECK:           %[[X:.+]] = arith.addf %[[SCORES]], %[[SCORES]]
// CHECK:           %[[LEFT:.+]] = arith.subi %c70, %[[FIRST]]
// CHECK:           %[[STEP:.+]] = vector.step : vector<32xindex>
// CHECK:           %[[ENDS:.+]] = vector.broadcast %[[LEFT]] : index to vector<32xindex>
// CHECK:           %[[THERE:.+]] = arith.cmpi slt, %[[STEP]], %[[ENDS]]
// CHECK:           %[[ALL:.+]] = vector.broadcast %[[THERE]] : vector<32xi1> to vector<4x32xi1>
// CHECK:           %[[NONE:.+]] = arith.constant dense<0xFF800000> : vector<4x32xf32>
// CHECK:           %[[KEPT:.+]] = arith.select %[[ALL]], %[[X]], %[[NONE]]
// CHECK:           %[[MAX:.+]] = vector.multi_reduction <maximumf>, %[[KEPT]], %{{.+}} [1]
// CHECK:           math.exp2 %[[KEPT]]
func.func @step_by_step(%s: vector<4x32xf32>, %m: vector<4xf32>) -> vector<4xf32> attributes {bankwise.keys = array<i64: 70, 96>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  %r = scf.for %i = %c0 to %c96 step %c32 iter_args(%old = %m) -> (vector<4xf32>) {
    %x = arith.addf %s, %s : vector<4x32xf32>
    %new = vector.multi_reduction <maximumf>, %x, %old [1] : vector<4x32xf32> to vector<4xf32>
    %e = math.exp2 %x : vector<4x32xf32>
    %sum = vector.multi_reduction <add>, %e, %new [1] : vector<4x32xf32> to vector<4xf32>
    scf.yield %sum : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// All keys are one step, and the keys are not the last dimension of the scores.

// CHECK-LABEL: func.func @at_once(
// CHECK:         %[[THERE:.+]] = arith.cmpi slt, %{{.+}}, %{{.+}} : vector<16xindex>
// CHECK:         vector.shape_cast %[[THERE]] : vector<16xi1> to vector<16x1xi1>
// CHECK:         vector.broadcast %{{.+}} : vector<16x1xi1> to vector<16x4xi1>
// CHECK:         arith.select
func.func @at_once(%s: vector<16x4xf32>, %m: vector<4xf32>) -> vector<4xf32> attributes {bankwise.keys = array<i64: 3, 16>} {
  %new = vector.multi_reduction <maximumf>, %s, %m [0] : vector<16x4xf32> to vector<4xf32>
  return %new : vector<4xf32>
}

// Nothing is excluded where nothing was enlarged.

// CHECK-LABEL: func.func @whole(
// CHECK-NOT:     arith.select
func.func @whole(%s: vector<4x32xf32>, %m: vector<4xf32>) -> vector<4xf32> {
  %new = vector.multi_reduction <maximumf>, %s, %m [1] : vector<4x32xf32> to vector<4xf32>
  return %new : vector<4xf32>
}

// -----

// A loop that goes over something else than the keys does not say where a tile of scores begins.

func.func @other_loop(%s: vector<4x32xf32>, %m: vector<4xf32>) -> vector<4xf32> attributes {bankwise.keys = array<i64: 70, 96>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %r = scf.for %i = %c0 to %c64 step %c32 iter_args(%old = %m) -> (vector<4xf32>) {
    // expected-error @+1 {{no loop goes over the keys of the scores}}
    %new = vector.multi_reduction <maximumf>, %s, %old [1] : vector<4x32xf32> to vector<4xf32>
    scf.yield %new : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// expected-error @+1 {{0 reductions to a maximum in the place of that of the scores}}
func.func @no_scores() attributes {bankwise.keys = array<i64: 70, 96>} {
  return
}

// -----

// How many keys there are is known when the program runs, and what does not depend on the iteration
// is computed before the loop.

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<4x8xf16>, {{.*}}, %[[KEYS:[a-z0-9]+]]: index
// CHECK:         %[[READ:.+]] = vector.transfer_read %[[Q]]
// CHECK:         arith.extf %[[READ]]
// CHECK:         scf.for %[[FIRST:[a-z0-9]+]] =
// CHECK:           arith.subi %[[KEYS]], %[[FIRST]]
func.func @dynamic(%q: tensor<4x8xf16>, %s: vector<4x32xf32>, %m: vector<4xf32>, %keys: index) -> vector<4x8xf32> attributes {bankwise.keys = array<i64: -9223372036854775808, -32>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %p = ub.poison : f16
  %z = arith.constant dense<0.0> : vector<4x8xf32>
  %end = affine.apply affine_map<()[s0] -> ((s0 ceildiv 32) * 32)>()[%keys]
  %r:2 = scf.for %i = %c0 to %end step %c32 iter_args(%old = %m, %sum = %z) -> (vector<4xf32>, vector<4x8xf32>) {
    %x = vector.transfer_read %q[%c0, %c0], %p {in_bounds = [true, true]} : tensor<4x8xf16>, vector<4x8xf16>
    %w = arith.extf %x : vector<4x8xf16> to vector<4x8xf32>
    %b = vector.broadcast %old : vector<4xf32> to vector<32x4xf32>
    %c = vector.transpose %b, [1, 0] : vector<32x4xf32> to vector<4x32xf32>
    %scores = arith.addf %s, %c : vector<4x32xf32>
    %new = vector.multi_reduction <maximumf>, %scores, %old [1] : vector<4x32xf32> to vector<4xf32>
    %t = arith.addf %sum, %w : vector<4x8xf32>
    scf.yield %new, %t : vector<4xf32>, vector<4x8xf32>
  }
  return %r#1 : vector<4x8xf32>
}

// -----

// A bound that is not a number of keys, rounded up, may be anything.

func.func @another_bound(%s: vector<4x32xf32>, %m: vector<4xf32>, %end: index) -> vector<4xf32> attributes {bankwise.keys = array<i64: -9223372036854775808, -32>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  // expected-error @+1 {{a size is not known to be a multiple of 32}}
  %r = scf.for %i = %c0 to %end step %c32 iter_args(%old = %m) -> (vector<4xf32>) {
    %b = vector.broadcast %old : vector<4xf32> to vector<32x4xf32>
    %c = vector.transpose %b, [1, 0] : vector<32x4xf32> to vector<4x32xf32>
    %new = vector.multi_reduction <maximumf>, %c, %old [1] : vector<4x32xf32> to vector<4xf32>
    scf.yield %new : vector<4xf32>
  }
  return %r : vector<4xf32>
}
