# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching compiled kernels from one process, with inputs that stay on the device.

This needs NumPy and the wheel of `iree-base-runtime`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .array_elements import Elements
from .timed_kernels import TimedKernel

_ELEMENT_TYPES = {
    "f16": "FLOAT_16",
    "bf16": "BFLOAT_16",
    "f32": "FLOAT_32",
    "i1": "BOOL_8",
    "i8": "SINT_8",
}


class DeviceLaunches:
    """Launches one kernel, in its modes and with several inputs."""

    def __init__(
        self,
        kernel: TimedKernel,
        directory: Path,
        inputs: Sequence[Sequence[Elements]],
        driver: str = "cuda",
    ) -> None:
        """Loads the modules and copies the inputs to the first device of a driver.

        Args:
            directory: where the modules are.
            inputs: the operands of each call that there may be.

        Raises:
            RuntimeError: there is no such device, or it cannot take a module.
            OSError: a module cannot be read.
        """
        import iree.runtime as runtime

        self._runtime: Any = runtime
        self._kernel = kernel
        try:
            self._config = runtime.Config(driver)
        except ValueError as error:
            raise RuntimeError(f"no {driver} device: {error}") from error
        self._entries = {mode: self._entry(kernel.module(directory, mode)) for mode in kernel.modes}
        self._arguments = [self._copied(operands) for operands in inputs]

    def __call__(self, mode: str, number: int) -> bytes:
        """Returns the bytes of the output of a call.

        Args:
            number: which of the inputs it gets.
        """
        context, entry = self._entries[mode]
        results = self._runtime.VmVariantList(1)
        context.invoke(entry, self._arguments[number], results)
        view = results.get_as_object(0, self._runtime.HalBufferView)
        return self._runtime.DeviceArray(self._config.device, view).to_host().tobytes()

    def _entry(self, module: Path) -> tuple[Any, Any]:
        """Returns a context with a module, and the function of the kernel."""
        instance = self._config.vm_instance
        loaded = self._runtime.VmModule.copy_buffer(instance, module.read_bytes())
        hal = self._runtime.create_hal_module(instance, self._config.device)
        context = self._runtime.VmContext(instance, modules=[hal, loaded])
        return context, loaded.lookup_function(self._kernel.function)

    def _copied(self, operands: Sequence[Elements]) -> Any:
        """Returns arguments that are on the device."""
        arguments = self._runtime.VmVariantList(len(operands))
        for elements, dtype in zip(operands, self._kernel.types, strict=True):
            view = self._config.device.allocator.allocate_buffer_copy(
                memory_type=self._runtime.MemoryType.DEVICE_LOCAL,
                allowed_usage=self._runtime.BufferUsage.DEFAULT,
                device=self._config.device,
                buffer=np.ascontiguousarray(elements).view(f"u{elements.dtype.itemsize}"),
                element_type=getattr(self._runtime.HalElementType, _ELEMENT_TYPES[dtype]),
            )
            arguments.push_ref(view)
        return arguments
