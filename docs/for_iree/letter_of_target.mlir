#target = #iree_gpu.target<arch = "sm_90a", features = "+ptx84", wgp = <compute = fp32|int32,
    storage = b32, subgroup = shuffle, subgroup_size_choices = [32],
    max_workgroup_sizes = [1024, 1024, 64], max_thread_count_per_workgroup = 1024,
    max_workgroup_memory_bytes = 232448, max_workgroup_counts = [65535, 65535, 65535]>>
#code = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #target}>
#map = affine_map<(i) -> (i)>
module attributes {hal.device.targets = [#hal.device.target<"cuda", [#code]> : !hal.device]} {
  func.func @greater(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
    %empty = tensor.empty() : tensor<64xf32>
    %greater = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%empty : tensor<64xf32>) {
      ^bb0(%x: f32, %y: f32, %out: f32):
        %m = arith.maximumf %x, %y : f32
        linalg.yield %m : f32
    } -> tensor<64xf32>
    return %greater : tensor<64xf32>
  }
}
