# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running kernels that are written in PTX, by CUDA's driver alone."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


class CudaError(RuntimeError):
    """The driver refuses; the message names the call and the number of the error."""


@dataclass(frozen=True)
class CudaDriver:
    """The driver, with the first device's context.

    Attributes:
        library: `libcuda.so.1`.
    """

    library: Any

    @staticmethod
    def start() -> CudaDriver:
        """Returns the driver of this process.

        Raises:
            OSError: there is none.
            CudaError: it finds no device.
        """
        driver = CudaDriver(ctypes.CDLL("libcuda.so.1"))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        driver.call("cuInit", 0)
        driver.call("cuDeviceGet", ctypes.byref(device), 0)
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        driver.call("cuCtxSetCurrent", context)
        return driver

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function of the driver.

        Raises:
            CudaError: it fails.
        """
        error = getattr(self.library, name)(*arguments)
        if error:
            raise CudaError(f"{name}: error {error}")

    def load(self, ptx: str) -> ctypes.c_void_p:
        """Returns the module that the driver compiles from PTX."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode())
        return module

    def run(
        self,
        module: ctypes.c_void_p,
        kernel: str,
        threads: int,
        inputs: Sequence[Bytes],
        output_bytes: int,
    ) -> Bytes:
        """Returns what one workgroup writes to its last argument, in bytes.

        Args:
            inputs: the contents of the buffers that are its other arguments.
        """
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        buffers = [self._buffer(each) for each in (*inputs, np.zeros(output_bytes, np.uint8))]
        places = [ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in buffers]
        arguments = (ctypes.c_void_p * len(places))(*places)
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None)
        result = np.empty(output_bytes, np.uint8)
        size = ctypes.c_size_t(output_bytes)
        self.call("cuMemcpyDtoH_v2", result.ctypes.data_as(ctypes.c_void_p), buffers[-1], size)
        for each in buffers:
            self.call("cuMemFree_v2", each)
        return result

    def _buffer(self, contents: Bytes) -> ctypes.c_uint64:
        """Returns a new buffer of the device with these contents."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t(max(1, contents.size))
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        source = np.ascontiguousarray(contents).ctypes.data_as(ctypes.c_void_p)
        self.call("cuMemcpyHtoD_v2", address, source, ctypes.c_size_t(contents.size))
        return address
