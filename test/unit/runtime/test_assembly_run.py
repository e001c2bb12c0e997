# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a kernel of an assembly file: its arguments, its buffers, and what cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bankwise
from bankwise.emulator import emulation_errors
from bankwise.emulator.emulation_errors import (
    GlobalAccessError,
    LaunchError,
    StepLimitError,
    UndefinedReadError,
)
from bankwise.emulator.instruction_text import AssemblyError
from bankwise.runtime.argument_values import ArgumentError, LdsBytes, parse_argument
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly
from bankwise.runtime.values import ValueTextError

from ..emulator.small_kernels import assembly

# Stores n + 1 to the first `count` elements of a buffer, and its argument by value to the last one.
CODE = """\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_load_dword s6, s[0:1], 0x8
\tv_lshlrev_b32_e32 v1, 2, v0
\tv_add_u32_e32 v2, 1, v0
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v1, v2, s[4:5]
\tv_mov_b32_e32 v2, s6
\tglobal_store_dword v1, v2, s[4:5] offset:256"""
ARGUMENTS = """\
    .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: scale
        .offset: 8
        .size: 4
        .value_kind: by_value
    .reqd_workgroup_size"""


def text(code: str = CODE, arguments: str = ARGUMENTS, **options: Any) -> str:
    options = {"kernarg_bytes": 12} | options
    return assembly(code, **options).replace("    .reqd_workgroup_size", arguments)


def run(*arguments: Any, source: str = "", **options: Any) -> AssemblyRun:
    options = {"grid": (1,)} | options
    return run_assembly(source or text(), list(arguments), **options)


def test_buffers_and_numbers_are_passed_and_buffers_read_back():
    given = np.zeros((2, 64), np.int32)
    done = run(given, np.float32(1.5))
    assert not given.any()
    assert done.buffers[1] is None
    contents = done.buffers[0]
    assert contents is not None
    assert (contents[0] == np.arange(1, 65)).all()
    assert (contents[1].view(np.float32) == 1.5).all()
    assert done.stored == (0,)
    assert done.counters["SQ_INSTS_VMEM_WR"] == 2


def test_a_buffer_that_is_only_read_was_not_stored_to():
    loads = CODE.replace("global_store_dword v1, v2, s[4:5]", "global_load_dword v2, v1, s[4:5]")
    loads = loads.replace("\tv_mov_b32_e32 v2, s6", "\ts_waitcnt vmcnt(0)\n\tv_mov_b32_e32 v2, s6")
    assert run(np.zeros(128, np.int32), np.int32(1), source=text(loads)).stored == ()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "argument 0 'out' of kernel 'k' is missing, of 2: write a NumPy array or None"),
        (
            (np.zeros(128, np.int32),),
            "argument 1 'scale' of kernel 'k' is missing, of 2: write "
            r"np.int32\(...\) or np.float32\(...\)",
        ),
        ((None, np.int32(1), np.int32(1)), "kernel 'k' takes 2 arguments, and 3 are given"),
        ((np.int32(1), np.int32(1)), "argument 0 'out' .* is a pointer to a buffer, and an i32"),
        ((None, np.int64(1)), "argument 1 'scale' .* takes a value of 4 bytes, not an i64 of 8"),
        (
            (None, None),
            "argument 1 'scale' .* takes a value of 4 bytes, not null: write np",
        ),
        ((None, LdsBytes(64)), "takes a value of 4 bytes, not 64:lds"),
    ],
)
def test_arguments_that_do_not_fit(arguments: tuple[Any, ...], reason: str):
    with pytest.raises(ArgumentError, match=reason) as error:
        run(*arguments)
    line = int(str(error.value).split(":")[1])
    place = {"argument 0": "- .name: out", "argument 1": "- .name: scale"}
    named = next((place[each] for each in place if each in str(error.value)), "- .name: k")
    assert text().splitlines()[line - 1].strip() == named


def test_an_access_through_null_names_the_argument():
    with pytest.raises(GlobalAccessError, match="null was passed for argument 0 'out'"):
        run(None, np.int32(1))


def test_an_access_behind_a_buffer_names_the_argument():
    with pytest.raises(GlobalAccessError, match="byte 256 of argument 0 'out', which has 256"):
        run(np.zeros(64, np.int32), np.int32(1))


def test_an_undefined_result_names_the_argument():
    with pytest.raises(UndefinedReadError, match="Argument 0 'out' is undefined in 256 of 512"):
        run(np.zeros(128, np.int32), np.int32(1), source=text(CODE.replace("v2, s6", "v2, v9")))


def test_a_structure_is_passed_as_bytes():
    """The second word of 8 bytes by value."""
    arguments = ARGUMENTS.replace(".size: 4", ".size: 8")
    source = text(CODE.replace("0x8", "0xc"), arguments, kernarg_bytes=16)
    done = run(np.zeros(128, np.int32), np.array([3, 4], np.int32), source=source)
    contents = done.buffers[0]
    assert contents is not None
    assert (contents[64:] == 4).all()


def test_pointers_into_the_lds_lie_behind_the_static_lds_and_before_the_rest():
    """All lanes write through the second pointer, up to the last byte of the LDS."""
    arguments = """\
    .args:
      - {.offset: 0, .size: 4, .value_kind: dynamic_shared_pointer, .pointee_align: 4}
      - {.offset: 4, .size: 4, .value_kind: dynamic_shared_pointer, .pointee_align: 16}
      - {.offset: 8, .size: 8, .value_kind: global_buffer}
    .reqd_workgroup_size"""
    code = """\ts_load_dwordx4 s[4:7], s[0:1], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_waitcnt lgkmcnt(0)
\tv_mov_b32_e32 v2, s4
\tv_mov_b32_e32 v3, s5
\tglobal_store_dword v1, v2, s[6:7]
\tglobal_store_dword v1, v3, s[6:7] offset:256
\tds_write_b32 v3, v0 offset:{last}"""
    source = text(code, arguments, lds_bytes=100, kernarg_bytes=16)
    given = (LdsBytes(10), LdsBytes(20), np.zeros(128, np.int32))
    done = run(*given, source=source.replace("{last}", str(20 + 8 - 4)), shared=8)
    contents = done.buffers[2]
    assert contents is not None
    assert set(contents[:64]) == {100}
    assert set(contents[64:]) == {112}
    assert done.record.lds_bytes == 112 + 20 + 8
    with pytest.raises(Exception, match="the workgroup has 140 bytes of LDS"):
        run(*given, source=source.replace("{last}", str(20 + 8 - 3)), shared=8)
    with pytest.raises(ArgumentError, match=r"is a pointer into the LDS: .* as LdsBytes\(4096\)"):
        run(np.int32(4), *given[1:], source=source)


def test_a_pointer_of_4_bytes():
    source = text(arguments=ARGUMENTS.replace(".size: 8", ".size: 4"))
    with pytest.raises(ArgumentError, match=r"'out' .* is a pointer of 4 bytes"):
        run(np.zeros(128, np.int32), np.int32(1), source=source)


def test_kinds_that_are_not_passed():
    source = text(arguments=ARGUMENTS.replace("by_value", "sampler"))
    with pytest.raises(ArgumentError, match=r"'scale' .* is a 'sampler', which the emulator"):
        run(None, None, source=source)


def test_a_block_is_needed_where_the_kernel_requires_none():
    source = text().replace(".reqd_workgroup_size: [64, 1, 1]", ".max_flat_workgroup_size: 128")
    buffer = np.zeros(192, np.int32)
    with pytest.raises(AssemblyError, match="up to 128 work items: say how many with --block"):
        run(buffer, np.int32(1), source=source)
    assert run(buffer, np.int32(1), source=source, block=(64,)).stored == (0,)
    with pytest.raises(LaunchError, match="up to 128 work items, not 129"):
        run(buffer, np.int32(1), source=source, block=(43, 3))


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({"grid": (8.9, 16.5)}, TypeError, "grid has 8.9, where a whole number is expected"),
        ({"grid": (np.float32(8),)}, TypeError, "grid has np.float32"),
        ({"grid": 8}, TypeError, r"grid is 8; give 1 to 3 whole numbers in x, y and z, as \(8, 16"),
        ({"grid": None}, TypeError, "grid is None; give"),
        ({"grid": "8"}, TypeError, "grid is '8'; give"),
        ({"grid": ("8",)}, TypeError, "grid has '8', where"),
        ({"grid": (True,)}, TypeError, "grid has True, where"),
        ({"grid": ()}, ArgumentError, r"grid is \(\); give 1 to 3"),
        ({"grid": (0,)}, ArgumentError, "grid has 0, where numbers start at 1"),
        ({"grid": (-1, 4)}, ArgumentError, "grid has -1, where"),
        ({"grid": (1 << 40,)}, LaunchError, "work items along one axis, where a launch may have"),
        ({"block": (1, 1, 1, 1)}, ArgumentError, r"block is \(1, 1, 1, 1\); give 1 to 3"),
        ({"block": 64}, TypeError, "block is 64; give"),
        ({"block": (0,)}, ArgumentError, "block has 0, where"),
        ({"block": (64, "1")}, TypeError, "block has '1', where"),
        ({"shared": "64"}, TypeError, "shared has '64', where"),
        ({"shared": 6.5}, TypeError, "shared has 6.5, where"),
        ({"shared": -1}, ArgumentError, "shared has -1, where numbers start at 0"),
        ({"shared": 1 << 40}, LaunchError, "needs 1099511627776 bytes of LDS"),
        ({"workgroups": 0}, ArgumentError, "workgroups has 0, where"),
        ({"workgroups": "2"}, TypeError, "workgroups has '2', where"),
        ({"max_steps": 0}, ArgumentError, "max_steps has 0, where"),
        ({"max_steps": 1e6}, TypeError, "max_steps has 1000000.0, where"),
        ({"kernel": 3}, TypeError, "kernel is 3; give a text"),
        ({"target": None}, TypeError, "target is None; give a text"),
    ],
)
def test_options_that_cannot_be_are_named(options: dict[str, Any], kind: type, reason: str):
    with pytest.raises(kind, match=reason):
        run(np.zeros(128, np.int32), np.int32(1), **options)


@pytest.mark.parametrize("grid", [[1], (np.int64(1), 1), np.array([1, 1, 1])])
def test_sizes_may_be_any_whole_numbers(grid: Any):
    assert run(np.zeros(128, np.int32), np.int32(1), grid=grid).record.workgroups == (1, 1, 1)


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        ("x", TypeError, "argument 0 is 'x'; give a NumPy array for a buffer"),
        ([1, 2], TypeError, r"argument 0 is \[1, 2\]; give"),
        (object, TypeError, "argument 0 is <class 'object'>; give"),
        (np.array(["x"]), ArgumentError, "argument 0 is an array of <U1, which no kernel takes"),
        (np.array([None]), ArgumentError, "argument 0 is an array of object, which no kernel"),
        (np.zeros(128, ">i4"), ArgumentError, "argument 0 has its high bytes first"),
    ],
)
def test_values_that_no_argument_can_be_are_named(value: Any, kind: type, reason: str):
    with pytest.raises(kind, match=reason):
        run(value, np.int32(1))


@pytest.mark.parametrize("count", ["64", 6.5, True, -1])
def test_bytes_of_lds_are_a_whole_number(count: Any):
    with pytest.raises((TypeError, ArgumentError), match="LdsBytes has"):
        LdsBytes(count)


@pytest.mark.parametrize("arguments", ["ab", np.zeros(2), None, {1: 2}])
def test_the_arguments_are_a_list(arguments: Any):
    with pytest.raises(TypeError, match=r"arguments is .*; give a list of values"):
        run_assembly(text(), arguments, grid=(1,))


def test_the_number_of_steps_is_limited():
    assert run(np.zeros(128, np.int32), np.int32(1), max_steps=9).stored == (0,)
    with pytest.raises(StepLimitError, match=r"<text>:\d+: the kernel has not ended after 8 steps"):
        run(np.zeros(128, np.int32), np.int32(1), max_steps=8)


def test_errors_of_the_emulator_can_be_caught_by_name():
    for name, kind in vars(emulation_errors).items():
        if isinstance(kind, type) and issubclass(kind, emulation_errors.EmulationError):
            assert getattr(bankwise, name) is kind
    assert bankwise.AssemblyError is AssemblyError
    with pytest.raises(bankwise.EmulationError, match="null was passed for argument 0"):
        run(None, np.int32(1))


def test_a_sample_of_workgroups_runs():
    done = run(np.zeros(128, np.int32), np.int32(1), grid=(100,), workgroups=3)
    assert (done.record.emulated, done.record.total, done.record.agree) == (3, 100, True)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("4096:i32", np.array(4096, np.int32)),
        ("-1:i64", np.array(-1, np.int64)),
        ("1.5:f16", np.array(1.5, np.float16)),
        ("1e3:f64", np.array(1000.0)),
        ("2x2xi8=1", np.ones((2, 2), np.int8)),
    ],
)
def test_values_are_read(written: str, expected: np.ndarray):
    value = parse_argument(written)
    assert isinstance(value, np.ndarray)
    assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
    assert (value == expected).all()


def test_other_values_are_read():
    assert parse_argument("null") is None
    assert parse_argument("0x40:lds") == LdsBytes(64)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("5", "'5' has no type: write 5:i32 or 5:f32"),
        ("5:i33", "i33"),
        ("x:i32", "no i32|no i32|element"),
        ("many:lds", "number of bytes"),
        ("@gone.npy", "cannot read 'gone.npy'"),
    ],
)
def test_values_that_cannot_be_read(written: str, reason: str):
    with pytest.raises((ArgumentError, ValueTextError), match=reason):
        parse_argument(written)


def test_elements_of_no_known_type_are_refused(tmp_path: Path):
    np.save(tmp_path / "raw.npy", np.zeros(4, "V2"))
    with pytest.raises(ArgumentError, match="does not say of which type"):
        parse_argument(f"@{tmp_path}/raw.npy")


def test_files_that_are_no_assembly(tmp_path: Path):
    for contents, message in (
        (b"\xff\xfe\n", "it is no text"),
        (b"\x7fELF\xff\xfe", "it is no code object that can be read"),
    ):
        (tmp_path / "binary.s").write_bytes(contents)
        with pytest.raises(AssemblyError, match=message):
            run_assembly(tmp_path / "binary.s", [], grid=(1,))
    with pytest.raises(FileNotFoundError):
        run_assembly(tmp_path / "gone.s", [], grid=(1,))


def test_no_compiler_is_loaded():
    code = "import bankwise, sys; bankwise.run_assembly; print('iree.compiler' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
