// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --bankwise-count-exchanges | FileCheck %s

// Nothing changes: what is counted is in the decisions.
// CHECK-LABEL: func @exchange
// CHECK: gpu.shuffle xor
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @exchange(%x: f32) -> f32 attributes {translation_info = #info} {
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %other, %valid = gpu.shuffle xor %x, %c32, %c64 : f32
  return %other : f32
}
