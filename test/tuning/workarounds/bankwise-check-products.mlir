// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-check-products))' --mlir-print-local-scope --split-input-file --verify-diagnostics | FileCheck %s

// The instruction takes all factors for signed; the function says which are not.

// CHECK-LABEL: func.func @both
// CHECK-SAME:    bankwise.unsigned_factors = array<i64: 0, 1>
func.func @both(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extui %x : i8 to i32
    %yy = arith.extui %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// CHECK-LABEL: func.func @second
// CHECK-SAME:    bankwise.unsigned_factors = array<i64: 1>
func.func @second(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extsi %x : i8 to i32
    %yy = arith.extui %y : i8 to i32
    %p = arith.muli %yy, %xx : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// CHECK-LABEL: func.func @signed
// CHECK-NOT:     bankwise.unsigned_factors
func.func @signed(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extsi %x : i8 to i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// A number that was widened by zeros is not negative: what widens it further does not matter.

// CHECK-LABEL: func.func @in_steps
// CHECK-SAME:    bankwise.unsigned_factors = array<i64: 0>
func.func @in_steps(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx0 = arith.extui %x : i8 to i16
    %xx = arith.extsi %xx0 : i16 to i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// The product of two unsigned bytes has 16 bits.

// CHECK-LABEL: func.func @narrow_product
// CHECK-SAME:    bankwise.unsigned_factors = array<i64: 0, 1>
func.func @narrow_product(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extui %x : i8 to i16
    %yy = arith.extui %y : i8 to i16
    %p = arith.muli %xx, %yy : i16
    %w = arith.extui %p : i16 to i32
    %q = arith.addi %s, %w : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// As a signed number of 16 bits it may be negative.

func.func @wrapped(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would not wrap products as this operation does}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extui %x : i8 to i16
    %yy = arith.extui %y : i8 to i16
    %p = arith.muli %xx, %yy : i16
    %w = arith.extsi %p : i16 to i32
    %q = arith.addi %s, %w : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

func.func @changed_sign(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would drop a change of signs}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx0 = arith.extsi %x : i8 to i16
    %xx = arith.extui %xx0 : i16 to i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

func.func @in_bytes(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would not wrap products as this operation does}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %p = arith.muli %x, %y : i8
    %w = arith.extsi %p : i8 to i32
    %q = arith.addi %s, %w : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// A tensor of i1 lies in bytes, of which the instruction would multiply all bits. The program has no trunci.

func.func @booleans(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would multiply the bytes in which booleans lie, as it does in iree-compile: make an i8 of each boolean by arith.extui, in an operation of its own, in front of this one}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx0 = arith.trunci %x : i8 to i1
    %xx = arith.extsi %xx0 : i1 to i32
    %yy0 = arith.trunci %y : i8 to i1
    %yy = arith.extsi %yy0 : i1 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

func.func @half_byte(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would drop arith.trunci, as it does in iree-compile}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx0 = arith.trunci %x : i8 to i4
    %xx = arith.extsi %xx0 : i4 to i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// Any operation of one operand would be lost.

func.func @absolute(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would drop math.absi, as it does in iree-compile, and multiply what math.absi reads: write math.absi as an operation of its own, in front of this one}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extsi %x : i8 to i32
    %v = math.absi %xx : i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %v, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

func.func @absolute_sum(%a: tensor<16x32xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  // expected-error @+1 {{a matrix instruction would drop math.absi}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extsi %x : i8 to i32
    %v = math.absi %s : i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %v, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

func.func @exponential(%a: tensor<16x32xf16>, %b: tensor<16x32xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error @+1 {{a matrix instruction would drop math.exp}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xf16>, tensor<16x32xf16>) outs(%c : tensor<16x16xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}>} {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %e = math.exp %x : f16
    %xx = arith.extf %e : f16 to f32
    %yy = arith.extf %y : f16 to f32
    %p = arith.mulf %xx, %yy : f32
    %q = arith.addf %p, %s : f32
    linalg.yield %q : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// -----

// CHECK-LABEL: func.func @widened
// CHECK-NOT:     bankwise.unsigned_factors
func.func @widened(%a: tensor<16x32xf16>, %b: tensor<16x32xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xf16>, tensor<16x32xf16>) outs(%c : tensor<16x16xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}>} {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xx = arith.extf %x : f16 to f32
    %yy = arith.extf %y : f16 to f32
    %p = arith.mulf %xx, %yy : f32
    %q = arith.addf %p, %s : f32
    linalg.yield %q : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// -----

func.func @square(%a: tensor<16x32xf16>, %b: tensor<16x32xf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error @+1 {{a matrix instruction would compute something else than this operation does}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x32xf16>, tensor<16x32xf16>) outs(%c : tensor<16x16xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}>} {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %xx = arith.extf %x : f16 to f32
    %p = arith.mulf %xx, %xx : f32
    %q = arith.addf %p, %s : f32
    linalg.yield %q : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// -----

// Which factor of a convolution is the image is noted too.

// CHECK-LABEL: func.func @image
// CHECK-SAME:    bankwise.image_factor = 1 : i64, bankwise.unsigned_factors = array<i64: 1>
func.func @image(%a: tensor<16x3xi8>, %b: tensor<18xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n + k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<16x3xi8>, tensor<18xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extsi %x : i8 to i32
    %yy = arith.extui %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}

// -----

// The product of matrices that it becomes may have the image first.

// CHECK-LABEL: func.func @as_matrices
// CHECK-SAME:    bankwise.unsigned_factors = array<i64: 0>
func.func @as_matrices(%image: tensor<17x16xi8>, %b: tensor<16x32xi8>, %c: tensor<16x16xi32>) -> tensor<16x16xi32> attributes {bankwise.image_factor = 1 : i64, bankwise.unsigned_factors = array<i64: 1>} {
  %e = tensor.empty() : tensor<16x32xi8>
  %i = iree_linalg_ext.im2col strides = [1] dilations = [1] kernel_size = [2] offsets = [0, 0] output_sizes = [[16], [2, 16]] batch_pos = [] m_pos = [0] k_pos = [1] input_k_perm = [0, 1] output_perm = [0, 1] ins(%image : tensor<17x16xi8>) outs(%e : tensor<16x32xi8>) -> tensor<16x32xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%i, %b : tensor<16x32xi8>, tensor<16x32xi8>) outs(%c : tensor<16x16xi32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>}>} {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %xx = arith.extsi %x : i8 to i32
    %yy = arith.extsi %y : i8 to i32
    %p = arith.muli %xx, %yy : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<16x16xi32>
  return %r : tensor<16x16xi32>
}
