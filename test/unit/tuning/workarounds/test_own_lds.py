# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are compiled together get the LDS that each of them needs."""

from __future__ import annotations

import re

import pytest

from bankwise.dialect_utils.kernels import variants_of
from bankwise.tuning.workarounds.own_lds import separate_lds, shares_lds

from ...functions import parse

pytestmark = pytest.mark.usefixtures("context")

LAYOUT = "#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>"


def address(number: int, offset: int) -> str:
    """Returns the address of an allocation, as IREE computes it, and stores the offset."""
    return f"""
      %m{number} = llvm.mlir.addressof @__dynamic_shared_memory__ : !llvm.ptr<3>
      %z{number} = llvm.mlir.constant(0 : i64) : i64
      %o{number} = llvm.mlir.constant({offset} : i64) : i64
      %p{number} = llvm.getelementptr %m{number}[%z{number}, %o{number}]
          : (!llvm.ptr<3>, i64, i64) -> !llvm.ptr<3>, !llvm.array<0 x i8>
      llvm.store %o{number}, %p{number} : i64, !llvm.ptr<3>"""


def module(backend: str, total: int, **offsets: tuple[int, ...]) -> str:
    """Returns an executable with kernels whose allocations begin at these offsets."""
    exports = "\n".join(
        f"hal.executable.export public @{name} ordinal({number}) layout({LAYOUT}) "
        f"<workgroup_local_memory = {total}>"
        for number, name in enumerate(offsets)
    )
    functions = "\n".join(
        f"llvm.func @{name}() {{{''.join(map(address, range(9), places))}\nllvm.return\n}}"
        for name, places in offsets.items()
    )
    return f"""
      module {{
        hal.executable private @e {{
          hal.executable.variant public @v target(<"{backend}", "f">) {{
            {exports}
            builtin.module {{
              llvm.mlir.global external @__dynamic_shared_memory__()
                  {{addr_space = 3 : i32}} : !llvm.array<0 x i8>
              {functions}
            }}
          }}
        }}
      }}"""


def separated(text: str) -> tuple[list[int], list[int], list[int]]:
    """Returns the LDS of the exports, where allocations begin, and what is stored there."""
    parsed = parse(text)
    separate_lds(parsed.module.operation)
    executable, *functions = str(parsed.module).split("llvm.func")
    sizes = re.findall(r"workgroup_local_memory = (\d+)", executable)
    begins: list[int] = []
    stored: list[int] = []
    for each in functions:
        constants = dict(re.findall(r"(%\w+) = llvm.mlir.constant\((\d+) : i64\)", each))
        offsets = re.findall(r"getelementptr %\w+\[%\w+, (%\w+)\]", each)
        begins += [int(constants[name]) for name in offsets]
        stored += [int(constants[name]) for name in re.findall(r"llvm.store (%\w+),", each)]
    return [int(each) for each in sizes], begins, stored


def test_the_lds_of_each_kernel_begins_at_0() -> None:
    text = module("cuda", 112, few=(32, 0), many=(48, 64), none=())
    sizes, begins, stored = separated(text)
    assert (sizes, begins) == ([48, 64, 112], [32, 0, 0, 16])
    assert stored == [32, 0, 48, 64]


@pytest.mark.parametrize(
    "text",
    [
        module("cuda", 112, one=(48, 64)),
        module("rocm", 112, few=(0, 32), many=(48, 64)),
        # What lies between the ends of one kernel's memory is the other's.
        module("cuda", 112, few=(0, 64), many=(0, 48)),
        module("cuda", 112, few=(0, 32), many=(48, 64)).replace(
            "x i8>\n      llvm", "x i16>\n llvm"
        ),
    ],
)
def test_other_memory_stays(text: str) -> None:
    parsed = parse(text)
    before = str(parsed.module)
    separate_lds(parsed.module.operation)
    assert str(parsed.module) == before


@pytest.mark.parametrize(("kernels", "together"), [(("few",), False), (("few", "many"), True)])
def test_kernels_are_compiled_together(kernels: tuple[str, ...], together: bool) -> None:
    parsed = parse(module("cuda", 64, **dict.fromkeys(kernels, ())))
    assert shares_lds(variants_of(parsed.module.operation)) is together
