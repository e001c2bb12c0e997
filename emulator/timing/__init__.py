# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted time of an AMD kernel: recorded workgroups played on a model of the hardware."""
