# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of IREE's codegen pipelines, taken from what the installed compiler prints.

`iree-compile --mlir-print-ir-after-all` prints, before each dump, the pass that just ran with all
its options: `// -----// IR Dump After CSEPass: cse //----- //`. The headers over one function,
between its first codegen pass and `iree-llvmgpu-lower-executable-target`, are the function's
pipeline; those that follow up to `iree-codegen-resolve-swizzle-hints` are the first part of its
lowering to LLVM, after which every LDS access is a 1-D load or store with one flat offset.

A recording holds for one compiler version, backend, pipeline kind and set of pipeline options.
Those of the pinned version are data files of the package; others are taken when they are needed
and kept under the user's cache directory.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from ..bank_model.json_text import read_json
from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..passes.pipeline_edit import LOWERED, RESOLVE_SWIZZLE_HINTS, NativePass
from .compile_settings import AFTER_LLVM, BEFORE_CODEGEN, joined_flags
from .embedding import compiler_tool, compiler_version
from .temporary_files import temporary_directory
from .user_cache import UserCache

LOWER_EXECUTABLE_TARGET = "iree-llvmgpu-lower-executable-target"

_HEADER = re.compile(r"// -----// IR Dump After [^:]\S*: ([\w-]+)(\{.*\})? //----- //")
_HEADER_START = "// -----// IR Dump "
_FUNCTION = re.compile(r"^\s*func\.func(?: \w+)? @(\"[^\"]*\"|[\w$.-]+)", re.MULTILINE)
_MODULE = re.compile(r"\s*(builtin\.)?module\b|\s*hal\.executable")


class RecordingError(RuntimeError):
    """The compiler did not print the pipeline that was asked for."""


class RecordingKey(NamedTuple):
    """What a function's codegen pipeline depends on.

    Attributes:
        backend: HAL target backend, `rocm` or `cuda`.
        pipeline: pipeline kind: `VectorDistribute`, `TileAndFuse`, `Distribute` or `Lowered`.
        options: the function's `gpu_pipeline_options` that differ from their defaults, sorted.
        flags: the compiler flags of the compile that may change a codegen pipeline, sorted.
    """

    backend: str
    pipeline: str
    options: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        details = ", ".join((*self.options, *self.flags))
        return f"{self.pipeline} on {self.backend}" + (f" ({details})" if details else "")


@dataclass(frozen=True)
class Recording:
    """The passes over one function, in order, each `name` or `name{options}`.

    Attributes:
        codegen: the function's pipeline.
        lowering: the function passes between it and the resolving of swizzle hints, inclusive.
    """

    key: RecordingKey
    codegen: tuple[str, ...]
    lowering: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Returns whether the compiler printed passes, which it does for functions it lowers."""
        return bool(self.lowering) and bool(self.codegen or self.key.pipeline == LOWERED)

    @cached_property
    def stages(self) -> tuple[tuple[NativePass, ...], tuple[NativePass, ...]]:
        """Returns the passes of `codegen` and of `lowering` as pipeline steps."""
        codegen, lowering = (
            tuple(NativePass.parse(text) for text in stage)
            for stage in (self.codegen, self.lowering)
        )
        return codegen, lowering


# Flags that cannot change which passes a device function goes through: of other phases of IREE, of
# MLIR, of LLVM's backends for GPUs, and those by which LLVM measures and prints.
_HARMLESS_FLAG = re.compile(
    r"--?(iree-(hal|rocm-target|hip-target|cuda-target|input|vm|dispatch-creation|flow|stream|"
    r"global-opt|preprocessing|llvmcpu|execution-model|scheduling|parameter)|mlir-|"
    r"iree-gpu-test-target|(nvptx|amdgpu|time|print)-|stats\b|track-memory|info-output-file)"
)


def codegen_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Returns the flags among `flags` on which a codegen pipeline may depend, sorted.

    A value that follows its flag as a word of its own is joined to it.
    """
    joined = joined_flags(flags)
    return tuple(sorted(flag for flag in joined if not _HARMLESS_FLAG.match(flag)))


def dump_recordings(version: str, recordings: Iterable[Recording]) -> str:
    """Returns a data file's text for the recordings of one compiler version.

    Many keys share a pipeline: each distinct list of passes is written once, and named by index.
    """
    lists: list[tuple[str, ...]] = []

    def index_of(passes: tuple[str, ...]) -> int:
        if passes not in lists:
            lists.append(passes)
        return lists.index(passes)

    entries = [
        {
            "backend": recording.key.backend,
            "pipeline": recording.key.pipeline,
            "options": recording.key.options,
            "flags": recording.key.flags,
            "codegen": index_of(recording.codegen),
            "lowering": index_of(recording.lowering),
        }
        for recording in sorted(recordings, key=lambda r: str(r.key))
    ]
    document = {"compiler_version": version, "recordings": entries, "pass_lists": lists}
    return json.dumps(document, indent=1) + "\n"


def load_recordings(text: str, version: str) -> list[Recording]:
    """Returns the recordings of a data file, or none when it is for another compiler version.

    Raises:
        ValueError: the text is not what `dump_recordings` writes.
    """
    document = read_json(text)
    try:
        if document["compiler_version"] != version:
            return []
        lists = [_words(passes) for passes in document["pass_lists"]]
        found = [
            Recording(
                RecordingKey(
                    entry["backend"],
                    entry["pipeline"],
                    _words(entry["options"]),
                    _words(entry["flags"]),
                ),
                lists[entry["codegen"]],
                lists[entry["lowering"]],
            )
            for entry in document["recordings"]
        ]
    except (LookupError, TypeError) as error:
        raise ValueError(f"no recordings: {error!r}") from None
    if not all(recording.is_whole for recording in found):
        raise ValueError("a recording without passes")
    return found


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"expected a list of texts, got {value!r}")
    return tuple(value)


def pipeline_options(text: str) -> tuple[str, ...]:
    """Returns the options of a `#iree_gpu.pipeline_options<...>` that differ from defaults."""
    match = re.search(r"#iree_gpu\.pipeline_options<(.*?)>(?=[,}\s]|$)", text)
    if match is None:
        return ()
    options = [" ".join(item.split()) for item in match[1].split(",") if item.strip()]
    defaults = {"prefetch_num_stages = 0"}
    return tuple(sorted(o for o in options if o not in defaults and not o.endswith("= false")))


@cache
def packaged_recordings(version: str) -> Mapping[RecordingKey, Recording]:
    """Returns the recordings for a compiler version that are data of the package."""
    found: dict[RecordingKey, Recording] = {}
    # `importlib.resources` would take 8 ms of a compile.
    for path in Path(__file__).with_name("recordings").glob("*.json"):
        for recording in load_recordings(path.read_text(), version):
            found[recording.key] = recording
    return MappingProxyType(found)


@dataclass
class RecordingStore:
    """Finds recordings: in the package's data, then in the user's cache, else takes them.

    Attributes:
        version: compiler version whose recordings are wanted.
        cache: where recordings taken on the fly are kept; None stands for the user's folder.
    """

    version: str = field(default_factory=compiler_version)
    cache: UserCache | None = None

    @cached_property
    def _taken(self) -> UserCache:
        # Where the folder is is asked for only if a recording is missing.
        return UserCache() if self.cache is None else self.cache

    def find(self, key: RecordingKey) -> Recording | None:
        """Returns the stored recording for `key`, if there is one."""
        packaged = packaged_recordings(self.version)
        if key in packaged:
            return packaged[key]
        try:
            text = self._taken.read(self._name(key), self._text_of(key))
            cached = [] if text is None else load_recordings(text, self.version)
        except ValueError:
            return None
        return next((recording for recording in cached if recording.key == key), None)

    def get(
        self, key: RecordingKey, configured_module: Callable[[], str], function: str
    ) -> Recording:
        """Returns the recording for `key`, taken from a module when none is stored.

        Args:
            key: what the pipeline depends on.
            configured_module: returns the text of one at phase `executable-configurations`.
            function: symbol of a function in it to which `key` applies.

        Raises:
            RecordingError: the compiler does not print the pipeline.
        """
        found = self.find(key)
        if found is None:
            found = record(key, configured_module(), function)
            text = dump_recordings(self.version, [found])
            self._taken.keep(self._name(key), self._text_of(key), text)
        return found

    def _name(self, key: RecordingKey) -> str:
        return f"pipeline-{self.version}-{key.pipeline}"

    def _text_of(self, key: RecordingKey) -> str:
        return repr((self.version, key))


def record(key: RecordingKey, configured_module: str, function: str) -> Recording:
    """Takes a recording by compiling `configured_module` with the installed `iree-compile`.

    Raises:
        RecordingError: the compile fails before the pipeline's end, prints no pipeline, or several
            functions (of several devices, say) have the name, so that none can be told apart.
    """
    named = sum(match[1].strip('"') == function for match in _FUNCTION.finditer(configured_module))
    if named > 1:
        raise RecordingError(
            f"{named} functions are named @{function}, and the compiler's output does not tell "
            "them apart; compile for one device at a time"
        )
    with temporary_directory("bankwise-record-") as directory:
        source = directory / "configured.mlir"
        source.write_text(configured_module)
        command = [
            str(compiler_tool("iree-compile")),
            str(source),
            f"--compile-from={BEFORE_CODEGEN}",
            f"--compile-to={AFTER_LLVM}",
            "--mlir-print-ir-after-all",
            "--mlir-disable-threading",
            "--mlir-elide-elementsattrs-if-larger=1",
            *key.flags,
            "-o",
            os.devnull,
        ]
        import subprocess  # The package has the pipelines of most compiles.

        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as run:
            assert run.stderr is not None
            passes = _passes_over_function(run.stderr, function)
            codegen, lowering = _split_at_stages(passes)
            run.kill()
    recording = Recording(key, tuple(codegen), tuple(lowering))
    if not recording.is_whole:
        raise RecordingError(
            f"the installed compiler prints no pipeline for @{function} ({key}); "
            "run iree-compile on the same input to see its own message"
        )
    return recording


def _passes_over_function(lines: Iterable[str], function: str) -> Iterable[str]:
    """Yields the passes whose dump shows `function` itself, not the module around it."""
    pending: str | None = None
    for line in lines:
        if line.startswith(_HEADER_START):
            header = _HEADER.match(line)
            pending = None
            if header is not None:
                options = " ".join(header[2][1:-1].split()) if header[2] else ""
                pending = f"{header[1]}{{{options}}}" if options else header[1]
        elif pending is not None and (match := _FUNCTION.match(line)):
            if match[1].strip('"') == function:
                yield pending
            pending = None
        elif pending is not None and _MODULE.match(line):
            pending = None


def _split_at_stages(passes: Iterable[str]) -> tuple[list[str], list[str]]:
    codegen: list[str] = []
    lowering: list[str] = []
    stage = codegen
    for text in passes:
        name = text.partition("{")[0]
        if name == LOWER_EXECUTABLE_TARGET:
            stage = lowering
            continue
        stage.append(text)
        if name == RESOLVE_SWIZZLE_HINTS and stage is lowering:
            return codegen, lowering
    return [], []
