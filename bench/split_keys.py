# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether predicted times of attentions with split keys order numbers of parts as measured ones do.

    python -m bankwise.bench.split_keys compile DIR           # where the compiler is
    python -m bench.split_keys measure DIR -o splits.json     # where the GPU is
    python -m bankwise.bench.split_keys report splits.json    # where the compiler is

Attentions with few rows and many keys are compiled with their keys in forced numbers of parts,
beside stock. `measure` is that of `gpu_times`, with the kernels of PyTorch. `report` asks today's
model of what was measured, as `tile_model` does for tiles.
"""

from __future__ import annotations

import sys
from argparse import Namespace

from .gpu.measuring import MEASURE_ARGUMENTS, measure_all, wanted
from .gpu.record import Record
from .gpu.steps import COMPILE_ARGUMENTS, Step, output, record, take_step

# What needs the compiler is imported by the steps that use it.


def _compile(arguments: Namespace) -> None:
    from .forced_splits import compile_splits

    compile_splits(arguments.directory, arguments.only, arguments.jobs)


def _report(arguments: Namespace) -> None:
    from .forced_splits import markdown

    print(markdown(Record.read(arguments.record)), end="")


STEPS = {
    "compile": Step("compile attentions with split keys", _compile, COMPILE_ARGUMENTS),
    "measure": Step(
        "time them on the GPU of this machine",
        lambda arguments: measure_all(wanted(arguments, libraries=True)),
        (*MEASURE_ARGUMENTS, output("splits.json")),
    ),
    "report": Step("compare predicted and measured times", _report, (record,)),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
