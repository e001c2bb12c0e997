# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Digests of what Bankwise compiles, by which two versions of its code are compared.

python -m bankwise.bench.assembly_digests DIGESTS.json [--against OTHER.json] [--every N] [--jobs N]

Compiles attentions in f16 and f32 for gfx942, a third of the matmul table, 20 attentions for sm_80,
and the hand-written examples, with the mitigations `stock` and `auto`. DIGESTS.json gets a digest
of each kernel's assembly and one of its decisions. With `--against`, every kernel that differs from
the file of an earlier version is named, and the exit code is 1 if there is one.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from ..emulator.chips import EMULATED_CHIPS
from ..iree_plugin.atomic_file import write_output
from ..iree_plugin.compile import compile as compile_module
from ..iree_plugin.temporary_files import temporary_directory
from ..passes.decisions import DecisionLog
from ..sweep.cases import target_flags
from ..sweep.kernels import AnyKernel, swept_attentions
from ..sweep.progress import tracked
from . import hand_written, matmul_table
from .runs import bench_parser

MITIGATIONS = ("stock", "auto")


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
class Digests:
    """What a case compiles to: equal digests are equal texts.

    The locations of decisions, which name temporary files, are left out.
    """

    assembly: str
    decisions: str


def cases(every: int) -> list[Case]:
    """Returns every `every`-th of all cases."""
    attentions = [
        Case.of(attention, "gfx942")
        for dtype in ("f16", "f32")
        for attention in swept_attentions(dtype)
    ]
    products = [Case.of(*case) for case in matmul_table.cases(EMULATED_CHIPS)[::3]]
    cuda = [
        Case.of(attention, "sm_80")
        for dtype in ("f16", "f32")
        for attention in swept_attentions(dtype)[::11]
    ]
    examples = [
        Case(example.path, example.arch, (hand_written.EXAMPLES_DIR / example.path).read_text())
        for example in hand_written.EXAMPLES
    ]
    return [*attentions, *products, *cuda, *examples][::every]


def digests(case: Case, mitigation: str) -> dict[str, str]:
    """Compiles a case; returns its `Digests` as JSON has them."""
    log = DecisionLog()
    with temporary_directory("bankwise-digests-") as directory:
        flags = [
            *target_flags(case.target),
            f"--iree-hal-dump-executable-files-to={directory}",
        ]
        compile_module(case.source, flags, mitigation, decisions=log)
        files = sorted([*directory.glob("*.rocmasm"), *directory.glob("*.ptx")])
        if not files:
            raise RuntimeError(f"{case.name} for {case.target}: no assembly was written")
        assembly = _digest(file.read_bytes() for file in files)
    decisions = _digest(
        json.dumps(asdict(each) | {"location": ""}, default=str).encode() for each in log
    )
    return asdict(Digests(assembly, decisions))


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def measure(chosen: Sequence[Case], jobs: int) -> dict[str, dict[str, str]]:
    """Returns the digests by target, kernel and mitigation."""
    keys = [(case, mitigation) for case in chosen for mitigation in MITIGATIONS]
    tasks = (delayed(digests)(*key) for key in keys)
    found: Any = Parallel(jobs, return_as="generator")(tasks)
    measured = tracked(found, "assembly", len(keys), "compiles")
    return {
        f"{case.target} {case.name} {mitigation}": each
        for (case, mitigation), each in zip(keys, measured, strict=True)
    }


def differences(
    one: dict[str, dict[str, str]], other: dict[str, dict[str, str]]
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
    found = measure(cases(arguments.every), arguments.jobs)
    write_output(str(arguments.output), json.dumps(found, indent=1).encode())
    print(f"{len(found)} compiles of {len(found) // len(MITIGATIONS)} kernels")
    if not arguments.against:
        return 0
    different = differences(found, earlier)
    for what, keys in different.items():
        for key in keys:
            print(f"different {what}: {key}")
    shared = sum(key in earlier for key in found)
    counts = ", ".join(f"{len(keys)} in {what}" for what, keys in different.items())
    print(f"{shared} compared: {counts} differ")
    return 1 if any(different.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
