// The tile row by row in LDS.
//
// An f16 matrix [1024, 256] is transposed in tiles of 64 x 32: global memory -> LDS -> registers ->
// global memory. A workgroup of 4 waves moves one tile.
// The 8 rows that 8 lanes read in one column lie 512 bytes apart, on the same bank: 7 conflict cycles
// in every phase of every read.
//
//   bankwise-run --module=examples/transpose/row_major.mlir --device=emulated-gfx942 --counters \
//     --input=1024x256xf16=1

#translation = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = [256, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#source = strided<[256, 1], offset: ?>
#result = strided<[1024, 1], offset: ?>

stream.executable private @kernels {
  stream.executable.export public @row_major workgroups() -> (index, index, index) {
    %x = arith.constant 8 : index
    %y = arith.constant 16 : index
    %z = arith.constant 1 : index
    stream.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @row_major(%in: !stream.binding, %out: !stream.binding)
        attributes {translation_info = #translation} {
      %zero = arith.constant 0 : index
      %from = stream.binding.subspan %in[%zero] : !stream.binding -> memref<1024x256xf16, #source>
      %to = stream.binding.subspan %out[%zero] : !stream.binding -> memref<256x1024xf16, #result>
      %bx = gpu.block_id x upper_bound 8
      %by = gpu.block_id y upper_bound 16
      %t = gpu.thread_id x upper_bound 256

      %tile = memref.alloc() : memref<64x32xf16, #lds>

      // Thread t brings 8 elements of row t / 4 of the tile.
      %row = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
      %column = affine.apply affine_map<(t) -> (t mod 4 * 8)>(%t)
      %from_row = affine.apply affine_map<(b, r) -> (b * 64 + r)>(%by, %row)
      %from_column = affine.apply affine_map<(b, c) -> (b * 32 + c)>(%bx, %column)
      %loaded = vector.load %from[%from_row, %from_column]
          : memref<1024x256xf16, #source>, vector<8xf16>
      vector.store %loaded, %tile[%row, %column] : memref<64x32xf16, #lds>, vector<8xf16>
      gpu.barrier

      // It takes 8 elements of column t / 8 away.
      %first = affine.apply affine_map<(t) -> (t mod 8 * 8)>(%t)
      %taken = affine.apply affine_map<(t) -> (t floordiv 8)>(%t)
      %row0 = affine.apply affine_map<(r) -> (r + 0)>(%first)
      %e0 = memref.load %tile[%row0, %taken] : memref<64x32xf16, #lds>
      %row1 = affine.apply affine_map<(r) -> (r + 1)>(%first)
      %e1 = memref.load %tile[%row1, %taken] : memref<64x32xf16, #lds>
      %row2 = affine.apply affine_map<(r) -> (r + 2)>(%first)
      %e2 = memref.load %tile[%row2, %taken] : memref<64x32xf16, #lds>
      %row3 = affine.apply affine_map<(r) -> (r + 3)>(%first)
      %e3 = memref.load %tile[%row3, %taken] : memref<64x32xf16, #lds>
      %row4 = affine.apply affine_map<(r) -> (r + 4)>(%first)
      %e4 = memref.load %tile[%row4, %taken] : memref<64x32xf16, #lds>
      %row5 = affine.apply affine_map<(r) -> (r + 5)>(%first)
      %e5 = memref.load %tile[%row5, %taken] : memref<64x32xf16, #lds>
      %row6 = affine.apply affine_map<(r) -> (r + 6)>(%first)
      %e6 = memref.load %tile[%row6, %taken] : memref<64x32xf16, #lds>
      %row7 = affine.apply affine_map<(r) -> (r + 7)>(%first)
      %e7 = memref.load %tile[%row7, %taken] : memref<64x32xf16, #lds>
      %column_part = vector.from_elements %e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7 : vector<8xf16>
      %to_row = affine.apply affine_map<(b, c) -> (b * 32 + c)>(%bx, %taken)
      %to_column = affine.apply affine_map<(b, r) -> (b * 64 + r)>(%by, %first)
      vector.store %column_part, %to[%to_row, %to_column]
          : memref<256x1024xf16, #result>, vector<8xf16>
      return
    }
  }
}

func.func @transpose(%a: tensor<1024x256xf16>) -> tensor<256x1024xf16> {
  %r = flow.dispatch @kernels::@row_major(%a) : (tensor<1024x256xf16>) -> tensor<256x1024xf16>
  return %r : tensor<256x1024xf16>
}
