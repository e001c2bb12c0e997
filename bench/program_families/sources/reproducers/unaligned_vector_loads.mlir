// Reads of four elements at even offsets, which a swizzle would have to split.
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
      %out = stream.binding.subspan %outb[%c0] : !stream.binding -> memref<512xf32, #g>
      %t = gpu.thread_id x upper_bound 128
      %t8 = affine.apply affine_map<(t) -> (t * 8)>(%t)
      %a = memref.alloc() : memref<1024xf32, #lds>
      %v = vector.load %in[%t8] : memref<1024xf32, #g>, vector<8xf32>
      vector.store %v, %a[%t8] : memref<1024xf32, #lds>, vector<8xf32>
      gpu.barrier
      %p = affine.apply affine_map<(t) -> (t * 6 + 2)>(%t)
      %x = vector.load %a[%p] : memref<1024xf32, #lds>, vector<4xf32>
      %t4 = affine.apply affine_map<(t) -> (t * 4)>(%t)
      vector.store %x, %out[%t4] : memref<512xf32, #g>, vector<4xf32>

      return
    }
  }
}
func.func @main(%a: tensor<1024xf32>) -> tensor<512xf32> {
  %r = flow.dispatch @kernels::@k(%a) : (tensor<1024xf32>) -> tensor<512xf32>
  return %r : tensor<512xf32>
}
