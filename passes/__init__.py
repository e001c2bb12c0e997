# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder per capability with its passes and what only they use; the registry; the policies."""
