# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen pipelines recorded from the pinned IREE, one JSON file per version."""
