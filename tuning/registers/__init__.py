# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which element of a vector a lane holds in which register, before vectors are distributed."""
