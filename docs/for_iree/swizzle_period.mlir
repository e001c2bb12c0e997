// Element 70 of one swizzled tile, read twice: at a constant, and at 6 + 64.
func.func private @at_plus_64(%tile: memref<256xf32>, %at: index) -> vector<1xf32> {
  %c64 = arith.constant 64 : index
  %sum = arith.addi %at, %c64 : index
  %hint = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<8, 1, 8, 2>] : memref<256xf32>
  %value = vector.load %hint[%sum] : memref<256xf32>, vector<1xf32>
  return %value : vector<1xf32>
}

func.func @at_70(%tile: memref<256xf32>) -> vector<1xf32> {
  %c70 = arith.constant 70 : index
  %hint = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<8, 1, 8, 2>] : memref<256xf32>
  %value = vector.load %hint[%c70] : memref<256xf32>, vector<1xf32>
  return %value : vector<1xf32>
}

func.func @at_6_plus_64(%tile: memref<256xf32>) -> vector<1xf32> {
  %c6 = arith.constant 6 : index
  %value = call @at_plus_64(%tile, %c6) : (memref<256xf32>, index) -> vector<1xf32>
  return %value : vector<1xf32>
}
