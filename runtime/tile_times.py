# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiled tiles of a kernel take, predicted by the emulator's model of a compute unit.

The first and the last workgroup run on buffers that hold one number: what a kernel of known sizes
executes does not depend on what it reads. A prediction takes seconds, so that it is kept.
"""

from __future__ import annotations

import json

import numpy as np

from ..bank_model.json_text import read_json
from ..dialect_utils.diagnostics import Refusal
from ..emulator.errors import EmulationError
from ..emulator.instruction_text import AssemblyError
from ..iree_plugin.stepped_compile import CompileError
from ..iree_plugin.tile_search import TileCandidate
from ..iree_plugin.user_cache import UserCache
from ..passes.tile_times import TileTime
from .emulated_device import EmulatedDevice
from .emulated_module import EmulatedModule, compile_tile
from .host_program import HostProgram
from .host_values import Binding, DispatchCommand, HostProgramError

_CACHED = "tile"
_SAMPLE = 2
_BYTE = 0x38
"""What each byte of the buffers holds: about 0.5 as f16, and 4e-5 as bf16 and f32."""


def emulated_time(kernel: TileCandidate, cache: UserCache | None = None) -> TileTime:
    """Returns the predicted time of a kernel with a tile.

    Args:
        cache: where predictions are kept; the user's by default.

    Raises:
        Refusal: the kernel does not compile with the tile, or cannot be emulated.
    """
    kept = cache or UserCache()
    found = _read(kept.read(_CACHED, kernel.key))
    if found is None:
        outcome = _outcome(kernel)
        kept.keep(_CACHED, kernel.key, json.dumps(outcome))
        found = _read(json.dumps(outcome))
        assert found is not None
    if isinstance(found, Refusal):
        raise found
    return found


def _read(text: str | None) -> TileTime | Refusal | None:
    """Returns what `_outcome` has found; None where the text is not what it writes."""
    try:
        outcome = {} if text is None else read_json(text)
    except ValueError:
        return None
    match outcome:
        case {"refusal": str(reason)}:
            return Refusal(reason)
        case {"microseconds": int() | float() as time, "ratio": int() | float() as ratio}:
            return TileTime(time, ratio)
    return None


def _outcome(kernel: TileCandidate) -> dict[str, object]:
    """Returns what is kept of a prediction."""
    try:
        with compile_tile(kernel) as module:
            time = _time(module, kernel)
    except Refusal as refusal:
        return {"refusal": refusal.reason}
    except KeyError as error:
        return {"refusal": f"the model of a compute unit does not know {error}"}
    except (CompileError, AssemblyError, EmulationError, HostProgramError) as error:
        return {"refusal": next(iter(str(error).splitlines()), "it does not compile")}
    return {"microseconds": time.microseconds, "ratio": time.ratio}


def _time(module: EmulatedModule, kernel: TileCandidate) -> TileTime:
    device = EmulatedDevice(module.kernels, _SAMPLE, timing=True)
    bindings: list[Binding] = []
    for size in kernel.bindings:
        address = device.allocate(size)
        device.write(address, np.full(size, _BYTE, np.uint8))
        bindings.append(Binding(address, size))
    grid = HostProgram(module.host, device).workgroups(kernel.function)
    constants = (0,) * kernel.constants
    device.dispatch(DispatchCommand(kernel.function, grid, tuple(bindings), constants))
    (record,) = device.records
    assert record.timing is not None
    return TileTime(record.timing.microseconds.expected, record.timing.bounds.ratio)
