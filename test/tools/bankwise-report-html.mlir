// RUN: bankwise-report %s --target=gfx942 --format=html | FileCheck %s
// RUN: bankwise-report - --target=gfx942 --format=html < %s | FileCheck %s --check-prefix=STDIN
// RUN: bankwise-report %s --target=gfx942 --format=html | grep -c "<script" | FileCheck %s --check-prefix=SCRIPT
// RUN: bankwise-report %s --target=gfx942 --bank-map | FileCheck %s --check-prefix=TEXT

// The number comes first, then the legend; before stands in front of what is proposed.

// CHECK:      <h1>Bank conflicts of bankwise-report-html.mlir</h1>
// CHECK:      <strong class="bad">248</strong>
// CHECK-NEXT: conflict cycles of a workgroup as the IR stands</p>
// CHECK:      >plain, as the IR stands</th><td class="n bad">248</td>
// CHECK:      >proposed</th><td class="n good">0</td>
// CHECK:      How to read this page
// CHECK:      <h3 id="allocation-1">
// CHECK:      <details id="access-1" open><summary><b>1. read x 2</b>
// CHECK:      <code>row = lane, column = i + 1; i = 0..1</code>
// CHECK-NEXT: bankwise-report-html.mlir:[[# @LINE + 30]]:8</span> <code>%v = memref.load %m[%x, %c1] : memref&lt;64x32xf32, #ws&gt; // &lt;script&gt;</code>
// CHECK:      and 1 more place
// CHECK:      <b>before</b>: plain
// CHECK:      aria-label="bank map of access 1 before, ds_read_b32, phase 1 of 2: 32 cycles: 32 words on bank 1;
// CHECK:      Where they lie: the first 16 of 32 lines of 128 bytes
// CHECK:      <b>proposed</b>: padded by 4 bytes a row

// Equal maps are drawn once: those of the second tile are those of the first.

// CHECK-NOT:  bank map of access 2
// CHECK:      The bank maps are those of <a href="#access-1">access 1</a>; the same for phase 2

// SCRIPT:     {{^1$}}

// STDIN-NOT:  memref.load %m

// TEXT:       {{^}}248 conflict cycles in the plain layout, 8 with stock's padding, 0 in the proposed one
// TEXT:       In a bank map, banks lie side by side
// TEXT:       1 before, ds_read_b32, phase 1 of 2: 32 cycles
// TEXT:       the same for phase 2; both other phases have it on other banks
// TEXT:       2: the bank maps are those of 1; the same for phase 2

#info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64>
#ws = #gpu.address_space<workgroup>
func.func @columns() -> (f32, f32) attributes {translation_info = #info} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : memref<64x32xf32, #ws>
  %n = memref.alloc() : memref<64x32xf32, #ws>
  %v = memref.load %m[%x, %c1] : memref<64x32xf32, #ws> // <script>
  %w = memref.load %m[%x, %c2] : memref<64x32xf32, #ws>
  %u = memref.load %n[%x, %c1] : memref<64x32xf32, #ws>
  %t = memref.load %n[%x, %c2] : memref<64x32xf32, #ws>
  %a = arith.addf %v, %w : f32
  %b = arith.addf %u, %t : f32
  return %a, %b : f32, f32
}
