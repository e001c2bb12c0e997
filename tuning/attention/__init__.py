# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How attentions are spread over workgroups, warps and lanes, and what their loops compute."""
