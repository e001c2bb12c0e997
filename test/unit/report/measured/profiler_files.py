# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files as the profilers write them, after what their documentation and their users show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ROCPROFV3_HEAD = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"'
)


def rocprofv3(*rows: tuple[int, str, int, str, str], threads: int = 256) -> str:
    """Returns `counter_collection.csv` of (dispatch, kernel, workgroups, counter, value)."""
    lines = [
        f'{number},{number},"Agent 4",1,77,77,{groups * threads},9,"{kernel}",{threads},4096,0,32,'
        f'0,16,"{counter}",{value},317095766765717,317095766775957'
        for number, kernel, groups, counter, value in rows
    ]
    return "\n".join([ROCPROFV3_HEAD, *lines]) + "\n"


ROCPROFV3_NEWER_HEAD = (
    '"Guid","Correlation_Id","Dispatch_Id","Replay_Pass","Agent_Id","Queue_Id","Process_Id",'
    '"Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","Lds_Block_Size",'
    '"Scratch_Size","Vgpr_Count","Accum_Vgpr_Count","Sgpr_Count","Counter_Name","Counter_Value",'
    '"Start_Timestamp","End_Timestamp"'
)


def newer_rocprofv3(*rows: tuple[str, int, str, float]) -> str:
    """Returns what rocpd of ROCm 7 converts to CSV: (run, pass, counter, value) of a dispatch of
    @k with 8 workgroups."""
    lines = [
        f'"{guid}",1,1,{number},"Agent 4",1,77,77,2048,9,"k",256,4096,0,32,0,16,"{counter}",'
        f"{value},317095766765717,317095766775957"
        for guid, number, counter, value in rows
    ]
    return "\n".join([ROCPROFV3_NEWER_HEAD, *lines]) + "\n"


def rocprof(kernel: str, counters: Mapping[str, str], workgroups: int) -> str:
    """Returns `results.csv` of `rocprof`, with one dispatch."""
    head = (
        "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,"
        f"accum_vgpr,sgpr,wave_size,sig,obj,{','.join(counters)},DispatchNs,BeginNs,EndNs"
    )
    row = (
        f'0,"{kernel}",0,0,0,73711,73711,{workgroups * 256},256,4096,0,20,4,16,64,0x0,'
        f"0x7f2b4d282500,{','.join(counters.values())},1,2,3"
    )
    return f"{head}\n{row}\n"


def rocprofv2(kernel: str, counters: Mapping[str, str], workgroups: int) -> str:
    """Returns `results.csv` of `rocprofv2`, with one dispatch and empty lines."""
    head = (
        "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,"
        "Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,"
        f"End_Timestamp,Correlation_ID,{','.join(counters)}"
    )
    row = (
        f'1,4,1,73,73,{workgroups * 256},256,4096,0,8,0,16,64,"{kernel}",7,9,0,'
        f"{','.join(counters.values())}"
    )
    return f"{head}\n\n{row}\n\n"


_NCU_HEAD = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"),
    *("Block Size", "Grid Size", "Device", "CC"),
)


def _launch(number: int, kernel: str, block: str) -> tuple[str, ...]:
    place = (str(number), "491", "iree-run-module", "127.0.0.1", kernel, "1", "7")
    return (*place, block, "(8, 16, 1)", "0", "9.0")


def _quoted(rows: Sequence[Sequence[str]]) -> str:
    lines = (",".join(f'"{field}"' for field in row) for row in rows)
    return "\n".join(
        ["==PROF== Connected to process 491", "EXEC @transpose", *lines, "==PROF== Disconnected"]
    )


def ncu_details(kernels: Sequence[str], metrics: Mapping[str, str], block: str = "256") -> str:
    """Returns what `ncu --csv --metrics=...` prints for launches of 128 workgroups each."""
    head = (*_NCU_HEAD, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
    rows = [
        (*_launch(number, kernel, f"({block}, 1, 1)"), "Command line", name, "", value)
        for number, kernel in enumerate(kernels)
        for name, value in metrics.items()
    ]
    return _quoted([head, *rows])


def ncu_raw(kernels: Sequence[str], metrics: Mapping[str, str], block: str = "256") -> str:
    """Returns what `ncu --page raw --csv` prints for the same launches."""
    units = ["" for _ in (*_NCU_HEAD, *metrics)]
    rows = [
        (*_launch(number, kernel, f"({block}, 1, 1)"), *metrics.values())
        for number, kernel in enumerate(kernels)
    ]
    return _quoted([(*_NCU_HEAD, *metrics), units, *rows])


_RULE_COLUMNS = (
    *("Rule Name", "Rule Type", "Rule Description"),
    *("Estimated Speedup Type", "Estimated Speedup"),
)


def ncu_details_with_rules(kernel: str, metrics: Mapping[str, str], *advice: str) -> str:
    """Returns what `ncu --import FILE --page details --csv` prints for a launch with rules."""
    head = (*_NCU_HEAD, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
    launch = _launch(0, kernel, "(256, 1, 1)")
    lines = [",".join(f'"{field}"' for field in (*head, *_RULE_COLUMNS))]
    for name, value in metrics.items():
        row = ",".join(f'"{field}"' for field in (*launch, "Memory", name, "", value))
        lines.append(f"{row},")
    for text in advice:
        rule = ("SharedMemoryConflicts", "OPT", text, "global", "48.84")
        lines.append(",".join(f'"{f}"' for f in (*launch, "Memory_Tables", "", "", "", *rule)))
    return "\n".join(lines)
