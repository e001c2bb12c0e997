# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's own waits are enough, and none of them may go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

from bankwise.bench.code_checks import CodeRow, wait_cases
from bankwise.bench.emulated_runs import MarkingDevice
from bankwise.emulator.assembly import Kernel
from bankwise.emulator.emulation_errors import LdsRaceError, MissingWaitError
from bankwise.emulator.instruction_text import Instruction, parse_instruction
from bankwise.emulator.waits import check_waits, is_direct_load, is_wait
from bankwise.runtime.emulated_module import EmulatedModule, compile_for_emulation
from bankwise.runtime.host_program import HostProgram
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul, random_operands


def without_each_wait(kernel: Kernel) -> Iterator[tuple[Instruction, Kernel]]:
    """Yields the kernel without one of its waits, for each that waits for something."""
    for index, instruction in enumerate(kernel.instructions):
        if is_wait(instruction) and "vmcnt(63)" not in instruction.text:
            rest = list(kernel.instructions)
            rest[index] = parse_instruction("s_nop 0", instruction.line, kernel.chip, kernel.lanes)
            yield instruction, replace(kernel, instructions=tuple(rest))


def before_a_high_half(kernel: Kernel, wait: Instruction) -> bool:
    """Returns whether a wait is there for a load to the high half of a register.

    LLVM lets it wait for the load to the low half, although loads of the LDS finish in order.
    """
    behind = next(each for each in kernel.instructions if each.line > wait.line)
    return behind.spelled.endswith("_d16_hi")


@pytest.mark.parametrize(
    ("source", "chip", "waits"),
    [
        (Attention(2, 512, 64, "f16"), "gfx942", 20),
        (Matmul(256, 256, 256, "f16"), "gfx942", 20),
        pytest.param(Matmul(64, 64, 64, "f16"), "gfx1100", 12, marks=pytest.mark.nightly),
        pytest.param(Matmul(64, 64, 64, "f16"), "gfx1201", 12, marks=pytest.mark.nightly),
        pytest.param(Attention(1, 256, 128, "f16"), "gfx1100", 80, marks=pytest.mark.nightly),
        pytest.param(Attention(1, 256, 128, "f16"), "gfx1201", 50, marks=pytest.mark.nightly),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_every_wait_is_needed(source: Attention | Matmul, chip: str, waits: int) -> None:
    with compile_for_emulation(source.source(), target_flags(chip), "auto") as module:
        (kernel,) = module.kernels.values()
    report = check_waits(kernel)
    assert not report.missing
    assert not report.unfinished
    mutants = [
        check_waits(mutant)
        for wait, mutant in without_each_wait(kernel)
        if not before_a_high_half(kernel, wait)
    ]
    assert len(mutants) >= waits
    # Without the wait, a register is used too early, or an access to the LDS outlives a barrier.
    assert all(mutant.missing or mutant.unfinished for mutant in mutants)
    assert sum(bool(mutant.missing) for mutant in mutants) > len(mutants) // 2


def run(module: EmulatedModule, kernels: Mapping[str, Kernel], operands: list[np.ndarray]) -> None:
    """Runs two workgroups of each dispatch."""
    HostProgram(module.host, MarkingDevice(kernels, whole_grid=0)).call("matmul", operands)


def test_every_wait_for_direct_loads_is_needed() -> None:
    """What no use of a register shows, running the kernel does."""
    source = Matmul(16, 128, 256, "f16")
    operands = random_operands(source)
    with compile_for_emulation(source.source(), target_flags("gfx950"), "stock") as module:
        ((name, kernel),) = module.kernels.items()
        assert any(map(is_direct_load, kernel.instructions))
        run(module, module.kernels, operands)
        ran = 0
        for wait, mutant in without_each_wait(kernel):
            if check_waits(mutant).missing:
                continue
            ran += 1
            with pytest.raises((MissingWaitError, LdsRaceError)):
                run(module, {name: mutant}, operands)
                pytest.fail(f"nothing is wrong without line {wait.line}: {wait.text}")
        assert ran >= 2


@pytest.mark.nightly
@pytest.mark.parametrize(
    "case", wait_cases(40), ids=lambda case: "-".join([case[0].name, *case[1:]])
)
def test_measured_kernels_have_their_waits(case: tuple[Attention | Matmul, str, str]) -> None:
    row = CodeRow.measure(case)
    assert row.kernels
    assert not row.faults
    assert not row.unfinished
