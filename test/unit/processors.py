# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processors of targets whose times are predicted."""

from __future__ import annotations

from bankwise.bank_model.targets import Processor, target


def processor_of(arch: str) -> Processor:
    processor = target(arch).processor
    assert processor is not None
    return processor


SM80, GFX942 = processor_of("sm_80"), processor_of("gfx942")
