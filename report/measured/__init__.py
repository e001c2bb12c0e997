# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counters that a profiler has measured, read from its files and put beside the predicted ones.

`ncu_table` and `csv_tables` need nothing but Python's standard library, because they also run on
machines that have a GPU and no compiler.
"""
