# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of the kinds that IREE 3.13 computes wrongly, at all levels.

python -m bankwise.bench.random_programs [--kinds grouped top_k] [--targets gfx942 sm_80]
    [--programs 300] [--first 0] [--jobs 2] [-o DIR]

Kinds are those of `random_kinds/kinds.py`, each of which names the GPUs for which stock is wrong.
Programs of AMD GPUs take turns at them and run on the emulator, those of CUDA on the GPU of this
machine. Each is compiled at the levels `layout`, `exact` and `fast`, and compared with NumPy in
float64 or integers.

A row fails where an output is wrong, where a compile or a run fails and stock's does not, or where
a compile takes more than 5 times stock's CPU time. Stock is compiled where one of ours fails or
takes long; every tenth program also runs as stock, to see that the kind is met. Finished rows are
kept in DIR/random_programs.json at once, and the same command goes on from there.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..bank_model.families import AMD, family_of
from ..passes.mode import LEVELS
from ..sweep.cases import target_flags
from .benchmark import RESULTS, Benchmark, BenchRow, count, each_mode, table, total
from .gpu.modes import STOCK
from .program_families.program import Array, Program, largest_error
from .random_kinds.kinds import KINDS

OURS = tuple(f"auto/{level}" for level in LEVELS)
MOST_SECONDS = 3.0
"""The CPU time of a compile above which it is compared with stock's."""
MOST_RATIO = 5.0
"""How many times stock's CPU time a compile may take."""
STOCK_EVERY = 10
"""Of how many programs one runs as stock, too."""

Case = tuple[str, int, str]
"""A kind, a seed, and a GPU."""


@dataclass(frozen=True)
class Row(BenchRow):
    """A random program for one GPU.

    Attributes:
        tolerance: the largest error of a right output.
        error: the largest error of an output, by mode; infinite where an element is not finite.
        seconds: the CPU time of a compile, by mode.
    """

    tolerance: float = 0.0
    error: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_case(cls, case: Case) -> Row:
        """Returns the row of a program that has not run."""
        kind, seed, target = case
        return cls(f"{kind}_{seed}", target)

    @property
    def kind(self) -> str:
        """Returns the program's kind."""
        return self.kernel.rpartition("_")[0]

    def measured(self, case: Case) -> Row:
        """Compiles and runs the program in each mode."""
        kind, seed, target = case
        program = KINDS[kind].program(kind, seed)
        inputs = program.draw_inputs()
        expected = program.expected(inputs)
        seconds: dict[str, float] = {}

        def error(mode: str) -> float:
            outputs, seconds[mode] = _run(program, inputs, mode, target)
            return _largest(outputs, expected)

        found, errors = each_mode(OURS, error)
        is_asked = errors or seed % STOCK_EVERY == 0 or max(seconds.values()) > MOST_SECONDS
        if is_asked and KINDS[kind].stock_ends:
            of_stock, failed = each_mode([STOCK], error)
            found, errors = found | of_stock, errors | failed
        return replace(
            self, tolerance=program.tolerance, error=found, seconds=seconds, errors=errors
        )

    @property
    def failed(self) -> bool:
        """Returns whether the row is to be measured again: a failure is as lasting as an output."""
        return not self.error and not self.errors

    @property
    def wrong(self) -> list[str]:
        """Returns the modes of ours whose output is wrong."""
        return [mode for mode in OURS if self._is_wrong(mode)]

    @property
    def uncompiled(self) -> list[str]:
        """Returns the modes of ours that fail where stock does not."""
        return [mode for mode in OURS if mode in self.errors and STOCK not in self.errors]

    @property
    def slow(self) -> list[str]:
        """Returns the modes of ours that compile more slowly than they may."""
        most = max(MOST_SECONDS, MOST_RATIO * self.seconds.get(STOCK, 0.0))
        return [mode for mode in OURS if STOCK in self.seconds and self.seconds.get(mode, 0) > most]

    @property
    def family(self) -> str:
        """Returns how IREE calls the GPUs of the vendor: `hip` or `cuda`."""
        return family_of(self.target).device

    @property
    def runs(self) -> int:
        """Returns how many modes of ours have run."""
        return sum(mode in self.error for mode in OURS)

    @property
    def stock_runs(self) -> bool:
        """Returns whether stock was tried."""
        return STOCK in self.error or STOCK in self.errors

    @property
    def stock_is_wrong(self) -> bool:
        """Returns whether stock's output is wrong, or stock fails."""
        return self._is_wrong(STOCK) or STOCK in self.errors

    def _is_wrong(self, mode: str) -> bool:
        # Written as "not below", so that an error that is no number is too large.
        return mode in self.error and not self.error[mode] <= self.tolerance

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = [f"{mode} is wrong by {self.error[mode]:.2e}" for mode in self.wrong]
        found += [f"{mode} fails: {_first_error(self.errors[mode])}" for mode in self.uncompiled]
        for mode in self.slow:
            ours, stock = self.seconds[mode], self.seconds[STOCK]
            found.append(f"{mode} compiles in {ours:.1f} s, stock in {stock:.1f} s")
        if "it" in self.errors:
            found.append(_first_error(self.errors["it"]))
        return found


def _first_error(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


def _largest(outputs: Sequence[Array], expected: Sequence[Array]) -> float:
    return max(largest_error(*pair) for pair in zip(outputs, expected, strict=True))


def _run(
    program: Program, inputs: Sequence[Array], mode: str, target: str
) -> tuple[list[Array], float]:
    """Returns the outputs of a program, and the CPU seconds of its compile."""
    flags = (*target_flags(target), *program.flags)
    begin = time.process_time()
    if target.startswith(AMD.prefix):
        from ..runtime.emulated_device import EmulatedDevice
        from ..runtime.emulated_module import compile_for_emulation
        from ..runtime.host_program import HostProgram

        with compile_for_emulation(program.source, flags, mode) as module:
            seconds = time.process_time() - begin
            host = HostProgram(module.host, EmulatedDevice(module.kernels))
            (signature,) = host.signatures
            return host.call(signature.name, inputs), seconds
    from ..iree_plugin.python_compile import compile
    from ..runtime.runtime_device import run_on_device

    vmfb = compile(program.source, flags, mode)
    seconds = time.process_time() - begin
    return run_on_device(vmfb, "cuda", "", inputs)[1], seconds


def cases(
    kinds: Sequence[str], targets: Sequence[str], programs: int, first: int = 0
) -> list[Case]:
    """Returns so many programs of each kind, which take turns at the GPUs that the kind is for."""
    found: list[Case] = []
    for kind in kinds:
        chosen = [each for each in KINDS[kind].targets if each in targets]
        seeds = range(first, first + programs) if chosen else ()
        found += [(kind, seed, chosen[seed % len(chosen)]) for seed in seeds]
    return found


def show(rows: Sequence[Row]) -> str:
    """Returns how many programs of each kind are wrong, fail or compile slowly."""
    return table(
        rows,
        ["kind", "family"],
        {
            "programs": len,
            "runs": total("runs"),
            "wrong": total("wrong"),
            "do not compile, as stock does": total("uncompiled"),
            "slow": total("slow"),
            "stock tried": total("stock_runs"),
            "stock wrong": total("stock_is_wrong"),
        },
    )


def _arguments(parser: ArgumentParser) -> None:
    known = sorted({target for kind in KINDS.values() for target in kind.targets})
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS], help="what is drawn")
    about = "the GPUs that programs are compiled for"
    amd = [each for each in known if each.startswith(AMD.prefix)]
    parser.add_argument("--targets", nargs="+", choices=known, default=amd, help=about)
    parser.add_argument("--programs", type=count, default=300, help="programs of a kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")


def _chosen(arguments: Namespace) -> list[Case]:
    return cases(arguments.kinds, arguments.targets, arguments.programs, arguments.first)


BENCHMARK = Benchmark(
    "random programs",
    Row,
    _chosen,
    show,
    texts={"md": show},
    measures="programs",
    output=RESULTS / "random_programs.json",
    arguments=_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
