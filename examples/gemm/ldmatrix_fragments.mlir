// The fragments of a 16 x 64 f16 tile, read from shared memory by `nvgpu.ldmatrix`, on sm_80.
//
// A warp writes the tile row by row, 16 bytes a lane, and reads the four 16 x 16 fragments that a
// tensor core wants. 8 lanes give the addresses of 8 rows of a matrix, 128 bytes apart: all on the
// same banks, unless 16-byte groups are XORed with the row.
//
//   bankwise-compile examples/gemm/ldmatrix_fragments.mlir --iree-hal-target-device=cuda \
//     --iree-cuda-target=sm_80 --bankwise-remarks -o fragments.vmfb
//   bankwise-run --module=fragments.vmfb --device=cuda --input=16x64xf16=1

#translation = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#lds = #gpu.address_space<workgroup>

stream.executable private @kernels {
  stream.executable.export public @fragments workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @fragments(%in: !stream.binding, %out: !stream.binding)
        attributes {translation_info = #translation} {
      %zero = arith.constant 0 : index
      %from = stream.binding.subspan %in[%zero] : !stream.binding -> memref<16x64xf16>
      %to = stream.binding.subspan %out[%zero] : !stream.binding -> memref<4x32x8xf16>
      %t = gpu.thread_id x upper_bound 32
      %tile = memref.alloc() : memref<16x64xf16, #lds>
      %row = affine.apply affine_map<(t) -> (t floordiv 8)>(%t)
      %column = affine.apply affine_map<(t) -> (t mod 8 * 8)>(%t)
      %r0 = affine.apply affine_map<(r) -> (r + 0)>(%row)
      %v0 = vector.load %from[%r0, %column] : memref<16x64xf16>, vector<8xf16>
      vector.store %v0, %tile[%r0, %column] : memref<16x64xf16, #lds>, vector<8xf16>
      %r1 = affine.apply affine_map<(r) -> (r + 4)>(%row)
      %v1 = vector.load %from[%r1, %column] : memref<16x64xf16>, vector<8xf16>
      vector.store %v1, %tile[%r1, %column] : memref<16x64xf16, #lds>, vector<8xf16>
      %r2 = affine.apply affine_map<(r) -> (r + 8)>(%row)
      %v2 = vector.load %from[%r2, %column] : memref<16x64xf16>, vector<8xf16>
      vector.store %v2, %tile[%r2, %column] : memref<16x64xf16, #lds>, vector<8xf16>
      %r3 = affine.apply affine_map<(r) -> (r + 12)>(%row)
      %v3 = vector.load %from[%r3, %column] : memref<16x64xf16>, vector<8xf16>
      vector.store %v3, %tile[%r3, %column] : memref<16x64xf16, #lds>, vector<8xf16>
      gpu.barrier
      %m = affine.apply affine_map<(t) -> (t mod 16)>(%t)
      %k0 = affine.apply affine_map<(t) -> (t floordiv 16 * 8 + 0)>(%t)
      %f0 = nvgpu.ldmatrix %tile[%m, %k0] numTiles = 4 transpose = false : memref<16x64xf16, #lds> -> vector<4x2xf16>
      %g0 = vector.shape_cast %f0 : vector<4x2xf16> to vector<8xf16>
      %i0 = arith.constant 0 : index
      vector.store %g0, %to[%i0, %t, %zero] : memref<4x32x8xf16>, vector<8xf16>
      %k1 = affine.apply affine_map<(t) -> (t floordiv 16 * 8 + 16)>(%t)
      %f1 = nvgpu.ldmatrix %tile[%m, %k1] numTiles = 4 transpose = false : memref<16x64xf16, #lds> -> vector<4x2xf16>
      %g1 = vector.shape_cast %f1 : vector<4x2xf16> to vector<8xf16>
      %i1 = arith.constant 1 : index
      vector.store %g1, %to[%i1, %t, %zero] : memref<4x32x8xf16>, vector<8xf16>
      %k2 = affine.apply affine_map<(t) -> (t floordiv 16 * 8 + 32)>(%t)
      %f2 = nvgpu.ldmatrix %tile[%m, %k2] numTiles = 4 transpose = false : memref<16x64xf16, #lds> -> vector<4x2xf16>
      %g2 = vector.shape_cast %f2 : vector<4x2xf16> to vector<8xf16>
      %i2 = arith.constant 2 : index
      vector.store %g2, %to[%i2, %t, %zero] : memref<4x32x8xf16>, vector<8xf16>
      %k3 = affine.apply affine_map<(t) -> (t floordiv 16 * 8 + 48)>(%t)
      %f3 = nvgpu.ldmatrix %tile[%m, %k3] numTiles = 4 transpose = false : memref<16x64xf16, #lds> -> vector<4x2xf16>
      %g3 = vector.shape_cast %f3 : vector<4x2xf16> to vector<8xf16>
      %i3 = arith.constant 3 : index
      vector.store %g3, %to[%i3, %t, %zero] : memref<4x32x8xf16>, vector<8xf16>
      return
    }
  }
}

func.func @fragments(%a: tensor<16x64xf16>) -> tensor<4x32x8xf16> {
  %r = flow.dispatch @kernels::@fragments(%a) : (tensor<16x64xf16>) -> tensor<4x32x8xf16>
  return %r : tensor<4x32x8xf16>
}
