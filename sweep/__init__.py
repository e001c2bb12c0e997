# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many kernels: which ones, a row for each, going on where a sweep ended, tables and plots."""
