# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file per pass, one registry, and the pipelines that combine them."""
