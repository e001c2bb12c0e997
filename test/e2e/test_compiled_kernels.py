# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes out of a compile: stock's own code under `stock`, better LDS use under `auto`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bankwise.bank_model.families import NVIDIA, family_of
from bankwise.bench import identity, runs
from bankwise.bench.benchmark_kernels import PackedMatmul
from bankwise.bench.runs import attention_cases
from bankwise.iree_plugin.assembly_summary import AssemblySummary
from bankwise.passes.mode import Mode
from bankwise.sweep.swept_kernels import AnyKernel, Attention, Matmul
from bankwise.test.tool_server import ToolServer

MATMUL = Matmul(512, 512, 512, "f16")


@dataclass(frozen=True)
class Compiled:
    """One compile's results.

    Attributes:
        assembly: the dumped assembly files, by name.
        lds_instructions: those of all of them.
        lds_bytes: the LDS bytes of all kernels of the module together.
        decisions: the decision file's entries; empty for `iree-compile`.
    """

    assembly: dict[str, bytes]
    lds_instructions: int
    lds_bytes: int
    decisions: list[dict[str, Any]]


@cache
def compile_kernel(kernel: AnyKernel, target: str, mitigation: str | None) -> Compiled:
    """Compiles with `bankwise-compile`, or with `iree-compile` where `mitigation` is None.

    Several tests ask for the same compiles, in processes of their own.
    """
    with TemporaryDirectory() as name:
        directory = Path(name)
        tool, flags = "iree-compile", ["--iree-hal-dump-executable-files-to=."]
        if mitigation is not None:
            tool = "bankwise-compile"
            flags += [*Mode.parse(mitigation).flags(), "--bankwise-decisions=decisions.json"]
        if family_of(target) is NVIDIA:
            flags.append("--dump-compilation-phases-to=phases")
        runs.run_compiler(directory, tool, kernel.source(), target, *flags)
        assembly = runs.assembly_in(directory)
        summaries = [AssemblySummary.of(directory / each) for each in assembly]
        lds = sum(summary.lds_bytes for summary in summaries)
        if family_of(target) is NVIDIA:
            # Shared memory is dynamic there: its size is not in the assembly, but in the module.
            (module,) = directory.glob("phases/*.executable-targets.mlir")
            sizes = re.findall(r"workgroup_local_memory = (\d+)", module.read_text())
            lds = sum(map(int, sizes))
        decisions = directory / "decisions.json"
        entries = json.loads(decisions.read_text())["decisions"] if mitigation else []
        instructions = sum(each.lds_instructions for each in summaries)
        return Compiled(assembly, instructions, lds, entries)


@pytest.fixture(autouse=True)
def _forked_tools(server: ToolServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts our compiler as a fork, because half of a small compile would be imports."""
    monkeypatch.setattr(runs, "tool_command", server.command)


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize(
    "case",
    [
        (PackedMatmul(4, 4, 8, "f16"), "gfx942"),
        *[case[:2] for case in identity.stock_cases(every=55)[:4]],
        (MATMUL, "gfx942"),
        (MATMUL, "gfx950"),
        (MATMUL, "gfx90a"),
        (MATMUL, "sm_80"),
        (Attention(2, 512, 64, "bf16"), "sm_80"),
        (Attention(2, 512, 64, "f16"), "gfx90a"),
        (Attention(2, 512, 64, "f16"), "gfx950"),
    ],
    ids=lambda case: f"{case[0].name}-{case[1]}",
)
def test_stock_mitigation_is_byte_identical_to_iree_compile(case: tuple[AnyKernel, str]) -> None:
    assert identity.Row.measure((*case, identity.STOCK)).faults == []


@pytest.mark.nightly
@pytest.mark.parametrize("case", identity.stock_cases(1), ids=lambda c: f"{c[0].name}-{c[1]}")
def test_stock_mitigation_is_byte_identical_everywhere(case: identity.Case) -> None:
    assert identity.Row.measure(case).faults == []


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("mitigation", ["auto/exact", "auto/layout", "auto/fast"])
def test_a_function_in_which_nothing_changes_is_left_to_stock(mitigation: str) -> None:
    # Stock loads both operands direct to the LDS, through hints of its own that leave no conflict.
    kernel = Matmul(2048, 2048, 2048, "f16", transposed=True)
    ours, stock = (compile_kernel(kernel, "gfx950", each) for each in (mitigation, None))
    assert stock.assembly
    assert ours.assembly == stock.assembly
    assert {each["action"] for each in ours.decisions} == {"keep", "stock"}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "sm_80"])
def test_tile_and_fuse_is_swizzled_within_the_plain_bytes(target: str) -> None:
    ours, plain = (compile_kernel(MATMUL, target, m) for m in ("auto/layout", "none"))
    actions = [d["action"] for d in ours.decisions]
    assert actions.count("hint") == actions.count("resolve") == 2
    assert "drop" not in actions
    assert all(d["conflict_cycles_after"] == 0 for d in ours.decisions if d["action"] == "hint")
    assert ours.lds_bytes == plain.lds_bytes


@pytest.mark.nightly
def test_what_stock_swizzles_itself_stays_and_the_rest_is_swizzled_beside_it() -> None:
    # Large enough that stock loads both operands direct to LDS, and swizzles one of them.
    kernel = Matmul(2048, 2048, 2048, "f16")
    ours, stock = (compile_kernel(kernel, "gfx950", m) for m in ("auto", None))
    kept, hinted = (d for d in ours.decisions if d["pass_name"] == "bankwise-swizzle-lds-allocs")
    assert kept["reason"] == "it has a swizzle hint already, which leaves no bank conflict"
    assert (hinted["conflict_cycles_before"], hinted["conflict_cycles_after"]) == (4096, 0)
    assert "drop" not in {d["action"] for d in ours.decisions}
    assert ours.lds_bytes == stock.lds_bytes


@pytest.mark.nightly
def test_tile_and_fuse_is_padded_like_the_rest() -> None:
    none, pad, stock = (compile_kernel(MATMUL, "gfx942", m) for m in ("none", "pad", None))
    assert none.lds_bytes < pad.lds_bytes <= stock.lds_bytes
    assert {d["action"] for d in pad.decisions} == {"pad", "stock"}
    assert not none.decisions


DTYPES = {
    "gfx942": ("f16", "bf16", "f32"),
    "gfx950": ("f16", "bf16", "f32"),
    "sm_80": ("f16", "bf16"),
}


def check_auto(case: tuple[Attention, str]) -> None:
    stock, ours = (compile_kernel(*case, mitigation) for mitigation in (None, "auto"))
    decided = [each for each in ours.decisions if each["stands"]]
    # Slots of overlapped copies, and other tiles than stock's, take more.
    assert ours.lds_bytes <= stock.lds_bytes or case[1] == "sm_80"
    before, after = (
        [each[f"conflict_cycles_{when}"] or 0 for each in decided] for when in ("before", "after")
    )
    assert sum(after) < sum(before)
    kept = zip(decided, before, strict=True)
    assert not any(each["action"] == "keep" and cycles > 0 for each, cycles in kept)
    # bf16 on gfx942 reads 8 bytes a lane: its 16-byte stores are split to avoid conflicts.
    is_split = any("split to avoid conflicts" in each["reason"] for each in decided)
    assert ours.lds_instructions <= stock.lds_instructions or is_split


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    "case",
    attention_cases(DTYPES, every=100)[::2],
    ids=lambda case: f"{case[0].name}-{case[1]}",
)
def test_auto_mitigates_every_conflicting_allocation(case: tuple[Attention, str]) -> None:
    check_auto(case)


@pytest.mark.nightly
@pytest.mark.parametrize("case", attention_cases(DTYPES), ids=lambda c: f"{c[0].name}-{c[1]}")
def test_auto_mitigates_every_conflicting_allocation_everywhere(
    case: tuple[Attention, str],
) -> None:
    check_auto(case)


def test_none_takes_the_plain_bytes_and_pad_no_more_than_stock() -> None:
    kernel = Attention(1, 1024, 128, "f16")
    none, pad, stock = (compile_kernel(kernel, "gfx942", m) for m in ("none", "pad", None))
    plain = (64 * 128 + 64 * 128 + 64 * 64) * 2
    assert none.lds_bytes == plain
    assert plain <= pad.lds_bytes <= stock.lds_bytes
    assert not [d for d in pad.decisions if d["action"] == "hint"]


def test_hints_are_all_resolved() -> None:
    compiled = compile_kernel(Attention(1, 1024, 128, "f16"), "gfx942", "auto")
    actions = [d["action"] for d in compiled.decisions]
    assert actions.count("resolve") == actions.count("hint") > 0
    assert "drop" not in actions
