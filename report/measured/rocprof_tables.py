# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables that AMD's profilers write.

`rocprofv3 --pmc ... --output-format csv` writes `counter_collection.csv`, with a row for each
counter of each dispatch:

    "Dispatch_Id",...,"Grid_Size",...,"Kernel_Name","Workgroup_Size",...,"Counter_Name",
    "Counter_Value",...

Newer ones have further columns, among them `"Guid"`, which tells runs apart, and `"Replay_Pass"`:
each pass over a dispatch measures other counters, and maybe some of them again.

`rocprof` and `rocprofv2` write a row for each dispatch, with a column for each counter. Grids are
counted in lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .csv_tables import columns_of, size_of, table_rows
from .dispatches import Dispatch, kernel_symbol, whole_number

_LONG = ("Kernel_Name", "Counter_Name", "Counter_Value")
_WIDE = ({"KernelName", "grd", "wgr"}, {"Kernel_Name", "Grid_Size"}, {"Kernel_Name", "GRD"})

_KERNEL = ("Kernel_Name", "KernelName")
_GRID = ("Grid_Size", "GRD", "grd")
_WORKGROUP = ("Workgroup_Size", "WGR", "wgr")
_DISPATCH = (
    *("Guid", "Process_Id", "PID", "pid"),
    *("Dispatch_Id", "Dispatch_ID", "Index", "Replay_Pass"),
)
"""The columns that tell dispatches apart, as far as a table has them."""


def read_rocprof_table(text: str) -> list[Dispatch]:
    """Returns the dispatches in a table of `rocprofv3`, `rocprofv2` or `rocprof`, in their order.

    Raises:
        TableError: there is no such table.
    """
    found: dict[tuple[str, ...], Dispatch] = {}
    for number, row in enumerate(table_rows(text, _LONG, *_WIDE)):
        kernel = kernel_symbol(row[columns_of(row, *_KERNEL)])
        identity = tuple(row[name] for name in _DISPATCH if name in row) or (str(number),)
        key = (*identity, kernel)
        dispatch = found.get(key) or _dispatch(kernel, row)
        counters = {**dispatch.counters}
        for name, value in _counters(row):
            counters[name] = _added(counters.get(name), value)
        found[key] = replace(dispatch, counters=counters)
    return list(found.values())


def _dispatch(kernel: str, row: dict[str, str]) -> Dispatch:
    lanes = size_of(row.get(columns_of(row, *_GRID), ""))
    threads = size_of(row.get(columns_of(row, *_WORKGROUP), ""))
    workgroups = lanes // threads if lanes and threads else None
    return Dispatch(kernel, workgroups, threads, {})


def _counters(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    if set(_LONG) <= row.keys():
        yield row["Counter_Name"], row["Counter_Value"]
        return
    # The columns of a wide table that are no counters are asked for by nobody.
    yield from row.items()


def _added(known: str | None, value: str) -> str:
    """Returns the sum of what several units of the chip have counted in one dispatch."""
    if known is None:
        return value
    try:
        return str(whole_number(known) + whole_number(value))
    except ValueError:
        return value
