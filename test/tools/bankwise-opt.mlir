// The pipeline runs the compiler's passes and ours at their nesting, in order.
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(cse,bankwise-pad-unhinted-allocs{padding-bits=64},canonicalize))' | FileCheck %s
// RUN: bankwise-opt - --cse --bankwise-pad-unhinted-allocs=padding-bits=64 --canonicalize < %s | FileCheck %s
// RUN: bankwise-opt %s -cse --bankwise-pad-unhinted-allocs="padding-bits=64" -canonicalize="max-iterations=3 top-down=false" -o - | FileCheck %s
// RUN: bankwise-opt %s | FileCheck %s --check-prefix=PLAIN
// RUN: bankwise-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: bankwise-opt %s --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL

// CHECK-LABEL: func.func @tile
// CHECK: memref.alloc() : memref<64x68xf16, #gpu.address_space<workgroup>>
// CHECK: %[[SUM:.+]] = arith.addi
// CHECK-NEXT: arith.muli %[[SUM]], %[[SUM]]

// PLAIN: memref<64x64xf16, #gpu.address_space<workgroup>>
// PLAIN: arith.addi
// PLAIN-NEXT: arith.addi

// GENERIC: "func.func"()
// GENERIC: "memref.alloc"()

// LOCAL: memref.alloc() : {{.*}} loc("{{.*}}bankwise-opt.mlir":28:11)
func.func @tile(%x: index, %v: f16) -> index attributes {
    translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute>
        workgroup_size = [64, 1, 1] subgroup_size = 64>} {
  %zero = arith.constant 0 : index
  %lane = gpu.thread_id x
  %tile = memref.alloc() : memref<64x64xf16, #gpu.address_space<workgroup>>
  memref.store %v, %tile[%lane, %zero] : memref<64x64xf16, #gpu.address_space<workgroup>>
  %a = arith.addi %x, %lane : index
  %b = arith.addi %x, %lane : index
  %c = arith.muli %a, %b : index
  return %c : index
}
