# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with tiles of workgroups that are forced, to compare times with the predicted ones."""
