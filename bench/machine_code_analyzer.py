# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the model of a compute unit with LLVM's, on straight pieces of compiled kernels.

python -m bankwise.bench.machine_code_analyzer [--llvm-mca PATH]

`llvm-mca`, LLVM's machine code analyzer, plays a piece of code by the scheduler's description of a
chip. It knows one wave, no bank conflicts and no caches. Each piece is played as a stream of 64
repetitions by both, and the cycles of one repetition in the second half are printed. LLVM counts
in issue slots, of 4 cycles each.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from shutil import which

from ..emulator.assembly import Kernel
from ..emulator.chips import CDNA3
from ..emulator.counters import instruction_class
from ..emulator.instruction_text import Instruction
from ..emulator.timing.constants import CHIPS
from ..runtime.emulated_module import compile_for_emulation
from ..sweep.cases import target_flags
from ..sweep.kernels import Attention, Matmul
from ..sweep.kernels import Kernel as SweptKernel
from ..sweep.tables import markdown_lines
from .timing_pieces import cycles_of_stream, played_from_text

TARGET = CDNA3
KERNELS: tuple[tuple[SweptKernel, str], ...] = (
    (Attention(16, 4096, 128, "f16"), "auto/exact"),
    (Attention(1, 1024, 128, "f32"), "stock"),
    (Matmul(1024, 1024, 1024, "bf16"), "auto/exact"),
)
"""Kernels, and the modes that they are compiled in."""
REPEATS = 64
CYCLES_OF_SLOT = 4
"""`SISchedule.td` counts in the 4 cycles that a wave of 64 lanes takes to issue."""
_NEWEST, _OLDEST = 40, 15
"""The versions of LLVM that are looked for; older ones do not know the chip."""


class AnalyzerError(RuntimeError):
    """There is no `llvm-mca` that can be used; the message says so in a line."""


@dataclass(frozen=True)
class Piece:
    """Instructions of a kernel that follow each other; `kind` says what they do."""

    kernel: str
    kind: str
    lines: tuple[str, ...]

    @property
    def code(self) -> str:
        """Returns the text of the instructions."""
        return "\n".join(self.lines)


def _is_matrix(instruction: Instruction) -> bool:
    return instruction_class(instruction) == "MFMA"


def _is_vector(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith(("v_", "s_nop")) and not _is_matrix(instruction)


def _is_exponential(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith("v_exp_")


def _is_read(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith("ds_read")


Test = Callable[[Instruction], bool]
_KINDS: tuple[tuple[str, Test, Test], ...] = (
    ("matrix products", lambda each: _is_matrix(each) or _is_vector(each), _is_matrix),
    ("softmax", _is_vector, _is_exponential),
    ("LDS reads, and a wait for them", _is_read, _is_read),
)
"""For each kind of piece what it may consist of, and of what it has to have much."""
_FEWEST = 4


def pieces(kernel: Kernel, name: str) -> Iterator[Piece]:
    """Yields for each kind the piece of a kernel that has the most of what makes the kind."""
    for kind, belongs, counts in _KINDS:
        runs = (list(run) for ok, run in groupby(kernel.instructions, key=belongs) if ok)
        most = max(runs, key=lambda run: sum(map(counts, run)), default=[])
        if sum(map(counts, most)) >= _FEWEST:
            wait = ("s_waitcnt lgkmcnt(0)",) if counts is _is_read else ()
            yield Piece(name, kind, (*(each.text.strip() for each in most), *wait))


def model_cycles(piece: Piece) -> float:
    """Returns the cycles of a repetition by the model; its code is there at once, as in LLVM's."""
    chip = CHIPS[TARGET].with_values(instruction_fetch=0)
    return cycles_of_stream(piece.code, REPEATS, played_from_text, arch=TARGET, chip=chip)


@dataclass(frozen=True)
class Analyzer:
    """An `llvm-mca` that knows the chip."""

    path: str

    @staticmethod
    def found(named: str | None) -> Analyzer:
        """Returns the named program, or the newest one of this machine.

        Raises:
            AnalyzerError: there is none, or none that knows the chip.
        """
        versions = (f"llvm-mca-{number}" for number in range(_NEWEST, _OLDEST - 1, -1))
        for name in [named] if named else [*versions, "llvm-mca"]:
            path = which(name)
            if path and Analyzer(path).knows_chip():
                return Analyzer(path)
        wanted = f"'{named}' is no llvm-mca" if named else "there is no llvm-mca"
        raise AnalyzerError(
            f"{wanted} that knows {TARGET}: nothing is compared (apt-get install llvm-19)"
        )

    def knows_chip(self) -> bool:
        """Returns whether the program plays an instruction of the chip."""
        try:
            return self.total("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", 1) > 0
        except (AnalyzerError, OSError):
            return False

    def total(self, code: str, repeats: int) -> int:
        """Returns the issue slots of some repetitions of a piece.

        Raises:
            AnalyzerError: it cannot be played.
        """
        command = [self.path, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={TARGET}"]
        command.append(f"-iterations={repeats}")
        done = subprocess.run(command, input=code + "\n", capture_output=True, text=True)
        slots = re.search(r"^Total Cycles:\s+(\d+)$", done.stdout, re.MULTILINE)
        # LLVM plays on as another chip where it does not know one, and as nothing where code is
        # wrong.
        if done.returncode or slots is None or "not a recognized processor" in done.stderr:
            reason = (done.stderr.strip() or "it prints no cycles").splitlines()[0]
            raise AnalyzerError(f"'{self.path}' cannot play a piece: {reason}")
        return int(slots[1])

    def cycles(self, piece: Piece) -> float:
        """Returns the cycles of a repetition in the second half of a stream."""
        half = REPEATS // 2
        slots = self.total(piece.code, REPEATS) - self.total(piece.code, half)
        return slots * CYCLES_OF_SLOT / half


def compiled_pieces() -> Iterator[Piece]:
    """Compiles the kernels, and yields their pieces."""
    for kernel, mode in KERNELS:
        with compile_for_emulation(kernel.source(), target_flags(TARGET), mode) as module:
            for compiled in module.kernels.values():
                yield from pieces(compiled, f"{kernel.name}, {mode}")


def table(found: Sequence[Piece], analyzer: Analyzer) -> str:
    """Returns a line per piece with the cycles by both, and the model's over LLVM's."""
    lines = [["kernel", "piece", "instructions", "LLVM", "model", "model / LLVM"]]
    for piece in found:
        theirs, ours = analyzer.cycles(piece), model_cycles(piece)
        figures = (str(len(piece.lines)), f"{theirs:.0f}", f"{ours:.0f}", f"{ours / theirs:.2f}")
        lines.append([piece.kernel, piece.kind, *figures])
    return markdown_lines(lines, text_columns=2)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; returns 1 where there is nothing to compare with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llvm-mca", metavar="PATH", help="the program (the newest on PATH)")
    try:
        analyzer = Analyzer.found(parser.parse_args(argv).llvm_mca)
    except AnalyzerError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Cycles of a repetition on {TARGET}, by {analyzer.path} and by the model:\n")
    print(table(list(compiled_pieces()), analyzer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
