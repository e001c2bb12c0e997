// RUN: bankwise-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(bankwise-restore-shapes,canonicalize,cse))' --verify-diagnostics | FileCheck %s
// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-restore-shapes,canonicalize,cse))' --verify-diagnostics | FileCheck %s --check-prefix=AMD
// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=gfx942 --pass-pipeline='builtin.module(func.func(bankwise-restore-shapes{ahead=true},canonicalize,cse))' --verify-diagnostics | FileCheck %s --check-prefix=AHEAD
// RUN: bankwise-opt %s --split-input-file --iree-gpu-test-target=sm_80 --pass-pipeline='builtin.module(func.func(bankwise-restore-shapes,canonicalize,cse))' --verify-diagnostics | FileCheck %s --check-prefix=IMAGE

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// 8 elements at a multiple of 8 in rows of 100 may reach over the end: they are two times 4. Rows of
// 200 bytes begin at multiples of 8 bytes.

// CHECK-LABEL: func.func @read(
// CHECK-NOT:     bankwise.
// CHECK-SAME:    %[[ROW:.+]]: index, %[[PART:.+]]: index
// CHECK:         %[[BINDING:.+]] = hal.interface.binding.subspan {{.*}} : memref<90x100xf16>
// CHECK:         %[[MEMORY:.+]] = memref.assume_alignment %[[BINDING]], 64 : memref<90x100xf16>
// CHECK:         %[[COLUMN:.+]] = arith.muli %[[PART]], %c8
// CHECK:         %[[NO_ROW:.+]] = arith.cmpi ule, %[[ROW]], %c89
// CHECK:         %[[IN_ROWS:.+]] = arith.minui %[[ROW]], %c89
// CHECK:         %[[NO_COLUMN:.+]] = arith.cmpi ule, %[[COLUMN]], %c96
// CHECK:         %[[IN_COLUMNS:.+]] = arith.minui %[[COLUMN]], %c96
// CHECK:         %[[THERE:.+]] = arith.andi %[[NO_ROW]], %[[NO_COLUMN]]
// CHECK:         %[[LOADED:.+]] = vector.load %[[MEMORY]][%[[IN_ROWS]], %[[IN_COLUMNS]]] alignment = 8 : memref<90x100xf16>, vector<4xf16>
// CHECK:         arith.select %[[THERE]], %[[LOADED]], %{{.+}} : vector<4xf16>
// CHECK:         %[[SECOND:.+]] = arith.addi %[[COLUMN]], %c4
// CHECK:         arith.minui %[[SECOND]], %c96
// CHECK-COUNT-1: vector.load
// CHECK-NOT:     vector.load

// A lane of an AMD GPU reads 8 elements from any address, and the last ones of a row from element 92 on, of which it has
// 4 already.

// AMD-LABEL: func.func @read(
// AMD-SAME:    %[[ROW:.+]]: index, %[[PART:.+]]: index
// AMD:         %[[BINDING:.+]] = hal.interface.binding.subspan {{.*}} : memref<90x100xf16>
// AMD:         %[[COLUMN:.+]] = arith.muli %[[PART]], %c8
// AMD:         %[[IN_ROWS:.+]] = arith.minui %[[ROW]], %c89
// AMD:         %[[IN_ROW:.+]] = arith.cmpi ule, %[[COLUMN]], %c99
// AMD:         %[[PLACE:.+]] = arith.minui %{{.+}}, %c92
// AMD:         %[[LOADED:.+]] = vector.load %[[BINDING]][%[[IN_ROWS]], %[[PLACE]]] alignment = 2 : memref<90x100xf16>, vector<8xf16>
// AMD:         %[[WORDS:.+]] = vector.bitcast %[[LOADED]] : vector<8xf16> to vector<4xi32>
// AMD:         %[[FIRST:.+]] = vector.extract %[[WORDS]][0]
// AMD:         %[[THIRD:.+]] = vector.extract %[[WORDS]][2]
// AMD:         %[[LAST:.+]] = arith.cmpi eq, %{{.+}}, %c96
// AMD:         arith.select %[[LAST]], %[[THIRD]], %[[FIRST]] : i32
// AMD-NOT:     vector.load
// AMD:         arith.select %{{.+}}, %{{.+}}, %{{.+}} : vector<8xf16>
// AMD-NOT:     vector.load
// AMD:         return
func.func @read(%row: index, %run: index) -> vector<8xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<96x112xf16>"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 90, 100>} : memref<96x112xf16>
  %m = memref.assume_alignment %b, 64 : memref<96x112xf16>
  %column = arith.muli %run, %c8 : index
  %v = vector.transfer_read %m[%row, %column], %p {in_bounds = [true]} : memref<96x112xf16>, vector<8xf16>
  return %v : vector<8xf16>
}

// The first 64 rows are there, whatever lane it is, and all columns.

// CHECK-LABEL: func.func @inside(
// CHECK-NOT:     arith.minui
// CHECK-NOT:     arith.select
// CHECK:         vector.load %{{.+}}[%{{.+}}, %c0] {{.*}} : memref<90x64xf16>, vector<8xf16>
func.func @inside() -> vector<8xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<96x64xf16>"]} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 90, 64>} : memref<96x64xf16>
  %row = gpu.thread_id x upper_bound 64
  %v = vector.transfer_read %b[%row, %c0], %p {in_bounds = [true]} : memref<96x64xf16>, vector<8xf16>
  return %v : vector<8xf16>
}

// Writes through a part of the buffer go to the buffer, where they stay inside. Rows of 75 elements of
// 16 bits begin at multiples of 2 bytes, and 75 is odd: each element is on its own.

// CHECK-LABEL: func.func @write(
// CHECK-SAME:    %[[VALUE:.+]]: vector<1x2xf16>, %[[TILE:.+]]: index, %[[ROW:.+]]: index, %[[COLUMN:.+]]: index
// CHECK-NOT:     memref.subview
// CHECK:         %[[PLACE:.+]] = arith.addi %[[TILE]], %[[ROW]]
// CHECK:         %[[THERE:.+]] = arith.andi
// CHECK:         scf.if %[[THERE]] {
// CHECK-NEXT:      vector.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}] alignment = 2 : memref<90x75xf16>, vector<1xf16>
// CHECK-NEXT:    }
// CHECK:         scf.if
// CHECK-NEXT:      vector.store
// CHECK-NOT:     scf.if
func.func @write(%v: vector<1x2xf16>, %tile: index, %row: index, %column: index) attributes {bankwise.enlarged_bindings = ["0 : index memref<96x80xf16>"]} {
  %c0 = arith.constant 0 : index
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 90, 75>} : memref<96x80xf16>
  %part = memref.subview %b[%tile, 0] [32, 80] [1, 1] : memref<96x80xf16> to memref<32x80xf16, strided<[80, 1], offset: ?>>
  vector.transfer_write %v, %part[%row, %column] {in_bounds = [true, true]} : vector<1x2xf16>, memref<32x80xf16, strided<[80, 1], offset: ?>>
  return
}

// The program knows how many rows there are. None may be there.

// CHECK-LABEL: func.func @dynamic_rows(
// CHECK-SAME:    %[[ROWS:.+]]: index, %[[ROW:.+]]: index
// CHECK:         %[[MEMORY:.+]] = hal.interface.binding.subspan {{.*}} : memref<?x64xf16>{%[[ROWS]]}
// CHECK:         %[[LAST:.+]] = arith.subi %[[ROWS]], %c1
// CHECK:         %[[THERE:.+]] = arith.cmpi sle, %[[ROW]], %[[LAST]]
// CHECK:         %[[FIRST:.+]] = arith.maxsi %[[LAST]], %c0
// CHECK:         %[[IN_ROWS:.+]] = arith.minui %[[ROW]], %[[FIRST]]
// CHECK:         %[[LOADED:.+]] = vector.load %[[MEMORY]][%[[IN_ROWS]], %c0] {{.*}} : memref<?x64xf16>, vector<8xf16>
// CHECK:         arith.select %[[THERE]], %[[LOADED]], %{{.+}} : vector<8xf16>
func.func @dynamic_rows(%rows: index, %row: index) -> vector<8xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<?x64xf16>"]} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %rounded = affine.apply affine_map<()[s0] -> ((s0 ceildiv 128) * 128)>()[%rows]
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: -128, 64>} : memref<?x64xf16>{%rounded}
  %v = vector.transfer_read %b[%row, %c0], %p {in_bounds = [true]} : memref<?x64xf16>, vector<8xf16>
  return %v : vector<8xf16>
}

// A row of unknown length may end anywhere: its elements are read one by one.

// CHECK-LABEL: func.func @dynamic_columns(
// CHECK-COUNT-4: memref<8x?xf16>, vector<1xf16>
// CHECK-NOT:     vector.load
func.func @dynamic_columns(%columns: index, %row: index) -> vector<4xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<8x?xf16>"]} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %rounded = affine.apply affine_map<()[s0] -> ((s0 ceildiv 16) * 16)>()[%columns]
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 8, -16>} : memref<8x?xf16>{%rounded}
  %v = vector.transfer_read %b[%row, %c0], %p {in_bounds = [true]} : memref<8x?xf16>, vector<4xf16>
  return %v : vector<4xf16>
}

// Rows of the matrix are places of windows, 6 x 6 in an image of 8 x 8 x 16: the digits of the row go
// on by a row and by a column of the image. Its columns are 3 rows of a window, each of 48
// neighbours. What lies beyond the 36 rows is zero.

// CHECK-LABEL: func.func @windows(
// CHECK-NOT:     bankwise.
// CHECK-SAME:    %[[ROW:.+]]: index, %[[PART:.+]]: index
// CHECK:         %[[MEMORY:.+]] = hal.interface.binding.subspan {{.*}} : memref<1024xf16>
// CHECK:         %[[COLUMN:.+]] = arith.muli %[[PART]], %c8
// CHECK:         %[[THERE:.+]] = arith.cmpi ule, %[[ROW]], %c35
// CHECK:         %[[IN_ROWS:.+]] = arith.minui %[[ROW]], %c35
// CHECK:         %[[BY_W:.+]] = arith.muli %[[IN_ROWS]], %c16
// CHECK:         %[[H:.+]] = arith.divui %[[IN_ROWS]], %c6
// CHECK:         %[[BY_H:.+]] = arith.muli %[[H]], %c32
// CHECK:         %[[PLACE:.+]] = arith.addi %[[BY_W]], %[[BY_H]]
// CHECK:         %[[Y:.+]] = arith.divui %[[COLUMN]], %c48
// CHECK:         %[[BY_Y:.+]] = arith.muli %[[Y]], %c80
// CHECK:         %[[IN_WINDOW:.+]] = arith.addi %[[COLUMN]], %[[BY_Y]]
// CHECK:         %[[ELEMENT:.+]] = arith.addi %[[PLACE]], %[[IN_WINDOW]]
// CHECK:         %[[LOADED:.+]] = vector.load %[[MEMORY]][%[[ELEMENT]]] {{.*}} : memref<1024xf16>, vector<8xf16>
// CHECK:         arith.select %[[THERE]], %[[LOADED]], %{{.+}} : vector<8xf16>
func.func @windows(%row: index, %run: index) -> vector<8xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<48x144xf16>"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 36, 144>, bankwise.strided = {dims = [array<i64: 6, 128, 6, 16>, array<i64: 3, 128, 48, 1>], elements = 1024 : i64, offset = 0 : i64}} : memref<48x144xf16>
  %column = arith.muli %run, %c8 : index
  %v = vector.transfer_read %b[%row, %column], %p {in_bounds = [true]} : memref<48x144xf16>, vector<8xf16>
  return %v : vector<8xf16>
}

// Neighbours of the index are two elements apart, from element 3 on.

// CHECK-LABEL: func.func @apart(
// CHECK-COUNT-2: vector.load %{{.+}}[%{{.+}}] {{.*}} : memref<256xf16>, vector<1xf16>
func.func @apart(%i: index) -> vector<2xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<100xf16>"]} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 100>, bankwise.strided = {dims = [array<i64: 100, 2>], elements = 256 : i64, offset = 3 : i64}} : memref<100xf16>
  %v = vector.transfer_read %b[%i], %p {in_bounds = [true]} : memref<100xf16>, vector<2xf16>
  return %v : vector<2xf16>
}

// Four neighbours that are copied to the LDS lie in 7 elements of memory, and these in 2 words of 8.

// IMAGE-LABEL: func.func @apart_by_words(
// IMAGE:         %[[PLACE:.+]] = arith.addi %{{.+}}, %c3
// IMAGE:         %[[INSIDE:.+]] = arith.andi %[[PLACE]], %{{.+}}
// IMAGE:         %[[WORD:.+]] = arith.subi %[[PLACE]], %[[INSIDE]]
// IMAGE:         vector.load %{{.+}}[%[[WORD]]] alignment = 16 : memref<256xf16>, vector<8xf16>
// IMAGE:         vector.load %{{.+}}[%{{.+}}] alignment = 16 : memref<256xf16>, vector<8xf16>
// IMAGE-NOT:     vector.load
// IMAGE-COUNT-2: llvm.call_intrinsic "llvm.nvvm.prmt"
// IMAGE-NOT:     llvm.call_intrinsic
func.func @apart_by_words(%i: index, %tile: memref<8xf16, #gpu.address_space<workgroup>>) attributes {bankwise.enlarged_bindings = ["0 : index memref<100xf16>"]} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.shape = array<i64: 100>, bankwise.strided = {dims = [array<i64: 100, 2>], elements = 256 : i64, offset = 3 : i64}} : memref<100xf16>
  %at = arith.muli %i, %c4 : index
  %v = vector.transfer_read %b[%at], %p {in_bounds = [true]} : memref<100xf16>, vector<4xf16>
  vector.transfer_write %v, %tile[%c0] {in_bounds = [true]} : vector<4xf16>, memref<8xf16, #gpu.address_space<workgroup>>
  return
}

// Of an image of 16 x 16 each row has 14 outputs: pairs of columns begin at any element. To load a pair
// as a vector would be to wait for both of its halves at once.

// IMAGE-LABEL: func.func @windows_by_pairs(
// IMAGE-COUNT-8: vector.load %{{.+}}[%{{.+}}] {{.*}}: memref<512xf16>, vector<1xf16>
// IMAGE-NOT:     vector.load
// IMAGE:         vector.store
// AMD-LABEL:   func.func @windows_by_pairs(
// AMD-COUNT-4:   vector.load %{{.+}}[%{{.+}}] {{.*}}: memref<512xf16>, vector<2xf16>
func.func @windows_by_pairs(%k: index, %i: index, %tile: memref<8xf16, #gpu.address_space<workgroup>>) attributes {bankwise.enlarged_bindings = ["0 : index memref<18x196xf16>"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.shape = array<i64: 18, 196>, bankwise.strided = {dims = [array<i64: 2, 256, 3, 16, 3, 1>, array<i64: 14, 16, 14, 1>], elements = 512 : i64, offset = 0 : i64}} : memref<18x196xf16>
  %at = arith.muli %i, %c8 : index
  %v = vector.transfer_read %b[%k, %at], %p {in_bounds = [true]} : memref<18x196xf16>, vector<8xf16>
  vector.transfer_write %v, %tile[%c0] {in_bounds = [true]} : vector<8xf16>, memref<8xf16, #gpu.address_space<workgroup>>
  return
}

// Of an image of 10 x 10 with windows of 3 x 3, 8 columns of a row of outputs begin at any element.

// IMAGE-LABEL: func.func @windows_by_words(
// IMAGE-COUNT-2: vector.load %{{.+}}[%{{.+}}] alignment = 16 : memref<200xf16>, vector<8xf16>
// IMAGE-NOT:     vector.load
// IMAGE-COUNT-4: llvm.call_intrinsic "llvm.fshr.i32"
func.func @windows_by_words(%k: index, %i: index, %tile: memref<8xf16, #gpu.address_space<workgroup>>) attributes {bankwise.enlarged_bindings = ["0 : index memref<18x64xf16>"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) {bankwise.shape = array<i64: 18, 64>, bankwise.strided = {dims = [array<i64: 2, 100, 3, 10, 3, 1>, array<i64: 8, 10, 8, 1>], elements = 200 : i64, offset = 0 : i64}} : memref<18x64xf16>
  %at = arith.muli %i, %c8 : index
  %v = vector.transfer_read %b[%k, %at], %p {in_bounds = [true]} : memref<18x64xf16>, vector<8xf16>
  vector.transfer_write %v, %tile[%c0] {in_bounds = [true]} : vector<8xf16>, memref<8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// expected-error @+1 {{an access to an enlarged buffer stays unguarded: memref.copy uses it}}
func.func @copied(%to: memref<96x112xf16>) attributes {bankwise.enlarged_bindings = ["0 : index memref<96x112xf16>"]} {
  %c0 = arith.constant 0 : index
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 90, 100>} : memref<96x112xf16>
  memref.copy %b, %to : memref<96x112xf16> to memref<96x112xf16>
  return
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// expected-error @+1 {{a binding has lost its true shape}}
func.func @forgotten() attributes {bankwise.enlarged_bindings = ["0 : index memref<96x112xf16>"]} {
  %c0 = arith.constant 0 : index
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) : memref<96x112xf16>
  return
}

// -----

// expected-error @+1 {{a binding that was enlarged is missing}}
func.func @missing() attributes {bankwise.enlarged_bindings = ["0 : index memref<96x112xf16>"]} {
  return
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// What the size was before it was rounded up cannot be told any more.

// expected-error @+1 {{an access to an enlarged buffer stays unguarded: a size is not known to be a multiple of 16}}
func.func @another_size(%columns: index) -> vector<4xf16> attributes {bankwise.enlarged_bindings = ["0 : index memref<8x?xf16>"]} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 8, -16>} : memref<8x?xf16>{%columns}
  %v = vector.transfer_read %b[%c0, %c0], %p {in_bounds = [true]} : memref<8x?xf16>, vector<4xf16>
  return %v : vector<4xf16>
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// Rows of 75 elements begin at odd ones. Eight elements of a copy lie in three words, the last of which may lie
// behind the end of the buffer. Of a row's last eight elements the first three are there.

// CHECK-LABEL: func.func @shifted(
// CHECK-SAME:      %{{.+}}: index, %[[PART:[a-z0-9]+]]: index
// CHECK:         %[[FLAT:.+]] = hal.interface.binding.subspan {{.*}} : memref<7200xf16>
// CHECK:         %[[COLUMN:.+]] = arith.muli %[[PART]], %c8
// CHECK:         %[[IN_ROW:.+]] = arith.cmpi ule, %[[COLUMN]], %c74
// CHECK:         %[[INSIDE:.+]] = arith.andi %[[PLACE:.+]], %c3
// CHECK:         %[[BEGIN:.+]] = arith.subi %[[PLACE]], %[[INSIDE]]
// CHECK:         vector.load %[[FLAT]][%[[BEGIN]]] alignment = 8 : memref<7200xf16>, vector<4xf16>
// CHECK:         %[[SECOND:.+]] = arith.addi %[[BEGIN]], %c4
// CHECK:         %[[THERE:.+]] = arith.minui %[[SECOND]], %c7196
// CHECK:         vector.load %[[FLAT]][%[[THERE]]] alignment = 8 : memref<7200xf16>, vector<4xf16>
// CHECK:         vector.load %[[FLAT]][%{{.+}}] alignment = 8 : memref<7200xf16>, vector<4xf16>
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.fshr.i32"
// CHECK:         %[[IS_LAST:.+]] = arith.cmpi eq, %[[COLUMN]], %c72
// CHECK-COUNT-3: arith.select %[[IS_LAST]]
// CHECK:         %[[READ:.+]] = vector.bitcast %{{.+}} : vector<4xi32> to vector<8xf16>
// CHECK:         %[[WRITTEN:.+]] = arith.select %[[IN_ROW]], %[[READ]], %{{.+}} : vector<8xf16>
// CHECK:         vector.transfer_write %[[WRITTEN]]

// A lane of an AMD GPU reads the last three elements of a row from element 67 on, and shifts them by five.

// AMD-LABEL: func.func @shifted(
// AMD:         vector.load %{{.+}} alignment = 2 : memref<96x75xf16>, vector<8xf16>
// AMD-COUNT-2: llvm.call_intrinsic "llvm.fshr.i32"
// AMD-NOT:     vector.load
// AMD:         vector.transfer_write %{{.+}} : vector<8xf16>

// Loads of copies that are to run a step ahead have the form that IREE looks for; others do not.

// AHEAD-LABEL: func.func @read(
// AHEAD:         vector.load
// AHEAD-LABEL: func.func @shifted(
// AHEAD-NOT:     vector.load
// AHEAD:         vector.transfer_read %{{.+}}, %{{.+}} {in_bounds = [true]} : memref<96x75xf16>, vector<8xf16>
// AHEAD-COUNT-2: llvm.call_intrinsic "llvm.fshr.i32"
// AHEAD:         vector.transfer_write %{{.+}} : vector<8xf16>
func.func @shifted(%row: index, %run: index, %tile: memref<8xf16, #gpu.address_space<workgroup>>) attributes {bankwise.enlarged_bindings = ["0 : index memref<96x80xf16>"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 96, 75>} : memref<96x80xf16>
  %a = memref.assume_alignment %b, 64 : memref<96x80xf16>
  %column = arith.muli %run, %c8 : index
  %v = vector.transfer_read %a[%row, %column], %p {in_bounds = [true]} : memref<96x80xf16>, vector<8xf16>
  vector.transfer_write %v, %tile[%c0] {in_bounds = [true]} : vector<8xf16>, memref<8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>

// What lies down a column is no part of a row.

// CHECK-LABEL: func.func @down_a_column(
// CHECK-COUNT-8: vector.load %{{.+}} : memref<96x75xf16>, vector<1xf16>
// CHECK-NOT:     llvm.fshr

// AMD-LABEL: func.func @down_a_column(
// AMD-COUNT-8: vector.load %{{.+}} : memref<96x75xf16>, vector<1xf16>
// AMD-NOT:     llvm.fshr

// AHEAD-LABEL:   func.func @down_a_column(
// AHEAD-COUNT-8: vector.transfer_read %{{.+}} : memref<96x75xf16>, vector<1xf16>
// AHEAD:         vector.transfer_write %{{.+}} : vector<8xf16>
func.func @down_a_column(%row: index, %run: index, %tile: memref<8xf16, #gpu.address_space<workgroup>>) attributes {bankwise.enlarged_bindings = ["0 : index memref<96x80xf16>"]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %p = ub.poison : f16
  %b = hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0) {bankwise.shape = array<i64: 96, 75>} : memref<96x80xf16>
  %a = memref.assume_alignment %b, 64 : memref<96x80xf16>
  %column = arith.muli %run, %c8 : index
  %v = vector.transfer_read %a[%row, %column], %p {in_bounds = [true], permutation_map = affine_map<(i, j) -> (i)>} : memref<96x80xf16>, vector<8xf16>
  vector.transfer_write %v, %tile[%c0] {in_bounds = [true]} : vector<8xf16>, memref<8xf16, #gpu.address_space<workgroup>>
  return
}
