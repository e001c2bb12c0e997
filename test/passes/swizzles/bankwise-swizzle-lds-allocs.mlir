// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs))' --mlir-print-local-scope | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-swizzle-lds-allocs,bankwise-flatten-swizzle-hints,iree-codegen-fold-memref-alias-ops,canonicalize,cse,bankwise-resolve-swizzle-hints))' | FileCheck %s --check-prefix=RESOLVED

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Rows are written, columns are read: each lane reads its own row of 64 words.

// RESOLVED-NOT: swizzle_hint

// CHECK-LABEL: func.func @transpose
// CHECK:         %[[ALLOC:.+]] = memref.alloc()
// CHECK-NEXT:    %[[HINT:.+]] = iree_codegen.swizzle_hint %[[ALLOC]][#iree_codegen.xor_shuffle<{{.+}}>] : memref<64x64xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.store %{{.+}}, %[[HINT]]
// CHECK:         memref.load %[[HINT]]
// CHECK:         memref.dealloc %[[ALLOC]]
func.func @transpose(%v: f32) -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  memref.store %v, %a[%c0, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  memref.dealloc %a : memref<64x64xf32, #gpu.address_space<workgroup>>
  return %r : f32
}

// The write goes through a view of the lane's row, the reads through a view of all of it.

// CHECK-LABEL: func.func @views
// CHECK:         %[[INNER:.+]] = iree_codegen.swizzle_hint
// CHECK-NEXT:    %[[HINT:.+]] = iree_codegen.swizzle_hint %[[INNER]]
// CHECK-NEXT:    memref.subview %[[HINT]]
// CHECK:         memref.expand_shape %[[HINT]]
func.func @views(%v: vector<1x4xf32>) -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %x = gpu.thread_id x
  %q:2 = affine.delinearize_index %x into (4, 16) : index, index
  %column = arith.muli %q#1, %c4 : index
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = memref.subview %a[%q#0, %column] [1, 4] [1, 1] : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<1x4xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  vector.transfer_write %v, %s[%c0, %c0] {in_bounds = [true, true]} : vector<1x4xf32>, memref<1x4xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
  %e = memref.expand_shape %a [[0, 1], [2]] output_shape [4, 16, 64] : memref<64x64xf32, #gpu.address_space<workgroup>> into memref<4x16x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %e[%q#0, %q#1, %c0] : memref<4x16x64xf32, #gpu.address_space<workgroup>>
  return %r : f32
}

// Two buffers take turns: both get the same swizzle, and the loop carries them flat.

// CHECK-LABEL: func.func @rotation
// CHECK-DAG:     %[[HINT:.+]] = iree_codegen.swizzle_hint %{{.+}}[#iree_codegen.[[SWIZZLE:xor_shuffle<.+>]]] : memref<64x64xf32
// CHECK-DAG:     iree_codegen.swizzle_hint %{{.+}}[#iree_codegen.[[SWIZZLE]]] : memref<64x64xf32
// CHECK:         scf.for {{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (memref<4096xf32, #gpu.address_space<workgroup>>, memref<4096xf32, #gpu.address_space<workgroup>>, f32)
// RESOLVED-LABEL: func.func @rotation
// RESOLVED-NOT:  swizzle_hint
// RESOLVED:      scf.for
// RESOLVED:      memref.load %{{.+}}[%{{.+}}] : memref<4096xf32
func.func @rotation(%v: f32) -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r:3 = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %a, %q = %b, %s = %v) -> (memref<64x64xf32, #gpu.address_space<workgroup>>, memref<64x64xf32, #gpu.address_space<workgroup>>, f32) {
    memref.store %s, %p[%i, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %t = memref.load %q[%x, %i] : memref<64x64xf32, #gpu.address_space<workgroup>>
    scf.yield %q, %p, %t : memref<64x64xf32, #gpu.address_space<workgroup>>, memref<64x64xf32, #gpu.address_space<workgroup>>, f32
  }
  return %r#2 : f32
}

// An access in one branch only counts with the lanes that take it.

// CHECK-LABEL: func.func @branch
// CHECK:         iree_codegen.swizzle_hint
// CHECK:         scf.if
func.func @branch(%v: f32) -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %x = gpu.thread_id x
  %low = arith.cmpi ult, %x, %c32 : index
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  scf.if %low {
    memref.store %v, %a[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  }
  %r = memref.load %a[%c0, %x] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return %r : f32
}

// A hint that leaves no conflict stays alone.

// CHECK-LABEL: func.func @hinted
// CHECK-COUNT-1: iree_codegen.swizzle_hint
// CHECK-NOT:     iree_codegen.swizzle_hint
func.func @hinted() -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 1>] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %h[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return %r : f32
}

// Groups of 4 floats leave 8 lanes on a bank; the rest is done between the allocation and the hint.

// CHECK-LABEL: func.func @hinted_badly
// CHECK:         %[[A:.+]] = memref.alloc()
// CHECK-NEXT:    %[[T:.+]] = iree_codegen.swizzle_hint %[[A]][#iree_codegen.xor_shuffle<{{.+}}>]
// CHECK:         %[[S:.+]] = iree_codegen.swizzle_hint %{{.+}}[#iree_codegen.xor_shuffle<32, 4>]
// CHECK-NEXT:    memref.load %[[S]]
func.func @hinted_badly() -> f32 attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<32, 4>] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %h[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return %r : f32
}

// A hint on one allocation is nothing to another.

// CHECK-LABEL: func.func @hinted_beside
// CHECK:         %[[A:.+]] = memref.alloc()
// CHECK-NEXT:    %[[B:.+]] = memref.alloc()
// CHECK-NEXT:    %[[H:.+]] = iree_codegen.swizzle_hint %[[B]]
// CHECK-NEXT:    iree_codegen.swizzle_hint %[[A]][#iree_codegen.xor_shuffle<64, 1>]
func.func @hinted_beside() -> (f32, f32) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %b = memref.alloc() : memref<64x64xf32, #gpu.address_space<workgroup>>
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<64, 1>] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %r = memref.load %h[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  %s = memref.load %b[%x, %c0] : memref<64x64xf32, #gpu.address_space<workgroup>>
  return %r, %s : f32, f32
}
