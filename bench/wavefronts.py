# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wavefronts of one instruction of one warp, for any addresses: counted and modelled.

    python3 -m bench.wavefronts measure -o wavefronts.json [--tables 1224] [--seed 0]
    python -m bankwise.bench.wavefronts compare [wavefronts.json]

`measure` runs where the GPU is, in the root of the repository, and needs NumPy, CUDA's driver and
Nsight Compute's `ncu` in PATH. It draws tables of lane addresses (random, strided, alike in groups,
masked), launches one warp with one instruction for each, and writes what `ncu` counts. `compare`
needs no GPU: it counts the same by the bank model, prints how many launches of each instruction
differ, and returns 1 if one does.

What is compared is `l1tex__data_pipe_lsu_wavefronts_mem_shared.sum`, which has one more than the
instruction takes, in every launch. The counters `smsp__sass_l1tex_data_pipe_lsu_wavefronts_...` of
ncu do not always have what it has: on an H200 they are larger or smaller for wide loads of which
phases merge, and have nothing for `stmatrix`.

Copies by `cp.async` have a table of global addresses, too, and write to different places: lanes
that write to the same one race. The sum above leaves out copies past the L1 cache and has more for
those through it, so that they are compared with what `smsp__sass_..._op_ldgsts` has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

RECORD = Path(__file__).parent / "results" / "wavefronts.json"
_LANES = 32
_SHARED_BYTES = 16384
_GLOBAL_BYTES = 1 << 20
_ALL = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
_ALSO = 1
"""What a launch without an instruction for the LDS has of these."""
_SASS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
_COPY_WAVEFRONTS = f"{_SASS}_ldgsts.sum"
_COPY_CONFLICTS = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"


class Form(NamedTuple):
    """An instruction that is launched.

    Attributes:
        name: what PTX calls it.
        width: the bytes that a lane moves.
        ptx: the instruction, of the shared address %a, the global one %g, the registers %r0 to %r3
            and the wide ones %d0 and %d1.
        matrices: how many matrices of 8 rows the lanes give addresses for; 0 for other forms.
    """

    name: str
    width: int
    ptx: str
    matrices: int = 0

    @property
    def is_copy(self) -> bool:
        """Returns whether it copies from global memory."""
        return self.name.startswith("cp.async")

    @property
    def kernel(self) -> str:
        """Returns the name of the kernel that has it."""
        return "one_" + self.name.replace(".", "_")


def _loads_and_stores() -> Iterator[Form]:
    for suffix, width, registers in (
        ("u8", 1, "%r0"),
        ("u16", 2, "%r0"),
        ("b32", 4, "%r0"),
        ("v2.b32", 8, "{%r0, %r1}"),
        ("b64", 8, "%d0"),
        ("v4.b32", 16, "{%r0, %r1, %r2, %r3}"),
        ("v2.b64", 16, "{%d0, %d1}"),
    ):
        yield Form(f"ld.shared.{suffix}", width, f"ld.shared.{suffix} {registers}, [%a];")
        yield Form(f"st.shared.{suffix}", width, f"st.shared.{suffix} [%a], {registers};")


def _matrices() -> Iterator[Form]:
    for count, registers in ((1, "{%r0}"), (2, "{%r0, %r1}"), (4, "{%r0, %r1, %r2, %r3}")):
        for trans in ("", ".trans"):
            name = f"m8n8.x{count}{trans}.shared.b16"
            load, store = f"ldmatrix.sync.aligned.{name}", f"stmatrix.sync.aligned.{name}"
            short = f"x{count}{trans}"
            yield Form(f"ldmatrix.{short}", 16, f"{load} {registers}, [%a];", count)
            yield Form(f"stmatrix.{short}", 16, f"{store} [%a], {registers};", count)


FORMS = (
    *_loads_and_stores(),
    *_matrices(),
    Form("atom.shared.add.u32", 4, "atom.shared.add.u32 %r0, [%a], %r1;"),
    Form("atom.shared.exch.b32", 4, "atom.shared.exch.b32 %r0, [%a], %r1;"),
    Form("atom.shared.cas.b32", 4, "atom.shared.cas.b32 %r0, [%a], %r1, %r2;"),
    Form("red.shared.inc.u32", 4, "red.shared.add.u32 [%a], 1;"),
    *(
        Form(f"cp.async.{cache}.{width}", width,
             f"cp.async.{cache}.shared.global [%a], [%g], {width}; cp.async.wait_all;")
        for cache, width in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16))
    ),
)  # fmt: skip
"""All instructions. ptxas makes an increment of the reduction, and its lanes want no result."""


class Table(NamedTuple):
    """A launch: where each lane accesses the LDS, and where it reads global memory.

    Attributes:
        active: the lanes that take part, as bits.
        addresses, sources: bytes of each lane.
        pattern: how they were drawn.
    """

    form: str
    active: int
    addresses: list[int]
    sources: list[int]
    pattern: str


def tables(count: int, seed: int) -> list[Table]:
    """Draws tables, as many of each form."""
    random = np.random.default_rng(seed)
    return [_drawn(FORMS[number % len(FORMS)], random) for number in range(count)]


_LANE = np.arange(_LANES)


def _drawn(form: Form, random: np.random.Generator) -> Table:
    """Draws the addresses of a launch."""
    units = _SHARED_BYTES // form.width
    places, pattern = _places(units, random)
    active = (1 << _LANES) - 1
    if not form.matrices and random.random() < 0.3:
        share = random.choice([0.3, 0.7, 0.95])
        active = int(sum(1 << lane for lane in range(_LANES) if random.random() < share)) or 1
        pattern += ", masked"
    sources = np.zeros(_LANES, np.int64)
    if form.is_copy:
        # Lanes that draw the same place go to the next ones.
        while len(np.unique(places)) < _LANES:
            places = (places + _LANE) % units
        units = _GLOBAL_BYTES // form.width
        sources, whence = _places(units, random)
        pattern += f" from {whence}"
    return Table(form.name, active, (places * form.width).tolist(),
                 (sources * form.width).tolist(), pattern)  # fmt: skip


def _places(units: int, random: np.random.Generator) -> tuple[Numbers, str]:
    """Returns units of an instruction's width for the lanes, and how they were drawn."""
    kind = random.choice(["random", "few", "stride", "alike", "groups"])
    if kind == "random":
        return random.integers(0, units, _LANES), "random"
    if kind == "few":
        return random.integers(0, min(units, 64), _LANES), "random among 64"
    stride = int(random.choice([1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33]))
    if kind == "stride":
        return _LANE * stride % units, f"stride {stride}"
    same = int(random.choice([1, 2, 3, 4, 7, 8, 16]))
    if kind == "alike":
        table = random.integers(0, min(units, 512), _LANES)
        return table[_LANE & ~same], f"lanes that differ in {same} alike"
    return (_LANE & ~same) * stride % units, f"stride {stride}, lanes that differ in {same} alike"


def _ptx() -> str:
    """Returns a kernel for each form."""
    kernels = "\n".join(_kernel(form) for form in FORMS)
    return f".version 7.8\n.target sm_90\n.address_size 64\n{kernels}"


def _kernel(form: Form) -> str:
    """Returns a kernel of the addresses, the sources, the active lanes, memory and a result."""
    names = ("places", "sources", "active", "memory", "result")
    parameters = ", ".join(f".param .u64 p_{name}" for name in names)
    loads = "\n".join(
        f"  ld.param.u64 %p_{n}, [p_{n}];\n  cvta.to.global.u64 %p_{n}, %p_{n};" for n in names
    )
    registers = ", ".join(f"%p_{name}" for name in names)
    return f"""
.visible .entry {form.kernel}({parameters}) {{
  .reg .pred %on;
  .reg .b32 %t, %a, %s, %m, %r0, %r1, %r2, %r3, %x;
  .reg .b64 %d0, %d1, %o, %g, %w, {registers};
  .shared .align 128 .b8 tile[{_SHARED_BYTES}];
{loads}
{_BEGIN}  @!%on bra done;
  {form.ptx}
done:
{_END}}}"""


_BEGIN = """  mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 4;
  add.s64 %w, %p_places, %o;
  ld.global.u32 %s, [%w];
  mov.u32 %a, tile;
  add.u32 %a, %a, %s;
  add.s64 %w, %p_sources, %o;
  ld.global.u32 %s, [%w];
  cvt.u64.u32 %g, %s;
  add.s64 %g, %g, %p_memory;
  ld.global.u32 %m, [%p_active];
  shr.u32 %m, %m, %t;
  and.b32 %m, %m, 1;
  setp.ne.u32 %on, %m, 0;
  mov.u32 %r0, %t;
  mov.u32 %r1, %s;
  add.u32 %r2, %t, %s;
  mov.u32 %r3, 7;
  cvt.u64.u32 %d0, %t;
  cvt.u64.u32 %d1, %s;
"""
"""What a lane does first: its addresses go to %a and %g, whether it takes part to %on."""
_END = """  add.u64 %d0, %d0, %d1;
  cvt.u32.u64 %x, %d0;
  shr.u64 %d0, %d0, 32;
  cvt.u32.u64 %m, %d0;
  add.u32 %x, %x, %m;
  add.u32 %x, %x, %r0;
  add.u32 %x, %x, %r1;
  add.u32 %x, %x, %r2;
  add.u32 %x, %x, %r3;
  add.s64 %w, %p_result, %o;
  st.global.u32 [%w], %x;
  ret;
"""
"""What it does last: all that it has gets into its result."""


def _launch(arguments: Namespace) -> bool:
    """Launches what `measure` counts."""
    from .gpu.cuda_driver import CudaDriver

    driver = CudaDriver.start()
    module = driver.load(_ptx())
    kernels = {form.name: form.kernel for form in FORMS}
    memory = np.zeros(_GLOBAL_BYTES + 16, np.uint8)
    for each in tables(arguments.tables, arguments.seed):
        sides = [np.array(side, np.uint32) for side in (each.addresses, each.sources)]
        inputs = [*sides, np.array([each.active], np.uint32)]
        buffers = [side.view(np.uint8) for side in inputs]
        driver.run(module, kernels[each.form], _LANES, [*buffers, memory], 4 * _LANES)
    return True


def _measure(arguments: Namespace) -> bool:
    """Counts the launches, and writes the record."""
    from .gpu.profiler import ncu_command, read_launches
    from .gpu.runtime_programs import gpu_and_versions

    wanted = [f"{_SASS}_{end}.sum" for end in ("ld", "st", "ldsm", "atom")]
    wanted += [_ALL, _COPY_WAVEFRONTS, _COPY_CONFLICTS]
    this = [sys.executable, "-m", "bench.wavefronts", "launch"]
    numbers = ["--tables", str(arguments.tables), "--seed", str(arguments.seed)]
    done = subprocess.run(
        [*ncu_command(wanted, "none"), *this, *numbers], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
        return False
    launches, drawn = read_launches(done.stdout), tables(arguments.tables, arguments.seed)
    if len(launches) != len(drawn):
        print(f"{len(launches)} launches were counted of {len(drawn)}", file=sys.stderr)
        return False
    rows = [
        [*each, {name: int(value) for name, value in launch.metrics.items() if value}]
        for each, launch in zip(drawn, launches, strict=True)
    ]
    about = "one warp, one instruction a launch; counters that are 0 are left out"
    device, versions = gpu_and_versions()
    document = {
        "about": about,
        "gpu": ", ".join([device, versions["driver"]]),
        "columns": [*Table._fields, "counters"],
        "rows": rows,
    }
    arguments.record.write_text(json.dumps(document, separators=(",", ":")) + "\n")
    print(f"{len(rows)} launches in {arguments.record}")
    return True


def modelled(form: Form, row: Table) -> tuple[int, int]:
    """Returns the wavefronts and the conflicts that the bank model has of a launch."""
    from ..bank_model.accesses import CopySources
    from ..bank_model.async_copies import copy_cost
    from ..bank_model.conflicts import phase_costs
    from ..bank_model.lds_rules import AccessKind
    from ..bank_model.lds_tables import lds_of

    chip = lds_of("sm_90")
    places = np.array([row.addresses])
    active = np.array([[bool(row.active >> lane & 1) for lane in range(_LANES)]])
    if form.is_copy:
        sources = CopySources(np.array([row.sources]), active)
        cost = copy_cost(chip.instruction_named(form.name), places, sources, active)
        return cost.lds_cycles, cost.conflict_cycles
    if form.matrices:
        active &= np.arange(_LANES) < 8 * form.matrices
        instruction = chip.instruction_named("ldmatrix")
    elif form.name.startswith(("atom", "red")):
        instruction = chip.instruction_named(form.name)
    else:
        kind = AccessKind.READ if form.name.startswith("ld") else AccessKind.WRITE
        instruction = chip.instruction(kind, form.width)
    costs = phase_costs(instruction, places, active)
    return int(costs.sum()), int(np.maximum(costs - 1, 0).sum())


def differences(document: Any) -> tuple[Counter[str], Counter[str]]:
    """Returns how many launches of each form a record has, and how many differ from the model."""
    forms = {form.name: form for form in FORMS}
    every: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    for *fields, counters in document["rows"]:
        row = Table(*fields)
        wavefronts, conflicts = modelled(forms[row.form], row)
        every[row.form] += 1
        if forms[row.form].is_copy:
            counted = [counters.get(name, 0) for name in (_COPY_WAVEFRONTS, _COPY_CONFLICTS)]
            differing[row.form] += counted != [wavefronts, conflicts]
        else:
            differing[row.form] += counters[_ALL] != wavefronts + _ALSO
    return every, differing


def _compare(arguments: Namespace) -> bool:
    """Prints how many launches of each form differ."""
    document = json.loads(arguments.record.read_text())
    every, differing = differences(document)
    for name, launches in every.items():
        print(f"{name}: {launches} launches, {differing[name]} differ")
    print(f"{every.total()} launches on {document['gpu'].strip()}, {differing.total()} differ")
    return not differing.total()


_STEPS = {"launch": _launch, "measure": _measure, "compare": _compare}


def main(words: Sequence[str] | None = None) -> int:
    """Takes a step; returns 1 where it fails."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=_STEPS)
    parser.add_argument("record", type=Path, nargs="?", default=RECORD)
    parser.add_argument("-o", dest="record", type=Path, metavar="FILE.json", help="the record")
    parser.add_argument("--tables", type=int, default=1224, help="how many launches")
    parser.add_argument("--seed", type=int, default=0)
    return 0 if _STEPS[(arguments := parser.parse_args(words)).step](arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
