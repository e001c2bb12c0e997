# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's layouts as text: attributes of its IR, and what Gluon's layouts print.

Both become an `Encoding`, a name with fields, under the names of the IR:

    #ttg.blocked<{sizePerThread = [1, 8], ..., order = [1, 0]}>
    BlockedLayout(size_per_thread=[1, 8], ..., order=[1, 0], cga_layout=[])

Definitions such as `#mma = #ttg.amd_mfma<...>` may stand before what uses them, and the type of a
tensor or of memory around an attribute, as in `!ttg.memdesc<64x64xf16, #ttg.swizzled_shared<...>,
#ttg.shared_memory>`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from .tile_errors import LayoutTextError, shortened

Value: TypeAlias = "int | bool | str | list[Value] | dict[str, Value] | Encoding | None"

_TOKEN = re.compile(
    r"\s*(?:(-?\d{1,9})(?![\w.])|((?:#|!)?[A-Za-z_][\w.]*)|(\d+(?:x\d+)*x[a-zA-Z]\w*)"
    r"|([<>{}()\[\]=,:+-]))"
)
_DEEPEST = 12
"""Levels of brackets."""
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "BlockedLayout": "blocked",
        "SliceLayout": "slice",
        "DistributedLinearLayout": "linear",
        "DotOperandLayout": "dot_op",
        "NVMMADistributedLayout": "nvidia_mma",
        "AMDMFMALayout": "amd_mfma",
        "AMDWMMALayout": "amd_wmma",
        "NVMMASharedLayout": "nvmma_shared",
        "SwizzledSharedLayout": "swizzled_shared",
        "PaddedSharedLayout": "padded_shared",
        "SharedLinearLayout": "shared_linear",
        "PartitionedSharedLayout": "partitioned_shared",
        "shared": "swizzled_shared",
    }
)
"""What Gluon, and older releases, call what today's IR calls otherwise."""
_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "swizzle_byte_width": "swizzlingByteWidth",
        "element_bitwidth": "elementBitWidth",
        "fp4_padded": "fp4Padded",
        "warps_per_cta": "warpsPerCTA",
        "cga_layout": "CGALayout",
        "operand_index": "opIdx",
        "offset_bases": "offset",
        "block_bases": "block",
        "reg_bases": "register",
        "lane_bases": "lane",
        "warp_bases": "warp",
        "interval_padding_pairs": "gaps",
    }
)


@dataclass(frozen=True, eq=False)
class Encoding:
    """A layout of Triton's: its name in the IR, and its fields."""

    name: str
    fields: Mapping[str, Value]

    def refuse(self, reason: str) -> LayoutTextError:
        """Returns the error that names the layout."""
        return LayoutTextError(f"{self.name}: {reason}")

    def check(self, known: Collection[str]) -> None:
        """Raises LayoutTextError where there is a field that is not `known`."""
        for name in self.fields:
            if name not in known and name not in _CLUSTER:
                raise self.refuse(f"its field {shortened(name)} is not read")
        for name, value in self.fields.items():
            splits = _CLUSTER.get(name)
            if splits is not None and any(each != splits for each in _flat(value)):
                raise self.refuse(
                    f"{name} shares the tensor out among blocks; give the tile of one block, "
                    f"without {name}"
                )

    def number(self, name: str, default: int | None = None) -> int:
        """Returns a field that is a number; raises LayoutTextError where it is none."""
        value = self.fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(f"it needs {name} = a number")
        return value

    def truth(self, name: str, default: bool = False) -> bool:
        """Returns a field that is true or false."""
        value = self.fields.get(name, default)
        if not isinstance(value, bool):
            raise self.refuse(f"{name} is true or false")
        return value

    def numbers(self, name: str, default: list[int] | None = None) -> list[int]:
        """Returns a field that is a list of numbers."""
        value = self.fields.get(name, default)
        if not isinstance(value, list) or any(type(each) is not int for each in value):
            raise self.refuse(f"it needs {name} = a list of numbers, as in [1, 0]")
        return [each for each in value if isinstance(each, int)]

    def bases(self, name: str) -> list[tuple[int, ...]]:
        """Returns a field that is a list of coordinates; none where there is no such field."""
        value = self.fields.get(name, [])
        if not isinstance(value, list):
            raise self.refuse(f"{name} is a list of coordinates, as in [[0, 1], [0, 2]]")
        return [tuple(Encoding(self.name, {name: each}).numbers(name)) for each in value]

    def inner(self, name: str) -> Encoding:
        """Returns a field that is a layout of its own."""
        value = self.fields.get(name)
        if not isinstance(value, Encoding):
            raise self.refuse(f"it needs {name} = a layout, such as #ttg.amd_mfma<...>")
        return value


_CLUSTER: Mapping[str, int] = MappingProxyType(
    {"CGALayout": 0, "block": 0, "CTAsPerCGA": 1, "CTASplitNum": 1, "CTAOrder": -1}
)
"""Fields on a cluster of blocks, and the number of which they consist where each has the tile."""


def _flat(value: Value) -> list[int]:
    """Returns the numbers of nested lists, without those of an order, which shares out nothing."""
    if isinstance(value, list):
        return [number for each in value for number in _flat(each)]
    return [value] if isinstance(value, int) else []


def triton_encoding(text: str) -> Encoding:
    """Returns the last layout that a text defines.

    Raises:
        LayoutTextError: it is no text of Triton's.
    """
    reader = _Reader(_tokens(text))
    found: Value = None
    while reader.rest:
        found = reader.definition()
    while isinstance(found, dict):
        encodings = [each for each in found.values() if isinstance(each, Encoding)]
        found = encodings[0] if encodings else None
    if not isinstance(found, Encoding):
        raise LayoutTextError("it names no layout of Triton's, such as #ttg.swizzled_shared<...>")
    return found


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise LayoutTextError(f"'{shortened(text[position:])}' is not read in it")
        found.append(match[0].strip())
        position = match.end()
    return found


class _Reader:
    """Reads values from tokens, the next one last."""

    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens[::-1]
        self.defined: dict[str, Value] = {}
        self.depth = 0

    def next(self, expected: str = "") -> str:
        token = self.rest.pop() if self.rest else ""
        if not token or (expected and token != expected):
            wanted = f"'{expected}'" if expected else "more"
            raise LayoutTextError(f"{wanted} is missing before '{shortened(token) or 'its end'}'")
        return token

    def takes(self, token: str) -> bool:
        if self.rest and self.rest[-1] == token:
            self.rest.pop()
            return True
        return False

    def definition(self) -> Value:
        """Reads `#name = value`, or a value alone."""
        if len(self.rest) > 1 and self.rest[-1].startswith("#") and self.rest[-2] == "=":
            name = self.next()
            self.next("=")
            self.defined[name] = self.value()
            return self.defined[name]
        return self.value()

    def value(self) -> Value:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise LayoutTextError("its brackets are nested too deeply")
        found = self._value()
        self.depth -= 1
        return found

    def _value(self) -> Value:
        token = self.next()
        if token == "[":
            return self.items("]")
        if token == "{":
            return self.fields("}")
        if token.lstrip("-").isdecimal():
            if self.takes(":"):
                # A gap of `padded_shared`, `512:+8`.
                self.next("+")
                return [int(token), self.value()]
            return int(token)
        words: dict[str, Value] = {"true": True, "false": False, "none": None}
        if token.lower() in words:
            return words[token.lower()]
        if not re.match(r"[#!\w]", token):
            raise LayoutTextError(f"a value is missing before '{token}'")
        if self.takes("("):
            return self.gluon(token)
        if self.takes("<"):
            return self.encoding(token)
        return self.defined.get(token, token)

    def items(self, end: str) -> list[Value]:
        found: list[Value] = []
        while not self.takes(end):
            found.append(self.value())
            if not self.takes(","):
                self.next(end)
                break
        return found

    def fields(self, end: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not self.takes(end):
            name = self.next()
            self.next("=")
            if name in found:
                raise LayoutTextError(f"it names {shortened(name)} twice")
            found[name] = self.value()
            if not self.takes(","):
                self.next(end)
                break
        return found

    def encoding(self, name: str) -> Value:
        """Reads what stands between `<` and `>`: gaps, fields in braces and without."""
        plain = name.rpartition(".")[2]
        if plain in ("memdesc", "tensor"):
            parts = self.items(">")
            return {str(place): each for place, each in enumerate(parts)}
        found: dict[str, Value] = {}
        while not self.takes(">"):
            if self.takes("["):
                found["gaps"] = self.items("]")
            elif self.takes("{"):
                found |= self.fields("}")
            else:
                field = self.next()
                self.next("=")
                found[field] = self.value()
            self.takes(",")
        return Encoding(_NAMES.get(plain, plain), MappingProxyType(found))

    def gluon(self, name: str) -> Encoding:
        """Reads the arguments of a layout of Gluon's."""
        kind = name.rpartition(".")[2]
        if kind not in _NAMES:
            raise LayoutTextError(f"{shortened(kind)} is no layout of Gluon's that is read")
        encoding = _NAMES[kind]
        found = {
            _FIELDS.get(field) or _camel(field): value for field, value in self.fields(")").items()
        }
        if encoding == "amd_mfma" and "transposed" in found:
            found["isTransposed"] = found.pop("transposed")
        version = found.get("version")
        if encoding == "nvidia_mma" and isinstance(version, list) and len(version) == 2:
            found |= {"versionMajor": version[0], "versionMinor": version[1]}
            del found["version"]
        # What is left at its default is no field of the IR.
        kept = {field: value for field, value in found.items() if value is not None}
        return Encoding(encoding, MappingProxyType(kept))


def _camel(field: str) -> str:
    first, *others = field.split("_")
    return first + "".join(each.capitalize() for each in others)
