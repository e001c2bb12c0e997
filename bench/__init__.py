# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benchmarks: one command each, figures as ratios within one run."""
