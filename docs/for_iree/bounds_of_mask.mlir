// The first columns of a row, or none where there is no row.
func.func @mask(%rows: index, %columns: index) -> vector<2xi1> {
  %one = arith.constant 1 : index
  %0 = vector.create_mask %one, %rows, %columns : vector<1x1x2xi1>
  %1 = vector.shape_cast %0 : vector<1x1x2xi1> to vector<2xi1>
  return %1 : vector<2xi1>
}
