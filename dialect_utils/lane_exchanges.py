# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many LDS instructions a kernel executes by which lanes exchange values.

    %other, %valid = gpu.shuffle xor %value, %c32, %c64 : f32

AMD's `ds_swizzle_b32` and `ds_bpermute_b32` go through the LDS, though they access none of its
memory ("AMD Instinct MI300 Instruction Set Architecture", LDS instructions), and profilers count
them as LDS instructions. Exchanges that a chip has in its registers (DPP, `v_permlanex16_b32`,
`v_permlane32_swap_b32`, `v_readlane_b32`) are none, nor is NVIDIA's `shfl.sync`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from iree.compiler import ir

from ..bank_model.families import AMD, family_of
from ..bank_model.features import features_of
from .diagnostics import Refusal
from .element_types import element_bits, scalar_type
from .gpu_target import Launch
from .index.lane_values import LaneEvaluator, Unknown
from .memory.surroundings import surroundings_of
from .operations import has_operation, operations_in

_SHUFFLE, _BITMODE = "gpu.shuffle", "amdgpu.swizzle_bitmode"
_EXCHANGES = (_SHUFFLE, _BITMODE)
_WORD_BITS = 32
_ALL_LANES = 31
"""The mask by which `ds_swizzle_b32` keeps all bits of a lane's number."""


def may_have_lds_exchanges(function: ir.Operation, arch: str) -> bool:
    """Returns whether lanes exchange values on a GPU that may do so by LDS instructions."""
    return family_of(arch) is AMD and has_operation(function, *_EXCHANGES)


def lds_exchanges(function: ir.Operation, arch: str, launch: Launch) -> int:
    """Returns the LDS instructions by which lanes of a workgroup exchange values.

    All waves of a workgroup count, and all iterations of loops whose number is known; a loop of
    unknown length counts once.

    Args:
        function: behind its pipeline, lowered to exchanges of single values.

    Raises:
        Refusal: it is not known how often one of them is executed.
    """
    if not may_have_lds_exchanges(function, arch):
        return 0
    found = operations_in(function, *_EXCHANGES)
    evaluator = LaneEvaluator(launch)
    near = features_of(arch).register_exchanges
    return sum(
        _instructions(op, evaluator, near) * _issues(op, function, evaluator) for op in found
    )


def _instructions(op: ir.Operation, evaluator: LaneEvaluator, near: Collection[int]) -> int:
    """Returns the LDS instructions of one exchange.

    Args:
        near: the distances of lanes, in numbers that `xor` combines, that need none.
    """
    kind = op.operands[0].type
    shape = kind.shape if isinstance(kind, ir.VectorType) else ()
    bits = prod(shape) * (element_bits(scalar_type(kind)) or _WORD_BITS)
    words = -(-bits // _WORD_BITS)
    if op.name == _BITMODE:
        masks = (
            ir.IntegerAttr(op.attributes[name]).value
            for name in ("and_mask", "or_mask", "xor_mask")
        )
        kept, added, distance = masks
        return 0 if (kept, added) == (_ALL_LANES, 0) and distance in near else words
    return 0 if _needs_no_lds(op, evaluator, near) else words


def _needs_no_lds(shuffle: ir.Operation, evaluator: LaneEvaluator, near: Collection[int]) -> bool:
    offset, width = map(evaluator.evaluate, (shuffle.operands[1], shuffle.operands[2]))
    if isinstance(offset, Unknown) or isinstance(width, Unknown) or offset.uniform is None:
        return False
    whole = width.uniform == evaluator.launch.subgroup_size
    mode = str(shuffle.attributes["mode"]).rstrip(">").partition("<")[2]
    return whole and (mode == "idx" or (mode == "xor" and offset.uniform in near))


def _issues(op: ir.Operation, function: ir.Operation, evaluator: LaneEvaluator) -> int:
    """Returns how often waves of a workgroup execute an operation.

    Raises:
        Refusal: that is not known.
    """
    around = surroundings_of(op, function, evaluator)
    running = around.running
    if isinstance(running, Unknown):
        raise Refusal(f"how often lanes exchange values depends on the {running.reason}")
    depths = {loop.depth for loop in running.loops}
    outer = prod(n for depth, n in around.iterations.items() if depth not in depths)
    return outer * int(running.full(evaluator.launch).any(axis=-1).sum())
