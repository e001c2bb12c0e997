// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that use each kind of memory: one workgroup of 128 work items runs each.
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
typedef unsigned u32;
typedef unsigned long long u64;
typedef float f4 __attribute__((ext_vector_type(4)));

#define ITEM __builtin_amdgcn_workitem_id_x()
#define ADD(place, value, scope) __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, scope)
#define DEVICE __HIP_MEMORY_SCOPE_AGENT
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP

static __attribute__((device, always_inline)) void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Vectors of 16 bytes through the LDS, in reversed order.
KERNEL reverse(const f4 *a, f4 *b) {
  SHARED f4 t[128];
  t[ITEM] = a[ITEM];
  barrier();
  b[ITEM] = t[127 - ITEM];
}

// Atomics on memory, in each memory order that has caches to write back or to give up.
KERNEL on_memory(u32 *a, u64 *b, u32 *before) {
  u32 i = ITEM, expected = i;
  before[i] = ADD(a, i, DEVICE);
  __hip_atomic_fetch_max(a + 1, i, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_fetch_add(b, (u64)i, __ATOMIC_ACQ_REL, GROUP);
  __hip_atomic_compare_exchange_strong(a + 2, &expected, 1000 + i, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST, DEVICE);
}

// Atomics on the LDS.
KERNEL on_lds(u32 *sums, float *floats) {
  SHARED u32 s[4];
  SHARED float f[4];
  u32 i = ITEM;
  if (i < 4) {
    s[i] = 0;
    f[i] = 0;
  }
  barrier();
  ADD(&s[i & 3], i, GROUP);
  ADD(&f[i & 3], (float)i, GROUP);
  barrier();
  sums[i] = s[i & 3];
  floats[i] = f[i & 3];
}

// Bytes and halves, with and without sign.
KERNEL narrow(const unsigned char *a, const short *b, int *sum, unsigned char *c,
              unsigned short *d) {
  u32 i = ITEM;
  sum[i] = a[i] + (signed char)a[i + 1] + b[i] + ((const unsigned short *)b)[i + 2];
  c[i] = i * 3;
  d[i] = i << 4;
}

// Private memory, indexed by what each lane computes.
KERNEL of_lane(const int *a, int *sum, int n) {
  int t[40], s = 0;
  for (int k = 0; k < 40; k++)
    t[k] = a[(ITEM + k) & 63];
  for (int k = 0; k < n; k++)
    s += t[(k * 7 + (int)ITEM) % 40];
  sum[ITEM] = s;
}

// What neighbouring lanes hold.
KERNEL neighbours(const int *a, int *sum) {
  int v = a[ITEM];
  sum[ITEM] = __builtin_amdgcn_ds_bpermute((ITEM ^ 1) * 4, v) +
              __builtin_amdgcn_ds_swizzle(v, 0x041f) +
              __builtin_amdgcn_ds_permute((ITEM ^ 2) * 4, v);
}

// A pointer to the LDS, to private memory or to memory, as `kind` asks.
KERNEL anywhere(int *a, int *sum, int kind) {
  SHARED int s[128];
  int p[4] = {(int)ITEM, 2 * (int)ITEM, 3, 4};
  u32 i = ITEM;
  s[i] = a[i];
  int *q = kind == 0 ? &a[i] : kind == 1 ? &s[i] : &p[i & 3];
  *q += 5;
  sum[i] = *q + s[i];
}
