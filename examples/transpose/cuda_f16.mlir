// The column-major transpose for an NVIDIA GPU: 8 warps instead of 4 waves move a tile.
//
// An f16 matrix [1024, 256] is transposed in tiles of 64 x 32: global memory -> shared memory ->
// registers -> global memory. A lane reads its 8 elements at once, but writes them one by one, and
// those that 4 lanes write lie 1024 bytes apart, on one bank.
//
//   bankwise-compile examples/transpose/cuda_f16.mlir --iree-hal-target-device=cuda \
//     --iree-cuda-target=sm_80 --bankwise-remarks -o transpose.vmfb
//   bankwise-run --module=transpose.vmfb --device=cuda --input=1024x256xf16=1

#translation = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = [256, 1, 1] subgroup_size = 32>
#lds = #gpu.address_space<workgroup>
#source = strided<[256, 1], offset: ?>
#result = strided<[1024, 1], offset: ?>

stream.executable private @kernels {
  stream.executable.export public @cuda_f16 workgroups() -> (index, index, index) {
    %x = arith.constant 8 : index
    %y = arith.constant 16 : index
    %z = arith.constant 1 : index
    stream.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @cuda_f16(%in: !stream.binding, %out: !stream.binding)
        attributes {translation_info = #translation} {
      %zero = arith.constant 0 : index
      %from = stream.binding.subspan %in[%zero] : !stream.binding -> memref<1024x256xf16, #source>
      %to = stream.binding.subspan %out[%zero] : !stream.binding -> memref<256x1024xf16, #result>
      %bx = gpu.block_id x upper_bound 8
      %by = gpu.block_id y upper_bound 16
      %t = gpu.thread_id x upper_bound 256

      %tile = memref.alloc() : memref<32x64xf16, #lds>

      // Thread t brings 8 elements of row t / 4 of the tile.
      %row = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
      %column = affine.apply affine_map<(t) -> (t mod 4 * 8)>(%t)
      %from_row = affine.apply affine_map<(b, r) -> (b * 64 + r)>(%by, %row)
      %from_column = affine.apply affine_map<(b, c) -> (b * 32 + c)>(%bx, %column)
      %loaded = vector.load %from[%from_row, %from_column]
          : memref<1024x256xf16, #source>, vector<8xf16>
      %column0 = affine.apply affine_map<(c) -> (c + 0)>(%column)
      %s0 = vector.extract %loaded[0] : f16 from vector<8xf16>
      memref.store %s0, %tile[%column0, %row] : memref<32x64xf16, #lds>
      %column1 = affine.apply affine_map<(c) -> (c + 1)>(%column)
      %s1 = vector.extract %loaded[1] : f16 from vector<8xf16>
      memref.store %s1, %tile[%column1, %row] : memref<32x64xf16, #lds>
      %column2 = affine.apply affine_map<(c) -> (c + 2)>(%column)
      %s2 = vector.extract %loaded[2] : f16 from vector<8xf16>
      memref.store %s2, %tile[%column2, %row] : memref<32x64xf16, #lds>
      %column3 = affine.apply affine_map<(c) -> (c + 3)>(%column)
      %s3 = vector.extract %loaded[3] : f16 from vector<8xf16>
      memref.store %s3, %tile[%column3, %row] : memref<32x64xf16, #lds>
      %column4 = affine.apply affine_map<(c) -> (c + 4)>(%column)
      %s4 = vector.extract %loaded[4] : f16 from vector<8xf16>
      memref.store %s4, %tile[%column4, %row] : memref<32x64xf16, #lds>
      %column5 = affine.apply affine_map<(c) -> (c + 5)>(%column)
      %s5 = vector.extract %loaded[5] : f16 from vector<8xf16>
      memref.store %s5, %tile[%column5, %row] : memref<32x64xf16, #lds>
      %column6 = affine.apply affine_map<(c) -> (c + 6)>(%column)
      %s6 = vector.extract %loaded[6] : f16 from vector<8xf16>
      memref.store %s6, %tile[%column6, %row] : memref<32x64xf16, #lds>
      %column7 = affine.apply affine_map<(c) -> (c + 7)>(%column)
      %s7 = vector.extract %loaded[7] : f16 from vector<8xf16>
      memref.store %s7, %tile[%column7, %row] : memref<32x64xf16, #lds>
      gpu.barrier

      // It takes 8 elements of column t / 8 away.
      %first = affine.apply affine_map<(t) -> (t mod 8 * 8)>(%t)
      %taken = affine.apply affine_map<(t) -> (t floordiv 8)>(%t)
      %column_part = vector.load %tile[%taken, %first] : memref<32x64xf16, #lds>, vector<8xf16>
      %to_row = affine.apply affine_map<(b, c) -> (b * 32 + c)>(%bx, %taken)
      %to_column = affine.apply affine_map<(b, r) -> (b * 64 + r)>(%by, %first)
      vector.store %column_part, %to[%to_row, %to_column]
          : memref<256x1024xf16, #result>, vector<8xf16>
      return
    }
  }
}

func.func @transpose(%a: tensor<1024x256xf16>) -> tensor<256x1024xf16> {
  %r = flow.dispatch @kernels::@cuda_f16(%a) : (tensor<1024x256xf16>) -> tensor<256x1024xf16>
  return %r : tensor<256x1024xf16>
}
