// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-peel-last-step))' --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>

// Of 96 keys 70 are there. A lane has keys 2 (t mod 4), and one more, and those 24 further: with 64 keys or more left,
// all of them are there.

// CHECK-LABEL: func.func @one_partial_step
// CHECK-SAME:    %[[S:.+]]: vector<2xf32>
//   CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
//   CHECK-DAG:   %[[C32:.+]] = arith.constant 32 : index
//   CHECK-DAG:   %[[C64:.+]] = arith.constant 64 : index
//   CHECK-DAG:   %[[C96:.+]] = arith.constant 96 : index
//       CHECK:   %[[R:.+]] = scf.for %{{.+}} = %[[C0]] to %[[C64]] step %[[C32]] iter_args(%[[OLD:.+]] = %[[S]])
//   CHECK-NOT:     arith.select
//       CHECK:     arith.maximumf %[[S]], %[[OLD]]
//       CHECK:   %[[LAST:.+]] = scf.for %{{.+}} = %[[C64]] to %[[C96]] step %[[C32]] iter_args(%{{.+}} = %[[R]])
//       CHECK:     arith.select
//       CHECK:   return %[[LAST]], %[[LAST]]
func.func @one_partial_step(%s: vector<2xf32>) -> (vector<2xf32>, vector<2xf32>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c70 = arith.constant 70 : index
  %c96 = arith.constant 96 : index
  %t = gpu.thread_id x
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %none = arith.constant dense<0xFF800000> : vector<2xf32>
  %c24 = arith.constant dense<24> : vector<2xindex>
  // expected-remark @+1 {{only the step at 64 meets absent keys, and is no part of the loop}}
  %r = scf.for %i = %c0 to %c96 step %c32 iter_args(%old = %s) -> (vector<2xf32>) {
    %step = vector.step : vector<2xindex>
    %first = vector.broadcast %k : index to vector<2xindex>
    %near = arith.addi %step, %first : vector<2xindex>
    %key = arith.addi %near, %c24 : vector<2xindex>
    %left = arith.subi %c70, %i : index
    %ends = vector.broadcast %left : index to vector<2xindex>
    %there = arith.cmpi slt, %key, %ends : vector<2xindex>
    %x = arith.select %there, %s, %none : vector<2xi1>, vector<2xf32>
    %new = arith.maximumf %x, %old : vector<2xf32>
    scf.yield %new : vector<2xf32>
  }
  return %r, %r : vector<2xf32>, vector<2xf32>
}

// The program computes the number of keys, and may find that there is none.

// CHECK-LABEL: func.func @computed_keys
//  CHECK-SAME:    %[[KEYS:[a-z0-9]+]]: index
//   CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
//   CHECK-DAG:   %[[C32:.+]] = arith.constant 32 : index
//   CHECK-DAG:   %[[END:.+]] = affine.apply affine_map<()[s0] -> ((s0 ceildiv 32) * 32)>()[%[[KEYS]]]
//       CHECK:   %[[LAST:.+]] = arith.subi %[[END]], %[[C32]]
//       CHECK:   %[[BORDER:.+]] = arith.maxsi %[[LAST]], %
//       CHECK:   %[[R:.+]] = scf.for %{{.+}} = %[[C0]] to %[[BORDER]] step %[[C32]]
//   CHECK-NOT:     arith.select
//       CHECK:   scf.for %{{.+}} = %[[BORDER]] to %[[END]] step %[[C32]] iter_args(%{{.+}} = %[[R]])
//       CHECK:     arith.select
//       CHECK:   scf.for
//       CHECK:     arith.select
//   CHECK-NOT:   scf.for
func.func @computed_keys(%keys: index, %others: index, %s: f32) -> (f32, f32) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %k = gpu.thread_id x
  %none = arith.constant 0xFF800000 : f32
  %end = affine.apply affine_map<()[s0] -> ((s0 ceildiv 32) * 32)>()[%keys]
  // expected-remark @+1 {{only the last step meets absent keys, and is no part of the loop}}
  %r = scf.for %i = %c0 to %end step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %keys, %i : index
    %there = arith.cmpi slt, %k, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  // Of another number of keys any number of steps may have too few.
  %q = scf.for %i = %c0 to %end step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %others, %i : index
    %there = arith.cmpi slt, %k, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  return %r, %q : f32, f32
}

// Two steps meet absent keys, the last of them with no key left; keys may be as far as nobody knows; the loop ends
// where the program says; there is one step; a comparison is another one.

// CHECK-LABEL: func.func @others
//       CHECK:   scf.for
//       CHECK:     arith.select
//       CHECK:   scf.for
//       CHECK:     arith.select
//       CHECK:   scf.for
//       CHECK:     arith.select
//       CHECK:   scf.for
//       CHECK:     arith.select
//       CHECK:   scf.for
//       CHECK:     arith.select
//   CHECK-NOT:   scf.for
func.func @others(%s: f32, %far: index, %end: index) -> (f32, f32, f32, f32, f32) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c70 = arith.constant 70 : index
  %c96 = arith.constant 96 : index
  %c128 = arith.constant 128 : index
  %c31 = arith.constant 31 : index
  %none = arith.constant 0xFF800000 : f32
  %two_steps = scf.for %i = %c0 to %c128 step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %c70, %i : index
    %there = arith.cmpi slt, %c31, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  %anywhere = scf.for %i = %c0 to %c96 step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %c70, %i : index
    %there = arith.cmpi slt, %far, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  %computed = scf.for %i = %c0 to %end step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %c70, %i : index
    %there = arith.cmpi slt, %c31, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  %single = scf.for %i = %c0 to %c32 step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %c31, %i : index
    %there = arith.cmpi slt, %c31, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  %unlike = scf.for %i = %c0 to %c96 step %c32 iter_args(%old = %s) -> (f32) {
    %left = arith.subi %c70, %i : index
    %there = arith.cmpi ne, %c31, %left : index
    %x = arith.select %there, %s, %none : f32
    %new = arith.maximumf %x, %old : f32
    scf.yield %new : f32
  }
  return %two_steps, %anywhere, %computed, %single, %unlike : f32, f32, f32, f32, f32
}
