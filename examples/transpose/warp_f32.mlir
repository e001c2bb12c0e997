// One warp transposes 16 x 32 f32 through shared memory, on sm_80.
//
// Lane t writes column t, one row at a time, and in step r reads element [t mod 16, 2 r + t / 16].
// In the plain layout 16 lanes read from one bank. XORing the column with the row leaves two lanes on
// each bank, XORing it with twice the row none.
//
//   bankwise-report examples/transpose/warp_f32.mlir --iree-hal-target-device=cuda \
//     --iree-cuda-target=sm_80

#translation = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = [32, 1, 1] subgroup_size = 32>
#lds = #gpu.address_space<workgroup>

stream.executable private @kernels {
  stream.executable.export public @warp_f32 workgroups() -> (index, index, index) {
    %one = arith.constant 1 : index
    stream.return %one, %one, %one : index, index, index
  }
  builtin.module {
    func.func @warp_f32(%in: !stream.binding, %out: !stream.binding)
        attributes {translation_info = #translation} {
      %zero = arith.constant 0 : index
      %from = stream.binding.subspan %in[%zero] : !stream.binding -> memref<16x32xf32>
      %to = stream.binding.subspan %out[%zero] : !stream.binding -> memref<32x16xf32>
      %t = gpu.thread_id x upper_bound 32
      %tile = memref.alloc() : memref<16x32xf32, #lds>
      %r0 = arith.constant 0 : index
      %v0 = memref.load %from[%r0, %t] : memref<16x32xf32>
      memref.store %v0, %tile[%r0, %t] : memref<16x32xf32, #lds>
      %r1 = arith.constant 1 : index
      %v1 = memref.load %from[%r1, %t] : memref<16x32xf32>
      memref.store %v1, %tile[%r1, %t] : memref<16x32xf32, #lds>
      %r2 = arith.constant 2 : index
      %v2 = memref.load %from[%r2, %t] : memref<16x32xf32>
      memref.store %v2, %tile[%r2, %t] : memref<16x32xf32, #lds>
      %r3 = arith.constant 3 : index
      %v3 = memref.load %from[%r3, %t] : memref<16x32xf32>
      memref.store %v3, %tile[%r3, %t] : memref<16x32xf32, #lds>
      %r4 = arith.constant 4 : index
      %v4 = memref.load %from[%r4, %t] : memref<16x32xf32>
      memref.store %v4, %tile[%r4, %t] : memref<16x32xf32, #lds>
      %r5 = arith.constant 5 : index
      %v5 = memref.load %from[%r5, %t] : memref<16x32xf32>
      memref.store %v5, %tile[%r5, %t] : memref<16x32xf32, #lds>
      %r6 = arith.constant 6 : index
      %v6 = memref.load %from[%r6, %t] : memref<16x32xf32>
      memref.store %v6, %tile[%r6, %t] : memref<16x32xf32, #lds>
      %r7 = arith.constant 7 : index
      %v7 = memref.load %from[%r7, %t] : memref<16x32xf32>
      memref.store %v7, %tile[%r7, %t] : memref<16x32xf32, #lds>
      %r8 = arith.constant 8 : index
      %v8 = memref.load %from[%r8, %t] : memref<16x32xf32>
      memref.store %v8, %tile[%r8, %t] : memref<16x32xf32, #lds>
      %r9 = arith.constant 9 : index
      %v9 = memref.load %from[%r9, %t] : memref<16x32xf32>
      memref.store %v9, %tile[%r9, %t] : memref<16x32xf32, #lds>
      %r10 = arith.constant 10 : index
      %v10 = memref.load %from[%r10, %t] : memref<16x32xf32>
      memref.store %v10, %tile[%r10, %t] : memref<16x32xf32, #lds>
      %r11 = arith.constant 11 : index
      %v11 = memref.load %from[%r11, %t] : memref<16x32xf32>
      memref.store %v11, %tile[%r11, %t] : memref<16x32xf32, #lds>
      %r12 = arith.constant 12 : index
      %v12 = memref.load %from[%r12, %t] : memref<16x32xf32>
      memref.store %v12, %tile[%r12, %t] : memref<16x32xf32, #lds>
      %r13 = arith.constant 13 : index
      %v13 = memref.load %from[%r13, %t] : memref<16x32xf32>
      memref.store %v13, %tile[%r13, %t] : memref<16x32xf32, #lds>
      %r14 = arith.constant 14 : index
      %v14 = memref.load %from[%r14, %t] : memref<16x32xf32>
      memref.store %v14, %tile[%r14, %t] : memref<16x32xf32, #lds>
      %r15 = arith.constant 15 : index
      %v15 = memref.load %from[%r15, %t] : memref<16x32xf32>
      memref.store %v15, %tile[%r15, %t] : memref<16x32xf32, #lds>
      gpu.barrier
      %row = affine.apply affine_map<(t) -> (t mod 16)>(%t)
      %c0 = affine.apply affine_map<(t) -> (t floordiv 16 + 0)>(%t)
      %w0 = memref.load %tile[%row, %c0] : memref<16x32xf32, #lds>
      memref.store %w0, %to[%c0, %row] : memref<32x16xf32>
      %c1 = affine.apply affine_map<(t) -> (t floordiv 16 + 2)>(%t)
      %w1 = memref.load %tile[%row, %c1] : memref<16x32xf32, #lds>
      memref.store %w1, %to[%c1, %row] : memref<32x16xf32>
      %c2 = affine.apply affine_map<(t) -> (t floordiv 16 + 4)>(%t)
      %w2 = memref.load %tile[%row, %c2] : memref<16x32xf32, #lds>
      memref.store %w2, %to[%c2, %row] : memref<32x16xf32>
      %c3 = affine.apply affine_map<(t) -> (t floordiv 16 + 6)>(%t)
      %w3 = memref.load %tile[%row, %c3] : memref<16x32xf32, #lds>
      memref.store %w3, %to[%c3, %row] : memref<32x16xf32>
      %c4 = affine.apply affine_map<(t) -> (t floordiv 16 + 8)>(%t)
      %w4 = memref.load %tile[%row, %c4] : memref<16x32xf32, #lds>
      memref.store %w4, %to[%c4, %row] : memref<32x16xf32>
      %c5 = affine.apply affine_map<(t) -> (t floordiv 16 + 10)>(%t)
      %w5 = memref.load %tile[%row, %c5] : memref<16x32xf32, #lds>
      memref.store %w5, %to[%c5, %row] : memref<32x16xf32>
      %c6 = affine.apply affine_map<(t) -> (t floordiv 16 + 12)>(%t)
      %w6 = memref.load %tile[%row, %c6] : memref<16x32xf32, #lds>
      memref.store %w6, %to[%c6, %row] : memref<32x16xf32>
      %c7 = affine.apply affine_map<(t) -> (t floordiv 16 + 14)>(%t)
      %w7 = memref.load %tile[%row, %c7] : memref<16x32xf32, #lds>
      memref.store %w7, %to[%c7, %row] : memref<32x16xf32>
      %c8 = affine.apply affine_map<(t) -> (t floordiv 16 + 16)>(%t)
      %w8 = memref.load %tile[%row, %c8] : memref<16x32xf32, #lds>
      memref.store %w8, %to[%c8, %row] : memref<32x16xf32>
      %c9 = affine.apply affine_map<(t) -> (t floordiv 16 + 18)>(%t)
      %w9 = memref.load %tile[%row, %c9] : memref<16x32xf32, #lds>
      memref.store %w9, %to[%c9, %row] : memref<32x16xf32>
      %c10 = affine.apply affine_map<(t) -> (t floordiv 16 + 20)>(%t)
      %w10 = memref.load %tile[%row, %c10] : memref<16x32xf32, #lds>
      memref.store %w10, %to[%c10, %row] : memref<32x16xf32>
      %c11 = affine.apply affine_map<(t) -> (t floordiv 16 + 22)>(%t)
      %w11 = memref.load %tile[%row, %c11] : memref<16x32xf32, #lds>
      memref.store %w11, %to[%c11, %row] : memref<32x16xf32>
      %c12 = affine.apply affine_map<(t) -> (t floordiv 16 + 24)>(%t)
      %w12 = memref.load %tile[%row, %c12] : memref<16x32xf32, #lds>
      memref.store %w12, %to[%c12, %row] : memref<32x16xf32>
      %c13 = affine.apply affine_map<(t) -> (t floordiv 16 + 26)>(%t)
      %w13 = memref.load %tile[%row, %c13] : memref<16x32xf32, #lds>
      memref.store %w13, %to[%c13, %row] : memref<32x16xf32>
      %c14 = affine.apply affine_map<(t) -> (t floordiv 16 + 28)>(%t)
      %w14 = memref.load %tile[%row, %c14] : memref<16x32xf32, #lds>
      memref.store %w14, %to[%c14, %row] : memref<32x16xf32>
      %c15 = affine.apply affine_map<(t) -> (t floordiv 16 + 30)>(%t)
      %w15 = memref.load %tile[%row, %c15] : memref<16x32xf32, #lds>
      memref.store %w15, %to[%c15, %row] : memref<32x16xf32>
      return
    }
  }
}

func.func @transpose(%a: tensor<16x32xf32>) -> tensor<32x16xf32> {
  %r = flow.dispatch @kernels::@warp_f32(%a) : (tensor<16x32xf32>) -> tensor<32x16xf32>
  return %r : tensor<32x16xf32>
}
