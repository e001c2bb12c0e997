# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A prediction as JSON-ready data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .prediction import Prediction


def timing_document(predicted: Prediction) -> dict[str, object]:
    """Returns what `docs/schemas/counters.schema.json` calls the timing of a dispatch."""
    time, placed = predicted.microseconds, predicted.occupancy
    return {
        "gpu": predicted.product,
        "microseconds": {
            "low": round(time.low, 3),
            "expected": round(time.expected, 3),
            "high": round(time.high, 3),
        },
        "bounds": predicted.bounds.source,
        "gigahertz": round(predicted.gigahertz, 3),
        "cycles": round(predicted.cycles),
        "cycles_per_wave": round(predicted.cycles_of_wave),
        **predicted.counters,
        "LdsLatency": round(predicted.lds_latency, 1),
        "spent": {reason.name.lower(): round(part, 4) for reason, part in predicted.spent.items()},
        "busy": {name: round(part, 4) for name, part in predicted.utilization.items()},
        "occupancy": {
            "workgroups_per_unit": placed.resident,
            "limit": placed.limit,
            "waves_per_simd": placed.waves_of_simd,
            "units": placed.active_units,
        },
    }
