# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What makes code faster beside the layouts of tiles: the levels `exact` and `fast`."""
