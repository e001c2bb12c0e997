// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-native-exp2))' --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-native-exp2))' | FileCheck %s --check-prefix=AMD

// AMD-NOT: llvm.call_intrinsic

// CHECK-LABEL: func.func @scalar
// CHECK-SAME:    (%[[X:.+]]: f32)
// CHECK-NEXT:    %[[E:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[X]]) : (f32) -> f32
// CHECK-NEXT:    return %[[E]]
// expected-remark @+1 {{1 exponential is computed by ex2.approx.f32}}
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp2 %x : f32
  return %0 : f32
}

// An attention's function lets its arithmetic flush subnormal numbers.

// CHECK-LABEL: func.func @flushing
// CHECK-SAME:    (%[[X:.+]]: vector<2xf32>)
// CHECK-NEXT:    %[[X0:.+]] = vector.extract %[[X]][0] : f32 from vector<2xf32>
// CHECK-NEXT:    %[[X1:.+]] = vector.extract %[[X]][1] : f32 from vector<2xf32>
// CHECK-NEXT:    %[[E0:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X0]]) : (f32) -> f32
// CHECK-NEXT:    %[[E1:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X1]]) : (f32) -> f32
// CHECK-NEXT:    %[[E:.+]] = vector.from_elements %[[E0]], %[[E1]] : vector<2xf32>
// CHECK-NEXT:    return %[[E]]
// expected-remark @+1 {{2 exponentials are computed by ex2.approx.ftz.f32}}
func.func @flushing(%x: vector<2xf32>) -> vector<2xf32> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>} {
  %0 = math.exp2 %x : vector<2xf32>
  return %0 : vector<2xf32>
}

// CHECK-LABEL: func.func @flushing_by_attribute
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
func.func @flushing_by_attribute(%x: f32) -> f32 attributes {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"positive-zero">} {
  // expected-remark @-1 {{1 exponential is}}
  %0 = math.exp2 %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @precise
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
func.func @precise(%x: f32) -> f32 attributes {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<none>} {
  // expected-remark @-1 {{1 exponential is}}
  %0 = math.exp2 %x : f32
  return %0 : f32
}

// Vectors of any rank; those of no dimensions have one element.

// CHECK-LABEL: func.func @ranks
// CHECK-SAME:    (%[[X:.+]]: vector<1x2x2xf32>, %[[Y:.+]]: vector<f32>)
// CHECK-NEXT:    %[[FLAT:.+]] = vector.shape_cast %[[X]] : vector<1x2x2xf32> to vector<4xf32>
// CHECK-NEXT:    vector.extract %[[FLAT]][0]
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
// CHECK-NEXT:    %[[ALL:.+]] = vector.from_elements %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : vector<4xf32>
// CHECK-NEXT:    %[[E:.+]] = vector.shape_cast %[[ALL]] : vector<4xf32> to vector<1x2x2xf32>
// CHECK-NEXT:    vector.shape_cast %[[Y]] : vector<f32> to vector<1xf32>
// CHECK:         %[[F:.+]] = vector.shape_cast %{{.+}} : vector<1xf32> to vector<f32>
// CHECK-NEXT:    return %[[E]], %[[F]]
// expected-remark @+1 {{5 exponentials are}}
func.func @ranks(%x: vector<1x2x2xf32>, %y: vector<f32>) -> (vector<1x2x2xf32>, vector<f32>) {
  %0 = math.exp2 %x : vector<1x2x2xf32>
  %1 = math.exp2 %y : vector<f32>
  return %0, %1 : vector<1x2x2xf32>, vector<f32>
}

// What the rounding of x log2(e) loses is multiplied in.

// CHECK-LABEL: func.func @natural
// CHECK-SAME:    (%[[X:.+]]: f32)
// CHECK-NEXT:    %[[L:.+]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %[[Y:.+]] = arith.mulf %[[X]], %[[L]] : f32
// CHECK-NEXT:    %[[MINUS:.+]] = arith.negf %[[Y]] : f32
// CHECK-NEXT:    %[[LOST:.+]] = math.fma %[[X]], %[[L]], %[[MINUS]] : f32
// CHECK-NEXT:    %[[M:.+]] = arith.constant 1.925963{{.+}}E-8 : f32
// CHECK-NEXT:    %[[ALL_LOST:.+]] = math.fma %[[X]], %[[M]], %[[LOST]] : f32
// CHECK:         %[[LN2:.+]] = arith.constant 0.693147182 : f32
// CHECK:         %[[FACTOR:.+]] = math.fma %[[ALL_LOST]], %[[LN2]], %{{.+}} : f32
// CHECK:         %[[BELOW:.+]] = arith.minnumf %[[FACTOR]], %{{.+}} : f32
// CHECK:         %[[CLAMPED:.+]] = arith.maxnumf %[[BELOW]], %{{.+}} : f32
// CHECK-NEXT:    %[[E:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[Y]]) : (f32) -> f32
// CHECK-NEXT:    %[[RESULT:.+]] = arith.mulf %[[E]], %[[CLAMPED]] : f32
// CHECK-NEXT:    return %[[RESULT]]
// expected-remark @+1 {{1 exponential is}}
func.func @natural(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @natural_vector
// CHECK:         math.fma %{{.+}} : vector<2xf32>
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
// expected-remark @+1 {{2 exponentials are}}
func.func @natural_vector(%x: vector<2xf32>) -> vector<2xf32> {
  %0 = math.exp %x : vector<2xf32>
  return %0 : vector<2xf32>
}

// Other types, scalable vectors and tensors stay.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         return
func.func @kept(%c: f64, %d: vector<[4]xf32>, %e: tensor<4xf32>) -> (f64, vector<[4]xf32>, tensor<4xf32>) {
  %2 = math.exp2 %c : f64
  %3 = math.exp2 %d : vector<[4]xf32>
  %4 = math.exp %e : tensor<4xf32>
  return %2, %3, %4 : f64, vector<[4]xf32>, tensor<4xf32>
}

// Those of f16 and bf16 are computed in f32, and rounded once.

// CHECK-LABEL: func.func @narrow
// CHECK:         %[[A:.+]] = arith.extf %{{.+}} : vector<2xf16> to vector<2xf32>
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
// CHECK:         arith.truncf %{{.+}} : vector<2xf32> to vector<2xf16>
// CHECK:         %[[B:.+]] = arith.extf %{{.+}} : bf16 to f32
// CHECK:         %[[Y:.+]] = arith.mulf %[[B]], %{{.+}} : f32
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[Y]])
// CHECK:         arith.truncf %{{.+}} : f32 to bf16
// expected-remark @below {{3 exponentials are computed by ex2.approx.f32}}
func.func @narrow(%a: vector<2xf16>, %b: bf16) -> (vector<2xf16>, bf16) {
  %0 = math.exp2 %a : vector<2xf16>
  %1 = math.exp %b : bf16
  return %0, %1 : vector<2xf16>, bf16
}
