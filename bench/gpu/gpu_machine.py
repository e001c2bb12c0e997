# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine with the GPU and its profiler: what it is, and measuring kernels on it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .inputs import input_bytes
from .profiler import LAUNCHES, METRICS, calls_of, figures_of, ncu_command, read_launches
from .record import Conditions, Figures
from .runtime_programs import gpu_and_versions, module_command, output_of, run_module
from .timed_kernels import TimedKernel, digest


@dataclass(frozen=True)
class Machine:
    """Runs compiled kernels on the first CUDA device, by IREE's programs and `ncu`.

    Attributes:
        programs: the directory of `iree-run-module` and `iree-benchmark-module`.
        scratch: a directory for inputs and outputs.
        inputs: what the inputs of attentions are, a key of `inputs.INPUTS`.
        clocks: what happens to the clocks, a key of `profiler.CLOCKS`.
    """

    programs: Path
    scratch: Path
    inputs: str
    clocks: str

    @property
    def output(self) -> Path:
        """Returns the file that has the output of the last run."""
        return self.scratch / "output.bin"

    def write_inputs(self, kernel: TimedKernel) -> list[Path]:
        """Writes a kernel's inputs to files; returns these."""
        paths: list[Path] = []
        for number in range(len(kernel.operands)):
            paths.append(self.scratch / f"input{number}.bin")
            paths[-1].write_bytes(input_bytes(kernel, number, self.inputs))
        return paths

    def run(self, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path]) -> str:
        """Runs a kernel once; returns the digest of its output.

        Raises:
            RuntimeError: the run fails; the message is the program's.
        """
        run_module(self.programs, vmfb, kernel, inputs, self.output)
        return digest(self.output.read_bytes())

    def figures(self, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path]) -> Figures:
        """Returns what `ncu` measures of a call, after one that warms it up.

        Raises:
            RuntimeError: ncu fails, or its table is not as expected.
        """
        # Whether ncu succeeds is read from its table: it kills the program after the last launch.
        first = ("--launch-skip=1", f"--launch-count={LAUNCHES}", "--kill=yes")
        run = self._profile(vmfb, kernel, inputs, *first)
        try:
            launches = read_launches(run.stdout)
            if len({launch.kernel for launch in launches}) > 1:
                run = self._profile(vmfb, kernel, inputs)
                launches = calls_of(read_launches(run.stdout))[:LAUNCHES]
            return figures_of(launches)
        except ValueError as error:
            message = (run.stderr + run.stdout).strip()[-2000:]
            raise RuntimeError(f"{vmfb.name}: {error}\n{message}") from error

    def _profile(
        self, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path], *options: str
    ) -> subprocess.CompletedProcess[str]:
        """Calls a kernel a few times more often than `LAUNCHES` under `ncu`."""
        every = (METRICS.values(), self.clocks, "--kernel-name=regex:dispatch")
        command = ncu_command(*every, *options)
        command += module_command(self.programs / "iree-benchmark-module", vmfb, kernel, inputs)
        command += [f"--benchmark_min_time={LAUNCHES + 3}x"]
        return subprocess.run(command, capture_output=True, text=True)


def conditions(target: str, inputs: str, clocks: str) -> tuple[Conditions, dict[str, str]]:
    """Returns what is measured on, and the versions of what measures.

    Raises:
        RuntimeError: there is no `ncu` in PATH, or no GPU of NVIDIA answers.
    """
    if shutil.which("ncu") is None:
        raise RuntimeError("Nsight Compute's `ncu` is not in PATH")
    name, versions = gpu_and_versions()
    versions["ncu"] = output_of(["ncu", "--version"]).split("\n")[-2]
    return Conditions(name, target, inputs, clocks), versions
