# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stepping an IREE compile: sessions, phases, recorded pipelines, spliced Python passes."""
