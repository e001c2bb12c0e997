# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument block, laid out by the metadata, and the scalar registers that point to it."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from bankwise.bank_model.lds_tables import lds_of
from bankwise.emulator.apertures import PRIVATE_BASE, SHARED_BASE
from bankwise.emulator.assembly import parse_kernel
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.emulation_errors import GlobalAccessError, LaunchError
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.initial_state import LaunchState, dispatch_packet, user_scalars
from bankwise.emulator.kernel_arguments import argument_block
from bankwise.emulator.kernel_launch import launch
from bankwise.emulator.kernel_metadata import KernelArgument

from .small_kernels import assembly, kernel, launched

# The hidden arguments of code object version 5 as clang lays them out behind 8 bytes.
HIDDEN = {
    **{f"hidden_block_count_{axis}": (8 + 4 * i, 4) for i, axis in enumerate("xyz")},
    **{f"hidden_group_size_{axis}": (20 + 2 * i, 2) for i, axis in enumerate("xyz")},
    **{f"hidden_remainder_{axis}": (26 + 2 * i, 2) for i, axis in enumerate("xyz")},
    **{f"hidden_global_offset_{axis}": (48 + 8 * i, 8) for i, axis in enumerate("xyz")},
    "hidden_grid_dims": (72, 2),
    "hidden_hostcall_buffer": (88, 8),
    "hidden_multigrid_sync_arg": (96, 8),
    "hidden_none": (104, 8),
    "hidden_dynamic_lds_size": (128, 4),
    "hidden_private_base": (200, 4),
    "hidden_shared_base": (204, 4),
    "hidden_queue_ptr": (208, 8),
}


def dispatch(*arguments: KernelArgument, size: int = 264, code: str = "") -> Dispatch:
    parsed = kernel(code, kernarg_bytes=size)
    metadata = replace(parsed.metadata, arguments=arguments, required_size=None)
    return Dispatch(replace(parsed, metadata=metadata), (7, 5, 3), (32, 4, 2), 512)


def test_a_kernel_that_calls_the_host_gets_a_buffer_for_it():
    memory = GlobalMemory()
    argument = KernelArgument(0, 8, "hidden_hostcall_buffer")
    block = argument_block(
        dispatch(argument, code="\ts_sendmsg sendmsg(MSG_INTERRUPT)"), [], memory
    )
    assert memory.host_calls is not None and memory.nulls == []
    assert struct.unpack_from("<Q", block) == (memory.host_calls.address,)


def test_hidden_arguments_lie_where_the_metadata_says():
    hidden = [KernelArgument(offset, size, kind) for kind, (offset, size) in HIDDEN.items()]
    memory = GlobalMemory()
    launched = dispatch(KernelArgument(0, 8, "global_buffer"), *hidden)
    block = argument_block(launched, [bytes(range(1, 9))], memory)
    assert block[:8] == bytes(range(1, 9))
    assert struct.unpack_from("<IIIHHHHHH", block, 8) == (7, 5, 3, 32, 4, 2, 0, 0, 0)
    assert struct.unpack_from("<QQQH", block, 48) == (0, 0, 0, 3)
    assert struct.unpack_from("<I", block, 128) == (512,)
    assert struct.unpack_from("<II", block, 200) == (PRIVATE_BASE >> 32, SHARED_BASE >> 32)
    assert not any(block[74:128]) and not any(block[208:])
    assert len(block) == 264
    assert memory.nulls == [
        "hidden_hostcall_buffer", "hidden_multigrid_sync_arg", "hidden_queue_ptr",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "values", "reason"),
    [
        (KernelArgument(0, 4, "by_value"), [], "takes 1 arguments, not 0"),
        (KernelArgument(0, 4, "by_value"), [bytes(8)], "an argument of 4 bytes, not 8"),
        (KernelArgument(0, 4, "hidden_new"), [], "takes a 'hidden_new' argument"),
        (
            KernelArgument(260, 8, "by_value", line=9),
            [bytes(8)],
            "small.s:9: the argument ends behind the 264 bytes of arguments of kernel 'k'",
        ),
    ],
)
def test_values_that_do_not_fit(argument: KernelArgument, values: list[bytes], reason: str):
    with pytest.raises(LaunchError, match=reason):
        argument_block(dispatch(argument), values, GlobalMemory())


def test_an_access_through_a_hidden_pointer_names_it():
    code = """\ts_load_dwordx2 s[4:5], s[0:1], 0x8
\ts_waitcnt lgkmcnt(0)
\ts_load_dword s6, s[4:5], 0x10"""
    pointer = KernelArgument(8, 8, "hidden_hostcall_buffer")
    launched = dispatch(pointer, size=16, code=code)
    memory = GlobalMemory()
    block = argument_block(launched, [], memory)
    with pytest.raises(GlobalAccessError, match="null was passed for hidden_hostcall_buffer") as e:
        launch(launched, lds_of("gfx942"), block, memory)
    assert str(e.value).startswith("small.s:5: 4 bytes at address 0x10 ")


def test_scalars_come_in_the_order_of_the_abi():
    directives = "\n".join(
        f"\t\t.amdhsa_user_sgpr_{name} {value}"
        for name, value in (
            *(("dispatch_ptr", 1), ("queue_ptr", 1), ("dispatch_id", 1)),
            *(("private_segment_size", 1), ("kernarg_preload_length", 2)),
            ("kernarg_preload_offset", 1),
        )
    )
    text = assembly("", kernarg_bytes=12, directives=directives).replace(
        "\t.end_amdhsa_kernel", "\t\t.amdhsa_private_segment_fixed_size 48\n\t.end_amdhsa_kernel"
    )
    state = LaunchState(struct.pack("<III", 1, 2, 3), kernarg=0x1_0000_0002, packet=0x3_0000_0004)
    scalars = user_scalars(Dispatch.of(parse_kernel(text), (1, 1, 1)), state)
    packet, queue, kernarg, identity = [4, 3], [0, 0], [2, 1], [0, 0]
    assert scalars == [*packet, *queue, *kernarg, *identity, 2, 3, 48]


def test_the_dispatch_packet_has_the_sizes():
    packet = dispatch_packet(dispatch(size=0), 0x1234_5678_9ABC)
    assert len(packet) == 64
    header, setup, *size = struct.unpack_from("<HHHHH", packet)
    assert (header, setup, size) == (2, 3, [32, 4, 2])
    assert struct.unpack_from("<IIIII", packet, 12) == (7 * 32, 5 * 4, 3 * 2, 0, 512)
    assert struct.unpack_from("<Q", packet, 40) == (0x1234_5678_9ABC,)


def test_a_kernel_reads_its_dispatch_packet():
    """Lanes store the packet's size of a workgroup in x."""
    code = """\ts_load_dword s4, s[0:1], 0x4
\ts_load_dwordx2 s[6:7], s[2:3], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_waitcnt lgkmcnt(0)
\ts_and_b32 s4, s4, 0xffff
\tv_mov_b32_e32 v2, s4
\tglobal_store_dword v1, v2, s[6:7]"""
    directives = "\t\t.amdhsa_user_sgpr_dispatch_ptr 1\n\t\t.amdhsa_user_sgpr_count 4"
    stored, _ = launched(assembly(code, kernarg_bytes=8, directives=directives), 64)
    assert (stored == 64).all()


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((64, 1, 1), "requires workgroups of 32x2x1 work items, not 64x1x1"),
        ((32, 2, 1), None),
    ],
)
def test_required_workgroup_sizes(size: tuple[int, int, int], reason: str | None):
    text = assembly("").replace("[64, 1, 1]", "[32, 2, 1]")
    launched = Dispatch(parse_kernel(text), (1, 1, 1), size)
    if reason is None:
        launched.check(lds_of("gfx942"))
        return
    with pytest.raises(LaunchError, match=reason):
        launched.check(lds_of("gfx942"))


@pytest.mark.parametrize("size", [(257, 1, 1), (16, 17, 1), (0, 1, 1)])
def test_workgroups_may_be_too_large_or_empty(size: tuple[int, int, int]):
    text = assembly("").replace(".reqd_workgroup_size: [64, 1, 1]", ".max_flat_workgroup_size: 256")
    with pytest.raises(LaunchError, match=r"up to 256 work items, not 2|is empty"):
        Dispatch(parse_kernel(text), (1, 1, 1), size).check(lds_of("gfx942"))
    with pytest.raises(LaunchError, match="no required workgroup size"):
        Dispatch.of(parse_kernel(text), (1, 1, 1))
