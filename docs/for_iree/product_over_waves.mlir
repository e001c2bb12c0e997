// The product of 16 x 8 and 8 x 4 elements: wave 0 holds the first four of the eight that are summed
// over, wave 1 the last four.
#left = #iree_vector_ext.nested_layout<
    subgroup_tile = [1, 2], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 1],
    element_tile = [1, 4], subgroup_strides = [0, 1], thread_strides = [1, 0]>
#right = #iree_vector_ext.nested_layout<
    subgroup_tile = [2, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [1, 4],
    element_tile = [4, 1], subgroup_strides = [1, 0], thread_strides = [0, 16]>
#sums = #iree_vector_ext.nested_layout<
    subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [16, 4],
    element_tile = [1, 1], subgroup_strides = [0, 0], thread_strides = [1, 16]>
#two_waves = #iree_codegen.translation_info<
    pipeline = #iree_gpu.pipeline<VectorDistribute>
    workgroup_size = [128, 1, 1] subgroup_size = 64>

stream.executable private @kernels {
  stream.executable.export public @product workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @product(%left: !stream.binding, %right: !stream.binding, %to: !stream.binding)
        attributes {translation_info = #two_waves} {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %zeros = arith.constant dense<0.0> : vector<16x4xf32>
      %a = stream.binding.subspan %left[%c0] : !stream.binding -> memref<16x8xf32, strided<[8, 1], offset: ?>>
      %b = stream.binding.subspan %right[%c0] : !stream.binding -> memref<8x4xf32, strided<[4, 1], offset: ?>>
      %c = stream.binding.subspan %to[%c0] : !stream.binding -> memref<16x4xf32, strided<[4, 1], offset: ?>>
      %a_read = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]}
          : memref<16x8xf32, strided<[8, 1], offset: ?>>, vector<16x8xf32>
      %b_read = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true]}
          : memref<8x4xf32, strided<[4, 1], offset: ?>>, vector<8x4xf32>
      %a_held = iree_vector_ext.to_layout %a_read to layout(#left) : vector<16x8xf32>
      %b_held = iree_vector_ext.to_layout %b_read to layout(#right) : vector<8x4xf32>
      %c_held = iree_vector_ext.to_layout %zeros to layout(#sums) : vector<16x4xf32>
      %product = vector.contract {
          indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>,
                           affine_map<(m, k, n) -> (m, n)>],
          iterator_types = ["parallel", "reduction", "parallel"], kind = #vector.kind<add>}
          %a_held, %b_held, %c_held : vector<16x8xf32>, vector<8x4xf32> into vector<16x4xf32>
      vector.transfer_write %product, %c[%c0, %c0] {in_bounds = [true, true]}
          : vector<16x4xf32>, memref<16x4xf32, strided<[4, 1], offset: ?>>
      return
    }
  }
}

func.func @main(%left: tensor<16x8xf32>, %right: tensor<8x4xf32>) -> tensor<16x4xf32> {
  %sums = flow.dispatch @kernels::@product(%left, %right)
      : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %sums : tensor<16x4xf32>
}
