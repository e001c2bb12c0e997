# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file of AMDGPU assembly: its kernels with their code, directives and metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import yaml

from .data_sections import NO_DATA, DataError, DataImage, DataReader, uncommented
from .instruction_text import AssemblyError, Instruction, Name, Relocation, parse_instruction


@dataclass(frozen=True)
class KernelArgument:
    """A kernel argument: its place and size in the kernarg segment, and its kind."""

    offset: int
    size: int
    kind: str


@dataclass(frozen=True)
class Kernel:
    """One kernel of an assembly file.

    Attributes:
        instructions: in the order of the text; a program counter is an index into them.
        labels: for each label the index of the instruction that follows it.
        entry: the index of the instruction where a wave starts.
        directives: the values of the `.amdhsa_*` directives, by their names without the prefix.
        workgroup_size: the number of work items in x, y and z.
        data: the read-only data of the kernel's file.
    """

    name: str
    arch: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    entry: int
    directives: Mapping[str, int]
    arguments: tuple[KernelArgument, ...]
    kernarg_bytes: int
    workgroup_size: tuple[int, int, int]
    source: str = field(default="", repr=False)
    data: DataImage = field(default=NO_DATA, repr=False)

    @property
    def lds_bytes(self) -> int:
        """Returns bytes of statically allocated LDS."""
        return self.directives.get("group_segment_fixed_size", 0)

    @property
    def private_bytes(self) -> int:
        """Returns bytes of memory that each work item has for itself, as for spilled registers."""
        return self.directives.get("private_segment_fixed_size", 0)


def parse_assembly(text: str, source: str = "<text>") -> dict[str, Kernel]:
    """Returns the kernels of an assembly file, by name.

    Raises:
        AssemblyError: the text is no gfx9 assembly or is truncated, or an instruction cannot be
            read; the message starts with `source` and the line.
    """
    return _Parser(text, source).parse()


_LABEL = re.compile(r"^([.\w$]+):")
_TARGET = re.compile(r'\.amdgcn_target\s+"[^"]*-(gfx\w+?)(?::[^"]*)?"')


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.lines = text.splitlines()
        self.source = source
        self.data = DataReader()

    def error(self, line: int, message: str) -> AssemblyError:
        return AssemblyError(f"{self.source}:{line}: {message}")

    def parse(self) -> dict[str, Kernel]:
        target = next((m for line in self.lines if (m := _TARGET.search(line))), None)
        if target is None:
            raise self.error(1, "no .amdgcn_target line: not AMD GPU assembly")
        arch = target[1]
        metadata = self.metadata()
        directives = self.directives()
        if not directives:
            raise self.error(len(self.lines), "no .amdhsa_kernel block: the file is truncated")
        self.read_data()
        kernels: dict[str, Kernel] = {}
        for name, values in directives.items():
            if name not in metadata:
                raise self.error(len(self.lines), f"no metadata for kernel '{name}'")
            kernels[name] = self.kernel(name, arch, values, metadata[name])
        # One image for all: code says which entries the global offset table has.
        data = self.data.image()
        return {name: replace(kernel, data=data) for name, kernel in kernels.items()}

    def read_data(self) -> None:
        """Reads the data sections."""
        for number, line in enumerate(self.lines, 1):
            if line.strip() == ".amdgpu_metadata":
                break
            try:
                self.data.read_line(line, number)
            except DataError as error:
                raise self.error(number, str(error)) from None
        try:
            self.data.finish()
        except DataError as error:
            raise AssemblyError(f"{self.source}:{error}") from None

    def metadata(self) -> dict[str, Mapping[str, object]]:
        """Returns the `.amdgpu_metadata` document's kernels by name."""
        try:
            start = next(i for i, x in enumerate(self.lines) if x.strip() == ".amdgpu_metadata")
            end = next(i for i, x in enumerate(self.lines) if x.strip() == ".end_amdgpu_metadata")
        except StopIteration:
            raise self.error(
                len(self.lines), "no .amdgpu_metadata block: the file is truncated"
            ) from None
        try:
            document = yaml.safe_load("\n".join(self.lines[start + 1 : end]))
            return {kernel[".name"]: kernel for kernel in document["amdhsa.kernels"]}
        except (yaml.YAMLError, KeyError, TypeError):
            raise self.error(start + 1, "the metadata cannot be read") from None

    def directives(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        current: dict[str, int] | None = None
        for number, line in enumerate(self.lines, 1):
            words = line.split()
            if not words:
                continue
            if words[0] == ".amdhsa_kernel":
                current = found.setdefault(words[1], {})
            elif words[0] == ".end_amdhsa_kernel":
                current = None
            elif current is not None and words[0].startswith(".amdhsa_"):
                try:
                    current[words[0].removeprefix(".amdhsa_")] = int(words[1], 0)
                except (IndexError, ValueError):
                    raise self.error(number, f"'{line.strip()}' has no integer value") from None
        if current is not None:
            raise self.error(len(self.lines), "unfinished .amdhsa_kernel block")
        return found

    def kernel(
        self, name: str, arch: str, directives: Mapping[str, int], metadata: Mapping[str, object]
    ) -> Kernel:
        instructions: list[Instruction] = []
        labels: dict[str, int] = {}
        inside = False
        for number, line in enumerate(self.lines, 1):
            code = uncommented(line)
            while match := _LABEL.match(code):
                label = match[1]
                if label == name:
                    inside = True
                elif inside and label.startswith(".Lfunc_end"):
                    return self.complete(name, arch, instructions, labels, directives, metadata)
                elif inside:
                    labels[label] = len(instructions)
                code = code[match.end() :].strip()
            if inside and code and not code.startswith("."):
                try:
                    instructions.append(parse_instruction(code, number))
                except AssemblyError as error:
                    raise self.error(number, str(error)) from None
        raise self.error(len(self.lines), f"the code of kernel '{name}' has no end")

    def refer(self, relocation: Relocation, line: int) -> None:
        """Notes that the code needs a symbol; AssemblyError if the file does not hold it."""
        try:
            by_table = relocation.kind == "gotpcrel32"
            self.data.refer(relocation.symbol, by_table=by_table)
        except DataError as error:
            raise self.error(line, str(error)) from None

    def complete(
        self,
        name: str,
        arch: str,
        instructions: list[Instruction],
        labels: dict[str, int],
        directives: Mapping[str, int],
        metadata: Mapping[str, object],
    ) -> Kernel:
        for instruction in instructions:
            for operand in instruction.operands:
                value = operand.value
                if isinstance(value, Relocation):
                    self.refer(value, instruction.line)
                label = value.text if isinstance(value, Name) else ""
                if label.startswith(".L") and label not in labels:
                    raise self.error(instruction.line, f"no label '{label}'")
        if not instructions or not any(i.mnemonic == "s_endpgm" for i in instructions):
            raise self.error(len(self.lines), f"kernel '{name}' has no s_endpgm")
        size = metadata.get(".reqd_workgroup_size")
        if not isinstance(size, list) or len(size) != 3:
            raise self.error(len(self.lines), f"kernel '{name}' has no required workgroup size")
        arguments = metadata.get(".args", [])
        assert isinstance(arguments, list)
        return Kernel(
            name=name,
            arch=arch,
            instructions=tuple(instructions),
            labels=MappingProxyType(labels),
            entry=_entry(instructions, labels, directives),
            directives=MappingProxyType(dict(directives)),
            arguments=tuple(
                KernelArgument(a[".offset"], a[".size"], a[".value_kind"]) for a in arguments
            ),
            kernarg_bytes=int(str(metadata.get(".kernarg_segment_size", 0))),
            workgroup_size=(int(size[0]), int(size[1]), int(size[2])),
            source=self.source,
        )


def _entry(
    instructions: list[Instruction], labels: Mapping[str, int], directives: Mapping[str, int]
) -> int:
    """Returns the instruction where waves start, behind the loads of preloaded arguments.

    Firmware that preloads kernel arguments into SGPRs skips the loads that do the same for older
    firmware (LLVM AMDGPU usage, "Preloaded Kernel Arguments").
    """
    if not directives.get("user_sgpr_kernarg_preload_length", 0):
        return 0
    for index, instruction in enumerate(instructions):
        if instruction.mnemonic == "s_branch":
            target = instruction.operands[0].value
            if isinstance(target, Name) and labels.get(target.text) == index + 1:
                return index + 1
            return 0
        if not instruction.mnemonic.startswith(("s_load", "s_waitcnt")):
            return 0
    return 0
