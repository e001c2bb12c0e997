// RUN: bankwise-opt %s --verify-diagnostics --bankwise-remarks --pass-pipeline='builtin.module(func.func(bankwise-rename-registers))' | FileCheck %s

// Without --iree-gpu-test-target a function that names no GPU stays as it is.

// CHECK-NOT: to_simt

#copy = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#operand = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [1, 16]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>

// expected-remark @+1 {{no index renamed: the function has no GPU target}}
func.func @no_target(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}
