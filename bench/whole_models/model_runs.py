# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running and timing compiled models on the GPU of this machine. This needs NumPy."""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..gpu.array_elements import STORAGE, values
from ..gpu.float64 import errors_of
from ..gpu.gpu_machine import conditions
from ..gpu.profiler import (
    TIME,
    kernel_milliseconds,
    launches_of_a_call,
    ncu_command,
    read_launches,
)
from ..gpu.ratios import Finding
from ..gpu.runtime_programs import module_command, output_of, runtime_programs
from ..gpu.timed_kernels import CompiledKernels, TimedKernel, digest, module_digests
from .exported import SCOPE, ExportedModel, ExportedModels
from .model_record import CALLS, REPETITIONS, ModelRecord, ModelRow
from .weights_file import write_parameters

_PROFILED_CALLS = 3
"""How many calls `ncu` sees."""
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

    def checked(self, vmfb: Path, mode: str, module: str) -> ModelRow:
        """Returns the row of a mode without its times, which other runs would disturb.

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
            math.nan,
            {},
            errors_of(found - expected),
            math.sqrt(np.mean(expected**2)),
        )

    def _command(self, program: str, vmfb: Path, *options: str) -> list[str]:
        command = module_command(self.programs / program, vmfb, self.kernel, self.inputs)
        return [*command, *self.options, *options]

    def _run(self, vmfb: Path) -> bytes:
        """Returns the output of one call."""
        path = self.scratch / f"{vmfb.stem}.bin"
        path.unlink(missing_ok=True)
        output_of(self._command("iree-run-module", vmfb, f"--output=@{path}"))
        return path.read_bytes()

    def call_milliseconds(self, vmfb: Path) -> float:
        """Returns the median time of a call."""
        options = (
            f"--benchmark_repetitions={REPETITIONS}",
            f"--benchmark_min_time={CALLS}x",
            "--benchmark_report_aggregates_only=true",
            "--benchmark_format=json",
        )
        printed = output_of(self._command("iree-benchmark-module", vmfb, *options))
        entries = json.loads(printed[printed.index("{") :])["benchmarks"]
        (median,) = (each for each in entries if each["aggregate_name"] == "median")
        return median["real_time"] * _MILLISECONDS[median["time_unit"]]

    def kernels(self, vmfb: Path, clocks: str) -> dict[str, float]:
        """Returns the milliseconds of each kernel of one call, without those of initializers.

        In the first call a kernel that reads an input also waits for its pages, which the driver
        moves to the GPU then. So the last of a few calls counts.
        """
        command = ncu_command([TIME], clocks, "--kernel-name=regex:dispatch")
        calls = f"--benchmark_min_time={_PROFILED_CALLS}x"
        command += self._command("iree-benchmark-module", vmfb, calls)
        run = subprocess.run(command, capture_output=True, text=True)
        try:
            launches = read_launches(run.stdout)
        except ValueError as error:
            raise RuntimeError(f"{vmfb.name}: {error}") from error
        launches = [each for each in launches if not each.kernel.startswith("_initializer")]
        in_a_call = launches_of_a_call(launches)
        if len(launches) < 2 * in_a_call:
            message = (run.stderr + run.stdout).strip()[-2000:]
            raise RuntimeError(f"{vmfb.name}: ncu saw no call twice\n{message}")
        return kernel_milliseconds(launches[-in_a_call:])


@dataclass(frozen=True)
class _Wanted:
    """What is measured.

    Attributes:
        directory: what was exported and compiled into.
        modules: the digests of the modules, by kernel and mode.
        output: the file of the record.
        calls_only: whether the times of kernels are left out.
    """

    directory: Path
    modules: Mapping[tuple[str, str], str]
    output: Path
    calls_only: bool

    def left(self, kernel: TimedKernel, record: ModelRecord) -> list[str]:
        """Returns the modes in which a kernel has no row yet, or one that lacks a time."""
        rows = [record.row(kernel.name, mode) for mode in kernel.modes]
        return [
            mode
            for mode, row in zip(kernel.modes, rows, strict=True)
            if row is None or not (self.calls_only or row.kernels)
        ]


def measure_models(
    directory: Path,
    output: Path,
    only: str = "",
    clocks: str = "base",
    jobs: int = 1,
    calls_only: bool = False,
) -> bool:
    """Measures models in their modes, and writes the record whenever a row is added.

    Rows of an older record whose modules are still the same are kept.

    Args:
        directory: what was exported and compiled into.
        output: the file of the record.
        only: a regular expression that is searched in the names of models.
        clocks: what happens to the clocks under `ncu`, a key of `profiler.CLOCKS`.
        jobs: how many models are prepared and checked at a time; one is timed at a time.
        calls_only: whether the times of kernels are left out, which a later call adds.

    Returns:
        Whether everything is as it must be.

    Raises:
        RuntimeError: the models, a program or a GPU is missing, or a record is of other conditions.
        OSError: a file cannot be read or written.
    """
    exported = ExportedModels.of_directory(directory)
    compiled = CompiledKernels.of_directory(directory)
    found, versions = conditions(compiled.target, "", clocks)
    wanted = _Wanted(directory, module_digests(directory, compiled.kernels), output, calls_only)
    new = ModelRecord(
        found.device,
        found.target,
        clocks,
        datetime.date.today().isoformat(),
        {**exported.versions, **compiled.versions, **versions, "NumPy": np.__version__},
        (),
    )
    record = _with_kept_rows(new, wanted)
    models = {each.name: each for each in exported.models}
    chosen = [each for each in compiled.kernels if re.search(only, each.name)]
    left = [(models[each.name], each) for each in chosen if wanted.left(each, record)]
    for start in range(0, len(left), jobs):
        with tempfile.TemporaryDirectory(prefix="bankwise-models-") as scratch:
            record = _with_batch(record, left[start : start + jobs], wanted, Path(scratch))
    findings = record.findings()
    for finding in findings:
        print(f"{finding.kernel} {finding.mode}: {finding.what}", flush=True)
    return not findings


def _with_kept_rows(new: ModelRecord, wanted: _Wanted) -> ModelRecord:
    """Returns a record with the rows of an older one whose modules are still the same.

    Raises:
        RuntimeError: the older record was measured under other conditions.
    """
    if not wanted.output.exists():
        return new
    old = ModelRecord.read(wanted.output)
    if (old.device, old.target, old.clocks) != (new.device, new.target, new.clocks):
        raise RuntimeError(f"{wanted.output} was measured under other conditions")
    same = (row for row in old.rows if wanted.modules.get((row.kernel, row.mode)) == row.module)
    return replace(
        new, versions={**old.versions, **new.versions}, rows=tuple(same), torch=old.torch
    )


def _with_batch(
    record: ModelRecord,
    batch: Sequence[tuple[ExportedModel, TimedKernel]],
    wanted: _Wanted,
    scratch: Path,
) -> ModelRecord:
    """Returns a record with the rows of some models, which are all prepared at once."""
    programs = runtime_programs()

    def prepared(each: tuple[ExportedModel, TimedKernel]) -> Prepared:
        own = scratch / each[0].name
        own.mkdir()
        return Prepared.of(*each, programs, own)

    def outcome(case: tuple[Prepared, str]) -> ModelRow | RuntimeError:
        model, mode = case
        vmfb = model.kernel.module(wanted.directory, mode)
        try:
            return model.checked(vmfb, mode, wanted.modules[model.kernel.name, mode])
        except RuntimeError as error:
            return error

    with ThreadPoolExecutor(len(batch)) as pool:
        ready = list(pool.map(prepared, batch))
        cases = [(each, mode) for each in ready for mode in wanted.left(each.kernel, record)]
        new = [(e, mode) for e, mode in cases if record.row(e.kernel.name, mode) is None]
        outcomes = {
            (e.kernel.name, mode): found
            for (e, mode), found in zip(new, pool.map(outcome, new), strict=True)
        }
    for model, mode in cases:
        known = record.row(model.kernel.name, mode) or outcomes[model.kernel.name, mode]
        record = _with_row(record, model, mode, known, wanted)
        record.write(wanted.output)
    return record


def _with_row(
    record: ModelRecord,
    prepared: Prepared,
    mode: str,
    row: ModelRow | RuntimeError,
    wanted: _Wanted,
) -> ModelRecord:
    """Returns a record with the times of one more row, or with why it could not be measured."""
    name = prepared.kernel.name
    vmfb = prepared.kernel.module(wanted.directory, mode)
    try:
        if isinstance(row, RuntimeError):
            raise row
        row = _timed(record, prepared, vmfb, row, wanted.calls_only)
    except RuntimeError as error:
        print(f"{name} {mode} failed: {error}", flush=True)
        return replace(record, failures=(*record.failures, Finding(name, mode, str(error))))
    kernels = f"kernels {row.kernel_milliseconds:.4f} ms"
    print(f"{name} {mode}: {row.milliseconds:.4f} ms, {kernels}", flush=True)
    others = (each for each in record.rows if (each.kernel, each.mode) != (name, mode))
    return replace(record, rows=(*others, row))


def _timed(
    record: ModelRecord, prepared: Prepared, vmfb: Path, row: ModelRow, calls_only: bool
) -> ModelRow:
    """Returns a row with the times that it lacks."""
    # Modules that are equal byte by byte are measured once.
    for each in record.rows:
        same = (each.kernel, each.module) == (row.kernel, row.module) and each.mode != row.mode
        if same and (calls_only or each.kernels):
            return replace(each, mode=row.mode)
    if math.isnan(row.milliseconds):
        row = replace(row, milliseconds=prepared.call_milliseconds(vmfb))
    if not (calls_only or row.kernels):
        row = replace(row, kernels=prepared.kernels(vmfb, record.clocks))
    return row
