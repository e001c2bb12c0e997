# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a compiled module: its host program, emulated and real devices, inputs and outputs."""
