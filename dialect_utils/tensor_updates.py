# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that write to a part of a tensor and keep the rest. Their names need no bindings."""

INSERT_SLICE = "tensor.insert_slice"
UPDATES = (INSERT_SLICE, "iree_linalg_ext.scatter")
"""Where they can, compilers write these parts to the memory of the tensor that is updated."""
