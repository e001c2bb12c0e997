// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-form-transpose-loads,canonicalize,cse))' --iree-gpu-test-target=gfx950 --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s

// Lane l reads column l mod 16 of the four rows from 4 (l / 16) on: lane 4 i + c of 16 reads four columns of row i.

// CHECK-LABEL: func.func @column
//       CHECK:   %[[T:.+]] = gpu.thread_id x upper_bound 64
//       CHECK:   memref.alloc() alignment = 8 : memref<16x16xf16, #gpu.address_space<workgroup>>
//   CHECK-DAG:   %[[COLUMN:.+]] = affine.apply affine_map<()[s0] -> (s0 * 4 - (s0 floordiv 4) * 16)>()[%[[T]]]
//   CHECK-DAG:   %[[ROW:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 4) mod 4 + (s0 floordiv 16) * 4)>()[%[[T]]]
//   CHECK-NOT:   memref.load
//       CHECK:   %[[READ:.+]] = amdgpu.transpose_load %{{.+}}[%[[ROW]], %[[COLUMN]]] : memref<16x16xf16, #gpu.address_space<workgroup>> -> vector<4xf16>
//       CHECK:   amdgpu.mfma 16x16x16 %[[READ]] *
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
func.func @column(%b: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> attributes {translation_info = #info, bankwise.slots = 2} {
  %t = gpu.thread_id x upper_bound 64
  // expected-remark @+1 {{of memref<16x16xf16> 4 loads become 1 that transpose}}
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %column = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %row0 = affine.apply affine_map<(t) -> (t floordiv 16 * 4)>(%t)
  %row1 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 1)>(%t)
  %row2 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 2)>(%t)
  %row3 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 3)>(%t)
  %0 = memref.load %m[%row0, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %1 = memref.load %m[%row1, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %2 = memref.load %m[%row2, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %3 = memref.load %m[%row3, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %a = vector.from_elements %0, %1, %2, %3 : vector<4xf16>
  %d = amdgpu.mfma 16x16x16 %a * %b + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
  return %d : vector<4xf32>
}

// -----

// Every lane reads every other column.

// CHECK-LABEL: func.func @wide_apart
//   CHECK-NOT:   transpose_load
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
// expected-remark @+1 {{columns are read by single elements: 16 lanes do not read 16 neighbouring columns}}
func.func @wide_apart(%b: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> attributes {translation_info = #info, bankwise.slots = 2} {
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<16x32xf16, #gpu.address_space<workgroup>>
  %column = affine.apply affine_map<(t) -> (t mod 16 * 2)>(%t)
  %row0 = affine.apply affine_map<(t) -> (t floordiv 16 * 4)>(%t)
  %row1 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 1)>(%t)
  %row2 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 2)>(%t)
  %row3 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 3)>(%t)
  %0 = memref.load %m[%row0, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %1 = memref.load %m[%row1, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %2 = memref.load %m[%row2, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %3 = memref.load %m[%row3, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %a = vector.from_elements %0, %1, %2, %3 : vector<4xf16>
  %d = amdgpu.mfma 16x16x16 %a * %b + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
  return %d : vector<4xf32>
}

// -----

// Eight lanes of 16 read other rows than the other eight.

// CHECK-LABEL: func.func @other_rows
//   CHECK-NOT:   transpose_load
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
// expected-remark @+1 {{columns are read by single elements: 16 lanes do not read 16 neighbouring columns}}
func.func @other_rows(%b: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> attributes {translation_info = #info, bankwise.slots = 2} {
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<16x32xf16, #gpu.address_space<workgroup>>
  %column = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %row0 = affine.apply affine_map<(t) -> (t floordiv 8 mod 4 * 4)>(%t)
  %row1 = affine.apply affine_map<(t) -> (t floordiv 8 mod 4 * 4 + 1)>(%t)
  %row2 = affine.apply affine_map<(t) -> (t floordiv 8 mod 4 * 4 + 2)>(%t)
  %row3 = affine.apply affine_map<(t) -> (t floordiv 8 mod 4 * 4 + 3)>(%t)
  %0 = memref.load %m[%row0, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %1 = memref.load %m[%row1, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %2 = memref.load %m[%row2, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %3 = memref.load %m[%row3, %column] : memref<16x32xf16, #gpu.address_space<workgroup>>
  %a = vector.from_elements %0, %1, %2, %3 : vector<4xf16>
  %d = amdgpu.mfma 16x16x16 %a * %b + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
  return %d : vector<4xf32>
}

// -----

// Between two of the loads somebody may write what they read.

// CHECK-LABEL: func.func @stored_between
//   CHECK-NOT:   transpose_load
#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
// expected-remark @+1 {{columns are read by single elements: a store, a barrier or a branch may come between them}}
func.func @stored_between(%b: vector<4xf16>, %c: vector<4xf32>) -> vector<4xf32> attributes {translation_info = #info, bankwise.slots = 2} {
  %t = gpu.thread_id x upper_bound 64
  %m = memref.alloc() : memref<16x16xf16, #gpu.address_space<workgroup>>
  %column = affine.apply affine_map<(t) -> (t mod 16)>(%t)
  %row0 = affine.apply affine_map<(t) -> (t floordiv 16 * 4)>(%t)
  %row1 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 1)>(%t)
  %row2 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 2)>(%t)
  %row3 = affine.apply affine_map<(t) -> (t floordiv 16 * 4 + 3)>(%t)
  %0 = memref.load %m[%row0, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %1 = memref.load %m[%row1, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  gpu.barrier
  %2 = memref.load %m[%row2, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %3 = memref.load %m[%row3, %column] : memref<16x16xf16, #gpu.address_space<workgroup>>
  %a = vector.from_elements %0, %1, %2, %3 : vector<4xf16>
  %d = amdgpu.mfma 16x16x16 %a * %b + %c : vector<4xf16>, vector<4xf16>, vector<4xf32>
  return %d : vector<4xf32>
}
