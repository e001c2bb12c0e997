// A square of 32 rows that is transposed through the LDS.
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [128, 1, 1] subgroup_size = 64>
#lds = #gpu.address_space<workgroup>
#g = strided<[1], offset: ?>

stream.executable private @kernels {
  stream.executable.export public @k workgroups() -> (index, index, index) {
    %x = arith.constant 1 : index
    stream.return %x, %x, %x : index, index, index
  }
  builtin.module {
    func.func @k(%inb: !stream.binding, %outb: !stream.binding) attributes {translation_info = #translation} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %in = stream.binding.subspan %inb[%c0] : !stream.binding -> memref<1024xf32, #g>
      %out = stream.binding.subspan %outb[%c0] : !stream.binding -> memref<1024xf32, #g>
      %t = gpu.thread_id x upper_bound 128
      %t8 = affine.apply affine_map<(t) -> (t * 8)>(%t)
      %a = memref.alloc() : memref<1024xf32, #lds>
      ${view} : memref<1024xf32, #lds>
      %v = vector.load %in[%t8] : memref<1024xf32, #g>, vector<8xf32>
      vector.store %v, ${stored}[%t8] : memref<1024xf32, #lds>, vector<8xf32>
      gpu.barrier
      %o0 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 0)>(%t)
      %l0 = memref.load ${read}[%o0] : memref<1024xf32, #lds>
      %q0 = affine.apply affine_map<(t) -> (t + 0)>(%t)
      memref.store %l0, %out[%q0] : memref<1024xf32, #g>
      %o1 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 4)>(%t)
      %l1 = memref.load ${read}[%o1] : memref<1024xf32, #lds>
      %q1 = affine.apply affine_map<(t) -> (t + 128)>(%t)
      memref.store %l1, %out[%q1] : memref<1024xf32, #g>
      %o2 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 8)>(%t)
      %l2 = memref.load ${read}[%o2] : memref<1024xf32, #lds>
      %q2 = affine.apply affine_map<(t) -> (t + 256)>(%t)
      memref.store %l2, %out[%q2] : memref<1024xf32, #g>
      %o3 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 12)>(%t)
      %l3 = memref.load ${read}[%o3] : memref<1024xf32, #lds>
      %q3 = affine.apply affine_map<(t) -> (t + 384)>(%t)
      memref.store %l3, %out[%q3] : memref<1024xf32, #g>
      %o4 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 16)>(%t)
      %l4 = memref.load ${read}[%o4] : memref<1024xf32, #lds>
      %q4 = affine.apply affine_map<(t) -> (t + 512)>(%t)
      memref.store %l4, %out[%q4] : memref<1024xf32, #g>
      %o5 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 20)>(%t)
      %l5 = memref.load ${read}[%o5] : memref<1024xf32, #lds>
      %q5 = affine.apply affine_map<(t) -> (t + 640)>(%t)
      memref.store %l5, %out[%q5] : memref<1024xf32, #g>
      %o6 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 24)>(%t)
      %l6 = memref.load ${read}[%o6] : memref<1024xf32, #lds>
      %q6 = affine.apply affine_map<(t) -> (t + 768)>(%t)
      memref.store %l6, %out[%q6] : memref<1024xf32, #g>
      %o7 = affine.apply affine_map<(t) -> ((t mod 32) * 32 + t floordiv 32 + 28)>(%t)
      %l7 = memref.load ${read}[%o7] : memref<1024xf32, #lds>
      %q7 = affine.apply affine_map<(t) -> (t + 896)>(%t)
      memref.store %l7, %out[%q7] : memref<1024xf32, #g>

      return
    }
  }
}
func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = flow.dispatch @kernels::@k(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
