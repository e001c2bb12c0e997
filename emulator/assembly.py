# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file of AMDGPU assembly: its kernels with their code, directives and metadata.

The text may come from any producer that follows the HSA ABI: IREE, clang, Triton, or a person.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from .chips import CDNA3, CHIPS, EMULATED_CHIPS, GENERIC_CHIPS, Chip
from .data_sections import (
    CODE_STEP,
    NO_DATA,
    DataError,
    DataImage,
    DataReader,
    code_place,
    uncommented,
)
from .directives import largest_values
from .function_code import CodeReader, FunctionCode
from .high_registers import named_high_registers, with_high_registers
from .instruction_text import AssemblyError, Instruction, Name
from .kernel_metadata import (
    ARCH,
    KernelArgument,
    KernelMetadata,
    Metadata,
    MetadataError,
    parse_metadata,
)
from .numbered_labels import with_names
from .register_counts import missing_registers
from .source_locations import SourceLine
from .symbol_names import source_names


@dataclass(frozen=True)
class Kernel:
    """One kernel of an assembly file.

    Attributes:
        arch: the chip, such as `gfx942`.
        instructions: in the order of the text; a program counter is an index into them.
        labels: for each label the index of the instruction that follows it.
        entry: the index of the instruction where a wave starts.
        directives: the values of the `.amdhsa_*` directives, by their names without the prefix.
        metadata: the arguments, and the workgroup sizes that the kernel may have.
        locations: for each instruction the line of the source that it was made from, where the
            file says so.
        source: the name of the file, for messages.
        data: the data of the kernel's file.
        places: for each instruction its place in the file (`data_sections`).
        functions: for each function that the kernel reaches the index of its first instruction;
            their code stands behind the kernel's own.
        place_step: by how much the place behind an instruction of 4 bytes differs from its own.
        base: the address of the file, once it is linked.
        sram_ecc: whether the chip's registers have error correction, so that a load of half a
            register clears the other half (LLVM, GCNSubtarget, d16PreservesUnusedBits; Tensile's
            HasEccHalf). It is on unless the target identifier says `sramecc-`.
    """

    name: str
    arch: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    entry: int
    directives: Mapping[str, int]
    metadata: KernelMetadata
    locations: tuple[SourceLine | None, ...] = field(repr=False)
    source: str = field(default="", repr=False)
    data: DataImage = field(default=NO_DATA, repr=False)
    places: tuple[int, ...] = field(default=(), repr=False)
    functions: tuple[int, ...] = field(default=(), repr=False)
    place_step: int = CODE_STEP
    base: int = 0
    sram_ecc: bool = False

    @property
    def chip(self) -> Chip:
        """Returns what the chip has that the kernel is for."""
        return _chip(self.arch)

    @property
    def lanes(self) -> int:
        """Returns the lanes of a wave."""
        return _lanes(self.chip, self.directives)

    @property
    def arguments(self) -> tuple[KernelArgument, ...]:
        """Returns the arguments in the kernarg segment, hidden ones among them."""
        return self.metadata.arguments

    @property
    def kernarg_bytes(self) -> int:
        """Returns the size of the kernarg segment."""
        return self.metadata.kernarg_bytes

    @property
    def lds_bytes(self) -> int:
        """Returns bytes of statically allocated LDS."""
        return self.directives.get("group_segment_fixed_size", 0)

    @property
    def private_bytes(self) -> int:
        """Returns bytes of memory that each work item has for itself, as for spilled registers.

        To what the kernel states comes a stack where it calls functions that call themselves, or
        that nobody knows: the emulator gives it what LLVM once added for such a call
        (AMDGPUResourceUsageAnalysis, AssumedStackSizeForExternalCall).
        """
        stated = self.directives.get("private_segment_fixed_size", 0)
        return stated + (DYNAMIC_STACK_BYTES if self.directives.get("uses_dynamic_stack") else 0)


DYNAMIC_STACK_BYTES = 1 << 14
"""The stack of a work item whose depth no compiler knows."""


def _chip(arch: str) -> Chip:
    """Returns the row of a chip; of one that is not emulated that of another, to read its text."""
    return CHIPS.get(arch, CHIPS[CDNA3])


def _lanes(chip: Chip, directives: Mapping[str, int]) -> int:
    narrow = directives.get("wavefront_size32", int(chip.wave_sizes[0] == 32))
    return 32 if narrow else 64


def parse_assembly(text: str, source: str = "<text>") -> dict[str, Kernel]:
    """Returns the kernels of an assembly file, by name.

    Raises:
        AssemblyError: the text is no assembly of AMD GPUs or is truncated, or an instruction
            cannot be read; the message starts with `source` and the line.
    """
    file = AssemblyFile(text, source)
    kernels = {name: file.kernel(name) for name in file.directives}
    # One image for all: code says which entries the global offset table has.
    data = file.data.image()
    return {name: replace(kernel, data=data) for name, kernel in kernels.items()}


def parse_kernel(text: str, source: str = "<text>", name: str = "", arch: str = "") -> Kernel:
    """Returns one kernel of an assembly file; what the others hold does not matter.

    Args:
        name: the kernel's symbol, or its name in a C++ source (`symbol_names`), which may be empty
            if the file holds only one.
        arch: the chip that the kernel must be for; empty for whatever the file says.

    Raises:
        AssemblyError: the file holds no such kernel, or `parse_assembly` would raise the error.
    """
    return chosen_kernel(AssemblyFile(text, source, arch), name, arch)


def named_chip(text: str) -> str:
    """Returns the chip that an assembly file names in its `.amdgcn_target`; empty if none."""
    target = next((m[1] for line in text.split("\n") if (m := _TARGET.match(line))), "")
    found = ARCH.search(target)
    return found[1] if found else ""


def chosen_kernel(file: AssemblyFile, name: str, arch: str) -> Kernel:
    """Returns a kernel of a file, as `parse_kernel` does."""
    source = file.source
    if file.arch not in EMULATED_CHIPS:
        raise AssemblyError(
            f"{source}: the assembly is for {file.arch}; the emulator runs "
            f"{', '.join(EMULATED_CHIPS)}"
        )
    if arch and file.arch != arch:
        raise AssemblyError(f"{source}: the assembly is for {file.arch}, not for {arch}")
    return replace(file.kernel(_chosen(file, name)), data=file.image())


def _chosen(file: AssemblyFile, name: str) -> str:
    """Returns the symbol of the kernel that a name denotes; AssemblyError if there is not one."""
    symbols = list(file.directives)
    if name in symbols:
        return name
    found = [each for each in symbols if not name or name in source_names(each)]
    if len(found) == 1:
        return found[0]
    if not found:
        what = f"no kernel '{name}'; the file holds {', '.join(symbols)}"
    else:
        named = f" '{name}'" if name else ", name one with --kernel"
        what = f"several kernels{named}: {', '.join(found)}"
    raise AssemblyError(f"{file.source}: {what}")


_TARGET = re.compile(r'^\s*\.amdgcn_target\s+"([^"]*)"')
_BLOCK_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"|;[^\n]*|//[^\n]*)|/\*.*?\*/', re.DOTALL)
# Registers are counted in the code itself.
_NOT_NEEDED = ("next_free_vgpr", "next_free_sgpr", "inst_pref_size", "named_barrier_count")


class AssemblyFile:
    """The text of a file; what concerns all kernels is read at once, and a kernel when asked for.

    Attributes:
        arch: the chip that the code is for.
        high_registers: the registers above v255 that comments name, by lines.
        directives: for each kernel the lines and values of its `.amdhsa_*` directives, as texts.
        place_step: by how much the place behind an instruction of 4 bytes differs from its own.
        metadata: what the metadata says of each kernel.
    """

    place_step = CODE_STEP

    def __init__(self, text: str, source: str, arch: str = "") -> None:
        self.source = source
        self.high_registers = named_high_registers(text_lines(text)) if "/*v" in text else {}
        self.lines = with_names(text_lines(_without_block_comments(text)))
        self.data = DataReader()
        target = next((m[1] for line in self.lines if (m := _TARGET.match(line))), None)
        if target is None and not any(".amdhsa_kernel" in line for line in self.lines):
            raise self.error(1, "no .amdgcn_target line: not AMD GPU assembly")
        document = self.read_metadata()
        target = target or document.target
        found = ARCH.search(target)
        named = found[1] if found else arch
        # Code for several chips runs on each of them.
        generic = GENERIC_CHIPS.get(named, ())
        self.arch = arch if arch in generic else generic[0] if generic else named
        if not self.arch:
            raise self.error(1, "the file names no chip: no .amdgcn_target line")
        self.sram_ecc = _chip(self.arch).has_sram_ecc and ":sramecc-" not in target
        self.metadata = document.kernels
        self.directives = self.read_directives()
        if not self.directives:
            raise self.error(len(self.lines), "no .amdhsa_kernel block: the file is truncated")
        self.read_data()

    def error(self, line: int, message: str) -> AssemblyError:
        return AssemblyError(f"{self.source}:{line}: {message}")

    def read_data(self) -> None:
        """Reads the data sections, and refuses directives that the emulator does not know."""
        in_metadata = False
        for number, line in enumerate(self.lines, 1):
            if line.strip() in (".amdgpu_metadata", ".end_amdgpu_metadata"):
                in_metadata = not in_metadata
                continue
            if in_metadata:
                continue
            try:
                self.data.read_line(line, number)
            except DataError as error:
                raise self.error(number, str(error)) from None
        try:
            self.data.finish()
        except DataError as error:
            raise AssemblyError(f"{self.source}:{error}") from None

    def read_metadata(self) -> Metadata:
        start, end = self.metadata_lines()
        try:
            return parse_metadata("\n".join(self.lines[start + 1 : end]), start + 2)
        except MetadataError as error:
            raise self.error(start + 1, str(error)) from None

    def metadata_lines(self) -> tuple[int, int]:
        """Returns the indices of the lines before and behind the metadata."""
        try:
            start = next(i for i, x in enumerate(self.lines) if x.strip() == ".amdgpu_metadata")
            end = next(i for i, x in enumerate(self.lines) if x.strip() == ".end_amdgpu_metadata")
        except StopIteration:
            raise self.error(
                len(self.lines), "no .amdgpu_metadata block: the file is truncated"
            ) from None
        return start, end

    def read_directives(self) -> dict[str, dict[str, tuple[int, str]]]:
        found: dict[str, dict[str, tuple[int, str]]] = {}
        current: dict[str, tuple[int, str]] | None = None
        for number, line in enumerate(self.lines, 1):
            word, *rest = uncommented(line).split(None, 1) or [""]
            text = rest[0] if rest else ""
            if word == ".amdhsa_kernel":
                if text.strip('"') in found:
                    raise self.error(number, f"two kernels have the name '{text}'")
                current = found[text.strip('"')] = {}
            elif word == ".end_amdhsa_kernel":
                current = None
            elif current is not None and word.startswith(".amdhsa_"):
                current[word.removeprefix(".amdhsa_")] = number, text
        if current is not None:
            raise self.error(len(self.lines), "unfinished .amdhsa_kernel block")
        return found

    def largest_values(self) -> Mapping[str, int]:
        """Returns the largest value of each directive that the emulator knows."""
        return largest_values(_chip(self.arch))

    def directive_values(self, name: str) -> dict[str, int]:
        """Returns the values of a kernel's directives; AssemblyError if one cannot be read."""
        values: dict[str, int] = {}
        largest = self.largest_values()
        for directive, (line, text) in self.directives[name].items():
            if directive not in largest:
                unknown = f"the emulator does not know the directive '.amdhsa_{directive}'"
                raise self.error(line, unknown)
            try:
                value = values[directive] = self.data.number(text)
                if not 0 <= value <= largest[directive]:
                    message = f"{value} is not from 0 to {largest[directive]}"
                    raise self.error(line, f"'.amdhsa_{directive} {text}': {message}")
            except DataError as error:
                if directive not in _NOT_NEEDED:
                    message = f"'.amdhsa_{directive} {text}' has no integer value: {error}"
                    raise self.error(line, message) from None
        return values

    def kernel(self, name: str) -> Kernel:
        """Returns one of the kernels that `directives` has; AssemblyError if it cannot be read."""
        if name not in self.metadata:
            raise self.error(len(self.lines), f"no metadata for kernel '{name}'")
        directives = self.directive_values(name)
        chip = _chip(self.arch)
        self.check_wave_size(name, chip, directives)
        code = self.read_code(name, chip, _lanes(chip, directives))
        with_high_registers(code, chip, self.high_registers, self.error)
        if not any(i.mnemonic == "s_endpgm" for i in code.instructions):
            raise self.error(len(self.lines), f"kernel '{name}' has no s_endpgm")
        lanes = _lanes(chip, directives)
        if missing := missing_registers(code.instructions, directives, chip, lanes):
            raise self.error(missing.line, missing.message)
        return Kernel(
            name=name,
            arch=self.arch,
            instructions=tuple(code.instructions),
            labels=MappingProxyType(code.labels),
            entry=_entry(code, directives),
            directives=MappingProxyType(dict(directives)),
            metadata=self.metadata[name],
            locations=tuple(code.locations),
            source=self.source,
            places=tuple(map(self.place, code.instructions)),
            place_step=self.place_step,
            functions=tuple(code.functions),
            sram_ecc=self.sram_ecc,
        )

    def read_code(self, name: str, chip: Chip, lanes: int) -> FunctionCode:
        """Returns the code of a kernel with what it reaches."""
        return CodeReader(self.lines, self.data, chip, lanes, self.error).read(name)

    def place(self, instruction: Instruction) -> int:
        """Returns the place of an instruction in the file."""
        return code_place(instruction.line)

    def image(self) -> DataImage:
        """Returns the data of the file, for the kernels that were read."""
        return self.data.image()

    def check_wave_size(self, name: str, chip: Chip, directives: Mapping[str, int]) -> None:
        """Refuses waves of a size that the chip has not."""
        lanes = _lanes(chip, directives)
        if lanes not in chip.wave_sizes:
            line, text = self.directives[name]["wavefront_size32"]
            has = f"a wave of {chip.name} has {chip.wave_sizes[0]} lanes"
            raise self.error(line, f"'.amdhsa_wavefront_size32 {text}': {has}")


def text_lines(text: str) -> list[str]:
    """Returns the lines of an assembly file as an assembler counts them.

    `str.splitlines` also ends lines where an assembler does not, as at a form feed in a comment.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def _without_block_comments(text: str) -> str:
    """Returns the text with blank lines where comments between `/*` and `*/` stood."""
    if "/*" not in text:
        return text
    return _BLOCK_COMMENT.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text)


def _entry(code: FunctionCode, directives: Mapping[str, int]) -> int:
    """Returns the instruction where waves start, behind the header of preloaded arguments.

    Firmware that preloads kernel arguments into SGPRs skips the first 256 bytes. There the code
    does the same for older firmware by loads, or stops it by a trap (LLVM AMDGPU usage, "Preloaded
    Kernel Arguments").
    """
    start = code.start
    if not directives.get("user_sgpr_kernarg_preload_length", 0):
        return start
    if code.instructions[start].mnemonic == "s_trap":
        return start + 1
    for index, instruction in enumerate(code.instructions[start:], start):
        if instruction.mnemonic == "s_branch":
            target = instruction.operands[0].value if instruction.operands else None
            if isinstance(target, Name) and code.labels.get(target.text) == index + 1:
                return index + 1
            return start
        if not instruction.mnemonic.startswith(("s_load", "s_waitcnt", "s_wait_kmcnt")):
            return start
    return start
