// An f16 matrix [rows, columns] is transposed in tiles of 64 x 32: global memory -> LDS -> registers
// -> global memory. A workgroup of 256 work items moves one tile. `row_major` has the tile row by row
// in LDS, `padded` has 2 elements behind each row: the kernels of examples/transpose/row_major.mlir
// and padded.mlir, in HIP. Nothing of HIP's headers is needed, so that any clang can compile it:
//
//   clang-19 -x hip --cuda-device-only --offload-arch=gfx942 -nogpulib -nogpuinc -O3 \
//     -gline-tables-only -fdebug-compilation-dir=. -fno-discard-value-names -fuse-cuid=none \
//     -S -o transpose.s transpose.hip

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(threads, threads)))

typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef half8 unaligned_half8 __attribute__((aligned(2)));

static __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <int WIDTH>
static __device__ void transpose(const _Float16 *in, _Float16 *out, int rows, int columns,
                                 _Float16 (*tile)[WIDTH]) {
  int t = __builtin_amdgcn_workitem_id_x();
  int bx = __builtin_amdgcn_workgroup_id_x(), by = __builtin_amdgcn_workgroup_id_y();

  // Work item t brings 8 elements of row t / 4 of the tile.
  int row = t / 4, column = t % 4 * 8;
  half8 loaded = *(const half8 *)&in[(by * 64 + row) * columns + bx * 32 + column];
  *(unaligned_half8 *)&tile[row][column] = loaded;
  __syncthreads();

  // It takes 8 elements of column t / 8 away.
  int first = t % 8 * 8, taken = t / 8;
  half8 part;
  for (int i = 0; i < 8; i++)
    part[i] = tile[first + i][taken];
  *(half8 *)&out[(bx * 32 + taken) * rows + by * 64 + first] = part;
}

extern "C" __global__ __launch_bounds__(256) void row_major(const _Float16 *in, _Float16 *out,
                                                            int rows, int columns) {
  __shared__ _Float16 tile[64][32];
  transpose(in, out, rows, columns, tile);
}

extern "C" __global__ __launch_bounds__(256) void padded(const _Float16 *in, _Float16 *out, int rows,
                                                         int columns) {
  __shared__ _Float16 tile[64][34];
  transpose(in, out, rows, columns, tile);
}
