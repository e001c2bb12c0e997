# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Digests of what Bankwise compiles, by which two versions of its code are compared.

python -m bankwise.bench.assembly_digests DIGESTS.json [--against OTHER.json] [--every N] [--jobs N]

Compiles attentions in f16 and f32 for gfx942, a third of the matmul table, 20 attentions for sm_80,
and the hand-written examples, in the modes `stock` and `auto`. DIGESTS.json gets a digest
of each kernel's assembly and one of its decisions. With `--against`, every kernel that differs from
the file of an earlier version is named, and the exit code is 1 if there is one.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..emulator.timing.constants import TIMED_CHIPS
from ..iree_plugin.atomic_file import write_output
from ..iree_plugin.python_compile import compile as compile_module
from ..iree_plugin.temporary_files import temporary_directory
from ..passes.decisions import DecisionLog
from ..sweep.cases import target_flags
from ..sweep.rows_file import Rows
from ..sweep.swept_kernels import AnyKernel
from . import matmul_table
from .benchmark import Benchmark, BenchRow, bench_parser
from .runs import EXAMPLES, assembly_in, attention_cases

MODES = ("stock", "auto")


@dataclass(frozen=True)
class Case:
    """A module, by its text, for a target."""

    name: str
    target: str
    source: str

    @staticmethod
    def of(kernel: AnyKernel, target: str) -> Case:
        """Returns the case of a kernel."""
        return Case(kernel.name, target, kernel.source())


@dataclass(frozen=True)
class Row(BenchRow):
    """What a case compiles to in one mode: equal digests are equal texts.

    The locations of decisions, which name temporary files, are left out.
    """

    assembly: str = ""
    decisions: str = ""

    def measured(self, case: tuple[Case, str, str]) -> Row:
        """Compiles a case.

        Raises:
            CompileError: it does not compile.
            RuntimeError: the compile writes no assembly.
        """
        module, target, mode = case
        log = DecisionLog()
        with temporary_directory("bankwise-digests-") as directory:
            flags = [*target_flags(target), f"--iree-hal-dump-executable-files-to={directory}"]
            compile_module(module.source, flags, mode, decisions=log)
            files = assembly_in(directory)
        if not files:
            raise RuntimeError("no assembly was written")
        texts = (json.dumps(asdict(each) | {"location": ""}, default=str).encode() for each in log)
        return replace(self, assembly=_digest(files.values()), decisions=_digest(texts))


def cases(every: int) -> list[Case]:
    """Returns every `every`-th of all cases."""
    kernels = [
        *attention_cases({"gfx942": ("f16", "f32")}),
        *matmul_table.cases(TIMED_CHIPS)[::3],
        *attention_cases({"sm_80": ("f16", "f32")}, every=11),
    ]
    written = (("gemm/direct_b.mlir", "gfx950"), ("transpose/wave_f32.mlir", "gfx942"))
    examples = [Case(path, target, (EXAMPLES / path).read_text()) for path, target in written]
    return [*(Case.of(*each) for each in kernels), *examples][::every]


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part + b"\0")
    return digest.hexdigest()[:16]


BENCHMARK = Benchmark(
    "assembly",
    Row,
    lambda arguments: [
        (case, case.target, mode) for case in cases(arguments.every) for mode in MODES
    ],
    lambda rows: (
        f"{len(rows)} compiles of {len({(row.kernel, row.target) for row in rows})} kernels"
    ),
)


def differences(
    one: Mapping[str, Mapping[str, str]], other: Mapping[str, Mapping[str, str]]
) -> dict[str, list[str]]:
    """Returns the kernels of both that differ, by what differs."""
    return {
        what: [key for key in one if key in other and one[key][what] != other[key][what]]
        for what in ("assembly", "decisions")
    }


def main() -> int:
    """Measures all cases, and compares them if asked."""
    parser = bench_parser(__doc__, "compiles", every="kernel")
    parser.add_argument("output", type=Path, metavar="DIGESTS.json")
    parser.add_argument("--against", type=Path, metavar="OTHER.json", help="an earlier version's")
    arguments = parser.parse_args()
    earlier = json.loads(arguments.against.read_text()) if arguments.against else {}
    rows, _ = BENCHMARK.fill(Rows(), BENCHMARK.cases(arguments), arguments.jobs)
    found = {
        f"{row.target} {row.kernel} {row.mode}": {
            "assembly": row.assembly,
            "decisions": row.decisions,
        }
        for row in rows
        if not row.failed
    }
    write_output(str(arguments.output), json.dumps(found, indent=1).encode())
    failed = BENCHMARK.report(rows)
    if not arguments.against:
        return int(failed)
    different = differences(found, earlier)
    for what, keys in different.items():
        for key in keys:
            print(f"different {what}: {key}")
    shared = sum(key in earlier for key in found)
    counts = ", ".join(f"{len(keys)} in {what}" for what, keys in different.items())
    print(f"{shared} compared: {counts} differ")
    return int(failed or any(different.values()))


if __name__ == "__main__":
    sys.exit(main())
