// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-raise-attention{always}))' --split-input-file --mlir-print-local-scope --verify-diagnostics --bankwise-remarks | FileCheck %s
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-raise-attention))' --split-input-file --mlir-print-local-scope --bankwise-remarks 2>&1 | FileCheck %s --check-prefix=PREDICTED
// RUN: bankwise-opt %s --pass-pipeline='builtin.module(func.func(bankwise-raise-attention))' --split-input-file --mlir-print-local-scope | FileCheck %s --check-prefix=STAYS

// The attention leaves Q as it is and scales its scores, and what is -inf where the mask is false is its mask.

// CHECK-LABEL: func.func @masked
// CHECK-DAG:   %[[LN2:.*]] = arith.constant 0.693147182 : f32
// CHECK:       %[[R:.*]] = iree_linalg_ext.attention <indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>]>
// CHECK-SAME:    ins(%arg0, %arg1, %arg2, %[[LN2]], %arg3 :
// CHECK-NEXT:  ^bb0(%[[SCORE:.*]]: f32):
// CHECK-NEXT:    %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %[[X:.*]] = arith.mulf %[[SCORE]], %[[LOG2E]] : f32
// CHECK-NEXT:    %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.mulf %[[X]], %[[SCALE]] : f32
// CHECK-NEXT:    iree_linalg_ext.yield %[[Y]]
// CHECK:       return %[[R]]
// Nothing is left of the attention for which that is predicted.
// STAYS-LABEL: func.func @masked
// STAYS-NOT:   arith.constant 1.25
// STAYS-NOT:   attention
// STAYS-COUNT-3: tensor.empty()
// STAYS-NOT:   tensor.empty()
// STAYS:       return
// PREDICTED: it stays a softmax: an attention is predicted to take {{.*}} us, and moving the scores and weights of its softmax alone {{.*}} us
func.func @masked(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>, %mask: tensor<80x144xi1>) -> tensor<6x80x32xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>}>} {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%x: f32, %out: f32):
    %z = arith.divf %x, %eight : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (m, k)>, affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mask, %d : tensor<80x144xi1>, tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%m: i1, %x: f32, %out: f32):
    %z = arith.select %m, %x, %none : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  // expected-remark @+1 {{a softmax between two products is an attention}}
  %w = linalg.softmax dimension(2) ins(%a : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}

// -----

// A large one is predicted to take less time, too.

// CHECK-LABEL: func.func @large
// CHECK:       iree_linalg_ext.attention
// PREDICTED: remark: an attention is predicted to take {{.*}} us, and moving the scores and weights of its softmax alone {{.*}} us
func.func @large(%q: tensor<48x1024x64xf16>, %k: tensor<48x1024x64xf16>, %v: tensor<48x1024x32xf16>, %mask: tensor<1024x1024xi1>) -> tensor<48x1024x32xf32> attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [9, 9, 9]>>}>} {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<48x1024x1024xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<48x1024x1024xf32>) -> tensor<48x1024x1024xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<48x1024x64xf16>, tensor<48x1024x64xf16>) outs(%sz : tensor<48x1024x1024xf32>) -> tensor<48x1024x1024xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<48x1024x1024xf32>) outs(%se : tensor<48x1024x1024xf32>) {
  ^bb0(%x: f32, %out: f32):
    %z = arith.divf %x, %eight : f32
    linalg.yield %z : f32
  } -> tensor<48x1024x1024xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (m, k)>, affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mask, %d : tensor<1024x1024xi1>, tensor<48x1024x1024xf32>) outs(%se : tensor<48x1024x1024xf32>) {
  ^bb0(%m: i1, %x: f32, %out: f32):
    %z = arith.select %m, %x, %none : f32
    linalg.yield %z : f32
  } -> tensor<48x1024x1024xf32>
  // expected-remark @+1 {{a softmax between two products is an attention}}
  %w = linalg.softmax dimension(2) ins(%a : tensor<48x1024x1024xf32>) outs(%se : tensor<48x1024x1024xf32>) -> tensor<48x1024x1024xf32>
  %he = tensor.empty() : tensor<48x1024x1024xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<48x1024x1024xf32>) outs(%he : tensor<48x1024x1024xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<48x1024x1024xf16>
  %oe = tensor.empty() : tensor<48x1024x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<48x1024x32xf32>) -> tensor<48x1024x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<48x1024x1024xf16>, tensor<48x1024x32xf16>) outs(%oz : tensor<48x1024x32xf32>) -> tensor<48x1024x32xf32>
  return %o : tensor<48x1024x32xf32>
}


// -----

// Scores that are another function of the product are no scores of an attention.

// CHECK-LABEL: func.func @capped
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @capped(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%x: f32, %out: f32):
    %z = math.tanh %x : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: math.tanh changes its scores}}
  %w = linalg.softmax dimension(2) ins(%t : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}

// -----

// The mask would be scaled, too.

// CHECK-LABEL: func.func @scaled_mask
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @scaled_mask(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>, %mask: tensor<80x144xf32>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %mask : tensor<6x80x144xf32>, tensor<80x144xf32>) outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%x: f32, %m: f32, %out: f32):
    %z = arith.addf %x, %m : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) {
  ^bb0(%x: f32, %out: f32):
    %z = arith.divf %x, %eight : f32
    linalg.yield %z : f32
  } -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: its scores are changed behind the mask}}
  %w = linalg.softmax dimension(2) ins(%d : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}

// -----

// Weights that something else reads, too, have to be computed.

// CHECK-LABEL: func.func @weights
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @weights(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>) -> (tensor<6x80x32xf32>, tensor<6x80x144xf32>) {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: its weights are not only for one product}}
  %w = linalg.softmax dimension(2) ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o, %w : tensor<6x80x32xf32>, tensor<6x80x144xf32>
}

// -----

// Over rows it is no softmax of an attention.

// CHECK-LABEL: func.func @over_rows
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @over_rows(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: it is not over the last dimension}}
  %w = linalg.softmax dimension(1) ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}

// -----

// What multiplies the weights is not what they are multiplied by in an attention.

// CHECK-LABEL: func.func @dropped
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @dropped(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: its weights are changed before the product with V}}
  %w = linalg.softmax dimension(2) ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %y = arith.mulf %x, %eight : f32
    %z = arith.truncf %y : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}

// -----

// Of another tensor's elements nothing is known.

// CHECK-LABEL: func.func @other
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @other(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>, %other: tensor<6x80x144xf32>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: its weights are changed before the product with V}}
  %w = linalg.softmax dimension(2) ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w, %other : tensor<6x80x144xf32>, tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %y: f32, %out: f16):
    %z = arith.truncf %y : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%oz : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}

// -----

// The product with V begins with something else than zeros.

// CHECK-LABEL: func.func @added
// CHECK-NOT:   iree_linalg_ext.attention
// CHECK:       linalg.softmax
func.func @added(%q: tensor<6x80x64xf16>, %k: tensor<6x144x64xf16>, %v: tensor<6x144x32xf16>, %more: tensor<6x80x32xf32>) -> tensor<6x80x32xf32> {
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %se = tensor.empty() : tensor<6x80x144xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<6x80x64xf16>, tensor<6x144x64xf16>) outs(%sz : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  // expected-remark @+1 {{it stays a softmax: its products are added to something}}
  %w = linalg.softmax dimension(2) ins(%s : tensor<6x80x144xf32>) outs(%se : tensor<6x80x144xf32>) -> tensor<6x80x144xf32>
  %he = tensor.empty() : tensor<6x80x144xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, m, k) -> (b, m, k)>, affine_map<(b, m, k) -> (b, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<6x80x144xf32>) outs(%he : tensor<6x80x144xf16>) {
  ^bb0(%x: f32, %out: f16):
    %z = arith.truncf %x : f32 to f16
    linalg.yield %z : f16
  } -> tensor<6x80x144xf16>
  %oe = tensor.empty() : tensor<6x80x32xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  %o = linalg.batch_matmul ins(%h, %v : tensor<6x80x144xf16>, tensor<6x144x32xf16>) outs(%more : tensor<6x80x32xf32>) -> tensor<6x80x32xf32>
  return %o : tensor<6x80x32xf32>
}
