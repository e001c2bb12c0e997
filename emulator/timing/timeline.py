# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When the waves of a workgroup issue their instructions, as a trace that browsers show.

The format is that of Chrome's trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing
read. A microsecond there is a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..assembly import Kernel
from .constants import CHIPS
from .prediction import Prediction


def timeline(predictions: Sequence[tuple[Kernel, Prediction]]) -> dict[str, Any]:
    """Returns the trace of the first workgroup of each dispatch, as JSON-ready data.

    An instruction lasts from the end of the wave's last one until it has been issued, so that one
    that waits is as long as the wait.
    """
    events: list[dict[str, Any]] = []
    for number, (kernel, predicted) in enumerate(predictions):
        title = f"{kernel.name} on {predicted.product}, predicted"
        events.append(_name("process_name", number, 0, title))
        issue = int(CHIPS[kernel.arch].issue.value)
        for wave in range(len(predicted.instructions)):
            events.append(_name("thread_name", number, wave, f"wave {wave}"))
            events += _events(kernel, predicted, number, wave, issue)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _events(
    kernel: Kernel, predicted: Prediction, process: int, wave: int, issue: int
) -> Iterator[dict[str, Any]]:
    executed = predicted.instructions[wave].tolist()
    start = None
    for index, time in zip(executed, predicted.issued[wave].tolist(), strict=False):
        begin = time if start is None else min(start, time)
        start = time + issue
        instruction = kernel.instructions[index]
        yield {
            "ph": "X",
            "name": instruction.mnemonic,
            "pid": process,
            "tid": wave,
            "ts": begin,
            "dur": start - begin,
            "args": {"line": instruction.line, "text": " ".join(instruction.text.split())},
        }
