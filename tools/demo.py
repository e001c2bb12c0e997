# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo`: compiles the example attentions for gfx942, with stock padding and with Bankwise."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

from rich.console import Console

from ..bank_model.targets import AMD
from ..iree_plugin.stepped_compile import CompileError
from ..report.comparison import Comparison
from .endings import fail, file_error

EXAMPLES = ("attention_f16", "attention_f32")
FLAGS = AMD.flags(AMD.usual)
TABLE_WIDTH = 130


def main() -> int:
    """Compares both examples, and prints what came of them."""
    console = Console(width=TABLE_WIDTH)
    examples = Path(str(resources.files("bankwise") / "examples"))
    try:
        for name in EXAMPLES:
            found = Comparison.of(examples / f"{name}.mlir", FLAGS)
            console.print(f"\n[bold]{name}[/bold], {AMD.usual}, batch 1, sequence 1024, head 128")
            for table in found.tables():
                console.print(table)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        return fail("demo", file_error(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
