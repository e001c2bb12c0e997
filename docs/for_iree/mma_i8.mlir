// A matrix instruction of 8-bit integers.
#target = #iree_gpu.target<arch = "sm_80", features = "+ptx76", wgp = <compute = int32, storage = b32, subgroup = shuffle, subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 65535, 65535]>>
module attributes {hal.executable.target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>} {
  func.func @mma() {
    %i = arith.constant 0 : index
    %a = arith.constant dense<127> : vector<4x4xi8>
    %b = arith.constant dense<127> : vector<2x4xi8>
    %tile = memref.alloc() : memref<2x2xi32, #gpu.address_space<workgroup>>
    %c = vector.load %tile[%i, %i] : memref<2x2xi32, #gpu.address_space<workgroup>>, vector<2x2xi32>
    %d = "nvgpu.mma.sync"(%a, %b, %c) <{mmaShape = [16, 8, 32]}>
        : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    vector.store %d, %tile[%i, %i] : memref<2x2xi32, #gpu.address_space<workgroup>>, vector<2x2xi32>
    return
  }
}
