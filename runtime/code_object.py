# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code objects of AMD GPUs: ELF files (`.co`, `.hsaco`), and bundles of them.

pyelftools reads data, symbols and relocations, and LLVM's tools disassemble the code. Bundles are
those of `clang-offload-bundler` ("Clang Offload Bundler", Bundled Binary File Layout; compressed
ones are documented in clang/lib/Driver/OffloadBundler.cpp alone), and the kernel descriptor is that
of "User Guide for AMDGPU Backend", Kernel Descriptor.
"""

from __future__ import annotations

import io
import re
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..emulator.chips import GENERIC_CHIPS
from ..emulator.data_sections import DataImage, DataRelocation, Region, UnknownData, Variable
from ..emulator.instruction_text import AssemblyError
from .llvm_tools import LlvmToolError, linked, run_tool

_ELF, _BUNDLE, _COMPRESSED = b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_TARGET = re.compile(r"-(gfx[\w-]*?)(?::.*)?$")
_RELATIVE64, _ABS64, _ABS32 = 13, 3, 6
_WIDTHS = {_RELATIVE64: 8, _ABS64: 8, _ABS32: 4}


class CodeObject(NamedTuple):
    """What a code object holds: its disassembly with directives and metadata, and its data."""

    text: str
    data: DataImage


def is_code_object(contents: bytes) -> bool:
    """Returns whether a file is an ELF file or a bundle."""
    return contents.startswith((_ELF, _BUNDLE, _COMPRESSED))


def read_code_object(contents: bytes, source: str, arch: str = "") -> CodeObject:
    """Returns a code object's disassembly and data.

    Args:
        source: the name of the file, for messages.
        arch: the chip, by which one of a bundle is chosen; empty for the only one.

    Raises:
        AssemblyError: it is no code object of an AMD GPU, or what disassembles it is missing.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise AssemblyError(
            f"{source}: code objects are read by pyelftools: pip install pyelftools"
        ) from None
    try:
        single = _unbundled(contents, source, arch)
        elf = ELFFile(io.BytesIO(single))
        if elf.header.e_machine != "EM_AMDGPU":
            raise AssemblyError(f"{source}: it is an ELF file for {elf.header.e_machine}, no GPU's")
        if elf.header.e_type == "ET_REL":
            single = linked(single)
            elf = ELFFile(io.BytesIO(single))
        data = _data(elf)
        text = _disassembled(single, elf)
    except LlvmToolError as error:
        raise AssemblyError(f"{source}: {error}") from None
    except (ELFError, struct.error, ValueError, KeyError, AttributeError, UnicodeError) as error:
        if isinstance(error, AssemblyError):
            raise
        raise AssemblyError(f"{source}: it is no code object that can be read: {error}") from None
    return CodeObject(text, data)


# -- bundles ---------------------------------------------------------------------------------------


def _unbundled(contents: bytes, source: str, arch: str) -> bytes:
    """Returns the code object itself, which a bundle may hold for several chips."""
    if contents.startswith(_COMPRESSED):
        contents = _decompressed(contents, source)
    if not contents.startswith(_BUNDLE):
        return contents
    entries = [(chip, part) for chip, part in _bundle_entries(contents) if part]
    chips = ", ".join(chip for chip, _ in entries)
    fitting = [(chip, part) for chip, part in entries if not arch or _runs_on(chip, arch)]
    if len(fitting) == 1:
        return fitting[0][1]
    what = f"nothing for {arch}" if arch else "several code objects; choose one by --target"
    raise AssemblyError(f"{source}: the bundle holds {what}: {chips or 'none for a GPU'}")


_HEADERS = {1: "<4x2xHI8x", 2: "<4x2xH4xI8x", 3: "<4x2xH8xQ8x"}
"""The header of a compressed bundle by its version, of which are read the method and the bytes of
what is compressed."""
_ZLIB, _ZSTD = 0, 1
_MOST_BYTES = 1 << 31


def _decompressed(contents: bytes, source: str) -> bytes:
    """Returns the bundle that a compressed one holds."""
    (version,) = struct.unpack_from("<4xH", contents)
    if version not in _HEADERS:
        known = ", ".join(map(str, _HEADERS))
        raise AssemblyError(
            f"{source}: the compressed bundle has version {version}, where {known} are known"
        )
    method, size = struct.unpack_from(_HEADERS[version], contents)
    if method not in (_ZLIB, _ZSTD):
        raise AssemblyError(f"{source}: the bundle is compressed by an unknown method {method}")
    if size > _MOST_BYTES:
        raise AssemblyError(f"{source}: the bundle would have {size} bytes, more than 2 GiB")
    packed = contents[struct.calcsize(_HEADERS[version]) :]
    try:
        # One byte more, to see whether there is more than the header says.
        found = (
            _read_zstd(packed, size + 1, source) if method == _ZSTD else _read_zlib(packed, size)
        )
    except (zlib.error, OSError) as error:
        raise AssemblyError(f"{source}: the bundle cannot be decompressed: {error}") from None
    if len(found) != size:
        raise AssemblyError(f"{source}: the bundle does not have the {size} bytes that it states")
    return found


def _read_zlib(packed: bytes, size: int) -> bytes:
    return zlib.decompressobj().decompress(packed, size + 1)


def _read_zstd(packed: bytes, count: int, source: str) -> bytes:
    """Returns up to `count` bytes of what zstd has compressed.

    Python has it from 3.14 on.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        with zstd.ZstdFile(io.BytesIO(packed)) as file:
            return bytes(file.read(count))
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise AssemblyError(
            f"{source}: the bundle is compressed by zstd: pip install zstandard, or take a code "
            "object out by `clang-offload-bundler --unbundle`"
        ) from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as file:
            return bytes(file.read(count))
    except zstandard.ZstdError as error:
        raise OSError(error) from None


def _runs_on(chip: str, arch: str) -> bool:
    return chip == arch or arch in GENERIC_CHIPS.get(chip, ())


def _bundle_entries(contents: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the chips and the code objects of a bundle."""
    at = len(_BUNDLE)
    (count,) = struct.unpack_from("<Q", contents, at)
    at += 8
    for _ in range(min(count, 1 << 10)):
        offset, size, length = struct.unpack_from("<QQQ", contents, at)
        name = contents[at + 24 : at + 24 + length].decode(errors="replace")
        at += 24 + length
        if found := _TARGET.search(name):
            yield found[1], contents[offset : offset + size]


# -- data ------------------------------------------------------------------------------------------


def _data(elf: Any) -> DataImage:
    """Returns the sections that are loaded and hold no code, by their addresses."""
    loaded = [
        section
        for section in elf.iter_sections()
        if section["sh_flags"] & 2 and section["sh_size"] and section.name != ".relro_padding"
    ]
    protected = [
        (segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"])
        for segment in elf.iter_segments()
        if segment["p_type"] == "PT_GNU_RELRO"
    ]
    regions = [
        Region(section["sh_addr"], section.data(), _is_writable(section, protected))
        for section in loaded
        if not section["sh_flags"] & 4 and section["sh_type"] in ("SHT_PROGBITS", "SHT_NOBITS")
    ]
    symbols = {
        symbol.name: symbol
        for table in elf.iter_sections()
        if table["sh_type"] in ("SHT_SYMTAB", "SHT_DYNSYM")
        for symbol in table.iter_symbols()
        if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"
    }
    relocations, unknown = _relocations(elf)
    return DataImage(
        tuple(sorted(regions, key=lambda region: region.start)),
        {
            name: symbol["st_value"]
            for name, symbol in symbols.items()
            if any(region.start <= symbol["st_value"] < region.end for region in regions)
        },
        tuple(relocations),
        unknown=tuple(unknown),
        variables={
            name: Variable(symbol["st_value"], symbol["st_size"])
            for name, symbol in symbols.items()
            if symbol["st_size"] and _variable_lies_in(symbol["st_value"], regions)
        },
        end=max((section["sh_addr"] + section["sh_size"] for section in loaded), default=0),
    )


def _is_writable(section: Any, protected: list[tuple[int, int]]) -> bool:
    start = section["sh_addr"]
    return bool(section["sh_flags"] & 1) and not any(low <= start < end for low, end in protected)


def _variable_lies_in(place: int, regions: list[Region]) -> bool:
    return any(region.writable and region.start <= place < region.end for region in regions)


def _relocations(elf: Any) -> tuple[list[DataRelocation], list[UnknownData]]:
    """Returns the places that hold addresses, and those of symbols that nobody defines."""
    found: list[DataRelocation] = []
    unknown: list[UnknownData] = []
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_RELA":
            continue
        symbols = elf.get_section(section["sh_link"])
        for each in section.iter_relocations():
            kind, place, target = each["r_info_type"], each["r_offset"], each["r_addend"]
            width = _WIDTHS.get(kind)
            if width is None:
                raise AssemblyError(f"a relocation of kind {kind} is not known")
            if kind != _RELATIVE64:
                symbol = symbols.get_symbol(each["r_info_sym"])
                if symbol["st_shndx"] == "SHN_UNDEF":
                    reason = f"the code object defines no symbol '{symbol.name}'"
                    unknown.append(UnknownData(place, width, reason))
                    continue
                target += symbol["st_value"]
            found.append(DataRelocation(place, width, target))
    return found, unknown


# -- code ------------------------------------------------------------------------------------------


def _disassembled(contents: bytes, elf: Any) -> str:
    """Returns what LLVM prints of a code object's code, descriptors and metadata."""
    named = [s.name for s in elf.iter_sections() if s["sh_flags"] & 4 and s["sh_size"]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "object")
        path.write_bytes(contents)
        chosen = [word for name in (*named, ".rodata") for word in ("-j", name)]
        code = run_tool("llvm-objdump", ["-d", *chosen, str(path)])
        notes = run_tool("llvm-readelf", ["-h", "--notes", str(path)]).decode(errors="replace")
    completed = _with_user_scalars(code.decode(errors="replace"), elf)
    # The metadata need not name the chip, but the header does.
    chip = _FLAGS.search(notes)
    target = f'.amdgcn_target "amdgcn-amd-amdhsa--{_target(chip)}"\n' if chip else ""
    return f"{completed}\n{target}{notes}"


_FLAGS = re.compile(r"^\s*Flags:.*?\b(gfx[\w-]+)(.*)", re.MULTILINE)


def _target(flags: re.Match[str]) -> str:
    """Returns a chip with its settings, as `gfx942:sramecc-`, of what llvm-readelf prints."""
    chip, settings = flags.groups()
    return ":".join([chip, *re.findall(r"\b(?:xnack|sramecc)[+-]", settings)])


_KERNEL = re.compile(r"^\.amdhsa_kernel (\S+)$", re.MULTILINE)


def _with_user_scalars(code: str, elf: Any) -> str:
    """Adds what llvm-objdump leaves out of kernel descriptors: how many user SGPRs there are."""
    descriptors = dict(_descriptors(elf))

    def completed(found: re.Match[str]) -> str:
        descriptor = descriptors.get(found[1])
        if descriptor is None:
            return found[0]
        resources, preload = struct.unpack_from("<4xI2xH", descriptor, 48)
        lines = [f"\t.amdhsa_user_sgpr_count {resources >> 1 & 0x1F}"]
        if preload & 0x7F and "preload_length" not in code:
            lines.append(f"\t.amdhsa_user_sgpr_kernarg_preload_length {preload & 0x7F}")
            lines.append(f"\t.amdhsa_user_sgpr_kernarg_preload_offset {preload >> 7}")
        return "\n".join([found[0], *lines])

    return _KERNEL.sub(completed, code)


def _descriptors(elf: Any) -> Iterator[tuple[str, bytes]]:
    """Yields the names of the kernels, and their descriptors of 64 bytes."""
    sections = list(elf.iter_sections())
    for table in sections:
        if table["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
            continue
        for symbol in table.iter_symbols():
            if symbol.name.endswith(".kd") and isinstance(symbol["st_shndx"], int):
                section = sections[symbol["st_shndx"]]
                start = symbol["st_value"] - section["sh_addr"]
                yield symbol.name.removesuffix(".kd"), section.data()[start : start + 64]
