// RUN: bankwise-opt %s --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-native-fma))' --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-native-fma))' | FileCheck %s --check-prefix=OTHER

// OTHER-NOT: nvvm.fma

// CHECK-LABEL: func.func @scalar
// CHECK-SAME:    (%[[A:.+]]: f32, %[[B:.+]]: f32, %[[C:.+]]: f32, %[[V:.+]]: vector<2xf32>)
// CHECK-NEXT:    %[[D:.+]] = nvvm.fma %[[A]], %[[B]], %[[C]], rnd = <rn> : f32
// CHECK:         return %[[D]]
// expected-remark @+1 {{3 multiply-adds are known to LLVM}}
func.func @scalar(%a: f32, %b: f32, %c: f32, %v: vector<2xf32>) -> (f32, vector<2xf32>) {
  %0 = math.fma %a, %b, %c : f32
  %1 = math.fma %v, %v, %v : vector<2xf32>
  return %0, %1 : f32, vector<2xf32>
}

// Few calls stay.

// CHECK-LABEL: func.func @few
// CHECK-NOT:     nvvm.fma
// CHECK:         return
func.func @few(%a: f32, %v: vector<1xf32>) -> (f32, vector<1xf32>) {
  %0 = math.fma %a, %a, %a : f32
  %1 = math.fma %v, %v, %v : vector<1xf32>
  return %0, %1 : f32, vector<1xf32>
}

// The second one adds to the sums of the first one.

// CHECK-LABEL: func.func @twice
// CHECK-SAME:    (%[[A:.+]]: vector<2xf32>, %[[B:.+]]: vector<2xf32>)
// CHECK-NEXT:    %[[A0:.+]] = vector.extract %[[A]][0]
// CHECK-NEXT:    %[[B0:.+]] = vector.extract %[[B]][0]
// CHECK-NEXT:    %[[D0:.+]] = nvvm.fma %[[A0]], %[[A0]], %[[B0]],
// CHECK-NEXT:    %[[A1:.+]] = vector.extract %[[A]][1]
// CHECK-NEXT:    %[[B1:.+]] = vector.extract %[[B]][1]
// CHECK-NEXT:    %[[D1:.+]] = nvvm.fma %[[A1]], %[[A1]], %[[B1]],
// CHECK-NEXT:    %[[E0:.+]] = nvvm.fma %[[B0]], %[[A0]], %[[D0]],
// CHECK-NEXT:    %[[E1:.+]] = nvvm.fma %[[B1]], %[[A1]], %[[D1]],
// CHECK-NEXT:    %[[E:.+]] = vector.from_elements %[[E0]], %[[E1]] : vector<2xf32>
// CHECK-NEXT:    return %[[E]]
// expected-remark @+1 {{4 multiply-adds are known to LLVM}}
func.func @twice(%a: vector<2xf32>, %b: vector<2xf32>) -> vector<2xf32> {
  %0 = math.fma %a, %a, %b : vector<2xf32>
  %1 = math.fma %b, %a, %0 : vector<2xf32>
  return %1 : vector<2xf32>
}

// What is inserted last counts, and what no slice covers is of the vector that they come into.

// CHECK-LABEL: func.func @parts
// CHECK-SAME:    (%[[X:.+]]: f32, %[[Y:.+]]: f32, %[[A:.+]]: vector<2xf32>, %[[W:.+]]: vector<4xf32>)
// CHECK:         %[[W0:.+]] = vector.extract %[[W]][0]
// CHECK-NEXT:    nvvm.fma %[[W0]], %[[W0]], %[[X]],
// CHECK-NEXT:    %[[A0:.+]] = vector.extract %[[A]][0]
// CHECK-NEXT:    %[[W1:.+]] = vector.extract %[[W]][1]
// CHECK-NEXT:    nvvm.fma %[[A0]], %[[W1]], %[[Y]],
// CHECK-NEXT:    %[[W2:.+]] = vector.extract %[[W]][2]
// CHECK-NEXT:    nvvm.fma %[[X]], %[[W2]], %[[A0]],
// CHECK-NEXT:    %[[W3:.+]] = vector.extract %[[W]][3]
// CHECK-NEXT:    %[[A1:.+]] = vector.extract %[[A]][1]
// CHECK-NEXT:    nvvm.fma %[[Y]], %[[W3]], %[[A1]],
// expected-remark @+1 {{4 multiply-adds are known to LLVM}}
func.func @parts(%x: f32, %y: f32, %a: vector<2xf32>, %w: vector<4xf32>) -> vector<4xf32> {
  %xy = vector.from_elements %x, %y : vector<2xf32>
  %0 = vector.insert_strided_slice %a, %w offsets = [1], strides = [1] : vector<2xf32> into vector<4xf32>
  %1 = vector.insert_strided_slice %xy, %0 offsets = [2], strides = [1] : vector<2xf32> into vector<4xf32>
  %2 = vector.insert_strided_slice %xy, %w offsets = [0], strides = [1] : vector<2xf32> into vector<4xf32>
  %3 = vector.insert_strided_slice %a, %2 offsets = [2], strides = [1] : vector<2xf32> into vector<4xf32>
  %4 = math.fma %1, %w, %3 : vector<4xf32>
  return %4 : vector<4xf32>
}

// What a branch takes out of a vector is not there behind it.

// CHECK-LABEL: func.func @branch
// CHECK-SAME:    (%[[IF:.+]]: i1, %[[A:.+]]: vector<2xf32>)
// CHECK:         scf.if
// CHECK:           vector.extract %[[A]][0]
// CHECK:         vector.extract %[[A]][0]
// CHECK:         return
// expected-remark @+1 {{4 multiply-adds are known to LLVM}}
func.func @branch(%if: i1, %a: vector<2xf32>) -> vector<2xf32> {
  %0 = scf.if %if -> vector<2xf32> {
    %1 = math.fma %a, %a, %a : vector<2xf32>
    scf.yield %1 : vector<2xf32>
  } else {
    scf.yield %a : vector<2xf32>
  }
  %2 = math.fma %a, %a, %0 : vector<2xf32>
  return %2 : vector<2xf32>
}

// Other types and ranks stay.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     nvvm.fma
// CHECK:         return
func.func @kept(%a: f64, %b: vector<2xf16>, %c: vector<[2]xf32>, %d: vector<2x2xf32>, %e: vector<f32>) -> (f64, vector<2xf16>, vector<[2]xf32>, vector<2x2xf32>, vector<f32>) {
  %0 = math.fma %a, %a, %a : f64
  %1 = math.fma %b, %b, %b : vector<2xf16>
  %2 = math.fma %c, %c, %c : vector<[2]xf32>
  %3 = math.fma %d, %d, %d : vector<2x2xf32>
  %4 = math.fma %e, %e, %e : vector<f32>
  return %0, %1, %2, %3, %4 : f64, vector<2xf16>, vector<[2]xf32>, vector<2x2xf32>, vector<f32>
}

// The library's function takes no subnormal number for a zero, and neither does that.

// CHECK-LABEL: func.func @flushes
// CHECK:         nvvm.fma %{{.+}}, rnd = <rn> : f32
// expected-remark @+1 {{2 multiply-adds are known to LLVM}}
func.func @flushes(%a: vector<2xf32>) -> vector<2xf32> attributes {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">} {
  %0 = math.fma %a, %a, %a : vector<2xf32>
  return %0 : vector<2xf32>
}
