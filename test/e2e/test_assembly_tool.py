# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-run kernel.s`, as a user would type it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bankwise.bench.runs import EXAMPLES

from .conftest import Tool

ASSEMBLY = EXAMPLES / "assembly"
TRANSPOSE = ASSEMBLY / "transpose.s"
SHAPE = ("--grid=8,16", "--block=256", "--arg=256x1024xf16", "--arg=1024:i32", "--arg=256:i32")
# The buffer that is read comes first.
FLAGS = ("--grid=8,16", "--block=256", "--arg=@in.npy", *SHAPE[2:])


@pytest.fixture
def given(tmp_path: Path) -> np.ndarray:
    values = np.random.default_rng(0).standard_normal((1024, 256)).astype(np.float16)
    np.save(tmp_path / "in.npy", values)
    np.save(tmp_path / "expected.npy", values.T)
    return values


def test_a_buffer_is_written_compared_and_counted(tool: Tool, given: np.ndarray, tmp_path: Path):
    done = tool(
        *("bankwise-run", TRANSPOSE, "--kernel=padded", *FLAGS, "--output=1:@out.npy"),
        *("--expected_output=out.coerce:@expected.npy", "--counters", "--counters-json=c.json"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("EXEC @padded\n")
    assert done.stdout.endswith("[SUCCESS] all function outputs matched their expected values.\n")
    assert (np.load(tmp_path / "out.npy") == given.T).all()
    (dispatch,) = json.loads((tmp_path / "c.json").read_text())["dispatches"]
    assert dispatch["counters"]["SQ_LDS_BANK_CONFLICT"] == 12_288
    assert "│ SQ_LDS_BANK_CONFLICT    │    12,288 │" in done.stdout


def test_buffers_that_were_stored_to_are_printed(tool: Tool):
    done = tool(
        *("bankwise-run", ASSEMBLY / "by_hand.s", "--grid=1", "--arg=64x64xf32=2", "--block=64"),
        *("--arg=64x64xf32", "--output_max_element_count=2"),
    )
    assert done.stdout == "EXEC @transpose\nargument[1]: 64x64xf32=2 2...\n"
    assert done.stderr == "device: emulated-gfx942\n"


def test_a_difference_is_reported(tool: Tool, given: np.ndarray):
    done = tool(
        *("bankwise-run", TRANSPOSE, "--kernel=padded", *FLAGS, "--output=1:"),
        "--expected_output=1:256x1024xf16=0",
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith("[FAILED] argument[1]: differs in ")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ((), "transpose.s: several kernels, name one with --kernel: row_major, padded"),
        (("--kernel=x",), "transpose.s: no kernel 'x'; the file holds row_major, padded"),
        (("--kernel=padded", "--target=gfx950"), "the assembly is for gfx942, not for gfx950"),
        (("--kernel=padded", "--arg=1:i32"), "kernel 'padded' takes 4 arguments, and 5 are given"),
        (("--kernel=padded", "--output=9:-"), "has no argument '9'; it has 0 in.coerce, 1 out"),
        (("--kernel=padded", "--output=rows:-"), "argument 'rows' of kernel 'padded' is no buffer"),
        (("--kernel=padded", "--output=1:o.npy"), "--output=o.npy: expects @file.npy"),
        (("--kernel=padded", "--shared=65536"), "needs 69888 bytes of LDS; .* has 65536"),
        (("--kernel=padded", "--block=128"), "Argument 1 'out.coerce' is undefined"),
        (("--kernel=padded", "--block=512"), "workgroups of up to 256 work items, not 512"),
    ],
)
def test_what_cannot_be_is_one_line(tool: Tool, given: np.ndarray, flags, reason: str):
    done = tool("bankwise-run", TRANSPOSE, *FLAGS, *flags)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()[-1:]
    assert line.startswith("bankwise-run: error: ")
    assert re.search(reason, line)


def test_a_race_names_both_lines(tool: Tool, tmp_path: Path):
    (tmp_path / "k.s").write_text(TRANSPOSE.read_text().replace("\ts_barrier", "\ts_nop 0"))
    done = tool(
        *("bankwise-run", "k.s", "--kernel=row_major", "--arg=1024x256xf16", *SHAPE),
    )
    assert done.returncode == 1
    assert "race on LDS byte" in done.stderr
    assert "in kernel 'row_major': ds_read_u16" in done.stderr
    assert "ds_write_b128" in done.stderr


def test_the_lines_of_the_source_that_conflict(tool: Tool, tmp_path: Path):
    """The transpose reads its tile in line 40 and writes it in line 33."""
    flags = ("--kernel=padded", "--arg=1024x256xf16", *SHAPE, "--output=1:", "--annotate")
    done = tool("bankwise-run", TRANSPOSE, *flags, "--counters-json=c.json")
    source = (ASSEMBLY / "transpose.hip").read_text().splitlines()
    assert source[39].strip() == "part[i] = tile[first + i][taken];"
    assert "tile[row][column] = loaded;" in source[32]
    lines = done.stdout.splitlines()
    marked = [line for line in lines if line.startswith(">")]
    assert len(marked) == 10
    assert all("transpose.hip:33" in line for line in marked if "ds_write" in line)
    assert all("transpose.hip:40" in line for line in marked if "ds_read" in line)
    first = lines.index("conflict cycles by source line") + 2
    table = lines[first : lines.index("", first)]
    assert [line.split() for line in table if line] == [
        ["8,192", "66.7%", "4,096", "transpose.hip:40"],
        ["4,096", "33.3%", "1,024", "transpose.hip:33"],
    ]
    (dispatch,) = json.loads((tmp_path / "c.json").read_text())["dispatches"]
    assert dispatch["conflicts_by_source_line"] == [
        {"file": "transpose.hip", "line": 40, "conflict_cycles": 8192, "executions": 4096},
        {"file": "transpose.hip", "line": 33, "conflict_cycles": 4096, "executions": 1024},
    ]


def test_a_kernel_in_tritons_cache_needs_sizes_and_types_of_nobody(tool: Tool, tmp_path: Path):
    folder = tmp_path / "cache" / "TF62BC"
    folder.mkdir(parents=True)
    for suffix in ("json", "ttir", "amdgcn"):
        shutil.copy(ASSEMBLY / f"matmul.{suffix}", folder)
    done = tool(
        *("bankwise-run", "--triton-cache=cache", "--grid=2,2", "--arg=64x96=1", "--arg=96x64=0.5"),
        *("--arg=64x64", "--arg=64", "--arg=96", "--expected_output=c:64x64xf32=48", "--output=c:"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("EXEC @matmul\n[SUCCESS]")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--triton-cache=no",), "'no': No such file or directory"),
        (("--triton-cache=.",), "no kernel for an AMD GPU, a .json with an .amdgcn beside"),
        (("--triton-cache=.", "k.amdgcn"), "--triton-cache=. and 'k.amdgcn': give one"),
        (
            ("k.s", "--max-steps=2", "--block=64"),
            r"k.s:\d+: the kernel has not ended after 2 steps",
        ),
    ],
)
def test_caches_without_the_kernel_and_limits_are_one_error(
    tool: Tool, tmp_path: Path, words: Sequence[str], reason: str
):
    shutil.copy(ASSEMBLY / "by_hand.s", tmp_path / "k.s")
    done = tool("bankwise-run", *words, "--grid=1", "--arg=64x64xf32=2", "--arg=64x64xf32")
    assert done.returncode == 1
    assert re.search(reason, done.stderr)
    assert "Traceback" not in done.stderr
