# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels as people write them by hand, and what their LDS accesses cost by the definition.

A `Kernel` is a form (`func.func`, `gpu.func`, `gpu.launch`), a GPU, a block, and a few *pieces*. A
`Piece` is some LDS with what is done to it: lines of MLIR, and beside them `Touch`es, which say for
each operation the bytes that every thread accesses, each time that it runs. Both come from the same
numbers and from nothing of the project: `render` joins the lines, and `conflict_cycles` counts the
touches lane by lane in plain Python.

To add a kind of kernel, write a function that draws a piece and add it to `PIECES`:

    def my_piece(draw: st.DrawFn, frame: Frame, name: str) -> Piece:
        ...

It gets the frame (GPU, block, form) and a name that no other piece has, with which it begins all
symbols and values that it makes. Its lines may use `%t`, the number of the thread in its block,
`%x` and `%y`, the constants `%c0` to `%c4`, and what `value_of` gives for a type. `accesses` draws
loads and stores of a tile that lies anywhere: what makes memory (`HOMES`) and what shows it in
another way need not know of accesses. A piece for some forms or GPUs alone calls `assume`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import PlainLayout
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.slow_count import count_slowly

from .memref_views import SPACE, Memref

Ints = npt.NDArray[np.int64]

ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1, "i32": 4, "f64": 8}
GPUS = ("gfx942", "gfx950", "sm_80", "sm_90")
SPACES = ("#gpu.address_space<workgroup>", "3", "3 : i32")
_LDS_BYTES = 1 << 16


class Form(Enum):
    """What a kernel is written as, and where the size of its block stands."""

    TRANSLATED = "func.func with a translation_info"
    KNOWN_BLOCK = "func.func with gpu.known_block_size"
    GPU_FUNC = "gpu.func"
    GPU_LAUNCH = "gpu.launch"


@dataclass(frozen=True)
class Frame:
    """What all pieces of a kernel have in common.

    Attributes:
        space: the spelling of `#lds`, the memory space of the kernel's memrefs.
        names_gpu: the IR says what GPU it is for.
    """

    form: Form
    arch: str
    block: tuple[int, int, int]
    space: str
    names_gpu: bool

    @property
    def threads(self) -> int:
        return prod(self.block)

    @property
    def wave(self) -> int:
        return lds_of(self.arch).wave_size

    @property
    def has_attributions(self) -> bool:
        return self.form in (Form.GPU_FUNC, Form.GPU_LAUNCH)


@dataclass(frozen=True)
class Touch:
    """An operation on the LDS.

    Attributes:
        addresses: the first byte [runs, threads] of each thread, from a multiple of 16 bytes on.
        active: whether the thread takes part [runs, threads].
        width: bytes of a thread.
        instruction: as `LdsAccess` has it.
    """

    kind: AccessKind
    addresses: Ints
    active: npt.NDArray[np.bool_]
    width: int
    instruction: str = ""

    def access(self, wave: int) -> LdsAccess:
        """Returns what the bank model counts, in bytes."""
        threads = self.addresses.shape[1]
        behind = [(0, 0), (0, -threads % wave)]
        lanes = np.pad(self.addresses, behind).reshape(-1, wave)
        active = np.pad(self.active, behind).reshape(-1, wave)
        issued = active.any(axis=1)
        return LdsAccess(
            self.kind,
            lanes[issued],
            self.width,
            active=active[issued],
            instruction=self.instruction,
        )


@dataclass(frozen=True)
class Piece:
    """Some LDS, and what is done to it.

    Attributes:
        module: lines beside the function.
        attributions, arguments: what the kernel gets, as pairs (name, type).
        body: lines inside it.
        is_left_out: whether the backend leaves it out, because nobody reads it.
    """

    body: tuple[str, ...]
    touches: tuple[Touch, ...]
    module: tuple[str, ...] = ()
    attributions: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    is_left_out: bool = False


@dataclass(frozen=True)
class Kernel:
    frame: Frame
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return render(self)


# What it costs.


def conflict_cycles(kernel: Kernel) -> int:
    """Returns the conflict cycles of a workgroup, counted by the definition."""
    lds = lds_of(kernel.frame.arch)
    total = 0
    for piece in kernel.pieces:
        for touch in () if piece.is_left_out else piece.touches:
            access = touch.access(kernel.frame.wave)
            if access.elements.size:
                tile = LdsTile((_LDS_BYTES,), 8)
                total += count_slowly(lds, tile, PlainLayout(), access).conflict_cycles
    return total


def may_be_changed(kernel: Kernel) -> bool:
    """Returns whether the backend may carry out other accesses, once it has unrolled loops.

    It joins neighbours, and splits runs of one access differently that are not aligned alike.
    """
    for piece in kernel.pieces:
        for kind in AccessKind:
            touches = [each for each in piece.touches if each.kind is kind]
            rows = {row.tobytes() for each in touches for row in each.addresses}
            behind = (row + each.width for each in touches for row in each.addresses)
            if any(row.tobytes() in rows for row in behind):
                return True
        for touch in piece.touches:
            bits = np.bitwise_or.reduce(touch.addresses, axis=1) & 15
            if len(set((bits & -bits).tolist())) > 1:
                return True
    return False


# Its MLIR.


def value_of(kind: str) -> str:
    """Returns a value of a type that every kernel has: an element, or a vector of them."""
    return f"%value_{''.join(each if each.isalnum() else '_' for each in kind)}"


def render(kernel: Kernel) -> str:
    """Returns the kernel as a module."""
    frame, pieces = kernel.frame, kernel.pieces
    arguments = ", ".join(f"{name}: {kind}" for each in pieces for name, kind in each.arguments)
    given = [f"{name} : {kind}" for each in pieces for name, kind in each.attributions]
    attributions = f" workgroup({', '.join(given)})" if given else ""
    module = "\n".join(line for each in pieces for line in each.module)
    body = "\n".join([*_prologue(frame), *(line for each in pieces for line in each.body)])
    x, y, z = frame.block
    known = f"array<i32: {x}, {y}, {z}>"
    spaces = f"{SPACE.partition(' = ')[0]} = {frame.space}"

    # An alias of an integer is no attribute that a memref could name.
    def spelled(text: str) -> str:
        return f"{spaces}\n{text}" if frame.space.startswith("#") else _without_alias(text, frame)

    if frame.form is Form.GPU_FUNC:
        return spelled(
            f"gpu.module @kernels{_module_target(frame)} {{ {module}\n"
            f"gpu.func @kernel({arguments}){attributions} kernel "
            f"attributes {{known_block_size = {known}}} {{\n{body}\ngpu.return }} }}"
        )
    if frame.form is Form.GPU_LAUNCH:
        sizes = "".join(f"%n{n} = arith.constant {n} : index\n" for n in {1, x, y, z})
        return spelled(
            f"{module}\nfunc.func @kernel({arguments}) {_target(frame, '')} {{\n{sizes}"
            "gpu.launch blocks(%bx, %by, %bz) in (%gx = %n1, %gy = %n1, %gz = %n1) "
            f"threads(%x, %y, %z) in (%nx = %n{x}, %ny = %n{y}, %nz = %n{z}){attributions} {{\n"
            f"{body}\ngpu.terminator }} return }}"
        )
    translated = (
        "translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline "
        f"workgroup_size = [{x}, {y}, {z}] subgroup_size = {frame.wave}>"
    )
    size = translated if frame.form is Form.TRANSLATED else f"gpu.known_block_size = {known}"
    return spelled(
        f"{module}\nfunc.func @kernel({arguments}) {_target(frame, size)} {{\n{body}\nreturn }}"
    )


def _without_alias(text: str, frame: Frame) -> str:
    return text.replace("#lds", frame.space)


def _module_target(frame: Frame) -> str:
    if not frame.names_gpu:
        return ""
    dialect = "rocdl" if frame.arch.startswith("gfx") else "nvvm"
    return f' [#{dialect}.target<chip = "{frame.arch}">]'


def _target(frame: Frame, other: str) -> str:
    """Returns the attributes of a function: its target, if it names one, and another one."""
    named = []
    if frame.names_gpu:
        named = [
            'hal.executable.target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info '
            f'= #iree_gpu.target<arch = "{frame.arch}", features = "", wgp = <compute = int32, '
            "storage = b32, subgroup = none, subgroup_size_choices = [64], "
            "max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, "
            "max_workgroup_memory_bytes = 65536, max_workgroup_counts = [1, 1, 1]>>}>"
        ]
    return f"attributes {{{', '.join(filter(None, [*named, other]))}}}"


def _prologue(frame: Frame) -> list[str]:
    x, y, _ = frame.block
    lines = [f"%c{n} = arith.constant {n} : index" for n in range(5)]
    if frame.form is not Form.GPU_LAUNCH:
        lines += [f"%{d} = gpu.thread_id {d}" for d in "xyz"]
    number = f"affine_map<(x, y, z) -> (x + y * {x} + z * {x * y})>"
    lines.append(f"%t = affine.apply {number}(%x, %y, %z)")
    for element in ELEMENT_BYTES:
        zero = "0" if element.startswith("i") else "0.0"
        lines.append(f"{value_of(element)} = arith.constant {zero} : {element}")
        for count in (2, 4, 8, 16):
            kind = f"vector<{count}x{element}>"
            lines.append(f"{value_of(kind)} = arith.constant dense<{zero}> : {kind}")
    return lines


# Accesses.


@dataclass(frozen=True)
class Formula:
    """`((t floordiv divide) * scale + i * step + shift) mod modulo * times`.

    `t` is the number of the thread and `i` that of the iteration.
    """

    divide: int
    scale: int
    step: int
    shift: int
    modulo: int
    times: int = 1

    @property
    def text(self) -> str:
        inner = f"(t floordiv {self.divide}) * {self.scale} + i * {self.step} + {self.shift}"
        return f"affine_map<(t, i) -> ((({inner}) mod {self.modulo}) * {self.times})>"

    def of(self, thread: Ints, iteration: Ints) -> Ints:
        inner = thread // self.divide * self.scale + iteration * self.step + self.shift
        return inner % self.modulo * self.times


_STEPS = st.sampled_from((0, 1, 1, 2, 3, 4, 8, 16, 17))


def formulas(draw: st.DrawFn, size: int, times: int = 1) -> Formula:
    """Draws where threads are along a dimension of so many places."""
    divide = draw(st.sampled_from((1, 1, 2, 4, 8, 16, 32, 64)))
    return Formula(divide, draw(_STEPS), draw(_STEPS), draw(_STEPS), size, times)


@dataclass
class Place:
    """A tile of two dimensions somewhere in the LDS.

    Attributes:
        first: the byte [runs, threads] at which it begins for each thread; runs are 1, or those
            of the loop around all accesses, in which `lines` and the accesses then stand.
    """

    memref: Memref
    first: Ints
    lines: list[str] = field(default_factory=list)


def accesses(
    draw: st.DrawFn, frame: Frame, name: str, place: Place, count: int = 3
) -> tuple[list[str], list[Touch]]:
    """Draws loads and stores of a tile, some of them in loops and under conditions."""
    lines: list[str] = []
    touches: list[Touch] = []
    for number in range(draw(st.integers(1, count))):
        found, touch = _access(draw, frame, f"{name}_{number}", place)
        lines += [*found, *(["gpu.barrier"] if draw(st.booleans()) else [])]
        touches += touch
    return lines, touches


def _access(
    draw: st.DrawFn, frame: Frame, name: str, place: Place
) -> tuple[list[str], list[Touch]]:
    memref = place.memref
    element = memref.element
    size = ELEMENT_BYTES[element]
    rows, columns = memref.shape
    contiguous = memref.strides[1] == 1
    widths = [w for w in (1, 2, 4, 8) if w * size <= 16 and w <= columns and (w == 1 or contiguous)]
    width = draw(st.sampled_from(widths))
    row = formulas(draw, rows)
    if columns % width == 0 and draw(st.sampled_from((True, True, False))):
        column = formulas(draw, columns // width, width)
    else:
        column = formulas(draw, columns - width + 1)
    kind = draw(st.sampled_from(AccessKind))
    iterations = draw(st.sampled_from((1, 1, 2, 3)))
    least = draw(st.sampled_from((0, 0, 0, 1, 5, 40)))
    vector = f"vector<{width}x{element}>"
    where = f"{memref.name}[%r_{name}, %k_{name}] : {memref.type}"
    if width == 1:
        stored, loaded = value_of(element), "memref"
        suffix = ""
    else:
        stored, loaded, suffix = value_of(vector), "vector", f", {vector}"
    if kind is AccessKind.READ:
        operation = f"%v_{name} = {loaded}.load {where}{suffix}"
    else:
        operation = f"{loaded}.store {stored}, {where}{suffix}"
    index = f"%i_{name}" if iterations > 1 else "%c0"
    lines = [
        f"%r_{name} = affine.apply {row.text}(%t, {index})",
        f"%k_{name} = affine.apply {column.text}(%t, {index})",
        operation,
    ]
    if least:
        lines = [
            f"%g_{name} = arith.constant {least} : index",
            f"%h_{name} = arith.cmpi uge, %t, %g_{name} : index",
            f"scf.if %h_{name} {{",
            *lines,
            "}",
        ]
    if iterations > 1:
        lines = [f"scf.for {index} = %c0 to %c{iterations} step %c1 {{", *lines, "}"]
    thread = np.arange(frame.threads)[None, :]
    iteration = np.arange(iterations)[:, None]
    at = [each.of(thread, iteration) for each in (row, column)]
    elements = at[0] * memref.strides[0] + at[1] * memref.strides[1]
    addresses = place.first + elements * size
    active = np.broadcast_to(thread >= least, addresses.shape)
    return lines, [Touch(kind, addresses, active, width * size)]


# Where a tile lies.


@dataclass(frozen=True)
class Home:
    """Memory of some bytes or of a tile: its name, and the lines that make it."""

    name: str
    body: tuple[str, ...] = ()
    module: tuple[str, ...] = ()
    attributions: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()


def _allocation(frame: Frame, name: str, kind: str) -> Home:
    return Home(f"%m_{name}", (f"%m_{name} = memref.alloc() : {kind}",))


def _attribution(frame: Frame, name: str, kind: str) -> Home:
    assume(frame.has_attributions)
    return Home(f"%m_{name}", attributions=((f"%m_{name}", kind),))


def _argument(frame: Frame, name: str, kind: str) -> Home:
    assume(frame.form is not Form.GPU_LAUNCH)
    return Home(f"%m_{name}", arguments=((f"%m_{name}", kind),))


def _global(frame: Frame, name: str, kind: str) -> Home:
    return Home(
        f"%m_{name}",
        (f"%m_{name} = memref.get_global @g_{name} : {kind}",),
        (f'memref.global "private" @g_{name} : {kind}',),
    )


HOMES: tuple[Callable[[Frame, str, str], Home], ...] = (
    _allocation,
    _attribution,
    _attribution,
    _argument,
    _global,
)
"""What makes LDS of a type."""


def tile_type(draw: st.DrawFn, name: str) -> Memref:
    """Draws the type of a tile."""
    element = draw(st.sampled_from(list(ELEMENT_BYTES)))
    rows = draw(st.sampled_from((1, 2, 8, 16, 32, 64)))
    columns = draw(st.sampled_from((1, 4, 8, 16, 32, 33, 64)))
    return Memref.of(name, element, (rows, columns))


# Pieces.


def plain_tile(draw: st.DrawFn, frame: Frame, name: str) -> Piece:
    """Draws a tile that is accessed as it is."""
    memref = tile_type(draw, "")
    made = draw(st.sampled_from(HOMES))
    home = made(frame, name, memref.type)
    place = Place(memref.renamed(home.name), np.zeros((1, frame.threads), np.int64))
    lines, touches = accesses(draw, frame, name, place)
    is_global_of_its_own = made in (_allocation, _attribution) and frame.arch.startswith("gfx")
    return Piece(
        (*home.body, *lines),
        tuple(touches),
        home.module,
        home.attributions,
        home.arguments,
        is_global_of_its_own and all(each.kind is AccessKind.WRITE for each in touches),
    )


def viewed_bytes(draw: st.DrawFn, frame: Frame, name: str) -> Piece:
    """Draws bytes of which `memref.view` makes one or two tiles, which may overlap."""
    tiles = [tile_type(draw, "") for _ in range(draw(st.integers(1, 2)))]
    starts: list[int] = []
    for tile in tiles:
        size = ELEMENT_BYTES[tile.element]
        starts.append(draw(st.integers(0, 40)) * draw(st.sampled_from((size, 16, 16, 64))))
        assume(starts[-1] % size == 0)
    sizes = [prod(each.shape) * ELEMENT_BYTES[each.element] for each in tiles]
    total = max(start + size for start, size in zip(starts, sizes, strict=True))
    if draw(st.booleans()):
        home = draw(st.sampled_from(HOMES))(frame, name, f"memref<{total}xi8, #lds>")
        bytes_type = f"memref<{total}xi8, #lds>"
    else:
        # The operation wants the memory space of the gpu dialect.
        assume(frame.space.startswith("#"))
        bytes_type = "memref<?xi8, #lds>"
        home = Home(f"%m_{name}", (f"%m_{name} = gpu.dynamic_shared_memory : {bytes_type}",))
    body = [*home.body]
    touches: list[Touch] = []
    for number, (tile, start) in enumerate(zip(tiles, starts, strict=True)):
        view = tile.renamed(f"%w_{name}_{number}")
        body += [
            f"%s_{name}_{number} = arith.constant {start} : index",
            f"{view.name} = memref.view {home.name}[%s_{name}_{number}][] : {bytes_type} "
            f"to {view.type}",
        ]
        place = Place(view, np.full((1, frame.threads), start, np.int64))
        lines, found = accesses(draw, frame, f"{name}{number}", place, 2)
        body += lines
        touches += found
    return Piece(tuple(body), tuple(touches), home.module, home.attributions, home.arguments)


def moving_view(draw: st.DrawFn, frame: Frame, name: str) -> Piece:
    """Draws bytes of which `memref.view` shows another part to each thread or row of threads."""
    memref = tile_type(draw, f"%w_{name}")
    size = prod(memref.shape) * ELEMENT_BYTES[memref.element]
    apart = draw(st.sampled_from((size, size + 8 * ELEMENT_BYTES[memref.element])))
    divide = draw(st.sampled_from((1, 32, 64)))
    parts = Formula(divide, draw(_STEPS), 0, 0, draw(st.integers(1, 4)), apart)
    total = size + (parts.modulo - 1) * parts.times
    home = draw(st.sampled_from(HOMES))(frame, name, f"memref<{total}xi8, #lds>")
    body = [
        *home.body,
        f"%s_{name} = affine.apply {parts.text}(%t, %c0)",
        f"{memref.name} = memref.view {home.name}[%s_{name}][] : memref<{total}xi8, #lds> "
        f"to {memref.type}",
    ]
    first = parts.of(np.arange(frame.threads)[None, :], np.zeros((1, 1), np.int64))
    lines, touches = accesses(draw, frame, name, Place(memref, first))
    return Piece((*body, *lines), tuple(touches), home.module, home.attributions, home.arguments)


PIECES: tuple[Callable[[st.DrawFn, Frame, str], Piece], ...] = (
    plain_tile,
    plain_tile,
    viewed_bytes,
    moving_view,
)
"""What kernels are made of."""


@st.composite
def kernels(
    draw: st.DrawFn, pieces: Sequence[Callable[[st.DrawFn, Frame, str], Piece]] = PIECES
) -> Kernel:
    """Draws a kernel of one to three pieces."""
    blocks: Any = st.sampled_from(
        [(64, 1, 1), (128, 1, 1), (32, 1, 1), (16, 16, 1), (32, 4, 1), (8, 4, 4), (48, 1, 1)]
    )
    frame = Frame(
        draw(st.sampled_from(Form)),
        draw(st.sampled_from(GPUS)),
        draw(blocks),
        draw(st.sampled_from(SPACES)),
        draw(st.booleans()),
    )
    drawn = [draw(st.sampled_from(pieces)) for _ in range(draw(st.integers(1, 3)))]
    return Kernel(frame, tuple(each(draw, frame, f"p{n}") for n, each in enumerate(drawn)))
