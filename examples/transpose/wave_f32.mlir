// A wave transposes 16 x 32 f32 through LDS, on CDNA.
//
// In step w of 8, lane t writes element [2 w + t / 32, t mod 32]; in step r it reads element
// [t mod 16, 4 r + t / 16]. In the plain layout 16 lanes read from one bank, 128 bytes apart. XORing
// the column with the row leaves two lanes on each bank, XORing it with twice the row none:
// `warp_f32.mlir` is the same for the 32 lanes of an NVIDIA warp.
//
//   bankwise-run --module=examples/transpose/wave_f32.mlir --device=emulated-gfx942 --counters \
//     --input=16x32xf32=1

#translation = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>

stream.executable private @kernels {
  stream.executable.export public @wave_f32 workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @wave_f32(%in: !stream.binding, %out: !stream.binding)
        attributes {translation_info = #translation} {
      %zero = arith.constant 0 : index
      %from = stream.binding.subspan %in[%zero] : !stream.binding -> memref<16x32xf32>
      %to = stream.binding.subspan %out[%zero] : !stream.binding -> memref<32x16xf32>
      %t = gpu.thread_id x upper_bound 64
      %tile = memref.alloc() : memref<16x32xf32, #lds>
      %column = affine.apply affine_map<(t) -> (t mod 32)>(%t)
      %r0 = affine.apply affine_map<(t) -> (t floordiv 32 + 0)>(%t)
      %v0 = memref.load %from[%r0, %column] : memref<16x32xf32>
      memref.store %v0, %tile[%r0, %column] : memref<16x32xf32, #lds>
      %r1 = affine.apply affine_map<(t) -> (t floordiv 32 + 2)>(%t)
      %v1 = memref.load %from[%r1, %column] : memref<16x32xf32>
      memref.store %v1, %tile[%r1, %column] : memref<16x32xf32, #lds>
      %r2 = affine.apply affine_map<(t) -> (t floordiv 32 + 4)>(%t)
      %v2 = memref.load %from[%r2, %column] : memref<16x32xf32>
      memref.store %v2, %tile[%r2, %column] : memref<16x32xf32, #lds>
      %r3 = affine.apply affine_map<(t) -> (t floordiv 32 + 6)>(%t)
      %v3 = memref.load %from[%r3, %column] : memref<16x32xf32>
      memref.store %v3, %tile[%r3, %column] : memref<16x32xf32, #lds>
      %r4 = affine.apply affine_map<(t) -> (t floordiv 32 + 8)>(%t)
      %v4 = memref.load %from[%r4, %column] : memref<16x32xf32>
      memref.store %v4, %tile[%r4, %column] : memref<16x32xf32, #lds>
      %r5 = affine.apply affine_map<(t) -> (t floordiv 32 + 10)>(%t)
      %v5 = memref.load %from[%r5, %column] : memref<16x32xf32>
      memref.store %v5, %tile[%r5, %column] : memref<16x32xf32, #lds>
      %r6 = affine.apply affine_map<(t) -> (t floordiv 32 + 12)>(%t)
      %v6 = memref.load %from[%r6, %column] : memref<16x32xf32>
      memref.store %v6, %tile[%r6, %column] : memref<16x32xf32, #lds>
      %r7 = affine.apply affine_map<(t) -> (t floordiv 32 + 14)>(%t)
      %v7 = memref.load %from[%r7, %column] : memref<16x32xf32>
      memref.store %v7, %tile[%r7, %column] : memref<16x32xf32, #lds>
      gpu.barrier
      %row = affine.apply affine_map<(t) -> (t mod 16)>(%t)
      %c0 = affine.apply affine_map<(t) -> (t floordiv 16 + 0)>(%t)
      %w0 = memref.load %tile[%row, %c0] : memref<16x32xf32, #lds>
      memref.store %w0, %to[%c0, %row] : memref<32x16xf32>
      %c1 = affine.apply affine_map<(t) -> (t floordiv 16 + 4)>(%t)
      %w1 = memref.load %tile[%row, %c1] : memref<16x32xf32, #lds>
      memref.store %w1, %to[%c1, %row] : memref<32x16xf32>
      %c2 = affine.apply affine_map<(t) -> (t floordiv 16 + 8)>(%t)
      %w2 = memref.load %tile[%row, %c2] : memref<16x32xf32, #lds>
      memref.store %w2, %to[%c2, %row] : memref<32x16xf32>
      %c3 = affine.apply affine_map<(t) -> (t floordiv 16 + 12)>(%t)
      %w3 = memref.load %tile[%row, %c3] : memref<16x32xf32, #lds>
      memref.store %w3, %to[%c3, %row] : memref<32x16xf32>
      %c4 = affine.apply affine_map<(t) -> (t floordiv 16 + 16)>(%t)
      %w4 = memref.load %tile[%row, %c4] : memref<16x32xf32, #lds>
      memref.store %w4, %to[%c4, %row] : memref<32x16xf32>
      %c5 = affine.apply affine_map<(t) -> (t floordiv 16 + 20)>(%t)
      %w5 = memref.load %tile[%row, %c5] : memref<16x32xf32, #lds>
      memref.store %w5, %to[%c5, %row] : memref<32x16xf32>
      %c6 = affine.apply affine_map<(t) -> (t floordiv 16 + 24)>(%t)
      %w6 = memref.load %tile[%row, %c6] : memref<16x32xf32, #lds>
      memref.store %w6, %to[%c6, %row] : memref<32x16xf32>
      %c7 = affine.apply affine_map<(t) -> (t floordiv 16 + 28)>(%t)
      %w7 = memref.load %tile[%row, %c7] : memref<16x32xf32, #lds>
      memref.store %w7, %to[%c7, %row] : memref<32x16xf32>
      return
    }
  }
}

func.func @transpose(%a: tensor<16x32xf32>) -> tensor<32x16xf32> {
  %r = flow.dispatch @kernels::@wave_f32(%a) : (tensor<16x32xf32>) -> tensor<32x16xf32>
  return %r : tensor<32x16xf32>
}
