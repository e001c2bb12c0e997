# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processors of GPUs whose times are predicted."""

from __future__ import annotations

from bankwise.tuning.costs.processors import Processor, processor_of


def known_processor(arch: str) -> Processor:
    processor = processor_of(arch)
    assert processor is not None
    return processor


SM80, GFX942 = known_processor("sm_80"), known_processor("gfx942")
