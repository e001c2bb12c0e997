# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of operations by which IREE may make a program wrong, or not compile it. They need no
bindings."""

INSERT_SLICE = "tensor.insert_slice"
UPDATES = (INSERT_SLICE, "iree_linalg_ext.scatter")
"""They write to a part of a tensor and keep the rest. Where they can, compilers write these parts
to the memory of the tensor that is updated."""
ARG_COMPARE = "iree_linalg_ext.arg_compare"
"""It searches rows for the place of an element. IREE compiles few of them."""
BARRIER = "hal.tensor.barrier"
"""It signals a fence when tensors are there. What the importers of ONNX and torch make has it."""
