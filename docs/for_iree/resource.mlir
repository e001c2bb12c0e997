func.func @scaled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %by = arith.constant dense_resource<factors> : tensor<4xf32>
  %y = arith.mulf %x, %by : tensor<4xf32>
  return %y : tensor<4xf32>
}
{-#
  dialect_resources: {
    builtin: {
      factors: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
