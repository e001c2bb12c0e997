// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-scale-differences),canonicalize)' --verify-diagnostics --bankwise-remarks | FileCheck %s

// Scores lose their factors, and differences get both: 0.3 log2 e.

// CHECK-LABEL: func.func @scaled
// CHECK-SAME:    %[[S:[^:]+]]:
// CHECK-DAG:     %[[FACTOR:.+]] = arith.constant 0.432808518 : f32
// CHECK:         scf.for {{.*}} iter_args(%[[OLD:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK-NEXT:      %[[MAX:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4x32xf32>) outs(%[[OLD]] : tensor<4xf32>)
// CHECK:             arith.maximumf
// CHECK:           linalg.generic {{.*}} ins(%[[MAX]] : tensor<4xf32>) outs(%[[OLD]] : tensor<4xf32>)
// CHECK:             %[[D:.+]] = arith.subf %out, %in
// CHECK-NEXT:        %[[E:.+]] = arith.mulf %[[D]], %[[FACTOR]]
// CHECK-NEXT:        math.exp2 %[[E]]
// CHECK:           linalg.generic {{.*}} ins(%[[MAX]] : tensor<4xf32>) outs(%[[S]] : tensor<4x32xf32>)
// CHECK:             %[[D:.+]] = arith.subf %out, %in
// CHECK-NEXT:        %[[E:.+]] = arith.mulf %[[D]], %[[FACTOR]]
// CHECK-NEXT:        math.exp2 %[[E]]
// CHECK:           scf.yield %[[MAX]]
// CHECK-NOT:     arith.cmpf
func.func @scaled(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}

// -----

// Numbers of a mask are added to scores that are scaled as the program says, so that log2 e alone comes later.

// CHECK-LABEL: func.func @added_mask
// CHECK-SAME:    %[[S:[^:]+]]: tensor<4x32xf32>, %{{.+}}: tensor<4x32xf32>, %[[MASK:.+]]: tensor<4x32xf32>
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant 3.000000e-01 : f32
// CHECK-DAG:     %[[LOG2E:.+]] = arith.constant 1.44269502 : f32
// CHECK:           %[[X:.+]] = linalg.generic {{.*}} outs(%[[S]]
// CHECK-NEXT:      ^bb0(%[[V:.+]]: f32):
// CHECK-NEXT:        %[[Y:.+]] = arith.mulf %[[V]], %[[SCALE]]
// CHECK-NEXT:        linalg.yield %[[Y]]
// CHECK:           linalg.generic {{.*}} ins(%[[MASK]] : {{.*}} outs(%[[X]]
// CHECK-NEXT:      ^bb0(%[[M:.+]]: f32, %[[V:.+]]: f32):
// CHECK-NEXT:        arith.addf %[[V]], %[[M]]
// CHECK:             arith.mulf %{{.+}}, %[[LOG2E]]
// CHECK-NEXT:        math.exp2
// CHECK:             arith.mulf %{{.+}}, %[[LOG2E]]
// CHECK-NEXT:        math.exp2
func.func @added_mask(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>, %mask: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %masked = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<4x32xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%m: f32, %v: f32):
      %y = arith.mulf %m, %log2e : f32
      %w = arith.addf %v, %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%masked : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%masked : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}

// -----

// A mask of -inf hides scores on any scale.

// CHECK-LABEL: func.func @hiding_mask
// CHECK-SAME:    %[[S:[^:]+]]:
// CHECK-DAG:     %[[FACTOR:.+]] = arith.constant 0.432808518 : f32
// CHECK:           linalg.generic {{.*}} ins(%{{.+}} : tensor<4x32xi1>) outs(%[[S]]
// CHECK:             arith.mulf %{{.+}}, %[[FACTOR]]
// CHECK-NEXT:        math.exp2
func.func @hiding_mask(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>, %mask: tensor<4x32xi1>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %masked = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%mask : tensor<4x32xi1>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%m: i1, %v: f32):
      %y = arith.select %m, %zero, %none : f32
      %w = arith.addf %v, %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%masked : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%masked : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}

// -----

// Maxima that leave the loop are those of scaled scores, or the lowest number still.

// CHECK-LABEL: func.func @leaving
// CHECK-DAG:     %[[FACTOR:.+]] = arith.constant 0.432808518 : f32
// CHECK-DAG:     %[[LOWEST:.+]] = arith.constant -3.40282347E+38 : f32
// CHECK:         %[[R:.+]]:2 = scf.for
// CHECK:         %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[R]]#0 : tensor<4xf32>)
// CHECK:           %[[Y:.+]] = arith.mulf %[[V:.+]], %[[FACTOR]]
// CHECK-NEXT:      %[[IS:.+]] = arith.cmpf ogt, %[[V]], %[[LOWEST]]
// CHECK-NEXT:      arith.select %[[IS]], %[[Y]], %[[LOWEST]]
// CHECK:         return %[[R]]#1, %[[SCALED]]
func.func @leaving(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4xf32>) {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1, %r#0 : tensor<4x32xf32>, tensor<4xf32>
}

// -----

// All keys are one step.

// CHECK-LABEL: func.func @at_once
// CHECK-SAME:    %[[S:[^:]+]]:
// CHECK:         %[[MAX:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4x32xf32>)
// CHECK:         %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[MAX]] :
// CHECK:           arith.select
// CHECK-COUNT-2:  math.exp2
// CHECK:         return %{{.+}}, %[[SCALED]]
func.func @at_once(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4xf32>) {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%begin : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%begin : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%z : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
  return %next, %max : tensor<4x32xf32>, tensor<4xf32>
}

// -----

// Scores of a negative scale have their maxima where they are smallest without it.

// CHECK-LABEL: func.func @negative
// CHECK-SAME:    %[[S:[^:]+]]:
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant -5.000000e-01 : f32
// CHECK:           %[[X:.+]] = linalg.generic {{.*}} outs(%[[S]]
// CHECK:             arith.mulf %{{.+}}, %[[SCALE]]
// CHECK:           linalg.generic {{.*}} ins(%[[X]] :
func.func @negative(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant -0.5 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}

// -----

// Nothing changes where scores go elsewhere, too.

// CHECK-LABEL: func.func @elsewhere
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.mulf
// CHECK:             arith.subf
// CHECK-NEXT:        math.exp2
func.func @elsewhere(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    // expected-remark @+1 {{scores are scaled before their maximum: its scores are not only for their maximum and their exponentials}}
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %more = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x32xf32>) outs(%other : tensor<4x32xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.addf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4x32xf32>
    %keep = tensor.dim %more, %c0 : tensor<4x32xf32>
    vector.print %keep : index
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}

// -----

// Nor where maxima begin with a number that scores may be below.

// CHECK-LABEL: func.func @other_begin
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.mulf
func.func @other_begin(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -1.0 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    // expected-remark @+1 {{scores are scaled before their maximum: its maxima do not begin with the lowest number}}
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}


// -----

// Nor where the loop does something else with maxima, which would be those of scores that are not scaled.

// CHECK-LABEL: func.func @new_elsewhere
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.mulf
func.func @new_elsewhere(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    // expected-remark @+1 {{scores are scaled before their maximum: something else in the loop takes its maxima}}
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %row = tensor.extract %max[%c0] : tensor<4xf32>
    vector.print %row : f32
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}

// -----

// Nor where the loop does something else with maxima, which would be those of scores that are not scaled.

// CHECK-LABEL: func.func @old_elsewhere
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.mulf
func.func @old_elsewhere(%s: tensor<4x32xf32>, %other: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %log2e = arith.constant 1.44269502 : f32
  %scale = arith.constant 0.3 : f32
  %lowest = arith.constant -3.40282347E+38 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<4xf32>
  %begin = linalg.fill ins(%lowest : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<4x32xf32>) -> tensor<4x32xf32>
  %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %begin, %sum = %z) -> (tensor<4xf32>, tensor<4x32xf32>) {
    // expected-remark @+1 {{scores are scaled before their maximum: something else in the loop takes its maxima}}
    %x = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<4x32xf32>) {
    ^bb0(%v: f32):
      %y = arith.mulf %v, %log2e : f32
      %w = arith.mulf %y, %scale : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %max = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x32xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = arith.maximumf %v, %o : f32
      linalg.yield %y : f32
    } -> tensor<4xf32>
    %corr = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%max : tensor<4xf32>) outs(%old : tensor<4xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4xf32>
    %p = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%max : tensor<4xf32>) outs(%x : tensor<4x32xf32>) {
    ^bb0(%n: f32, %o: f32):
      %y = arith.subf %o, %n : f32
      %w = math.exp2 %y : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %next = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>, affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%corr, %p : tensor<4xf32>, tensor<4x32xf32>) outs(%sum : tensor<4x32xf32>) {
    ^bb0(%c: f32, %n: f32, %o: f32):
      %y = arith.mulf %c, %o : f32
      %w = arith.addf %y, %n : f32
      linalg.yield %w : f32
    } -> tensor<4x32xf32>
    %row = tensor.extract %old[%c0] : tensor<4xf32>
    vector.print %row : f32
    scf.yield %max, %next : tensor<4xf32>, tensor<4x32xf32>
  }
  return %r#1 : tensor<4x32xf32>
}
