// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-keep-maxima,canonicalize))' --verify-diagnostics --bankwise-remarks | FileCheck %s

// Products make the scores: the first one adds to the negated maximum, and nothing subtracts it.

// CHECK-LABEL: func.func @scores
// CHECK-SAME:    %[[Q:.+]]: vector<4xf16>, %[[K:[^:]+]]: memref
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK-DAG:     %[[GROWTH:.+]] = arith.constant dense<8.000000e+00> : vector<1xf32>
// CHECK-DAG:     %[[LITTLE:.+]] = arith.constant dense<6.10351563E-5> : vector<1xf32>
// CHECK-DAG:     %[[LEAST:.+]] = arith.constant dense<3.40282347E+38> : vector<4xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[X:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[START:.+]] = %[[LEAST]])
// CHECK:           %[[FACTOR:.+]] = vector.load %[[K]]
// CHECK:           %[[S:.+]] = amdgpu.mfma 16x16x16 %[[FACTOR]] * %[[Q]] + %[[START]]
// CHECK:           %[[OWN:.+]] = vector.reduction <maximumf>, %[[S]]
// CHECK-NOT:       gpu.shuffle
// CHECK:           arith.cmpf ogt, %{{.+}}, %[[GROWTH]] : vector<1xf32>
// CHECK:           %[[LANES:.+]] = rocdl.ballot
// CHECK:           %[[GROWN:.+]] = arith.cmpi ne, %[[LANES]]
// CHECK:           %[[IF:.+]]:4 = scf.if %[[GROWN]]
// CHECK:             llvm.inline_asm
// CHECK:             %[[AGAIN:.+]] = vector.load %[[K]]
// CHECK:             amdgpu.mfma 16x16x16 %[[AGAIN]] * %[[Q]] + %[[ZERO]]
// CHECK:             gpu.shuffle
// CHECK:             arith.maximumf
// CHECK:             %[[LOWER:.+]] = arith.subf %{{.+}}, %[[LITTLE]] : vector<1xf32>
// CHECK:             %[[NEW:.+]] = arith.maximumf {{.*}}%[[LOWER]]{{.*}} : vector<1xf32>
// CHECK:             %[[SHIFTED:.+]] = arith.subf {{.*}} : vector<4xf32>
// CHECK:             %[[SCALED:.+]] = arith.mulf
// CHECK:             %[[NEGATED:.+]] = arith.negf
// CHECK:             %[[NEXT:.+]] = vector.broadcast %[[NEGATED]]
// CHECK:             scf.yield %[[NEW]], %[[SHIFTED]], %[[SCALED]], %[[NEXT]]
// CHECK:           } else {
// CHECK:             scf.yield %[[M]], %[[S]], %[[X]], %[[START]]
// CHECK:           %[[E:.+]] = math.exp2 %[[IF]]#1
// CHECK:           %[[P:.+]] = arith.truncf %[[E]]
// CHECK:           %[[Y:.+]] = amdgpu.mfma 16x16x16 %[[FACTOR]] * %[[P]] + %[[IF]]#2
// CHECK:           scf.yield %[[Y]], %[[IF]]#0, %[[IF]]#3
func.func @scores(%q: vector<4xf16>, %keys: memref<64xf16, #gpu.address_space<workgroup>>, %n: index) -> vector<4xf32> {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %by = arith.constant 32 : i32
  %wave = arith.constant 64 : i32
  // expected-remark @+1 {{sums are rescaled only where a maximum grows much}}
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %m = %least) -> (vector<4xf32>, vector<1xf32>) {
    %k = vector.load %keys[%i] : memref<64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
    %s = amdgpu.mfma 16x16x16 %k * %q + %zero : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %own = vector.reduction <maximumf>, %s : vector<4xf32> into f32
    %other, %valid = gpu.shuffle xor %own, %by, %wave : f32
    %both = arith.maximumf %own, %other : f32
    %row = vector.broadcast %both : f32 to vector<1xf32>
    %max = arith.maximumf %row, %m : vector<1xf32>
    %change = arith.subf %m, %max : vector<1xf32>
    %corr = math.exp2 %change : vector<1xf32>
    %scalar = vector.extract %max[0] : f32 from vector<1xf32>
    %wide = vector.broadcast %scalar : f32 to vector<4xf32>
    %shifted = arith.subf %s, %wide : vector<4xf32>
    %e = math.exp2 %shifted : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %scale = vector.extract %corr[0] : f32 from vector<1xf32>
    %scales = vector.broadcast %scale : f32 to vector<4xf32>
    %scaled = arith.mulf %scales, %x : vector<4xf32>
    %y = amdgpu.mfma 16x16x16 %k * %p + %scaled : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y, %max : vector<4xf32>, vector<1xf32>
  }
  return %r#0 : vector<4xf32>
}

// -----

// A mask changes the scores: the old maximum is subtracted from them where it stays.

// CHECK-LABEL: func.func @masked
// CHECK-SAME:    %{{.+}}: vector<4xf16>, %[[MASK:.+]]: vector<4xf32>
// CHECK-DAG:     %[[GROWTH:.+]] = arith.constant dense<8.000000e+00> : vector<1xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[X:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}})
// CHECK:           %[[S:.+]] = arith.addf %{{.+}}, %[[MASK]]
// CHECK:           %[[LIMIT:.+]] = arith.addf %[[M]], %[[GROWTH]]
// CHECK:           arith.cmpf ogt, %{{.+}}, %[[LIMIT]]
// CHECK:           %[[IF:.+]]:3 = scf.if
// CHECK-NOT:         amdgpu.mfma
// CHECK:             gpu.shuffle
// CHECK:           } else {
// CHECK:             %[[OLD:.+]] = vector.broadcast
// CHECK:             %[[SHIFTED:.+]] = arith.subf %[[S]], %[[OLD]]
// CHECK:             scf.yield %[[M]], %[[SHIFTED]], %[[X]]
func.func @masked(%q: vector<4xf16>, %mask: vector<4xf32>, %n: index) -> vector<4xf32> {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %by = arith.constant 32 : i32
  %wave = arith.constant 64 : i32
  // expected-remark @+1 {{sums are rescaled only where a maximum grows much}}
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %m = %least) -> (vector<4xf32>, vector<1xf32>) {
    %t = amdgpu.mfma 16x16x16 %q * %q + %zero : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %s = arith.addf %t, %mask : vector<4xf32>
    %own = vector.reduction <maximumf>, %s : vector<4xf32> into f32
    %other, %valid = gpu.shuffle xor %own, %by, %wave : f32
    %both = arith.maximumf %own, %other : f32
    %row = vector.broadcast %both : f32 to vector<1xf32>
    %max = arith.maximumf %row, %m : vector<1xf32>
    %change = arith.subf %m, %max : vector<1xf32>
    %corr = math.exp2 %change : vector<1xf32>
    %scalar = vector.extract %max[0] : f32 from vector<1xf32>
    %wide = vector.broadcast %scalar : f32 to vector<4xf32>
    %shifted = arith.subf %s, %wide : vector<4xf32>
    %e = math.exp2 %shifted : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %scale = vector.extract %corr[0] : f32 from vector<1xf32>
    %scales = vector.broadcast %scale : f32 to vector<4xf32>
    %scaled = arith.mulf %scales, %x : vector<4xf32>
    %y = amdgpu.mfma 16x16x16 %q * %p + %scaled : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y, %max : vector<4xf32>, vector<1xf32>
  }
  return %r#0 : vector<4xf32>
}

// -----

// `mma.sync` gives a lane elements of two rows: the maxima of both decide together, before anything
// uses one of them.

// CHECK-LABEL: func.func @two_rows
// CHECK:         scf.for {{.*}} iter_args(%[[X:.+]] = %{{.+}}, %[[Y:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[N:.+]] = %{{.+}})
// CHECK:           %[[T:.+]] = nvgpu.mma.sync
// CHECK-DAG:       %[[S0:.+]] = vector.extract %[[T]][0]
// CHECK-DAG:       %[[S1:.+]] = vector.extract %[[T]][1]
// CHECK-DAG:       %[[LIMIT0:.+]] = arith.addf %[[M]], %{{.+}}
// CHECK-DAG:       %[[LIMIT1:.+]] = arith.addf %[[N]], %{{.+}}
// CHECK-DAG:       %[[GREW0:.+]] = arith.cmpf ogt, %{{.+}}, %[[LIMIT0]]
// CHECK-DAG:       %[[GREW1:.+]] = arith.cmpf ogt, %{{.+}}, %[[LIMIT1]]
// CHECK-NOT:       gpu.shuffle
// CHECK:           %[[ANY:.+]] = arith.ori
// CHECK:           %[[GROWN:.+]] = nvvm.vote.sync any %{{.+}}, %[[ANY]] -> i1
// CHECK:           %[[IF:.+]]:6 = scf.if %[[GROWN]]
// CHECK-COUNT-2:     gpu.shuffle
// CHECK:           } else {
// CHECK-DAG:         %[[OLD0:.+]] = arith.subf %[[S0]], %{{.+}}
// CHECK-DAG:         %[[OLD1:.+]] = arith.subf %[[S1]], %{{.+}}
// CHECK:             scf.yield %[[M]], %[[N]], %[[OLD0]], %[[OLD1]], %[[X]], %[[Y]]
// CHECK:           math.exp2 %[[IF]]#2
// CHECK:           math.exp2 %[[IF]]#3
// CHECK:           scf.yield %[[IF]]#4, %[[IF]]#5, %[[IF]]#0, %[[IF]]#1
func.func @two_rows(%q: vector<4x2xf16>, %k: vector<2x2xf16>, %out: memref<2x2xf32>, %n: index) -> (vector<2xf32>, vector<2xf32>) {
  %zero = arith.constant dense<0.0> : vector<2x2xf32>
  %none = arith.constant dense<0.0> : vector<2xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %by = arith.constant 1 : i32
  %warp = arith.constant 32 : i32
  // expected-remark @+1 {{sums are rescaled only where a maximum grows much}}
  %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %none, %y = %none, %m = %least, %l = %least) -> (vector<2xf32>, vector<2xf32>, vector<1xf32>, vector<1xf32>) {
    %t = nvgpu.mma.sync (%q, %k, %zero) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %s0 = vector.extract %t[0] : vector<2xf32> from vector<2x2xf32>
    %own0 = vector.reduction <maximumf>, %s0 : vector<2xf32> into f32
    %other0, %valid0 = gpu.shuffle xor %own0, %by, %warp : f32
    %both0 = arith.maximumf %own0, %other0 : f32
    %row0 = vector.broadcast %both0 : f32 to vector<1xf32>
    %max0 = arith.maximumf %row0, %m : vector<1xf32>
    %wide0 = vector.broadcast %max0 : vector<1xf32> to vector<2xf32>
    %shifted0 = arith.subf %s0, %wide0 : vector<2xf32>
    %e0 = math.exp2 %shifted0 : vector<2xf32>
    %s1 = vector.extract %t[1] : vector<2xf32> from vector<2x2xf32>
    %own1 = vector.reduction <maximumf>, %s1 : vector<2xf32> into f32
    %other1, %valid1 = gpu.shuffle xor %own1, %by, %warp : f32
    %both1 = arith.maximumf %own1, %other1 : f32
    %row1 = vector.broadcast %both1 : f32 to vector<1xf32>
    %max1 = arith.maximumf %row1, %l : vector<1xf32>
    %wide1 = vector.broadcast %max1 : vector<1xf32> to vector<2xf32>
    %shifted1 = arith.subf %s1, %wide1 : vector<2xf32>
    %e1 = math.exp2 %shifted1 : vector<2xf32>
    vector.store %e0, %out[%c0, %c0] : memref<2x2xf32>, vector<2xf32>
    vector.store %e1, %out[%c1, %c0] : memref<2x2xf32>, vector<2xf32>
    %change0 = arith.subf %m, %max0 : vector<1xf32>
    %corr0 = math.exp2 %change0 : vector<1xf32>
    %scales0 = vector.broadcast %corr0 : vector<1xf32> to vector<2xf32>
    %scaled0 = arith.mulf %scales0, %x : vector<2xf32>
    %change1 = arith.subf %l, %max1 : vector<1xf32>
    %corr1 = math.exp2 %change1 : vector<1xf32>
    %scales1 = vector.broadcast %corr1 : vector<1xf32> to vector<2xf32>
    %scaled1 = arith.mulf %scales1, %y : vector<2xf32>
    scf.yield %scaled0, %scaled1, %max0, %max1 : vector<2xf32>, vector<2xf32>, vector<1xf32>, vector<1xf32>
  }
  return %r#0, %r#1 : vector<2xf32>, vector<2xf32>
}

// -----

// Products of `wgmma` may run in a loop with machine instructions: it stays as it is.

// CHECK-LABEL: func.func @under_way
// CHECK-NOT:     scf.if
func.func @under_way(%q: vector<4x2xf16>, %k: vector<2x2xf16>, %n: index) -> vector<2x2xf32> {
  %zero = arith.constant dense<0.0> : vector<2x2xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %m = %least) -> (vector<2x2xf32>, vector<1xf32>) {
    llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "" : () -> ()
    %s = nvgpu.mma.sync (%q, %k, %zero) mmaShape = [16, 8, 16] : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %flat = vector.shape_cast %s : vector<2x2xf32> to vector<4xf32>
    %own = vector.reduction <maximumf>, %flat : vector<4xf32> into f32
    %row = vector.broadcast %own : f32 to vector<1xf32>
    %max = arith.maximumf %row, %m : vector<1xf32>
    %change = arith.subf %m, %max : vector<1xf32>
    %corr = math.exp2 %change : vector<1xf32>
    %wide = vector.broadcast %max : vector<1xf32> to vector<2x2xf32>
    %shifted = arith.subf %s, %wide : vector<2x2xf32>
    %e = math.exp2 %shifted : vector<2x2xf32>
    %scales = vector.broadcast %corr : vector<1xf32> to vector<2x2xf32>
    %scaled = arith.mulf %scales, %x : vector<2x2xf32>
    %y = arith.addf %e, %scaled : vector<2x2xf32>
    scf.yield %y, %max : vector<2x2xf32>, vector<1xf32>
  }
  return %r#0 : vector<2x2xf32>
}

// -----

// What is stored of a maximum in every step would be another one.

// CHECK-LABEL: func.func @stored
// CHECK-NOT:     scf.if
func.func @stored(%q: vector<4xf16>, %out: memref<1xf32>, %n: index) -> vector<4xf32> {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{maxima are not kept: vector.store uses a maximum}}
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %m = %least) -> (vector<4xf32>, vector<1xf32>) {
    %s = amdgpu.mfma 16x16x16 %q * %q + %zero : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %own = vector.reduction <maximumf>, %s : vector<4xf32> into f32
    %row = vector.broadcast %own : f32 to vector<1xf32>
    %max = arith.maximumf %row, %m : vector<1xf32>
    vector.store %max, %out[%c0] : memref<1xf32>, vector<1xf32>
    scf.yield %x, %max : vector<4xf32>, vector<1xf32>
  }
  return %r#0 : vector<4xf32>
}

// -----

// Differences are multiplied by 2 before they become exponents: a score that is larger by 4 has one that is larger by 8.

// CHECK-LABEL: func.func @multiplied
// CHECK-DAG:     %[[GROWTH:.+]] = arith.constant dense<4.000000e+00> : vector<1xf32>
// CHECK-DAG:     %[[TWO:.+]] = arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[X:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}})
// CHECK:           %[[LIMIT:.+]] = arith.addf %[[M]], %[[GROWTH]]
// CHECK:           arith.cmpf ogt, %{{.+}}, %[[LIMIT]]
// CHECK:           %[[IF:.+]]:3 = scf.if
// CHECK:             %[[D:.+]] = arith.subf %[[M]], %{{.+}} : vector<1xf32>
// CHECK:             %[[E:.+]] = arith.mulf %[[D]], %{{.+}} : vector<1xf32>
// CHECK:             %[[CORR:.+]] = math.exp2 %[[E]]
// CHECK:           } else {
// CHECK:             scf.yield %[[M]], %{{.+}}, %[[X]]
// CHECK:           arith.mulf %[[IF]]#1, %[[TWO]]
func.func @multiplied(%q: vector<4xf16>, %mask: vector<4xf32>, %n: index) -> vector<4xf32> {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %by_corr = arith.constant dense<2.0> : vector<1xf32>
  %by_diff = arith.constant dense<2.0> : vector<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %by = arith.constant 32 : i32
  %wave = arith.constant 64 : i32
  // expected-remark @+1 {{sums are rescaled only where a maximum grows much}}
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %m = %least) -> (vector<4xf32>, vector<1xf32>) {
    %t = amdgpu.mfma 16x16x16 %q * %q + %zero : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %s = arith.addf %t, %mask : vector<4xf32>
    %own = vector.reduction <maximumf>, %s : vector<4xf32> into f32
    %other, %valid = gpu.shuffle xor %own, %by, %wave : f32
    %both = arith.maximumf %own, %other : f32
    %row = vector.broadcast %both : f32 to vector<1xf32>
    %max = arith.maximumf %row, %m : vector<1xf32>
    %change = arith.subf %m, %max : vector<1xf32>
    %change2 = arith.mulf %change, %by_corr : vector<1xf32>
    %corr = math.exp2 %change2 : vector<1xf32>
    %scalar = vector.extract %max[0] : f32 from vector<1xf32>
    %wide = vector.broadcast %scalar : f32 to vector<4xf32>
    %shifted = arith.subf %s, %wide : vector<4xf32>
    %shifted2 = arith.mulf %shifted, %by_diff : vector<4xf32>
    %e = math.exp2 %shifted2 : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %scale = vector.extract %corr[0] : f32 from vector<1xf32>
    %scales = vector.broadcast %scale : f32 to vector<4xf32>
    %scaled = arith.mulf %scales, %x : vector<4xf32>
    %y = amdgpu.mfma 16x16x16 %q * %p + %scaled : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y, %max : vector<4xf32>, vector<1xf32>
  }
  return %r#0 : vector<4xf32>
}

// -----

// It is not known how large exponents become that are multiplied otherwise than the correction.

// CHECK-LABEL: func.func @multiplied_otherwise
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @multiplied_otherwise(%q: vector<4xf16>, %mask: vector<4xf32>, %n: index) -> vector<4xf32> {
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %least = arith.constant dense<-3.40282347E+38> : vector<1xf32>
  %by_corr = arith.constant dense<2.0> : vector<1xf32>
  %by_diff = arith.constant dense<3.0> : vector<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %by = arith.constant 32 : i32
  %wave = arith.constant 64 : i32
  // expected-remark @+1 {{maxima are not kept: differences from maxima are multiplied by more than one number}}
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %m = %least) -> (vector<4xf32>, vector<1xf32>) {
    %t = amdgpu.mfma 16x16x16 %q * %q + %zero : vector<4xf16>, vector<4xf16>, vector<4xf32>
    %s = arith.addf %t, %mask : vector<4xf32>
    %own = vector.reduction <maximumf>, %s : vector<4xf32> into f32
    %other, %valid = gpu.shuffle xor %own, %by, %wave : f32
    %both = arith.maximumf %own, %other : f32
    %row = vector.broadcast %both : f32 to vector<1xf32>
    %max = arith.maximumf %row, %m : vector<1xf32>
    %change = arith.subf %m, %max : vector<1xf32>
    %change2 = arith.mulf %change, %by_corr : vector<1xf32>
    %corr = math.exp2 %change2 : vector<1xf32>
    %scalar = vector.extract %max[0] : f32 from vector<1xf32>
    %wide = vector.broadcast %scalar : f32 to vector<4xf32>
    %shifted = arith.subf %s, %wide : vector<4xf32>
    %shifted2 = arith.mulf %shifted, %by_diff : vector<4xf32>
    %e = math.exp2 %shifted2 : vector<4xf32>
    %p = arith.truncf %e : vector<4xf32> to vector<4xf16>
    %scale = vector.extract %corr[0] : f32 from vector<1xf32>
    %scales = vector.broadcast %scale : f32 to vector<4xf32>
    %scaled = arith.mulf %scales, %x : vector<4xf32>
    %y = amdgpu.mfma 16x16x16 %q * %p + %scaled : vector<4xf16>, vector<4xf16>, vector<4xf32>
    scf.yield %y, %max : vector<4xf32>, vector<1xf32>
  }
  return %r#0 : vector<4xf32>
}
