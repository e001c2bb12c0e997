# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models: exported where PyTorch is, compiled where the compiler is, timed where the GPU is.

Weights are inputs of the exported function, drawn from a seed by what runs it, so that a compiled
module holds code alone. What measures needs Python's standard library.
"""
