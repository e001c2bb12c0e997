# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of operations by which IREE may make a program wrong. They need no bindings."""

INSERT_SLICE = "tensor.insert_slice"
UPDATES = (INSERT_SLICE, "iree_linalg_ext.scatter")
"""They write to a part of a tensor and keep the rest. Where they can, compilers write these parts
to the memory of the tensor that is updated."""
BARRIER = "hal.tensor.barrier"
"""It signals a fence when tensors are there. What the importers of ONNX and torch make has it."""
