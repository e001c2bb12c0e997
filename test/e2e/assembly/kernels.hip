// Kernels that clang compiles at all levels, for test_clang_kernels.py.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define kernel extern "C" __global__
#define INLINE static __device__ inline __attribute__((always_inline))

INLINE int x() { return __builtin_amdgcn_workitem_id_x(); }
INLINE int y() { return __builtin_amdgcn_workitem_id_y(); }
INLINE int block_x() { return __builtin_amdgcn_workgroup_id_x(); }
INLINE int block_y() { return __builtin_amdgcn_workgroup_id_y(); }
INLINE int width() { return __builtin_amdgcn_workgroup_size_x(); }
INLINE void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// A matrix product in padded tiles of 16 x 16.
kernel __attribute__((amdgpu_flat_work_group_size(256, 256))) void sgemm(const float *a, const float *b,
                                                                         float *c, int n, int k) {
  __shared__ float left[16][17], right[16][17];
  float sum = 0;
  for (int step = 0; step < k; step += 16) {
    left[y()][x()] = a[(block_y() * 16 + y()) * k + step + x()];
    right[y()][x()] = b[(step + y()) * n + block_x() * 16 + x()];
    sync();
    for (int i = 0; i < 16; i++)
      sum += left[y()][i] * right[i][x()];
    sync();
  }
  c[(block_y() * 16 + y()) * n + block_x() * 16 + x()] = sum;
}

// The root of a sum, by exchange between lanes and then through LDS.
kernel void root_of_sum(const float *in, float *out, int n) {
  __shared__ float parts[16];
  float sum = 0;
  for (int i = x(); i < n; i += width())
    sum += in[i];
  int lane = __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0));
  for (int mask = 32; mask; mask /= 2) {
    union { float value; int bits; } word = {sum};
    word.bits = __builtin_amdgcn_ds_bpermute((lane ^ mask) << 2, word.bits);
    sum += word.value;
  }
  if (x() % 64 == 0)
    parts[x() / 64] = sum;
  sync();
  if (x() == 0) {
    float total = 0;
    for (int i = 0; i < width() / 64; i++)
      total += parts[i];
    out[0] = __builtin_sqrtf(total);
  }
}

// Divisions of all kinds, with lanes beyond the end.
kernel void divisions(const float *in, float *f, double *d, long *l, int n) {
  int i = block_x() * width() + x();
  if (i >= n)
    return;
  float value = in[i];
  f[i] = __builtin_fmaf(value, value, 1.0f / value) + (value > 0 ? 1.5f : -value / 3.0f);
  d[i] = (double)value / 3.0 + 1e-3 * value;
  l[i] = ((long)i * 1234567891011L) / (i + 7) % 1000003;
}

// A list of which every lane has another length, and a switch.
struct node { int next; float value; };
kernel void chase(const struct node *nodes, float *out, int most) {
  int at = x();
  float sum = 0;
  while (at >= 0 && most--) {
    sum += nodes[at].value;
    at = nodes[at].next;
  }
  switch (x() % 4) {
  case 0: sum += 1; break;
  case 1: sum *= 2; break;
  case 2: sum = -sum; break;
  }
  out[x()] = sum;
}
