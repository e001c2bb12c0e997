# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of matrix instructions by loads that exchange between lanes."""
