// RUN: bankwise-opt %s --verify-diagnostics --bankwise-remarks --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-rename-registers))' --mlir-print-local-scope | FileCheck %s

// Every reason for which the indices of a tile keep their names.

// CHECK-NOT: to_simt

#copy = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [2, 1], outer_tile = [1, 1], thread_tile = [32, 8], element_tile = [1, 8], subgroup_strides = [0, 0], thread_strides = [8, 1]>
#operand = #iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 4], outer_tile = [1, 1], thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [0, 0], thread_strides = [16, 1]>
#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64>

// A vector whose positions the caller knows.
func.func @argument(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>, %z: vector<64x64xf16>) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: it is an argument in func.func}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %s = arith.addf %y, %z : vector<64x64xf16>
  %o = vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// The columns are numbered.
func.func @numbered(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: vector.step may depend on positions}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %n = vector.step : vector<64xindex>
  %i = arith.index_cast %n : vector<64xindex> to vector<64xi16>
  %f = arith.sitofp %i : vector<64xi16> to vector<64xf16>
  %all = vector.broadcast %f : vector<64xf16> to vector<64x64xf16>
  %s = arith.addf %y, %all : vector<64x64xf16>
  %o = vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// A constant tells columns apart.
func.func @different_elements(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: a constant has different elements}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %f = arith.constant dense<"0x0000003C0040004200440045004600470048804800498049004A804A004B804B004C404C804CC04C004D404D804DC04D004E404E804EC04E004F404F804FC04F00502050405060508050A050C050E05000512051405160518051A051C051E05100522052405260528052A052C052E05200532053405360538053A053C053E053"> : vector<64xf16>
  %all = vector.broadcast %f : vector<64xf16> to vector<64x64xf16>
  %s = arith.addf %y, %all : vector<64x64xf16>
  %o = vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// The output may end within the tile.
func.func @partial(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>, %i: index) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: a transfer may leave its memory}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %o = vector.transfer_write %y, %out[%i, %i] {in_bounds = [true, false]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// Some columns are not stored.
func.func @masked(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>, %i: index) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: a transfer is masked}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %m = vector.create_mask %i, %i : vector<64x64xi1>
  %o = vector.transfer_write %y, %out[%c0, %c0], %m {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// To rename what is summed over would change the order of the sum.
func.func @summed(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: it is reduced: a renaming changes the order of a sum}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %zero = arith.constant dense<0.0> : vector<64xf16>
  %sum = vector.multi_reduction <add>, %y, %zero [1] : vector<64x64xf16> to vector<64xf16>
  %wide = vector.broadcast %sum : vector<64xf16> to vector<64x64xf16>
  %o = vector.transfer_write %wide, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// The mask around an operation tells its positions apart.
func.func @in_a_mask(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>, %i: index) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: it is inside vector.mask, which may depend on positions}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %zero = arith.constant dense<0.0> : vector<64xf16>
  %m = vector.create_mask %i, %i : vector<64x64xi1>
  %sum = vector.mask %m { vector.multi_reduction <add>, %y, %zero [0] : vector<64x64xf16> to vector<64xf16> } : vector<64x64xi1> -> vector<64xf16>
  %wide = vector.broadcast %sum : vector<64xf16> to vector<64x64xf16>
  %o = vector.transfer_write %wide, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}

// It is not known which lane stores what.
func.func @unknown_layout(%v: tensor<64x64xf16>, %out: tensor<64x64xf16>) -> tensor<64x64xf16> attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %pad = ub.poison : f16
  %g = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %x = iree_vector_ext.to_layout %g to layout(#copy) : vector<64x64xf16>
  %a = bufferization.alloc_tensor() <{memory_space = #gpu.address_space<workgroup>}> : tensor<64x64xf16, #gpu.address_space<workgroup>>
  %w = vector.transfer_write %x, %a[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16, #gpu.address_space<workgroup>>
  %b = iree_gpu.value_barrier %w : tensor<64x64xf16, #gpu.address_space<workgroup>>
  // expected-remark @+1 {{not renamed: the layout of a transfer is not known}}
  %r = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
  %y = iree_vector_ext.to_layout %r to layout(#operand) : vector<64x64xf16>
  %q = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<64x64xf16>, vector<64x64xf16>
  %l = iree_vector_ext.to_layout %q to layout(#copy) : vector<64x64xf16>
  %s = arith.addf %y, %q : vector<64x64xf16>
  %o = vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, tensor<64x64xf16>
  return %o : tensor<64x64xf16>
}
