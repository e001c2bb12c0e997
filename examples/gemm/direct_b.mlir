// A matrix product whose B tiles go from global memory directly to the LDS, for gfx950.
//
// C = A B^T with A [128, 512] and B [128, 512] of f16, C [128, 128] of f32. A workgroup of 4 waves
// computes 64 x 32 elements of C. It steps through K by 64: each B tile, 32 x 64 elements, is
// brought by `amdgpu.gather_to_lds` of 2 elements a lane while the tile before it is multiplied,
// in two buffers that take turns. The lanes of a wave read 8 elements each from 16 rows, which lie
// 128 bytes apart: without a swizzle, 4 of them meet on each bank.
//
//   bankwise-run --module=examples/gemm/direct_b.mlir --device=emulated-gfx950 --counters \
//     --input=128x512xf16=1 --input=128x512xf16=0.5

#translation = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = [256, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#raw = #amdgpu.address_space<fat_raw_buffer>
#rows = strided<[512, 1], offset: ?>
#result = strided<[128, 1], offset: ?>

stream.executable private @kernels {
  stream.executable.export public @gemm workgroups() -> (index, index, index) {
    %x = arith.constant 4 : index
    %y = arith.constant 2 : index
    %z = arith.constant 1 : index
    stream.return %x, %y, %z : index, index, index
  }
  builtin.module {
    func.func @gemm(%a_binding: !stream.binding, %b_binding: !stream.binding,
                    %c_binding: !stream.binding) attributes {translation_info = #translation} {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %k_size = arith.constant 512 : index
      %zero = arith.constant dense<0.0> : vector<4xf32>
      %a = stream.binding.subspan %a_binding[%c0] : !stream.binding -> memref<128x512xf16, #rows>
      %b_plain = stream.binding.subspan %b_binding[%c0]
          : !stream.binding -> memref<128x512xf16>
      %b = amdgpu.fat_raw_buffer_cast %b_plain resetOffset
          : memref<128x512xf16> to memref<128x512xf16, #raw>
      %c = stream.binding.subspan %c_binding[%c0] : !stream.binding -> memref<128x128xf32, #result>
      %bx = gpu.block_id x upper_bound 4
      %by = gpu.block_id y upper_bound 2
      %t = gpu.thread_id x upper_bound 256

      %even = memref.alloc() : memref<32x64xf16, #lds>
      %odd = memref.alloc() : memref<32x64xf16, #lds>

      // Wave w brings rows 8 w to 8 w + 7 of a tile, two at a time; a lane brings 2 elements.
      %wave_row = affine.apply affine_map<(t) -> (t floordiv 64 * 8)>(%t)
      %lane_row = affine.apply affine_map<(t) -> (t mod 64 floordiv 32)>(%t)
      %lane_column = affine.apply affine_map<(t) -> (t mod 32 * 2)>(%t)
      %seven0 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 0)>(%bx, %wave_row, %lane_row)
      %deven0 = affine.apply affine_map<(w) -> (w + 0)>(%wave_row)
      amdgpu.gather_to_lds %b[%seven0, %lane_column], %even[%deven0, %c0]
          : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
      %seven1 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 2)>(%bx, %wave_row, %lane_row)
      %deven1 = affine.apply affine_map<(w) -> (w + 2)>(%wave_row)
      amdgpu.gather_to_lds %b[%seven1, %lane_column], %even[%deven1, %c0]
          : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
      %seven2 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 4)>(%bx, %wave_row, %lane_row)
      %deven2 = affine.apply affine_map<(w) -> (w + 4)>(%wave_row)
      amdgpu.gather_to_lds %b[%seven2, %lane_column], %even[%deven2, %c0]
          : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
      %seven3 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 6)>(%bx, %wave_row, %lane_row)
      %deven3 = affine.apply affine_map<(w) -> (w + 6)>(%wave_row)
      amdgpu.gather_to_lds %b[%seven3, %lane_column], %even[%deven3, %c0]
          : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
      gpu.barrier memfence [#lds]

      // Lane l holds row l % 16 of an A or B fragment, 8 elements of K from 8 (l / 16) on.
      %a_row = affine.apply affine_map<(b, t) -> (b * 64 + t floordiv 64 * 16 + t mod 16)>(%by, %t)
      %b_row = affine.apply affine_map<(t) -> (t mod 16)>(%t)
      %b_row_16 = affine.apply affine_map<(t) -> (t mod 16 + 16)>(%t)
      %k_lane = affine.apply affine_map<(t) -> (t mod 64 floordiv 16 * 8)>(%t)
      %k_lane_32 = affine.apply affine_map<(t) -> (t mod 64 floordiv 16 * 8 + 32)>(%t)
      %sum:4 = scf.for %k = %c0 to %k_size step %c64
          iter_args(%now = %even, %next = %odd, %left = %zero, %right = %zero)
          -> (memref<32x64xf16, #lds>, memref<32x64xf16, #lds>, vector<4xf32>, vector<4xf32>) {
        // After the last tile comes the first again, which nobody reads.
        %column = affine.apply affine_map<(k, l) -> ((k + 64) mod 512 + l)>(%k, %lane_column)
        %snext0 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 0)>(%bx, %wave_row, %lane_row)
        %dnext0 = affine.apply affine_map<(w) -> (w + 0)>(%wave_row)
        amdgpu.gather_to_lds %b[%snext0, %column], %next[%dnext0, %c0]
            : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
        %snext1 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 2)>(%bx, %wave_row, %lane_row)
        %dnext1 = affine.apply affine_map<(w) -> (w + 2)>(%wave_row)
        amdgpu.gather_to_lds %b[%snext1, %column], %next[%dnext1, %c0]
            : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
        %snext2 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 4)>(%bx, %wave_row, %lane_row)
        %dnext2 = affine.apply affine_map<(w) -> (w + 4)>(%wave_row)
        amdgpu.gather_to_lds %b[%snext2, %column], %next[%dnext2, %c0]
            : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
        %snext3 = affine.apply affine_map<(b, w, l) -> (b * 32 + w + l + 6)>(%bx, %wave_row, %lane_row)
        %dnext3 = affine.apply affine_map<(w) -> (w + 6)>(%wave_row)
        amdgpu.gather_to_lds %b[%snext3, %column], %next[%dnext3, %c0]
            : vector<2xf16>, memref<128x512xf16, #raw>, memref<32x64xf16, #lds>
        %a_column = affine.apply affine_map<(k, l) -> (k + l)>(%k, %k_lane)
        %a0 = vector.load %a[%a_row, %a_column] : memref<128x512xf16, #rows>, vector<8xf16>
        %a_column_32 = affine.apply affine_map<(k, l) -> (k + l + 32)>(%k, %k_lane)
        %a1 = vector.load %a[%a_row, %a_column_32] : memref<128x512xf16, #rows>, vector<8xf16>
        %b00 = vector.load %now[%b_row, %k_lane] : memref<32x64xf16, #lds>, vector<8xf16>
        %b01 = vector.load %now[%b_row, %k_lane_32] : memref<32x64xf16, #lds>, vector<8xf16>
        %b10 = vector.load %now[%b_row_16, %k_lane] : memref<32x64xf16, #lds>, vector<8xf16>
        %b11 = vector.load %now[%b_row_16, %k_lane_32] : memref<32x64xf16, #lds>, vector<8xf16>
        %left_0 = amdgpu.mfma 16x16x32 %a0 * %b00 + %left
            : vector<8xf16>, vector<8xf16>, vector<4xf32>
        %right_0 = amdgpu.mfma 16x16x32 %a0 * %b10 + %right
            : vector<8xf16>, vector<8xf16>, vector<4xf32>
        %left_1 = amdgpu.mfma 16x16x32 %a1 * %b01 + %left_0
            : vector<8xf16>, vector<8xf16>, vector<4xf32>
        %right_1 = amdgpu.mfma 16x16x32 %a1 * %b11 + %right_0
            : vector<8xf16>, vector<8xf16>, vector<4xf32>
        gpu.barrier memfence [#lds]
        scf.yield %next, %now, %left_1, %right_1
            : memref<32x64xf16, #lds>, memref<32x64xf16, #lds>, vector<4xf32>, vector<4xf32>
      }

      // It holds column l % 16 of C, rows 4 (l / 16) to 4 (l / 16) + 3.
      %left_column = affine.apply affine_map<(b, t) -> (b * 32 + t mod 16)>(%bx, %t)
      %right_column = affine.apply affine_map<(b, t) -> (b * 32 + t mod 16 + 16)>(%bx, %t)
      %row0 = affine.apply affine_map<(b, t) -> (b * 64 + t floordiv 64 * 16 + t mod 64 floordiv 16 * 4 + 0)>(%by, %t)
      %left_e0 = vector.extract %sum#2[0] : f32 from vector<4xf32>
      memref.store %left_e0, %c[%row0, %left_column] : memref<128x128xf32, #result>
      %right_e0 = vector.extract %sum#3[0] : f32 from vector<4xf32>
      memref.store %right_e0, %c[%row0, %right_column] : memref<128x128xf32, #result>
      %row1 = affine.apply affine_map<(b, t) -> (b * 64 + t floordiv 64 * 16 + t mod 64 floordiv 16 * 4 + 1)>(%by, %t)
      %left_e1 = vector.extract %sum#2[1] : f32 from vector<4xf32>
      memref.store %left_e1, %c[%row1, %left_column] : memref<128x128xf32, #result>
      %right_e1 = vector.extract %sum#3[1] : f32 from vector<4xf32>
      memref.store %right_e1, %c[%row1, %right_column] : memref<128x128xf32, #result>
      %row2 = affine.apply affine_map<(b, t) -> (b * 64 + t floordiv 64 * 16 + t mod 64 floordiv 16 * 4 + 2)>(%by, %t)
      %left_e2 = vector.extract %sum#2[2] : f32 from vector<4xf32>
      memref.store %left_e2, %c[%row2, %left_column] : memref<128x128xf32, #result>
      %right_e2 = vector.extract %sum#3[2] : f32 from vector<4xf32>
      memref.store %right_e2, %c[%row2, %right_column] : memref<128x128xf32, #result>
      %row3 = affine.apply affine_map<(b, t) -> (b * 64 + t floordiv 64 * 16 + t mod 64 floordiv 16 * 4 + 3)>(%by, %t)
      %left_e3 = vector.extract %sum#2[3] : f32 from vector<4xf32>
      memref.store %left_e3, %c[%row3, %left_column] : memref<128x128xf32, #result>
      %right_e3 = vector.extract %sum#3[3] : f32 from vector<4xf32>
      memref.store %right_e3, %c[%row3, %right_column] : memref<128x128xf32, #result>
      return
    }
  }
}

func.func @gemm(%a: tensor<128x512xf16>, %b: tensor<128x512xf16>) -> tensor<128x128xf32> {
  %r = flow.dispatch @kernels::@gemm(%a, %b)
      : (tensor<128x512xf16>, tensor<128x512xf16>) -> tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
