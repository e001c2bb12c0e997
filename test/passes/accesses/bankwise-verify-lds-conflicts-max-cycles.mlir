// RUN: bankwise-opt %s --verify-diagnostics --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-verify-lds-conflicts{max-cycles=2}))'

#info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [64, 1, 1] subgroup_size = 64>

// Two words apart, lanes l and l + 16 share a bank: one conflict cycle in each half of the wave.
func.func @two() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<1x128xf32, #gpu.address_space<workgroup>>
  %two = affine.apply affine_map<()[s0] -> (s0 * 2)>()[%x]
  %r = memref.load %a[%c0, %two] : memref<1x128xf32, #gpu.address_space<workgroup>>
  return
}

func.func @six() attributes {translation_info = #info} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : memref<1x256xf32, #gpu.address_space<workgroup>>
  %four = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%x]
  // expected-error @+1 {{read of 1 element a lane of memref<1x256xf32> has 6 conflict cycles: ds_read_b32 takes 4 cycles where lanes 0, 8, 16, 24 want 4 words of bank 0}}
  %r = memref.load %a[%c0, %four] : memref<1x256xf32, #gpu.address_space<workgroup>>
  return
}
