# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-round-up-keys`: lanes that share the keys of an attention share whole steps of them.

Where IREE computes an attention by scalar instructions, each lane has some keys of a step, and
keeps the maximum, the sum and the outputs of the keys that it has seen:

    lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 0, 256],
        workgroup = [1, 1, 16, 0, 0]}>

Where 256 does not divide the number of keys, or only the program knows that number, the last step
has fewer. IREE 3.13 would pad the keys and a mask to whole steps. Without a mask it prints an error
("Padding OnlineAttention without existing mask is not yet supported"), and goes on without padding.
What lanes keep is sliced in each step then, so that it does not become vectors: each lane has it in
private memory with room for all 256, of which it writes its own. Behind the loop nothing is spread
over lanes any more. Each lane reads all 256, makes a softmax of its own keys and of what it found
there at the begin, and all lanes write the same output.

This pass rounds the number of keys up to whole steps (`tuning/shapes/enlarged_shapes.py`), so that
what lanes keep becomes vectors. `bankwise-exclude-absent-keys` keeps the keys that are not there
out of the softmax, and `bankwise-restore-shapes` reads zeros in their place.

Runs on the configured function, behind the passes that give an attention other instructions.

This works around IREE 3.13 (`docs/for_iree.md#attention-with-dynamic-sequences`).
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.lowering_config import CONFIG, PARTIAL, LoweringConfig
from ...passes.base import FunctionPass, PassContext
from ..attention.attention_tiles import K, Q, V
from ..attention.scalar_attention import has_mask, scalar_operation
from ..shapes.enlarged_shapes import check_zeros, computed_size, enlarged_shapes, note_keys
from ..tiles.tiled_operation import loop_sizes


class RoundUpKeys(FunctionPass):
    """Lets lanes share whole steps of keys."""

    name: ClassVar[str] = "bankwise-round-up-keys"
    summary: ClassVar[str] = "let lanes share whole steps of the keys of an attention"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether the lanes of `function` share steps of keys that are no whole ones."""
        return _ragged(function.operation) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rounds up the number of keys.

        Raises:
            PassFailure: something uses the attention or its operands that cannot have other sizes,
                so that the code would be wrong.
        """
        function = function.operation
        found = _ragged(function)
        if found is None:
            return
        operation, keys, step = found
        maps = loops_of(operation)
        sizes = list(loop_sizes(operation, maps, (Q, K, V)))
        size = sizes[keys]
        more = computed_size(step) if size == DYNAMIC else -(-size // step) * step
        sizes[keys] = more
        try:
            shapes = enlarged_shapes(operation, maps, dict(enumerate(sizes)))
            # Scores of absent keys are replaced, whatever K has there. Their weights are 0.
            check_zeros(operation.operands[V], shapes)
        except Refusal as refusal:
            reason = (
                "lanes share keys of which IREE 3.13 makes wrong code, and cannot be rounded up"
            )
            raise PassFailure(operation.location, f"{reason}: {refusal.reason}") from refusal
        shapes.apply(function)
        note_keys(function, size, more)
        text = f"its keys are rounded up to multiples of {step}"
        context.sink.remark(operation.location, text)


def _ragged(function: ir.Operation) -> tuple[ir.Operation, int, int] | None:
    """Returns the attention whose lanes share steps of keys that are no whole ones, if there is
    one, its loop over keys, and the keys of a step."""
    operation = scalar_operation(function)
    if operation is None or has_mask(operation):
        return None
    maps = loops_of(operation)
    sizes = loop_sizes(operation, maps, (Q, K, V))
    steps = LoweringConfig.of(operation.attributes[CONFIG]).per_loop(PARTIAL, len(sizes))
    for loop in {*maps[K]} & {*maps[V]} - {*maps[Q]}:
        step, size = steps[loop], sizes[loop]
        if step and (size == DYNAMIC or (size > step and size % step)):
            return operation, loop, step
    return None
