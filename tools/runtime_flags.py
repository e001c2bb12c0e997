# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags of `iree-run-module` that are about drivers and about what `bankwise-run` does not do.

A flag of a driver is handed to IREE's runtime as it is. One that cannot be honoured is refused with
the reason, except where it has the value that it has anyway: `iree-run-module --help` prints a file
of all flags with these values, which `--flagfile` may read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .usage import UsageError, flag_of


@dataclass(frozen=True)
class RuntimeFlag:
    """A flag of `iree-run-module` that this tool only knows.

    Attributes:
        default: the value that it has anyway; None if it has none.
        drivers: those that read it; none if it is refused.
        reason: why it is refused.
    """

    default: str | None
    drivers: tuple[str, ...] = ()
    reason: str = ""


def _read_by(drivers: tuple[str, ...], **defaults: str | None) -> dict[str, RuntimeFlag]:
    return {name: RuntimeFlag(default, drivers) for name, default in defaults.items()}


def _refused(reason: str, **defaults: str | None) -> dict[str, RuntimeFlag]:
    return {name: RuntimeFlag(default, reason=reason) for name, default in defaults.items()}


_TASK = ("local-task",)
_VULKAN = "there is no Vulkan device here; there are hip, cuda, local-task and the emulator"
_PROFILE = "profiles are of real devices alone; what the emulator counts, --counters prints"
_REPLAY = "nothing is recorded for a replay"

RUNTIME_FLAGS: Mapping[str, RuntimeFlag] = {
    **_read_by(
        ("cuda",),
        cuda_use_streams="true",
        cuda_allow_inline_execution="false",
        cuda_async_allocations="true",
        cuda_tracing="2",
        cuda_default_index="0",
        cuda_default_index_from_mpi="true",
    ),
    **_read_by(
        ("hip",),
        hip_dylib_path=None,
        hip_use_streams="true",
        hip_allow_inline_execution="false",
        hip_async_allocations="true",
        hip_async_caching="true",
        hip_tracing="2",
        hip_default_index="0",
    ),
    **_read_by(
        _TASK,
        task_abort_on_failure="false",
        task_worker_spin_us="0",
        task_worker_stack_size="131072",
        task_worker_local_memory="0",
        task_topology_mode="physical_cores",
        task_topology_group_count="0",
        task_topology_cpu_ids=None,
        task_topology_nodes="current",
        task_topology_max_group_count="64",
        task_topology_snapshot="",
        task_topology_performance_level="any",
        task_topology_distribution="scatter",
        task_topology_favor="",
    ),
    **_read_by(("local-task", "local-sync"), executable_plugin=None),
    **_refused(
        _VULKAN,
        vulkan_libvulkan_search_path=None,
        vulkan_validation_layers="false",
        vulkan_debug_utils="false",
        vulkan_debug_verbosity="2",
        vulkan_tracing="true",
        vulkan_robust_buffer_access="false",
        vulkan_sparse_binding="false",
        vulkan_sparse_residency="false",
        vulkan_buffer_device_addresses="true",
        vulkan_dispatch_abi="all",
        vulkan_cached_bda_replay_instances="16",
        vulkan_cached_bda_replay_publication_bytes="67108864",
        vulkan_retained_cached_bda_replay_instances="1",
        vulkan_dedicated_compute_queue="true",
    ),
    **_refused(
        _REPLAY,
        device_replay_output="",
        device_replay_file_policy="reference",
        device_replay_file_validation="identity",
    ),
    **_refused(
        _PROFILE,
        device_profiling_mode="",
        device_profiling_output="",
        device_profiling_filter_function="",
        device_profiling_filter_command_buffer="-1",
        device_profiling_filter_command_index="-1",
        device_profiling_filter_physical_device="-1",
        device_profiling_filter_queue="-1",
        device_profiling_counter=None,
        device_profiling_flush_interval_ms="0",
        print_device_statistics="false",
        instrument_file="",
    ),
    **_refused(
        "no other profiler is started",
        device_capture_tool="",
        device_capture_file="",
        device_capture_label="",
    ),
    **_refused("a module is read as a whole before it runs", module_mode="preload"),
    **_refused("files of parameters are read where they lie", parameter_mode="file"),
    **_refused("there is one device", device_lead_allocator="0"),
    **_refused("the topologies are not printed", dump_task_topologies=None),
    **_refused("there is no such guide", agents_md="false"),
}
"""The flags by their names; the others of `iree-run-module` are flags of this tool too."""


def take_runtime_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the flags that a driver reads, and all other words of a command line.

    Raises:
        UsageError: a flag that cannot be honoured.
    """
    taken: list[str] = []
    others: list[str] = []
    for word in words:
        known = RUNTIME_FLAGS.get(_name(word)) if word.startswith("-") else None
        if known is None:
            others.append(word)
        elif not _is_default(word, known):
            if not known.drivers:
                name = flag_of(word)
                raise UsageError(f"{name}: iree-run-module takes it, this does not: {known.reason}")
            taken.append(word)
    return taken, others


def check_drivers(flags: Sequence[str], device: str) -> None:
    """Refuses flags that the driver of a device does not read.

    `auto` may become the device of any driver that it looks for.

    Raises:
        UsageError: there is one; the message names the flag and its drivers.
    """
    driver = device.partition("://")[0]
    for flag in flags:
        drivers = RUNTIME_FLAGS[_name(flag)].drivers
        if driver not in drivers and not (driver == "auto" and "hip" in drivers):
            raise UsageError(
                f"{flag_of(flag)} is for --device={' or '.join(drivers)}, not for '{driver}'"
            )


def _name(word: str) -> str:
    return flag_of(word).lstrip("-")


def _is_default(word: str, flag: RuntimeFlag) -> bool:
    _, separator, value = word.partition("=")
    if flag.default in ("true", "false"):
        value = {"1": "true", "0": "false"}.get(value, value if separator else "true")
    return value == flag.default
