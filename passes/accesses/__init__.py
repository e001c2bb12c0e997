# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS accesses: narrow ones are joined, alignments stated, conflicts verified."""
