# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags of iree-run-module that drivers read, and those that bankwise-run refuses by name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bankwise.runtime.module_run import RunError, RunSettings, check_module
from bankwise.runtime.runtime_device import RuntimeDeviceError, set_driver_flags
from bankwise.tools.run_arguments import check_device, make_parser, parse_arguments
from bankwise.tools.runtime_flags import RUNTIME_FLAGS
from bankwise.tools.usage import UsageError

IREE_RUN_MODULE = Path(sys.executable).with_name("iree-run-module")


def settings(*words: str) -> RunSettings:
    found = parse_arguments(list(words))
    assert isinstance(found, RunSettings)
    return found


def test_every_flag_of_iree_run_module_is_known_with_its_default():
    """A new version of IREE that has other flags or other defaults fails here."""
    text = subprocess.run([IREE_RUN_MODULE, "--help"], capture_output=True, text=True).stdout
    found = dict(re.findall(r"^--(\w+)=(.*)$", text, re.MULTILINE))
    found |= dict(re.findall(r"^# --(\w+)(?:=(?:\.\.\.|\[path\]))?()$", text, re.MULTILINE))
    assert len(found) == 85
    own = {name.lstrip("-") for name in make_parser()._option_string_actions}
    assert not set(found) - own - set(RUNTIME_FLAGS)
    assert not set(RUNTIME_FLAGS) & own
    for name, flag in RUNTIME_FLAGS.items():
        assert flag.default == (found[name].strip('"') if found[name] else None), name


def test_flags_of_drivers_are_passed_on_where_their_driver_runs():
    words = ("a.vmfb", "--task_topology_group_count=2", "--task_worker_spin_us=3")
    assert settings("--device=local-task", *words).driver_flags == words[1:]
    assert settings("a.vmfb", "--hip_use_streams=false").driver_flags == (
        "--hip_use_streams=false",
    )
    assert settings("a.vmfb", "--device=cuda", "--cuda_tracing=0").driver_flags


def test_flags_with_the_value_that_they_have_anyway_are_taken():
    words = ("--vulkan_tracing", "--device_replay_output=", "--module_mode=preload")
    numbers = (
        "--cuda_use_streams=1",
        "--hip_allow_inline_execution=0",
        "--device_lead_allocator=0",
    )
    assert settings("a.mlir", *words, *numbers).driver_flags == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--vulkan_tracing=false", "--vulkan_tracing: iree-run-module takes .* no Vulkan device"),
        ("--device_profiling_mode=counters", "--device_profiling_mode: .* --counters prints"),
        ("--device_replay_output=x", "--device_replay_output: .* nothing is recorded"),
        ("--module_mode=mmap", "--module_mode: .* read as a whole"),
        (
            "--dump_task_topologies",
            "--dump_task_topologies: iree-run-module takes it, this does not",
        ),
        (
            "--device=cuda --hip_use_streams=0",
            "--hip_use_streams is for --device=hip, not for 'cuda'",
        ),
        (
            "--device=local-sync --task_topology_group_count=2",
            "is for --device=local-task, not for",
        ),
        (
            "--device=emulated-gfx942 --hip_tracing=0",
            "is for --device=hip, not for 'emulated-gfx942'",
        ),
        ("--cuda_tracing=0", "--cuda_tracing is for --device=cuda, not for 'auto'"),
        ("--device=local-sync --trace_execution", "--trace_execution: device 'local-sync' is not"),
        ("--device=local-sync --max-steps=9", "--max-steps: device 'local-sync' is not emulated"),
        ("--max-steps=0", "--max-steps=0: expects a number from 1"),
        ("--print_statistics=maybe", "argument --print_statistics: invalid truth value: 'maybe'"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(words: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse_arguments(["a.mlir", *words.split()])


@pytest.mark.parametrize("flag", ["--hip_tracing=0", "--print_statistics", "--trace_execution"])
def test_they_have_no_meaning_for_assembly(flag: str):
    with pytest.raises(UsageError, match=f"{flag.partition('=')[0]} has no meaning for assembly"):
        parse_arguments(["k.s", "--grid=1", flag])


def test_auto_decides_later():
    given = settings("a.mlir", "--hip_tracing=0")
    check_device(given, "hip://0")
    with pytest.raises(UsageError, match="--hip_tracing is for --device=hip"):
        check_device(given, "emulated-gfx942")
    with pytest.raises(UsageError, match="--trace_execution: device 'hip' is not emulated"):
        check_device(settings("a.mlir", "--trace_execution"), "hip")


def test_truth_values_are_those_of_iree_run_module():
    assert settings("a.mlir", "--print_statistics=true", "--trace_execution=0").statistics
    assert not settings("a.mlir", "--print_statistics=true", "--trace_execution=0").trace


def test_the_runtime_reads_the_flags():
    set_driver_flags(["--hip_tracing=1"])
    with pytest.raises(RuntimeDeviceError, match="flag 'no_such_flag' not recognized"):
        set_driver_flags(["--no_such_flag=1"])


@pytest.mark.parametrize(
    ("contents", "message"),
    [(b"", "m.vmfb': the file is empty"), (b"junk" * 99, "m.vmfb': it is no module: neither a .v")],
)
def test_a_file_that_is_no_module_is_told_from_one_without_assembly(
    tmp_path: Path, contents: bytes, message: str
):
    path = tmp_path / "m.vmfb"
    for device in ("--device=emulated-gfx942", "--device=local-sync"):
        given = settings(str(path), device)
        path.unlink(missing_ok=True)
        with pytest.raises(FileNotFoundError):
            check_module(given)
        path.write_bytes(contents)
        with pytest.raises(RunError, match=message):
            check_module(given)
        path.write_bytes(b"PK\3\4 and so on")
        check_module(given)
