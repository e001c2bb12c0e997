# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The families of GPUs, and how compilers call them."""

from __future__ import annotations

from .quick_tuple import NamedTuple


class Family(NamedTuple):
    """The GPUs of one vendor, as IREE calls them.

    Attributes:
        device: the name of its devices, as in `--iree-hal-target-device=hip`.
        backend: the name of its backend, as in `--iree-rocm-target=gfx942`.
        prefix: what the names of its architectures begin with.
        usual: the architecture that code is for where nobody names one.
    """

    device: str
    backend: str
    prefix: str
    usual: str

    def flags(self, arch: str) -> tuple[str, str]:
        """Returns the flags of `iree-compile` that name an architecture of the family."""
        return f"--iree-hal-target-device={self.device}", f"--iree-{self.backend}-target={arch}"


AMD = Family("hip", "rocm", "gfx", "gfx942")
NVIDIA = Family("cuda", "cuda", "sm_", "sm_80")
FAMILIES = (AMD, NVIDIA)
MLIR_DEFAULT_CHIPS = {"nvvm": "sm_75", "rocdl": "gfx900"}
"""The chips of MLIR's own targets that name none, by their dialects (NVVMOps.td, ROCDLOps.td)."""
MOST_THREADS = 1024
"""The most lanes of a workgroup, on all GPUs of both families."""
DEFAULT_TARGET = AMD.usual
"""The architecture of tools that are told none."""


def family_of(arch: str) -> Family:
    """Returns the family of an architecture; AMD's for a name that tells none."""
    return next((each for each in FAMILIES if arch.startswith(each.prefix)), AMD)
