# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The records that pages quote, each read once when it is first asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ...emulator.timing.constants import CHIPS
from ...sweep.rows import Row as SweptRow
from ...sweep.tables import read_json_table
from ..attention_shapes import ShapeRow
from ..benchmark import RESULTS, BenchRow
from ..compiled_counts import CompiledRow
from ..cuda_attention import Row as SharedMemoryRow
from ..documents import of_document
from ..gpu.ratios import Ratios
from ..gpu.record import Record
from ..gpu_examples import Row as ExampleRow
from ..matmul_table import Row as ProductRow
from ..origami_tiles import NAME as ORIGAMI
from ..origami_tiles import Row as TileRow
from ..programs import ProgramRow
from ..whole_models.model_record import ModelRecord

_RowT = TypeVar("_RowT")
_BenchRowT = TypeVar("_BenchRowT", bound=BenchRow)


class MissingRowError(LookupError):
    """A page quotes a row that a record does not have; the message names both."""


@dataclass(frozen=True)
class MeasuredAttention:
    """A measured attention of others, in which every row looks at every key.

    Attributes:
        heads: the batches times the heads of queries.
        rows: the rows of queries, and of keys.
        microseconds: its times, by architecture.
    """

    heads: int
    rows: int
    microseconds: Mapping[str, float]


@dataclass(frozen=True)
class Records:
    """The files of a folder like `bench/results/`.

    Every property raises `OSError` where its file cannot be read.
    """

    folder: Path = RESULTS

    @cached_property
    def times(self) -> Ratios:
        """Returns the kernel times on a GPU."""
        return Ratios.of(Record.read(self.folder / "gpu_times.json"))

    @cached_property
    def model_attentions(self) -> Ratios:
        """Returns the kernel times on a GPU of attentions as models have them."""
        return Ratios.of(Record.read(self.folder / "gpu_attentions.json"))

    @cached_property
    def gpu_products(self) -> Ratios:
        """Returns the kernel times on a GPU of convolutions, batches and matmuls with epilogues."""
        return Ratios.of(Record.read(self.folder / "gpu_products.json"))

    @cached_property
    def gpu_dynamic(self) -> Ratios:
        """Returns the kernel times on a GPU of kernels with dynamic sizes."""
        return Ratios.of(Record.read(self.folder / "gpu_dynamic.json"))

    @cached_property
    def models(self) -> ModelRecord:
        """Returns the times of whole models on a GPU."""
        return ModelRecord.read(self.folder / "models.json")

    @cached_property
    def model_calls(self) -> ModelRecord:
        """Returns those of calls of them, and of PyTorch's, in an earlier run on another GPU."""
        return ModelRecord.read(self.folder / "model_calls.json")

    @cached_property
    def real_models(self) -> ModelRecord:
        """Returns the times of models of ONNX files on a GPU, with random weights."""
        return ModelRecord.read(self.folder / "real_model_times.json")

    @cached_property
    def shapes(self) -> list[ShapeRow]:
        """Returns the emulated attentions as models have them."""
        return self._rows("attention_shapes", ShapeRow)

    @cached_property
    def shared_memory(self) -> list[SharedMemoryRow]:
        """Returns the rows of `cuda_attention.json`."""
        document = json.loads((self.folder / "cuda_attention.json").read_text())
        return [SharedMemoryRow(**row) for row in document["rows"]]

    @cached_property
    def examples(self) -> list[ExampleRow]:
        """Returns the conflicts of examples and convolutions on a GPU."""
        document = json.loads((self.folder / "gpu_examples.json").read_text())
        return [ExampleRow(**row) for row in document["rows"]]

    @cached_property
    def swept(self) -> list[SweptRow]:
        """Returns the emulated attentions in each mode, with predicted times."""
        return read_json_table((self.folder / "timing_sweep.json").read_bytes())[0]

    @cached_property
    def aiter(self) -> list[MeasuredAttention]:
        """Returns the times that AMD has measured of AITER's attentions without masks."""
        document = json.loads((self.folder / "aiter_attention.json").read_text())
        return [
            MeasuredAttention(batch * heads, rows, dict(zip(CHIPS, times, strict=True)))
            for batch, heads, _, rows, _, _, causal, *times in document["rows"]
            if not causal
        ]

    @cached_property
    def aiter_swept(self) -> list[SweptRow]:
        """Returns the predicted times of our attentions of the same sizes."""
        return read_json_table((self.folder / "aiter_sweep.json").read_bytes())[0]

    @cached_property
    def origami(self) -> list[TileRow]:
        """Returns how Origami and our formula rank tiles."""
        document = json.loads((self.folder / f"{ORIGAMI}.json").read_text())
        return [of_document(TileRow, row) for row in document["rows"]]

    @cached_property
    def products(self) -> list[ProductRow]:
        """Returns the emulated matmuls and convolutions."""
        return self._rows("matmul_table", ProductRow)

    @cached_property
    def programs(self) -> list[ProgramRow]:
        """Returns the emulated programs."""
        return self._rows("programs", ProgramRow)

    @cached_property
    def compiled(self) -> list[CompiledRow]:
        """Returns what compiles at all levels have, for chips without predicted times."""
        return self._rows("compiled_levels/compiled_counts", CompiledRow)

    def _rows(self, name: str, row: type[_BenchRowT]) -> list[_BenchRowT]:
        document = json.loads((self.folder / f"{name}.json").read_text())
        return [row.of_document(**each) for each in document["rows"]]

    def shared_memory_of(self, kernel: str, mode: str) -> SharedMemoryRow:
        """Returns the counters of an attention.

        Raises:
            MissingRowError: the row is not there.
        """
        case = (kernel, mode)
        found = (row for row in self.shared_memory if (row.kernel, row.mode) == case)
        return _first(found, f"cuda_attention.json has no row of {kernel} {mode}")

    def swept_of(self, kernel: str, dtype: str, mode: str) -> SweptRow:
        """Returns the row of an emulated attention of a type.

        Raises:
            MissingRowError: the row is not there.
        """
        case = (kernel, dtype, mode)
        found = (row for row in self.swept if (row.kernel, row.dtype, row.mode) == case)
        return _first(found, f"timing_sweep.json has no row of {kernel} {dtype} {mode}")

    def predicted_of(self, kernel: str, target: str, mode: str) -> float | None:
        """Returns the predicted microseconds of an attention of `aiter_swept`, if it is there."""
        for row in self.aiter_swept:
            if (row.kernel, row.target, row.mode) == (kernel, target, mode):
                assert row.predicted_microseconds is not None
                return row.predicted_microseconds["expected"]
        return None


def _first(rows: Iterator[_RowT], missing: str) -> _RowT:
    """Returns the first row, or raises a MissingRowError that says what is missing."""
    for row in rows:
        return row
    raise MissingRowError(missing)
