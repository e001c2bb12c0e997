# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which flags a shell completes, and what it knows of their values."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

import pytest

from bankwise.iree_plugin import program_flags
from bankwise.report import formats as report_formats
from bankwise.tiles import formats as tiles_formats
from bankwise.tools import opt, report_arguments
from bankwise.tools.completed_flags import (
    CompletedFlag,
    Takes,
    distinct,
    flags_of_help,
    flags_of_parser,
    with_values,
)

HELP = """\
OVERVIEW: A tool

OPTIONS:

  -o <filename>                  Output file, '-' (default) for stdout
  --level=<value>                What may change:
    =layout                      the layouts of tiles
    =fast                        more
  --verify, --dump-to=<directory>, --name=<string>
  --diagnostics[=only-expected]  Compare
  --a-flag-that-is-much-too-long=<file>
                                 Says so below

PASSES:

  --cse                       -   Eliminate common sub-expressions
    --an-option=<int>         -   of the pass
  --strategy=<value>                        - Which one
    =DPP                                    -   this one
  --quiet                                   -\x20
"""


def test_a_help_is_read() -> None:
    assert list(flags_of_help(HELP)) == [
        CompletedFlag("-o", "Output file, '-' (default) for stdout", Takes.FILE),
        CompletedFlag("--level", "What may change:", Takes.ONE_OF, ("layout", "fast")),
        CompletedFlag("--verify"),
        CompletedFlag("--dump-to", "", Takes.DIRECTORY),
        CompletedFlag("--name", "", Takes.TEXT),
        CompletedFlag("--diagnostics", "Compare"),
        CompletedFlag("--a-flag-that-is-much-too-long", "", Takes.FILE),
        CompletedFlag("--cse", "Eliminate common sub-expressions"),
        CompletedFlag("--strategy", "Which one", Takes.ONE_OF, ("DPP",)),
        CompletedFlag("--quiet"),
    ]


def test_a_parser_is_read() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("-o", "--output", metavar="DIR", help="where files go")
    parser.add_argument("--format", choices=("text", "json"))
    parser.add_argument("--table", metavar="FILE.json")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int)
    assert list(flags_of_parser(parser)) == [
        CompletedFlag("-o", "where files go", Takes.DIRECTORY),
        CompletedFlag("--output", "where files go", Takes.DIRECTORY),
        CompletedFlag("--format", "", Takes.ONE_OF, ("text", "json")),
        CompletedFlag("--table", "", Takes.FILE),
        CompletedFlag("--all"),
        CompletedFlag("--jobs", "", Takes.TEXT),
    ]


def test_values_are_added_by_name() -> None:
    flags = [CompletedFlag(name, "", Takes.TEXT) for name in ("--a", "--b", "--c")]
    file = CompletedFlag("--kernels", "", Takes.FILE)
    values = {"--a": ("x",), "--kernels": ("attention",)}
    assert with_values([*flags, file], values, {"--b": ("y", "z")}) == [
        CompletedFlag("--a", "", Takes.ONE_OF, ("x",)),
        CompletedFlag("--b", "", Takes.LIST_OF, ("y", "z")),
        CompletedFlag("--c", "", Takes.TEXT),
        # A value or a file.
        CompletedFlag("--kernels", "", Takes.FILE, ("attention",)),
    ]


def test_the_first_flag_of_a_name_counts() -> None:
    first, second = CompletedFlag("--a", "first"), CompletedFlag("--a", "second")
    assert distinct([first, CompletedFlag("--b"), second]) == [first, CompletedFlag("--b")]


def completed(module: str) -> dict[str, CompletedFlag]:
    flags: Sequence[CompletedFlag] = import_module(f"bankwise.tools.{module}").completed_flags()
    return {flag.name: flag for flag in reversed(flags)}


def test_flags_that_compiles_read_are_completed_as_they_are_read() -> None:
    known = completed("compile_arguments")
    dashed = {name: f"--{name}" if len(name) > 1 else f"-{name}" for name in
              (*program_flags.VALUES, *program_flags.SWITCHES)}  # fmt: skip
    for name in program_flags.VALUES:
        assert known[dashed[name]].takes is not Takes.NOTHING, name
    for name in program_flags.SWITCHES:
        assert known[dashed[name]].takes is Takes.NOTHING, name
    assert known["--bankwise-level"].values == ("layout", "exact", "fast")
    assert known["--output-format"].values == ("vm-bytecode", "vm-asm", "vm-c")
    assert "executable-targets" in known["--compile-to"].values
    assert known["--bankwise-decisions"].takes is Takes.FILE
    assert known["--bankwise-dump-ir"].takes is Takes.DIRECTORY
    # The compiler's own, with the values that its help lists.
    assert known["--iree-rocm-target"].takes is Takes.TEXT
    assert "json" in known["--iree-scheduling-dump-statistics-format"].values


def test_flags_and_passes_of_opt_are_completed() -> None:
    known = completed("opt")
    for name in (*opt._VALUES, *opt._PRINT_LISTS, "pass-pipeline", "emit-bytecode-version"):
        flag = known[f"--{name}" if len(name) > 1 else f"-{name}"]
        assert flag.takes is not Takes.NOTHING, name
    for name in (*opt._SWITCHES, *opt._PRINT_SWITCHES, "show-dialects", "list-passes"):
        assert known[f"--{name}"].takes is Takes.NOTHING, name
    for name in ("bankwise-resolve-swizzle-hints", "canonicalize", "iree-codegen-gpu-vector-alloc"):
        assert known[f"--{name}"].takes is Takes.NOTHING
        assert known[f"--{name}"].help
        assert name in known["--mlir-print-ir-after"].values
    # The option of a pass is no flag.
    assert "--padding-bits" not in known
    assert "gfx942" in known["--iree-gpu-test-target"].values


def test_flags_of_reports_and_runs_are_completed() -> None:
    report, run = completed("report_arguments"), completed("run_arguments")
    for name in (*report_arguments._VALUES, *report_arguments._NUMBERS):
        if name not in ("o", "output"):
            assert report[f"--{name}"].takes is not Takes.NOTHING, name
    for name in report_arguments._SWITCHES:
        assert report[f"--{name}"].takes is Takes.NOTHING, name
    assert report["--format"].values == report_formats.FORMATS
    assert "gfx950" in report["--target"].values
    assert "emulated-gfx942" in run["--device"].values
    assert run["--module"].takes is Takes.FILE
    for known in (report, run):
        assert known["--bankwise-level"].values == ("layout", "exact", "fast")
        assert "--iree-rocm-target" in known
        # What a compile alone can honour is refused, and not completed.
        assert "--output-format" not in known


def test_flags_of_sweeps_and_tiles_are_completed() -> None:
    sweep, tile = completed("sweep_arguments"), completed("tile_arguments")
    assert sweep["--dtypes"] == CompletedFlag(
        "--dtypes", sweep["--dtypes"].help, Takes.LIST_OF, ("f16", "bf16", "f32")
    )
    assert "auto/fast" in sweep["--mitigations"].values
    assert sweep["--kernels"].takes is Takes.FILE
    assert sweep["--kernels"].values == ("attention", "matmul")
    assert sweep["--output"].takes is Takes.DIRECTORY
    assert {"gfx942", "sm_80"} <= {*tile["--target"].values}
    assert tile["--format"].values == tiles_formats.FORMATS


@pytest.mark.parametrize(
    "module",
    ["compile_arguments", "executable", "opt", "report_arguments", "run_arguments",
     "sweep_arguments", "tile_arguments"],
)  # fmt: skip
def test_the_flag_for_completion_is_listed_by_every_help(module: str) -> None:
    known = completed(module)
    assert known["--print-completion"].values == ("bash", "zsh")
    assert {"--help", "--version"} <= {*known}
