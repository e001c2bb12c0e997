// The sum along the first dimension of 4 x 64 elements: wave 0 holds rows 0 and 1, wave 1 rows 2 and 3,
// and each lane one column.
#held = #iree_vector_ext.nested_layout<
    subgroup_tile = [2, 1], batch_tile = [1, 1], outer_tile = [1, 1], thread_tile = [1, 64],
    element_tile = [2, 1], subgroup_strides = [1, 0], thread_strides = [0, 1]>
#two_waves = #iree_codegen.translation_info<
    pipeline = #iree_gpu.pipeline<VectorDistribute>
    workgroup_size = [128, 1, 1] subgroup_size = 64>

stream.executable private @kernels {
  stream.executable.export public @sum workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @sum(%from: !stream.binding, %to: !stream.binding) attributes {translation_info = #two_waves} {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %zeros = arith.constant dense<0.0> : vector<64xf32>
      %source = stream.binding.subspan %from[%c0] : !stream.binding -> memref<4x64xf32, strided<[64, 1], offset: ?>>
      %target = stream.binding.subspan %to[%c0] : !stream.binding -> memref<64xf32, strided<[1], offset: ?>>
      %read = vector.transfer_read %source[%c0, %c0], %zero {in_bounds = [true, true]}
          : memref<4x64xf32, strided<[64, 1], offset: ?>>, vector<4x64xf32>
      %tile = iree_vector_ext.to_layout %read to layout(#held) : vector<4x64xf32>
      %sums = vector.multi_reduction <add>, %tile, %zeros [0] : vector<4x64xf32> to vector<64xf32>
      vector.transfer_write %sums, %target[%c0] {in_bounds = [true]}
          : vector<64xf32>, memref<64xf32, strided<[1], offset: ?>>
      return
    }
  }
}

func.func @main(%source: tensor<4x64xf32>) -> tensor<64xf32> {
  %sums = flow.dispatch @kernels::@sum(%source) : (tensor<4x64xf32>) -> tensor<64xf32>
  return %sums : tensor<64xf32>
}
