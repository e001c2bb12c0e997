# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who predicts what compiled tiles take, for tools that compile; loaded only where it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..iree_plugin.compile_settings import SEARCH

if TYPE_CHECKING:
    from ..iree_plugin.tile_search import TilePredictor


def predictor_of(retile: str) -> TilePredictor | None:
    """Returns what predicts the times of compiled tiles, where tiles are to be searched.

    Args:
        retile: one of `compile_settings.RETILE`.
    """
    if retile != SEARCH:
        return None
    from .tile_times import emulated_time

    return emulated_time
