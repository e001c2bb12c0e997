# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `bankwise-run`: iree-run-module's flags and a few of our own."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..iree_plugin.compile_settings import CompileSettings
from ..runtime.module_run import DEVICES, EMULATED, RunSettings
from . import compile_arguments
from .argument_parser import ArgumentParser
from .assembly_arguments import (
    AssemblySettings,
    add_assembly_flags,
    assembly_settings,
    check_limits,
    is_assembly,
)
from .compile_arguments import unhonoured_flags
from .runtime_flags import check_drivers, take_runtime_flags
from .usage import UsageError, check_choice, flag_of, truth, unknown_flag, value_of

# Flags of bankwise-compile that a run can honour; the others change or name its output.
_HONOURED = (
    *("input", "mitigation", "level", "retile", "tuning_spec", "remarks", "decisions", "dump_ir"),
    *("verify_lds", "compile_from"),
    *("verify", "dump_phases_to", "remarks_filter", "remarks_file", "print_before", "print_after"),
    "process_flags",
)
_THRESHOLDS = {"f16": 1e-3, "bf16": 1e-2, "f32": 1e-4, "f64": 1e-4}


def parse_arguments(argv: Sequence[str]) -> RunSettings | AssemblySettings:
    """Returns the settings that `argv` asks for, of a module or of a kernel's assembly.

    Raises:
        UsageError: a flag that cannot be used; the message names it.
    """
    parser = make_parser()
    drivers, words = take_runtime_flags(list(expand_flag_files(argv)))
    known, rest = parser.parse_known_args(words)
    plain = [word for word in rest if not word.startswith("-")]
    if is_assembly(known, plain):
        for flag in drivers:
            raise UsageError(f"{flag_of(flag)} has no meaning for assembly")
        return assembly_settings(parser, known, rest, _shown(known))
    return _module_settings(known, rest, plain, drivers, parser.flags)


def _shown(known: argparse.Namespace) -> dict[str, Any]:
    """Returns the attributes of `OutputSettings`."""
    names = ("counters", "timing", "timeline", "counters_json", "annotate", "workgroups")
    return {
        **{name: getattr(known, name) for name in (*names, "max_steps", "waits", "assume_xf32")},
        "max_elements": known.output_max_element_count,
        "thresholds": {x: getattr(known, f"expected_{x}_threshold") for x in _THRESHOLDS},
        "relative": known.expected_rtol,
        "exact": known.equality_mode == "exact",
    }


def _module_settings(
    known: argparse.Namespace,
    rest: Sequence[str],
    plain: Sequence[str],
    drivers: Sequence[str],
    flags: Sequence[str],
) -> RunSettings:
    """Returns the settings for a module.

    Args:
        plain: the words in `rest` that are no flags.
        drivers: the flags that drivers of real devices read.
        flags: those that there are, beside the compiler's.
    """
    compiled = _compile_settings(known, rest, plain, flags)
    lists = (known.list_devices, known.dump_devices) != (None, None) or known.list_drivers
    if compiled.input is None and not lists:
        ours = ("--iree-", "--bankwise-")
        for word in rest:
            if word.startswith("--") and not word.startswith(ours):
                raise unknown_flag(word, flags, ", and no module; name one with --module=FILE")
        raise UsageError("no module; name one with --module=FILE")
    settings = RunSettings(
        module=compiled.input or "",
        function=known.function,
        inputs=tuple(known.input),
        outputs=tuple(known.output),
        expected=tuple(known.expected_output),
        device=_checked_device(known.device),
        allocators=tuple(known.device_allocator),
        driver_flags=tuple(drivers),
        parameters=tuple(known.parameters),
        list_devices=known.list_devices,
        list_drivers=known.list_drivers,
        dump_devices=known.dump_devices,
        statistics=known.print_statistics,
        trace=known.trace_execution,
        compile=compiled,
        compare=known.compare,
        **_shown(known),
    )
    _check(settings, known)
    return settings


def _compile_settings(
    known: argparse.Namespace, rest: Sequence[str], plain: Sequence[str], flags: Sequence[str]
) -> CompileSettings:
    """Returns how a module that is MLIR is compiled; `plain` are words in `rest` without a flag."""
    named = [known.module] if known.module else []
    if known.module and plain and plain == rest:
        raise UsageError(f"two modules, '{known.module}' and '{plain[0]}'")
    # A module that stands first cannot be taken for the value of a flag.
    compiled = compile_arguments.parse_arguments([*named, *rest], flags)
    for flag in unhonoured_flags(compiled, _HONOURED):
        raise UsageError(f"{flag} has no meaning for a run")
    return compiled


def expand_flag_files(argv: Sequence[str], within: tuple[str, ...] = ()) -> Iterator[str]:
    """Returns the words of a command line, and in place of each `--flagfile` those of the file.

    Raises:
        UsageError: a file that cannot be read, or that reads itself.
    """
    words = iter(argv)
    for word in words:
        if flag_of(word).lstrip("-") != "flagfile" or not word.startswith("-"):
            yield word
            continue
        path = value_of(word, words)
        if path in within:
            raise UsageError(f"--flagfile={path}: the file reads itself")
        try:
            lines = Path(path).read_text().splitlines()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise UsageError(f"--flagfile={path}: cannot read it: {reason}") from None
        flags = [line.strip() for line in lines]
        kept = [_unquoted(flag) for flag in flags if flag and not flag.startswith("#")]
        yield from expand_flag_files(kept, (*within, path))


def _unquoted(flag: str) -> str:
    """Returns `--function="main"` without the quotation marks, which no shell takes away here."""
    name, separator, value = flag.partition("=")
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return f"{name}{separator}{value}"


def _checked_device(device: str) -> str:
    """Returns the device; a real one may be a URI with a path behind its driver."""
    driver, separator, _ = device.partition("://")
    if separator and driver in ("auto", *EMULATED):
        raise UsageError(f"--device={device}: '{driver}' has no devices to choose from")
    check_choice("--device", driver, DEVICES)
    return device


def check_device(settings: RunSettings, device: str) -> None:
    """Refuses flags that have no meaning for a device, which may be `auto`.

    Raises:
        UsageError: there is one; the message names it.
    """
    check_drivers(settings.driver_flags, device)
    if settings.compare is not None and not device.startswith(("emulated-", "auto")):
        raise UsageError(f"--compare: device '{device}' is not emulated")
    if settings.trace and not device.startswith(("emulated-", "auto")):
        raise UsageError(
            f"--trace_execution: device '{device}' is not emulated; iree-run-module traces what "
            "runs on real devices"
        )


def _check(settings: RunSettings, known: argparse.Namespace) -> None:
    if settings.allocators and settings.device.startswith("emulated-"):
        raise UsageError("--device_allocator: an emulated device has one allocator of its own")
    check_device(settings, settings.device)
    check_limits(known)
    if settings.compare == settings.compile.mitigation:
        raise UsageError(f"--compare={settings.compare}: the module is compiled so itself")
    flags = [
        *unhonoured_flags(settings.compile, ("input", "process_flags")),
        *settings.compile_flags,
        *([] if settings.compare is None else ["--compare"]),
    ]
    if flags and not settings.is_source:
        raise UsageError(
            f"{flags[0]}: '{settings.module}' is compiled already; compile flags need an .mlir "
            "module"
        )
    emulated = settings.device == "auto" or settings.device.startswith("emulated-")
    for given, flag in (
        (settings.counters, "--counters"),
        (settings.timing, "--timing"),
        (settings.timeline is not None, "--timeline"),
        (settings.annotate, "--annotate"),
        (settings.counters_json is not None, "--counters-json"),
        (settings.workgroups is not None, "--workgroups"),
        (settings.max_steps is not None, "--max-steps"),
        (settings.waits != "error", "--waits"),
        (settings.assume_xf32, "--assume-xf32"),
    ):
        if given and not emulated:
            raise UsageError(f"{flag}: device '{settings.device}' is not emulated")


def _add_tolerances(parser: ArgumentParser) -> None:
    """Adds the flags that say how outputs are compared with what is expected."""
    add = parser.add_argument
    for name, value in _THRESHOLDS.items():
        add(f"--expected_{name}_threshold", type=float, default=value, metavar="X",
            help=f"absolute tolerance of {name} ({value:g})")  # fmt: skip
    add("--equality_mode", default="approximate", choices=("approximate", "exact"),
        help="exact compares bits, approximate as the tolerances say")  # fmt: skip
    add("--expected_rtol", type=float, default=1e-5, metavar="X", help="relative tolerance")


def make_parser() -> ArgumentParser:
    """Returns the parser of the command line."""
    parser = ArgumentParser(
        "bankwise-run",
        description="Runs a function of a module on a GPU, or on an exact emulation of one.",
        epilog="""\
A module that is MLIR is compiled first, and all flags of bankwise-compile are taken, such as
--bankwise-mitigation, --bankwise-level and --bankwise-retile: see bankwise-compile --help. The
--hip_*, --cuda_* and --task_* flags of iree-run-module go to the drivers of real devices.

examples:
  bankwise-run --module=attention.mlir --device=emulated-gfx942 --counters \\
      --input=1x1024x128xf16=@q.bin --input=1x1024x128xf16=0.5 --input=@v.npy --output=@o.npy
  bankwise-run --module=attention.vmfb --device=hip --input=@q.npy --input=@k.npy --input=@v.npy
  bankwise-run transpose.s --kernel=padded --grid=8,16 --block=256 --counters \\
      --arg=@in.npy --arg=256x1024xf16 --arg=1024:i32 --arg=256:i32 --output=1:@out.npy
""",
    )
    add = parser.add_argument
    add("--module", metavar="FILE", help="a .vmfb, or an .mlir to compile first ('-' for stdin)")
    add("--function", default="", help="the function to run (default: the only one)")
    add("--input", action="append", default=[], metavar="VALUE", help="an input, see below")
    add("--output", action="append", default=[], metavar="WHERE",
        help="@file.npy, @file.bin, +file to append, - to print, empty to ignore; for assembly "
        "ARG:WHERE with an argument's number or name")  # fmt: skip
    add("--expected_output", action="append", default=[], metavar="VALUE",
        help="compare an output with a value; '(ignored)' skips it; for assembly "
        "ARG:VALUE")  # fmt: skip
    _add_device_flags(parser)
    add("--parameters", action="append", default=[], metavar="[SCOPE=]FILE",
        help="a file of parameters (.irpa, .gguf, .safetensors)")  # fmt: skip
    add("--flagfile", metavar="FILE", help="read flags from a file, one a line; '#' is a comment")
    _add_emulator_flags(parser)
    add("--print_statistics", nargs="?", const=True, default=False, type=truth, metavar="BOOL",
        help="print what was allocated and launched, on stderr")  # fmt: skip
    add("--trace_execution", nargs="?", const=True, default=False, type=truth, metavar="BOOL",
        help="print each step of the host program before it runs on the emulator")  # fmt: skip
    add("--output_max_element_count", type=int, default=1024, metavar="N",
        help="elements of an output to print")  # fmt: skip
    _add_tolerances(parser)
    add_assembly_flags(parser)
    return parser


def _add_device_flags(parser: ArgumentParser) -> None:
    """Adds the flags that name, list and set up devices."""
    add = parser.add_argument
    add("--device", default="auto", metavar="DEVICE",
        help=f"{', '.join(DEVICES)}, or a device's URI, as hip://0 (auto: hip if a device answers, "
        "else the emulator)")  # fmt: skip
    add("--list_devices", nargs="?", const="", metavar="DRIVER",
        help="list the devices that can be named, of one driver or of all")  # fmt: skip
    add("--list_drivers", action="store_true", help="list the drivers of the runtime")
    add("--dump_devices", nargs="?", const="", metavar="DRIVER",
        help="describe the real devices that answer, of one driver or of all")  # fmt: skip
    add("--device_allocator", action="append", default=[], metavar="SPEC",
        help="an allocator around a real device's own, as caching or debug")  # fmt: skip


def _add_emulator_flags(parser: ArgumentParser) -> None:
    """Adds the flags that only the emulator honours."""
    add = parser.add_argument
    add("--counters", action="store_true", help="print the emulator's counters")
    add("--compare", metavar="MITIGATION", choices=("stock", "none"),
        help="compile so too, and print the counters of both side by side")  # fmt: skip
    add("--timing", action="store_true",
        help="predict the time on an MI300X or MI355X, and what waves wait for")  # fmt: skip
    add("--timeline", metavar="FILE",
        help="write when waves are predicted to issue what: FILE.svg is a picture, any other FILE "
        "a trace for Perfetto")  # fmt: skip
    add("--counters-json", metavar="FILE", help="write them as JSON ('-' for stdout)")
    add("--annotate", action="store_true",
        help="print the assembly with executions and conflict cycles beside each line")  # fmt: skip
    add("--workgroups", type=int, metavar="N", help="emulate a sample of N workgroups")
    add("--max-steps", type=int, metavar="N",
        help="end an emulated dispatch after N steps as endless (2,000,000)")  # fmt: skip
    add("--waits", choices=("off", "warn", "error"), default="error",
        help="what a register is that is used before a load has written it")  # fmt: skip
    add("--assume-xf32", action="store_true",
        help="round xf32 to the nearest number with 10 bits behind the point")  # fmt: skip
