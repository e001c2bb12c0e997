# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a compiled module on a real device, by `iree.runtime`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dialect_utils.element_types import dtype_of, element_type_of
from .exports import callable_names

Array = npt.NDArray[Any]


class RuntimeDeviceError(RuntimeError):
    """No such device, a module it cannot run, or inputs that do not fit; one line."""


def device_answers(driver: str) -> str:
    """Why no device of a HAL driver can be used; empty if one can."""
    import iree.runtime as runtime

    try:
        devices = runtime.get_driver(driver).query_available_devices()
    except (RuntimeError, ValueError) as error:
        return _one_line(error)
    return "" if devices else "it lists no device"


def _one_line(error: Exception) -> str:
    """The runtime's message without its source lines and hints.

    It has the form `file.c:12: STATUS; what; where`, and may hold several of these.
    """
    text = re.sub(r"\S*\.(?:c|h|cc):\d+: (?=[A-Z_]+\b)", "", str(error).replace("\n", " "))
    return text.split(": please ensure")[0].strip().rstrip(";")


# iree_hal_element_type_t by MLIR's name.
_ELEMENT_TYPES = {
    "f16": "FLOAT_16",
    "f32": "FLOAT_32",
    "f64": "FLOAT_64",
    "bf16": "BFLOAT_16",
    "f8E4M3FN": "FLOAT_8_E4M3_FN",
    "f8E4M3FNUZ": "FLOAT_8_E4M3_FNUZ",
    "f8E5M2": "FLOAT_8_E5M2",
    "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
    "i1": "BOOL_8",
    "i8": "INT_8",
    "i16": "INT_16",
    "i32": "INT_32",
    "i64": "INT_64",
}


def run_on_device(
    vmfb: bytes, driver: str, function: str, inputs: Sequence[Array | int | float]
) -> tuple[str, list[Array]]:
    """Runs a function of a module on the first device of `driver`.

    Args:
        function: its name; empty for the module's only one.

    Returns:
        The function's name and its results.

    Raises:
        RuntimeDeviceError: anything that keeps it from running.
    """
    import iree.runtime as runtime

    reason = device_answers(driver)
    if reason:
        raise RuntimeDeviceError(f"no {driver} device: {reason}")
    try:
        config = runtime.Config(driver)
        module = runtime.VmModule.copy_buffer(config.vm_instance, vmfb)
        hal = runtime.create_hal_module(config.vm_instance, config.device)
        context = runtime.VmContext(config.vm_instance, modules=[hal, module])
        names = callable_names(module.function_names)
        if not function and len(names) == 1:
            function = names[0]
        if function not in module.function_names:
            wanted = f"no function '{function}'" if function else "name a function with --function"
            raise RuntimeDeviceError(f"{wanted}; the module exports {', '.join(names) or 'none'}")
        arguments = runtime.VmVariantList(len(inputs))
        for value in inputs:
            _push(runtime, config.device, arguments, value)
        results = runtime.VmVariantList(4)
        entry = module.lookup_function(function)
        assert entry is not None
        try:
            context.invoke(entry, arguments, results)
        except RuntimeError as error:
            declaration = dict(entry.reflection).get("iree.abi.declaration", function)
            raise RuntimeDeviceError(f"{declaration}: {_one_line(error)}") from error
        fetched = [_fetch(runtime, config.device, results, i) for i in range(len(results))]
        return function, fetched
    except (RuntimeError, ValueError) as error:
        if isinstance(error, RuntimeDeviceError):
            raise
        raise RuntimeDeviceError(_one_line(error)) from error


def _push(runtime: Any, device: Any, arguments: Any, value: Array | int | float) -> None:
    if isinstance(value, int):
        arguments.push_int(value)
    elif isinstance(value, float):
        arguments.push_float(value)
    else:
        name = element_type_of(value.dtype)
        if name not in _ELEMENT_TYPES:
            raise RuntimeDeviceError(f"inputs of {name} run on the emulator only")
        element_type = getattr(runtime.HalElementType, _ELEMENT_TYPES[name])
        view = device.allocator.allocate_buffer_copy(
            memory_type=runtime.MemoryType.DEVICE_LOCAL,
            allowed_usage=runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING,
            device=device,
            buffer=np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}"),
            element_type=element_type,
        )
        arguments.push_ref(view)


def _fetch(runtime: Any, device: Any, results: Any, index: int) -> Array:
    variant = results.get_variant(index)
    if isinstance(variant, int | float):
        return np.asarray(variant)
    view = (
        variant
        if isinstance(variant, runtime.HalBufferView)
        else variant.deref(runtime.HalBufferView)
    )
    names = {
        int(getattr(runtime.HalElementType, hal)): name for name, hal in _ELEMENT_TYPES.items()
    }
    names |= {
        int(getattr(runtime.HalElementType, f"{prefix}_{bits}")): f"{short}{bits}"
        for prefix, short in (("SINT", "i"), ("UINT", "ui"))
        for bits in (8, 16, 32, 64)
    }
    dtype = dtype_of(names[int(view.element_type)])
    wrapped = runtime.DeviceArray(device, view, implicit_host_transfer=False, override_dtype=dtype)
    return np.array(wrapped.to_host())
