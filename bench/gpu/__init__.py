# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel times on a GPU: compiling where the compiler is, measuring where the GPU is.

What measures needs Python's standard library alone, so that a machine with a GPU needs nothing
beside it but the profiler and IREE's runtime.
"""
