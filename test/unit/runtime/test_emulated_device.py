# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator as a device: what the host reads must be defined."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.emulator.emulation_errors import UndefinedReadError
from bankwise.emulator.kernel_metadata import KernelArgument
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.host_values import Binding, DispatchCommand

from ..emulator.small_kernels import kernel

# Lanes 0 to 2 store v9, which nothing was written to; the kernel is given a buffer in s[2:3].
CODE = """\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_mov_b64 exec, 7
\tglobal_store_dword v1, v9, s[2:3]"""


def test_an_undefined_result_is_not_read() -> None:
    argument = KernelArgument(0, 8, "global_buffer")
    parsed = kernel(CODE, kernarg_bytes=8)
    parsed = replace(parsed, metadata=replace(parsed.metadata, arguments=(argument,)))
    device = EmulatedDevice({"k": parsed})
    address, copy = device.allocate(256), device.allocate(256)
    device.dispatch(DispatchCommand("k", (1, 1, 1), (Binding(address, 256),), ()))
    assert not device.read(address + 12, 244).any()
    device.copy(address, copy, 256)
    for start in (address, copy):
        with pytest.raises(UndefinedReadError, match=r"A result .* 12 of 256 bytes") as error:
            device.read(start, 256)
        assert "v9, to which nothing was written before small.s:7" in str(error.value)


def test_a_kernel_that_does_nothing_takes_no_buffer() -> None:
    """The compiler has removed its arguments, and the host passes its buffers all the same."""
    device = EmulatedDevice({"k": kernel("\ts_nop 0")})
    buffer = Binding(device.allocate(256), 256)
    device.dispatch(DispatchCommand("k", (1, 1, 1), (buffer,), ()))
