// RUN: bankwise-opt %s --verify-diagnostics --bankwise-remarks --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-hint-vector-allocs))' | FileCheck %s

// Every reason for which an allocation stays as it is.

// CHECK-NOT: xor_shuffle

#copy = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#operand = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [16, 4], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [1, 16]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>

func.func @dynamic_shape(%k: vector<64x128xf16>, %n: index) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: its shape is dynamic}}
  %a = bufferization.alloc_tensor(%n) <{memory_space = #gpu.address_space<workgroup>}> : tensor<?x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<?x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<?x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @rank_0(%k: vector<64x128xf16>, %v: vector<f16>) -> vector<f16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: it has rank 0}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<f16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %v, %a[] : vector<f16>, tensor<f16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[], %pad : tensor<f16, #gpu.address_space<workgroup>>, vector<f16>

  return %r : vector<f16>
}

func.func @sub_byte(%k: vector<64x128xf16>, %v: vector<64x128xi4>) -> vector<64x128xi4> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %pad4 = ub.poison : i4
  // expected-remark @+1 {{not swizzled: its elements of type i4 do not fill bytes}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xi4, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %v, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xi4>, tensor<64x128xi4, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad4 {in_bounds = [true, true]} : tensor<64x128xi4, #gpu.address_space<workgroup>>, vector<64x128xi4>

  return %r : vector<64x128xi4>
}

func.func @index_elements(%k: vector<64x128xf16>, %v: vector<64x128xindex>) -> vector<64x128xindex> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: its element type index has no fixed size}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xindex, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %v, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xindex>, tensor<64x128xindex, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %c0 {in_bounds = [true, true]} : tensor<64x128xindex, #gpu.address_space<workgroup>>, vector<64x128xindex>

  return %r : vector<64x128xindex>
}

func.func @reader_layout_unknown(%k: vector<64x128xf16>) -> vector<64x256xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: reader layout not found: reaches func.return through vector.interleave}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = vector.interleave %r, %r : vector<64x128xf16> -> vector<64x256xf16>
  return %y : vector<64x256xf16>
}

func.func @writer_layout_unknown(%k: vector<64x128xf16>, %v: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: writer layout not found: comes from a block argument}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %v, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

// The reads are one value with two to_layout users.

func.func @readers_disagree(%k: vector<64x128xf16>) -> (vector<64x128xf16>, vector<64x128xf16>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: reader layout is not unique: 2 layouts reach it}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  %z = iree_vector_ext.to_layout %r to layout(#copy) : vector<64x128xf16>
  return %y, %z : vector<64x128xf16>, vector<64x128xf16>
}

func.func @layouts_meet_in_an_elementwise_op(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %o = iree_vector_ext.to_layout %k to layout(#operand) : vector<64x128xf16>
  %sum = arith.addf %x, %o : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: writer layout is not unique: 2 layouts reach it}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %sum, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

// A to_layout that converts through LDS says nothing of its input.

func.func @conversion_through_lds(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: reader layout not found: reaches func.return through iree_vector_ext.to_layout}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) <{shared_memory_conversion = #iree_gpu.derived_thread_config}> : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @index_not_constant(%k: vector<64x128xf16>, %i: index) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: a reader's index is not constant}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%i, %c0], %pad {in_bounds = [false, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @masked(%k: vector<64x128xf16>, %m: vector<64x128xi1>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: a reader is masked}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad, %m {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @masked_write(%k: vector<64x128xf16>, %m: vector<64x128xi1>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: a writer is masked}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0], %m {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @out_of_bounds(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{not swizzled: reader layout cannot be distributed: the transfer leaves dimension 0 of the tile}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c1, %c0], %pad {in_bounds = [false, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @view(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: tensor.extract_slice uses it}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %s = tensor.extract_slice %w[0, 0] [64, 128] [1, 1] : tensor<64x128xf16, #gpu.address_space<workgroup>> to tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %s[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @written_twice(%k: vector<64x128xf16>) -> (vector<64x128xf16>, vector<64x128xf16>) attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: it is used after it was overwritten, which copies it}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w2 = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %r2 = vector.transfer_read %w2[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  %y2 = iree_vector_ext.to_layout %r2 to layout(#operand) : vector<64x128xf16>
  return %y, %y2 : vector<64x128xf16>, vector<64x128xf16>
}

func.func @never_read(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: nothing reads it}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>

  return %x : vector<64x128xf16>
}

func.func @never_written(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: nothing writes it}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>

  %r = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @loop_swaps_two_buffers(%k: vector<64x128xf16>, %n: index) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %c1 = arith.constant 1 : index
  // expected-remark @+1 {{not swizzled: a loop carries it together with another tensor}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not swizzled: a loop carries it together with another tensor}}
  %a2 = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a, %u = %a2) -> (tensor<64x128xf16, #gpu.address_space<workgroup>>, tensor<64x128xf16, #gpu.address_space<workgroup>>) {
    %v = vector.transfer_write %x, %t[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
    scf.yield %u, %v : tensor<64x128xf16, #gpu.address_space<workgroup>>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  }
  %r = vector.transfer_read %w#0[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @already_hinted(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: it has a swizzle hint already}}
  %a0 = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %a = iree_codegen.swizzle_hint %a0[#iree_codegen.rotate_rows<128, 8>] : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

func.func @plain_is_conflict_free(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  // expected-remark @+1 {{not swizzled: its plain layout has no bank conflict}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#copy) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

#rows = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 33], outer_tile = [1, 1], thread_tile = [61, 1], element_tile = [1, 1], subgroup_strides = [0, 0], thread_strides = [1, 0]>
#one_wave = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>

// 61 x 33 elements: no row of a power of two of them fills the tile.

func.func @no_legal_swizzle(%k: vector<61x33xf64>) -> vector<61x33xf64> attributes {translation_info = #one_wave} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f64
  %x = iree_vector_ext.to_layout %k to layout(#rows) : vector<61x33xf64>
  // expected-remark @+1 {{not swizzled: no legal swizzle has fewer than its}}
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<61x33xf64, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<61x33xf64>, tensor<61x33xf64, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : tensor<61x33xf64, #gpu.address_space<workgroup>>, vector<61x33xf64>
  %y = iree_vector_ext.to_layout %r to layout(#rows) : vector<61x33xf64>
  return %y : vector<61x33xf64>
}

// expected-remark @+1 {{allocations not swizzled: the function has no translation_info with workgroup and subgroup size}}
func.func @no_launch(%k: vector<64x128xf16>) -> vector<64x128xf16> {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

#half_waves = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32>

// expected-remark @+1 {{allocations not swizzled: waves of 32 lanes: the LDS of gfx942 is only known for 64}}
func.func @wave_of_32(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {translation_info = #half_waves} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}

// The function's own target counts, not the one of the command line.

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1201", features = "", wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [65535, 65535, 65535]>>}>

// expected-remark @+1 {{allocations not swizzled: the LDS of gfx1201 is not known}}
func.func @unknown_target(%k: vector<64x128xf16>) -> vector<64x128xf16> attributes {hal.executable.target = #target, translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout(#copy) : vector<64x128xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x128xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf16>, tensor<64x128xf16, #gpu.address_space<workgroup>>
  %r = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x128xf16, #gpu.address_space<workgroup>>, vector<64x128xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x128xf16>
  return %y : vector<64x128xf16>
}
