# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the pages say of measurements, made from the records in `bench/results/`."""
