# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the views that meet begin in their allocation."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.index.index_bits import Congruence, IndexBits
from bankwise.dialect_utils.memory.buffer_starts import start_offsets
from bankwise.dialect_utils.memory.lds_ops import ALLOC

from ...functions import lds, parse


@pytest.mark.parametrize(
    ("second", "expected"),
    [("128", Congruence(64, 0)), ("64", Congruence(0, 64)), ("65", Congruence(1, 0))],
)
def test_where_offsets_meet(second: str, expected: Congruence) -> None:
    part = lds("16xf16, strided<[1], offset: ?>")
    first, other = (lds(f"16xf16, strided<[1], offset: {start}>") for start in (64, second))
    parsed = parse(
        f"""func.func @f(%p: i1) {{
          %a = memref.alloc() : {lds("256xf16")}
          %s = memref.subview %a[64] [16] [1] : {lds("256xf16")} to {first}
          %t = memref.subview %a[{second}] [16] [1] : {lds("256xf16")} to {other}
          %x = memref.cast %s : {first} to {part}
          %y = memref.cast %t : {other} to {part}
          %z = arith.select %p, %x, %y : {part}
          return
        }}""",
    )
    (select,) = parsed.operations("arith.select")
    (allocation,) = parsed.operations(ALLOC)
    starts = start_offsets(select.results[0], IndexBits(parsed.function))
    assert starts == {allocation.results[0]: expected}
