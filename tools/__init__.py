# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command-line entry points: argument parsing, printing and exit codes, nothing else."""
