# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo`: compiles the example attentions for gfx942, with stock padding and with Bankwise."""

from __future__ import annotations

import os
import sys
from importlib import resources
from pathlib import Path

from rich.console import Console

from ..bank_model.families import AMD
from ..iree_plugin.stepped_compile import CompileError
from ..report.module_comparison import Comparison
from .endings import fail, file_error

EXAMPLES = ("attention_f16", "attention_f32")
FLAGS = AMD.flags(AMD.usual)
TABLE_WIDTH = 130

NEXT = """\
What to try next{activate}:

  A program of yours:
    bankwise-compile PROGRAM.mlir {flags} -o PROGRAM.vmfb
  Stock's counters beside Bankwise's, without a GPU:
    bankwise-run --module={example} --compare=stock --device=emulated-{arch} \\
        --workgroups=1 {inputs}
  Which accesses conflict, and why:
    bankwise-report {example} {flags}
  The best layout of a tile of your own kernel:
    bankwise-tile --target=h100 --tile=64x64xf16 --read=ldmatrix

README.md says where to begin, docs/tutorial.md takes ten minutes.
"""


def main() -> int:
    """Compares both examples, and prints what came of them and what can be tried next."""
    # A pipe or a file has the whole width.
    width = min(TABLE_WIDTH, Console().width) if sys.stdout.isatty() else TABLE_WIDTH
    console = Console(width=width)
    examples = Path(str(resources.files("bankwise") / "examples"))
    try:
        for number, name in enumerate(EXAMPLES, start=1):
            _progress(f"{number} of {len(EXAMPLES)}: {name} for {AMD.usual}, both ways")
            found = Comparison.of(examples / f"{name}.mlir", FLAGS)
            console.print(f"\n[bold]{name}[/bold], {AMD.usual}, batch 1, sequence 1024, head 128")
            for table in found.tables():
                console.print(table)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        return fail("demo", file_error(error))
    print(f"\n{_next_steps(examples)}", end="")
    return 0


def _progress(text: str) -> None:
    print(f"demo: {text} ...", file=sys.stderr, flush=True)


def _next_steps(examples: Path) -> str:
    """Returns what to try next, with paths and programs as they are called from here."""
    here = Path("examples")
    known = here if here.is_dir() and here.resolve() == examples.resolve() else examples
    programs = Path(sys.executable).parent
    on_path = str(programs) in os.environ.get("PATH", "").split(os.pathsep)
    script = Path(os.path.relpath(programs)) / "activate"
    return NEXT.format(
        activate="" if on_path else f", behind `. {script}`",
        flags=" ".join(FLAGS),
        example=known / f"{EXAMPLES[0]}.mlir",
        arch=AMD.usual,
        inputs=" ".join(["--input=1x1024x128xf16=0.5"] * 3),
    )


if __name__ == "__main__":
    sys.exit(main())
