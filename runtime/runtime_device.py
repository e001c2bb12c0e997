# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a compiled module on a real device, by `iree.runtime`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .calls import InputTypeError, as_element_type, callable_names, declared_element_types
from .dtypes import dtype_of, element_type_of
from .parameter_files import Parameters

if TYPE_CHECKING:
    from iree.runtime import HalDevice

Array = npt.NDArray[Any]


class RuntimeDeviceError(RuntimeError):
    """There is no such device, or it cannot run the module or take the inputs; one line."""


def set_driver_flags(flags: Sequence[str]) -> None:
    """Gives flags to IREE's runtime, for all drivers that are used for the first time afterwards.

    Raises:
        RuntimeDeviceError: a flag has a value that the runtime does not take.
    """
    if not flags:
        return
    import iree.runtime as runtime

    try:
        runtime.flags.parse_flags(*flags)
    except ValueError as error:
        raise RuntimeDeviceError(_one_line(error)) from None


def device_answers(driver: str) -> str:
    """Says why no device of a HAL driver can be used; empty if one can."""
    import iree.runtime as runtime

    try:
        devices = runtime.get_driver(driver).query_available_devices()
    except (RuntimeError, ValueError) as error:
        return _one_line(error)
    return "" if devices else "it lists no device"


def _one_line(error: Exception) -> str:
    """Returns the runtime's message without its source lines and hints.

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


def device_uris(driver: str = "") -> list[str]:
    """Returns the URIs of the devices that answer, of one driver or of all.

    A URI is such as `hip://GPU-...`.

    Raises:
        RuntimeDeviceError: the driver that is asked for cannot be used.
    """
    import iree.runtime as runtime

    found: list[str] = []
    for name in [driver] if driver else runtime.query_available_drivers():
        try:
            devices = runtime.get_driver(name).query_available_devices()
        except (RuntimeError, ValueError) as error:
            if driver:
                raise RuntimeDeviceError(f"no {driver} device: {_one_line(error)}") from None
            continue
        found += [f"{name}://{device['path']}" for device in devices]
    return found


def device_descriptions(driver: str = "") -> str:
    """Returns what the runtime says of the devices that answer, of one driver or of all.

    Raises:
        RuntimeDeviceError: the driver cannot be used.
    """
    import iree.runtime as runtime

    found: list[str] = []
    for name in [driver] if driver else runtime.query_available_drivers():
        try:
            used: Any = runtime.get_driver(name)
            devices = used.query_available_devices()
            for device in devices:
                text = str(used.dump_device_info(device["device_id"])).strip()
                found.append(f"# {name}://{device['path']}\n{text}".rstrip())
        except (RuntimeError, ValueError) as error:
            if driver:
                raise RuntimeDeviceError(f"no {driver} device: {_one_line(error)}") from None
    return "\n".join(found)


def driver_names() -> list[str]:
    """Returns the HAL drivers that the runtime was built with."""
    import iree.runtime as runtime

    return list(runtime.query_available_drivers())


def run_on_device(
    vmfb: bytes,
    device: str,
    function: str,
    inputs: Sequence[Array | int | float],
    *,
    allocators: Sequence[str] = (),
    parameters: Parameters | None = None,
) -> tuple[str, list[Array], str]:
    """Runs a function of a module.

    Args:
        device: a driver, whose first device is taken, or a device's URI such as `hip://0`.
        function: the function's name; empty for the module's only function.
        allocators: specs of allocators around the device's own, as `iree-run-module` takes them.
        parameters: what the module loads from files.

    Returns:
        The function's name, its results, and what the device says of its memory.

    Raises:
        RuntimeDeviceError: the function cannot be run, for any reason.
    """
    import iree.runtime as runtime

    driver = device.partition("://")[0]
    reason = device_answers(driver)
    if reason:
        raise RuntimeDeviceError(f"no {driver} device: {reason}")
    try:
        config = runtime.Config(device=_device(device, tuple(allocators)))
        module = runtime.VmModule.copy_buffer(config.vm_instance, vmfb)
        hal = runtime.create_hal_module(config.vm_instance, config.device)
        providers = parameters.providers() if parameters else []
        files = [runtime.create_io_parameters_module(config.vm_instance, *providers)]
        modules = [*(files if providers else []), hal, module]
        context = runtime.VmContext(config.vm_instance, modules=modules)
        name = _function_name(module, function)
        entry = module.lookup_function(name)
        results = _call(runtime, config.device, context, entry, inputs)
        allocator = config.device.allocator
        return name, results, allocator.formatted_statistics if allocator.has_statistics else ""
    except (RuntimeError, ValueError) as error:
        if isinstance(error, RuntimeDeviceError):
            raise
        if "'io_parameters'" in str(error):
            raise RuntimeDeviceError(
                "the module needs parameters; give their files with --parameters=FILE"
            ) from None
        raise RuntimeDeviceError(_one_line(error)) from error


def _function_name(module: Any, function: str) -> str:
    """Returns the function to call: the module's only one where `function` is empty."""
    names = callable_names(module.function_names)
    if not function and len(names) == 1:
        return names[0]
    if function not in module.function_names:
        wanted = f"no function '{function}'" if function else "name a function with --function"
        raise RuntimeDeviceError(f"{wanted}; the module exports {', '.join(names) or 'none'}")
    return function


def _call(
    runtime: Any, device: Any, context: Any, entry: Any, inputs: Sequence[Array | int | float]
) -> list[Array]:
    """Calls a function of the module, and returns its results."""
    declaration = dict(entry.reflection).get("iree.abi.declaration", entry.name)
    arguments = runtime.VmVariantList(len(inputs))
    for value in _typed_inputs(inputs, declaration):
        _push(runtime, device, arguments, value)
    results = runtime.VmVariantList(4)
    try:
        context.invoke(entry, arguments, results)
    except (RuntimeError, ValueError) as error:
        raise RuntimeDeviceError(f"{declaration}: {_one_line(error)}") from error
    return [_fetch(runtime, device, results, index) for index in range(len(results))]


@cache
def _device(device: str, allocators: tuple[str, ...]) -> HalDevice:
    """Returns a device, which lives as long as the process.

    The runtime's buffers do not hold their device. A buffer that outlives its device, such as one
    in a traceback, ends the process when it is freed.
    """
    from iree.runtime import get_driver

    driver, is_uri, _ = device.partition("://")
    # The runtime's typing says HalAllocator, but what it takes are specifications as text.
    specs: Any = list(allocators) or None
    if is_uri:
        return get_driver(driver).create_device_by_uri(device, allocators=specs)
    return get_driver(driver).create_default_device(allocators=specs)


def _typed_inputs(
    inputs: Sequence[Array | int | float], declaration: str
) -> list[Array | int | float]:
    """Gives inputs from files that name no type the type that the function declares."""
    wanted = declared_element_types(declaration)
    wanted += [""] * (len(inputs) - len(wanted))
    typed: list[Array | int | float] = []
    for number, (value, kind) in enumerate(zip(inputs, wanted, strict=False)):
        try:
            typed.append(as_element_type(value, kind) if isinstance(value, np.ndarray) else value)
        except InputTypeError as error:
            raise RuntimeDeviceError(f"input {number} {error}") from None
    return typed


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
            # `ascontiguousarray` makes a vector of a tensor of rank 0.
            buffer=np.ascontiguousarray(value)
            .view(f"u{value.dtype.itemsize}")
            .reshape(value.shape),
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
