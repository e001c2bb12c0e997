# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an index value is in each lane, which of its bits are known, and how to emit another."""
