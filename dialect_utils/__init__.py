# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an IREE function says, as typed views of attributes and ops, and how IR is written."""
