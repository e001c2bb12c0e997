// A hint on a frame of a double buffer that is smaller than the period of the swizzle.
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#raw = #amdgpu.address_space<fat_raw_buffer>
stream.executable private @kernels {
  stream.executable.export public @k workgroups() -> (index, index, index) {
    %z = arith.constant 1 : index
    stream.return %z, %z, %z : index, index, index
  }
  builtin.module {
    func.func @k(%a_binding: !stream.binding, %c_binding: !stream.binding) attributes {translation_info = #translation} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %a_plain = stream.binding.subspan %a_binding[%c0] : !stream.binding -> memref<1024xf16>
      %a = amdgpu.fat_raw_buffer_cast %a_plain resetOffset : memref<1024xf16> to memref<1024xf16, #raw>
      %c = stream.binding.subspan %c_binding[%c0] : !stream.binding -> memref<1024xf16, strided<[1], offset: ?>>
      %t = gpu.thread_id x upper_bound 64
      %alloc = memref.alloc() : memref<1024xf16, #lds>
      %row = affine.apply affine_map<(t) -> (t floordiv 16)>(%t)
      %col = affine.apply affine_map<(t) -> (t mod 16)>(%t)
      %x = arith.xori %row, %col : index
      %o = affine.apply affine_map<(t) -> (t * 8)>(%t)
      scf.for %i = %c0 to %c2 step %c1 {
        %so = affine.apply affine_map<(i) -> (i * 512)>(%i)
        %sv = memref.subview %alloc[%so] [512] [1] : memref<1024xf16, #lds> to memref<512xf16, strided<[1], offset: ?>, #lds>
        %h = iree_codegen.swizzle_hint %sv[#iree_codegen.xor_shuffle<128, 8>] : memref<512xf16, strided<[1], offset: ?>, #lds>
        %s = affine.apply affine_map<(i, r, x) -> (i * 512 + r * 128 + x * 8)>(%i, %row, %x)
        amdgpu.gather_to_lds %a[%s], %h[%c0] : vector<8xf16>, memref<1024xf16, #raw>, memref<512xf16, strided<[1], offset: ?>, #lds>
        gpu.barrier
        %v = vector.load %h[%o] : memref<512xf16, strided<[1], offset: ?>, #lds>, vector<8xf16>
        %d = affine.apply affine_map<(i, t) -> (i * 512 + t * 8)>(%i, %t)
        vector.store %v, %c[%d] : memref<1024xf16, strided<[1], offset: ?>>, vector<8xf16>
        gpu.barrier
      }
      return
    }
  }
}
func.func @k(%a: tensor<1024xf16>) -> tensor<1024xf16> {
  %r = flow.dispatch @kernels::@k(%a) : (tensor<1024xf16>) -> tensor<1024xf16>
  return %r : tensor<1024xf16>
}
