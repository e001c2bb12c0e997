# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the commands end whose steps run on different machines."""

from __future__ import annotations

import sys
from collections.abc import Callable


def exit_code(step: Callable[[], bool]) -> int:
    """Returns 0 where a step returns True; 1 where it does not, or raises what it cannot do.

    What it raises is printed in one line, if it is a RuntimeError or an OSError.
    """
    try:
        return 0 if step() else 1
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
