// Kernels that use what the ABI and the address spaces offer, for test_assembly_abi.py.
//
//   clang-19 -x hip --cuda-device-only --offload-arch=gfx942 -nogpulib -nogpuinc -O2 \
//     -fno-discard-value-names -fuse-cuid=none -S -o abi.s abi.hip
//
// preload.s has the same kernels with -mllvm -amdgpu-kernarg-preload-count=8.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define kernel extern "C" __global__

static __device__ int thread() { return __builtin_amdgcn_workitem_id_x(); }
static __device__ int block() { return __builtin_amdgcn_workgroup_id_x(); }
static __device__ void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// blockDim, gridDim and the ids, from hidden arguments and packed registers.
kernel void sizes(int *out) {
  int width = __builtin_amdgcn_workgroup_size_x(), height = __builtin_amdgcn_workgroup_size_y();
  int columns = __builtin_amdgcn_grid_size_x();
  int x = block() * width + thread();
  int y = __builtin_amdgcn_workgroup_id_y() * height + __builtin_amdgcn_workitem_id_y();
  int z = __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_z() +
          __builtin_amdgcn_workitem_id_z();
  int rows = __builtin_amdgcn_grid_size_y();
  out[(z * rows + y) * columns + x] = width + 100 * height + 10000 * columns;
}

// A private array with an index that only the run knows.
kernel void scratch(const int *in, int *out, int steps) {
  int array[64];
  for (int i = 0; i < 64; i++)
    array[i] = in[64 * thread() + i];
  int at = 0;
  for (int i = 0; i < steps; i++) {
    at = array[at & 63];
    array[at & 63] += 1;
  }
  out[thread()] = array[at & 63];
}

// Pointers of which only the run knows whether they point to LDS, private or global memory.
static __device__ int *choose(int which, int *a, int *b, int *c) {
  return which % 3 == 0 ? a : which % 3 == 1 ? b : c;
}
kernel void generic(int *out, int *global, int shift) {
  __shared__ int tile[256];
  int array[4] = {0, 0, 0, 0};
  tile[thread()] = 0;
  sync();
  int *place = choose(thread() + shift, &tile[thread()], &array[thread() & 3], &global[thread()]);
  *(volatile int *)place = 5 * thread();
  __atomic_fetch_add(place, 7, __ATOMIC_RELAXED);
  sync();
  volatile int *from = choose(thread() + shift, &tile[thread()], &array[thread() & 3],
                              &global[thread()]);
  out[thread()] = *from;
}

// Atomics on global memory and LDS.
kernel void atomics(unsigned *histogram, float *sum, const unsigned *in) {
  __shared__ unsigned bins[16];
  if (thread() < 16)
    bins[thread()] = 0;
  sync();
  unsigned value = in[block() * 64 + thread()];
  __atomic_fetch_add(&bins[value & 15], 1u, __ATOMIC_RELAXED);
  sync();
  if (thread() < 16)
    __atomic_fetch_add(&histogram[thread()], bins[thread()], __ATOMIC_RELAXED);
  __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)sum,
                                          (float)value);
}

// LDS whose size the launch decides.
extern __shared__ int dynamic[];
kernel void reversed(const int *in, int *out, int count) {
  dynamic[thread()] = in[thread()];
  sync();
  out[thread()] = dynamic[count - 1 - thread()];
}

// A read `distance` elements beyond what the work item owns.
kernel void beyond(const int *in, int *out, int distance) { out[thread()] = in[thread() + distance]; }

// A structure by value, and small numbers.
struct Scale {
  float factor[3];
};
kernel void structure(float *out, struct Scale scale, short add, char times) {
  out[thread()] = scale.factor[thread() % 3] * times + add;
}

// A call that is not inlined.
static __device__ __attribute__((noinline)) int twice(int x) {
  asm volatile("" : "+v"(x));
  return 2 * x;
}
kernel void calls(int *out) { out[thread()] = twice(thread()); }
