# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running and timing compiled models on the GPU of this machine. This needs NumPy."""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..gpu.elements import STORAGE, values
from ..gpu.float64 import errors_of
from ..gpu.kernels import CompiledKernels, TimedKernel, digest, module_digests
from ..gpu.machine import conditions
from ..gpu.profiler import TIME, ncu_command, read_launches
from ..gpu.ratios import Finding
from ..gpu.runtime_programs import module_command, output_of, runtime_programs
from .exported import SCOPE, ExportedModel, ExportedModels
from .parameters import write_parameters
from .record import ModelRecord, ModelRow

_REPETITIONS, _CALLS = 15, 4
"""How many times the mean time of so many calls is taken; the median counts."""
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass(frozen=True)
class Prepared:
    """A model with its inputs and weights in files, as the programs of the runtime take them.

    Attributes:
        programs: the directory of these programs.
        scratch: a directory for files.
        inputs: a file for each input.
        options: of the programs, for the weights.
    """

    programs: Path
    scratch: Path
    model: ExportedModel
    kernel: TimedKernel
    inputs: tuple[Path, ...]
    options: tuple[str, ...]

    @staticmethod
    def of(model: ExportedModel, kernel: TimedKernel, programs: Path, scratch: Path) -> Prepared:
        """Writes the files of a model."""
        inputs = [scratch / f"input{number}.bin" for number in range(len(model.inputs))]
        for path, each in zip(inputs, model.inputs, strict=True):
            path.write_bytes(each.data())
        options: list[str] = []
        if model.weights:
            weights = scratch / "weights.safetensors"
            write_parameters(weights, model.weights)
            options.append(f"--parameters={SCOPE}={weights}")
        return Prepared(programs, scratch, model, kernel, tuple(inputs), tuple(options))

    def measured(self, vmfb: Path, mode: str, module: str, clocks: str) -> ModelRow:
        """Returns the row of a mode.

        Raises:
            RuntimeError: a run fails; the message is the program's.
        """
        output, again = self._run(vmfb), self._run(vmfb)
        dtype = self.model.output.rpartition("x")[2]
        found = values(np.frombuffer(output, STORAGE[dtype])[:: self.model.stride])
        expected = np.array(self.model.expected)
        if found.shape != expected.shape:
            raise RuntimeError(f"{vmfb.name}: the output has another shape than the reference")
        return ModelRow(
            self.model.name,
            mode,
            module,
            digest(output),
            output == again,
            self._call_milliseconds(vmfb),
            self._kernels(vmfb, clocks),
            errors_of(found - expected),
            math.sqrt(np.mean(expected**2)),
        )

    def _command(self, program: str, vmfb: Path, *options: str) -> list[str]:
        command = module_command(self.programs / program, vmfb, self.kernel, self.inputs)
        return [*command, *self.options, *options]

    def _run(self, vmfb: Path) -> bytes:
        """Returns the output of one call."""
        path = self.scratch / "output.bin"
        path.unlink(missing_ok=True)
        output_of(self._command("iree-run-module", vmfb, f"--output=@{path}"))
        return path.read_bytes()

    def _call_milliseconds(self, vmfb: Path) -> float:
        """Returns the median time of a call."""
        options = (
            f"--benchmark_repetitions={_REPETITIONS}",
            f"--benchmark_min_time={_CALLS}x",
            "--benchmark_report_aggregates_only=true",
            "--benchmark_format=json",
        )
        printed = output_of(self._command("iree-benchmark-module", vmfb, *options))
        entries = json.loads(printed[printed.index("{") :])["benchmarks"]
        (median,) = (each for each in entries if each["aggregate_name"] == "median")
        return median["real_time"] * _MILLISECONDS[median["time_unit"]]

    def _kernels(self, vmfb: Path, clocks: str) -> dict[str, float]:
        """Returns the milliseconds of each kernel of one call, without those of initializers."""
        command = ncu_command([TIME], clocks, "--kernel-name=regex:dispatch")
        command += self._command("iree-run-module", vmfb, "--output=")
        run = subprocess.run(command, capture_output=True, text=True)
        times: defaultdict[str, float] = defaultdict(float)
        try:
            for launch in read_launches(run.stdout):
                if not launch.kernel.startswith("_initializer"):
                    times[launch.kernel] += launch.metrics[TIME] / 1e6
        except ValueError as error:
            raise RuntimeError(f"{vmfb.name}: {error}") from error
        if not times:
            message = (run.stderr + run.stdout).strip()[-2000:]
            raise RuntimeError(f"{vmfb.name}: ncu saw no kernel\n{message}")
        return dict(times)


def measure_models(directory: Path, output: Path, only: str = "", clocks: str = "base") -> bool:
    """Measures models in their modes, and writes the record whenever a row is added.

    Rows of an older record whose modules are still the same are kept.

    Args:
        directory: what was exported and compiled into.
        output: the file of the record.
        only: a regular expression that is searched in the names of models.
        clocks: what happens to the clocks under `ncu`, a key of `profiler.CLOCKS`.

    Returns:
        Whether everything is as it must be.

    Raises:
        RuntimeError: the models, a program or a GPU is missing, or a record is of other conditions.
        OSError: a file cannot be read or written.
    """
    exported = ExportedModels.of_directory(directory)
    compiled = CompiledKernels.of_directory(directory)
    found, versions = conditions(compiled.target, "", clocks)
    modules = module_digests(directory, compiled.kernels)
    rows = _kept_rows(output, (found.device, found.target, clocks), modules)
    record = ModelRecord(
        found.device,
        found.target,
        clocks,
        datetime.date.today().isoformat(),
        {**exported.versions, **compiled.versions, **versions, "NumPy": np.__version__},
        tuple(rows.values()),
    )
    models = {each.name: each for each in exported.models}
    programs = runtime_programs()
    for kernel in compiled.kernels:
        missing = [mode for mode in kernel.modes if (kernel.name, mode) not in rows]
        if not missing or not re.search(only, kernel.name):
            continue
        with tempfile.TemporaryDirectory(prefix="bankwise-models-") as scratch:
            prepared = Prepared.of(models[kernel.name], kernel, programs, Path(scratch))
            for mode in missing:
                record = _with_row(record, prepared, directory, mode, modules)
                record.write(output)
    findings = record.findings()
    for finding in findings:
        print(f"{finding.kernel} {finding.mode}: {finding.what}", flush=True)
    return not findings


def _kept_rows(
    output: Path, measured: tuple[str, str, str], modules: dict[tuple[str, str], str]
) -> dict[tuple[str, str], ModelRow]:
    """Returns the rows of an older record, by kernel and mode, whose modules are still the same.

    Raises:
        RuntimeError: the record was measured under other conditions.
    """
    if not output.exists():
        return {}
    old = ModelRecord.read(output)
    if (old.device, old.target, old.clocks) != measured:
        raise RuntimeError(f"{output} was measured under other conditions")
    same = (row for row in old.rows if modules.get((row.kernel, row.mode)) == row.module)
    return {(row.kernel, row.mode): row for row in same}


def _with_row(
    record: ModelRecord,
    prepared: Prepared,
    directory: Path,
    mode: str,
    modules: dict[tuple[str, str], str],
) -> ModelRecord:
    """Returns a record with the row of one more mode, or with why that could not be measured."""
    name = prepared.kernel.name
    module = modules[name, mode]
    # Modules that are equal byte by byte are measured once.
    for row in record.rows:
        if (row.kernel, row.module) == (name, module):
            return replace(record, rows=(*record.rows, replace(row, mode=mode)))
    try:
        vmfb = prepared.kernel.module(directory, mode)
        row = prepared.measured(vmfb, mode, module, record.clocks)
    except RuntimeError as error:
        print(f"{name} {mode} failed: {error}", flush=True)
        return replace(record, failures=(*record.failures, Finding(name, mode, str(error))))
    kernels = f"kernels {row.kernel_milliseconds:.4f} ms"
    print(f"{name} {mode}: {row.milliseconds:.4f} ms, {kernels}", flush=True)
    return replace(record, rows=(*record.rows, row))
