# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tiles are replaced: an option of `bankwise-retile`, which the table of steps knows."""

from __future__ import annotations

from enum import Enum


class RetileMode(Enum):
    """On which GPUs tiles are replaced."""

    AUTO = "auto"
    """Those on which the model was compared with measured times, or with a more exact model."""
    ON = "on"
    """All that there is a model of."""
