# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of whole models in PyTorch, beside those that a record has already."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..gpu.float64 import errors_of
from ..gpu.profiler import TIME, kernel_milliseconds, ncu_command, read_launches
from .exported import ExportedModel, ExportedModels
from .model_record import MOST_STOCK_ERROR, TORCH_SERIES, ModelRecord, TorchRow

READY = "compiled, and has run"
"""What `torch_calls.py` prints once it can be timed."""
PROGRAM = (sys.executable, "-m", f"{__package__}.torch_calls")
_TORCH = "torch"
"""The `input_type` of the models that are PyTorch's."""


@dataclass(frozen=True)
class _Run:
    """A process of `torch_calls.py`.

    Attributes:
        folder: where its report and its messages are.
        seconds: how long it may take to compile, and again to be timed.
    """

    model: ExportedModel
    folder: Path
    seconds: float
    process: subprocess.Popen[str]

    @staticmethod
    def started(directory: Path, model: ExportedModel, folder: Path, seconds: float) -> _Run:
        """Starts the process, whose own processes are in a group with it."""
        folder.mkdir()
        with (folder / "messages").open("w") as messages:
            process = subprocess.Popen(
                [*PROGRAM, str(directory), model.name, str(folder / "report.json")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                start_new_session=True,
            )
        return _Run(model, folder, seconds, process)

    def wait_until_ready(self) -> None:
        """Returns when the model is compiled, or when its process has ended or was ended."""
        assert self.process.stdout is not None
        limit = threading.Timer(self.seconds, self._end)
        limit.start()
        for line in self.process.stdout:
            if line.strip() == READY:
                break
        limit.cancel()

    def rows(self) -> tuple[list[TorchRow], dict[str, str]]:
        """Has the model timed; returns its rows, and the versions of what was timed."""
        try:
            self.process.communicate("\n", self.seconds)
        except subprocess.TimeoutExpired:
            self._end()
            self.process.communicate()
        try:
            told = json.loads((self.folder / "report.json").read_text())
        except FileNotFoundError:
            note = self._why()
            return [TorchRow(self.model.name, each, None, None, note) for each in TORCH_SERIES], {}
        rows = [_row(self.model, series, each) for series, each in told["series"].items()]
        return rows, told["versions"]

    def _end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)

    def _why(self) -> str:
        """Returns why there is no report."""
        if self.process.returncode == -signal.SIGKILL:
            return f"it took longer than {self.seconds:.0f} s"
        said = (self.folder / "messages").read_text().strip().splitlines()
        return said[-1][:200] if said else f"it ended with {self.process.returncode}"


def _row(model: ExportedModel, series: str, told: dict[str, Any]) -> TorchRow:
    """Returns the row of what `torch_calls.py` wrote; a wrong output has no time."""
    if "note" in told:
        return TorchRow(model.name, series, None, None, told["note"])
    expected = np.array(model.expected)
    errors = errors_of(np.array(told["found"]) - expected)
    magnitude = np.sqrt(np.mean(expected**2))
    if not errors.rms <= MOST_STOCK_ERROR * magnitude:
        note = f"the rms error is {errors.rms:.2e} of {magnitude:.2e}"
        return TorchRow(model.name, series, None, errors, note)
    return TorchRow(model.name, series, told["milliseconds"], errors)


def _with_kernels(directory: Path, row: TorchRow, clocks: str) -> TorchRow:
    """Returns a row with the milliseconds of each kernel of one call, if it has a time."""
    if row.milliseconds is None:
        return row
    command = ncu_command([TIME], clocks, "--profile-from-start=off")
    run = subprocess.run(
        [*command, *PROGRAM, str(directory), row.kernel], capture_output=True, text=True
    )
    try:
        launches = read_launches(run.stdout)
    except ValueError as error:
        return replace(row, note=str(error))
    if not launches:
        return replace(row, note="ncu saw no kernel")
    return replace(row, kernels=kernel_milliseconds(launches))


def measure_torch(directory: Path, output: Path, only: str, jobs: int, seconds: float) -> bool:
    """Adds the times of PyTorch to the record of the same models, which is written at once.

    A model whose times are known is not timed again.

    Args:
        directory: what was exported into.
        output: the file of the record, which `measure_models` wrote on this machine.
        only: a regular expression that is searched in the names of models.
        jobs: how many models are compiled at a time; one is timed at a time.
        seconds: how long one may take to compile, and again to be timed.

    Returns:
        Whether all could be timed; why one could not is in its rows.

    Raises:
        OSError: there is no record, or a file cannot be read or written.
        RuntimeError: no models were exported.
    """
    record = ModelRecord.read(output)
    known = {row.kernel for row in record.torch if not row.note}
    models = [
        each
        for each in ExportedModels.of_directory(directory).models
        if each.input_type == _TORCH or each.traced(directory).exists()
        if re.search(only, each.name) and each.name not in known
    ]
    for start in range(0, len(models), jobs):
        with tempfile.TemporaryDirectory(prefix="bankwise-torch-") as scratch:
            batch = models[start : start + jobs]
            runs = [_Run.started(directory, m, Path(scratch, m.name), seconds) for m in batch]
            with ThreadPoolExecutor(len(runs)) as pool:
                list(pool.map(_Run.wait_until_ready, runs))
            for run in runs:
                rows, versions = run.rows()
                if run.model.traced(directory).exists():
                    rows = [_with_kernels(directory, row, record.clocks) for row in rows]
                record = _with_rows(record, rows, versions)
                record.write(output)
    return not any(row.note for row in record.torch)


def _with_rows(
    record: ModelRecord, rows: Sequence[TorchRow], versions: dict[str, str]
) -> ModelRecord:
    """Returns a record with the rows of one more model, which are printed."""
    for row in rows:
        said = row.note if row.milliseconds is None else f"{row.milliseconds:.4f} ms"
        print(f"{row.kernel} {row.series}: {said}", flush=True)
    names = {row.kernel for row in rows}
    others = (row for row in record.torch if row.kernel not in names)
    return replace(record, versions={**record.versions, **versions}, torch=(*others, *rows))
