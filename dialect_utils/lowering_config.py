# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What IREE has configured a function to be compiled with: tiles, matrix instructions, warps.

The root operation of a function carries its tiles, one number for each of its loops, and the
function how it is launched:

    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<...>,
        reduction = [0, 0, 8], subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>
    translation_info = #iree_codegen.translation_info<pipeline = ... workgroup_size = [256, 1, 1]
        subgroup_size = 64, {...}>
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import prod

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen, iree_gpu

from ..bank_model.quick_tuple import NamedTuple
from .diagnostics import Refusal
from .operations import attributes_of, operations_in

CONFIG = "lowering_config"
COMPILATION_INFO = "compilation_info"
TRANSLATION_INFO = "translation_info"
WORKGROUP = "workgroup"
REDUCTION = "reduction"
MMA_KIND = "mma_kind"
BASIS, LANE_BASIS = "subgroup_basis", "lane_basis"
"""How many warps, and how many lanes, there are along each loop."""
PARTIAL = "partial_reduction"
"""What the configuration of an attention has that lanes reduce."""
THREAD = "thread"
PROMOTED = "promote_operands"
"""The entry that says which operands are staged in the LDS."""
_PROMOTION_TYPES = "promotion_types"
_MMA_KINDS = (iree_gpu.MMAAttr, iree_gpu.VirtualMMAAttr)
_LOOP_SIZE_BITS = 64
_OPTIONS = "gpu_pipeline_options"
_OTHER_OPTIONS = (
    "no_reduce_shared_memory_bank_conflicts",
    "use_igemm_convolution",
    "reorder_workgroups_strategy",
)
"""The options of a pipeline beside the number of its stages."""


class LoweringConfig(NamedTuple):
    """The entries of an `#iree_gpu.lowering_config`, by their names."""

    entries: Mapping[str, ir.Attribute]

    @staticmethod
    def of(attribute: ir.Attribute) -> LoweringConfig:
        """Reads an attribute.

        Raises:
            Refusal: it is of another kind.
        """
        if not iree_gpu.LoweringConfigAttr.isinstance(attribute):
            raise Refusal("its lowering_config is not one of iree_gpu")
        entries = iree_gpu.LoweringConfigAttr(attribute).attributes
        return LoweringConfig({each.name: each.attr for each in entries})

    def only(self, needed: Collection[str], optional: Collection[str] = ()) -> None:
        """Refuses a configuration that has other entries than these.

        Raises:
            Refusal: an entry is missing, or there is one that is neither needed nor optional.
        """
        missing = sorted({*needed} - {*self.entries})
        unknown = sorted({*self.entries} - {*needed} - {*optional})
        if missing:
            raise Refusal(f"its lowering_config has no {missing[0]}")
        if unknown:
            raise Refusal(f"its lowering_config has {unknown[0]}, which is not understood")

    def numbers(self, name: str) -> tuple[int, ...]:
        """Returns the numbers of an entry; none where there is no such entry.

        Raises:
            Refusal: the entry is no list of numbers.
        """
        return integers(self.entries[name]) if name in self.entries else ()

    def per_loop(self, name: str, loops: int) -> tuple[int, ...]:
        """Returns the numbers of an entry, with 0 for the loops that it does not mention.

        Raises:
            Refusal: the entry is no list of at most as many numbers as there are `loops`.
        """
        numbers = self.numbers(name)
        if len(numbers) > loops:
            raise Refusal("its tiles have more dimensions than it has loops")
        return numbers + (0,) * (loops - len(numbers))

    def with_entries(self, **entries: ir.Attribute) -> LoweringConfig:
        """Returns the configuration with some entries replaced or added."""
        return LoweringConfig({**self.entries, **entries})

    def without(self, name: str) -> LoweringConfig:
        """Returns the configuration without an entry, if it has that."""
        return LoweringConfig({key: each for key, each in self.entries.items() if key != name})

    def with_tiles(
        self, loops: int, tiles: Mapping[str, Mapping[int, int]], context: ir.Context
    ) -> LoweringConfig:
        """Returns the configuration with other tiles: by the names of entries, then by loops."""
        entries: dict[str, ir.Attribute] = {}
        for name, changed in tiles.items():
            numbers = enumerate(self.per_loop(name, loops))
            sizes = [changed.get(loop, size) for loop, size in numbers]
            entries[name] = numbers_attribute(sizes, context)
        return self.with_entries(**entries)

    def attribute(self, context: ir.Context) -> ir.Attribute:
        """Returns the configuration as an attribute."""
        entries = ir.DictAttr.get(dict(self.entries), context)
        return iree_gpu.LoweringConfigAttr.get(entries, ctx=context)

    @property
    def instruction(self) -> tuple[int, int, int]:
        """Returns the rows, the columns and the summed elements of `mma_kind`.

        Raises:
            Refusal: it is no matrix instruction whose shape is known.
        """
        kind = self.entries.get(MMA_KIND)
        for known in _MMA_KINDS:
            if kind is not None and known.isinstance(kind):
                return known(kind).mnk_shape
        raise Refusal(f"the shape of {kind} is not known")


def numbers_attribute(numbers: Sequence[int], context: ir.Context) -> ir.Attribute:
    """Returns a list of numbers as IREE's configurations write it."""
    kind = ir.IntegerType.get_signless(_LOOP_SIZE_BITS, context)
    return ir.ArrayAttr.get([ir.IntegerAttr.get(kind, n) for n in numbers], context)


def integers(attribute: ir.Attribute) -> tuple[int, ...]:
    """Returns the numbers of an array attribute.

    Raises:
        Refusal: it is no array of numbers.
    """
    items = list(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]
    numbers = tuple(each.value for each in items if isinstance(each, ir.IntegerAttr))
    if not isinstance(attribute, ir.ArrayAttr) or len(numbers) != len(items):
        raise Refusal(f"{attribute} is no list of numbers")
    return numbers


def roots_in(function: ir.Operation) -> list[ir.Operation]:
    """Returns the operations of `function` whose configuration tiles workgroups."""
    return [
        operation
        for operation in operations_in(function)
        if CONFIG in operation.attributes and _tiles_workgroups(operation.attributes[CONFIG])
    ]


def is_configured(operation: ir.Operation) -> bool:
    """Returns whether an operation of a program has a configuration, which is then the user's."""
    return any(name in operation.attributes for name in (CONFIG, COMPILATION_INFO))


def only_root(function: ir.Operation) -> ir.Operation | None:
    """Returns the operation that alone decides on the workgroups of `function`, if there is one."""
    roots = roots_in(function)
    return roots[0] if len(roots) == 1 else None


def multiplies_by_mma_sync(function: ir.Operation) -> bool:
    """Returns whether the configuration of an operation asks for the `mma.sync` of NVIDIA GPUs."""
    return any(
        is_mma_sync(kind)
        for operation in operations_in(function)
        for attribute in attributes_of(operation).values()
        for kind in _instructions_in(attribute)
    )


def is_mma_sync(kind: ir.Attribute) -> bool:
    """Returns whether a kind of matrix instruction is a `mma.sync` of NVIDIA GPUs."""
    return _MMA_SYNC in str(kind)


_MMA_SYNC = "NV_MMA_SYNC"
"""What the names of these instructions have in common; their attribute has only a text for it."""


def _instructions_in(attribute: ir.Attribute) -> Iterator[ir.Attribute]:
    """Yields the kinds of matrix instructions that an attribute names, at any depth."""
    if isinstance(attribute, ir.DictAttr):
        for each in attribute:
            yield from _instructions_in(each.attr)
    elif isinstance(attribute, iree_gpu.LoweringConfigAttr):
        yield from _instructions_in(attribute.attributes)
    elif isinstance(attribute, _MMA_KINDS):
        yield attribute


def _tiles_workgroups(config: ir.Attribute) -> bool:
    if not iree_gpu.LoweringConfigAttr.isinstance(config):
        # Other configurations have tiles too; what they tile is not known here.
        return True
    return WORKGROUP in iree_gpu.LoweringConfigAttr(config).attributes


class WarpLaunch(NamedTuple):
    """The `translation_info` of a function whose workgroups are a row of warps."""

    attribute: ir.Attribute
    warps: int
    warp_size: int

    @staticmethod
    def of(function: ir.Operation) -> WarpLaunch:
        """Reads the launch of `function`.

        Raises:
            Refusal: its lanes have more dimensions than one, or are no whole warps.
        """
        launch, sizes = WarpLaunch._read(function)
        if launch is None or any(each != 1 for each in sizes[1:]):
            raise Refusal(f"workgroups of {sizes} lanes are no row of warps")
        return launch

    @staticmethod
    def as_row(function: ir.Operation) -> WarpLaunch:
        """Reads the launch of `function` as that of a row of as many warps.

        Raises:
            Refusal: its lanes are no whole warps.
        """
        launch, sizes = WarpLaunch._read(function)
        if launch is None:
            raise Refusal(f"workgroups of {sizes} lanes are no whole warps")
        return launch

    @staticmethod
    def of_one_warp(warp_size: int, context: ir.Context) -> WarpLaunch:
        """Returns the launch of one warp, for an operation that no function is configured for."""
        return WarpLaunch(
            ir.Attribute.parse(
                "#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> "
                f"workgroup_size = [{warp_size}, 1, 1] subgroup_size = {warp_size}>",
                context,
            ),
            1,
            warp_size,
        )

    @staticmethod
    def _read(function: ir.Operation) -> tuple[WarpLaunch | None, list[int]]:
        """Returns the launch, if its lanes are whole warps, and the sizes of a workgroup.

        Raises:
            Refusal: there is none.
        """
        attribute = translation_info_of(function)
        info = iree_codegen.TranslationInfoAttr(attribute)
        sizes, warp = list(info.workgroup_size), info.subgroup_size
        if not sizes or not warp or prod(sizes) % warp:
            return None, sizes
        return WarpLaunch(attribute, prod(sizes) // warp, warp), sizes

    def with_warps(self, warps: int, stages: int | None = None) -> ir.Attribute:
        """Returns the `translation_info` for another number of warps, as it is otherwise.

        Args:
            stages: on how many steps loops shall work at a time; None leaves that as it is.
        """
        info = iree_codegen.TranslationInfoAttr(self.attribute)
        sizes = [warps * self.warp_size, *([1] * (len(info.workgroup_size) - 1))]
        changed = changed_info(info, workgroup_size=sizes)
        return changed if stages in (None, self.stages) else _with_stages(changed, stages)

    @property
    def stages(self) -> int:
        """Returns how many steps a loop works on at a time; 1 where the launch does not say it."""
        options = _pipeline_options(self.attribute)
        return 1 if options is None else max(1, options.prefetch_num_stages or 0)


def translation_info_of(function: ir.Operation) -> ir.Attribute:
    """Returns what a function's pipeline and launch are.

    Raises:
        Refusal: the function does not say it.
    """
    if TRANSLATION_INFO not in function.attributes:
        raise Refusal("the function has no translation_info")
    return function.attributes[TRANSLATION_INFO]


def _pipeline_options(info: ir.Attribute) -> iree_gpu.PipelineOptionsAttr | None:
    """Returns the options of the pipeline in a `translation_info`, if there are any."""
    configuration = iree_codegen.TranslationInfoAttr(info).configuration
    if not isinstance(configuration, ir.DictAttr) or _OPTIONS not in configuration:
        return None
    return iree_gpu.PipelineOptionsAttr(configuration[_OPTIONS])


def has_padding_pass(function: ir.Operation) -> bool:
    """Returns whether IREE's pipeline of a function pads its LDS, as far as the function says that.

    Data-tiled matmuls leave it out by an option, and functions that come lowered have no pipeline.
    A function without a `translation_info` counts as one that is still to be given a pipeline.
    """
    attributes = function.attributes
    if TRANSLATION_INFO not in attributes:
        return True
    info = iree_codegen.TranslationInfoAttr(attributes[TRANSLATION_INFO])
    if isinstance(info.pass_pipeline, iree_codegen.NoPipelineAttr):
        return False
    options = _pipeline_options(info)
    return options is None or not options.no_reduce_shared_memory_bank_conflicts


def _entries(info: ir.Attribute) -> dict[str, ir.Attribute]:
    """Returns the configuration of a `translation_info`."""
    configuration = iree_codegen.TranslationInfoAttr(info).configuration
    kept = configuration if isinstance(configuration, ir.DictAttr) else ()
    return {each.name: each.attr for each in kept}


def _with_stages(attribute: ir.Attribute, stages: int) -> ir.Attribute:
    """Returns a `translation_info` whose loops work on so many steps at a time."""
    options = _pipeline_options(attribute)
    known = {each: getattr(options, each) for each in _OTHER_OPTIONS} if options else {}
    chosen = iree_gpu.PipelineOptionsAttr.get(
        prefetch_num_stages=stages if stages > 1 else 0, ctx=attribute.context, **known
    )
    return changed_info(attribute, configuration=_entries(attribute) | {_OPTIONS: chosen})


def changed_info(
    attribute: ir.Attribute,
    *,
    pipeline: ir.Attribute | None = None,
    workgroup_size: Sequence[int] | None = None,
    configuration: Mapping[str, ir.Attribute] | None = None,
) -> ir.Attribute:
    """Returns a `translation_info` with another pipeline, lanes of a workgroup or configuration."""
    info, context = iree_codegen.TranslationInfoAttr(attribute), attribute.context
    entries = None if configuration is None else ir.DictAttr.get(dict(configuration), context)
    return iree_codegen.TranslationInfoAttr.get(
        info.pass_pipeline if pipeline is None else pipeline,
        info.codegen_spec,
        list(info.workgroup_size if workgroup_size is None else workgroup_size),
        info.subgroup_size,
        info.configuration if entries is None else entries,
        ctx=context,
    )


_FUNCTION_ATTRIBUTES = "llvm_func_attrs"


def with_function_attributes(
    attribute: ir.Attribute, attributes: Mapping[str, str]
) -> ir.Attribute | None:
    """Returns a `translation_info` that gives LLVM's function attributes; None if one does already.

    Args:
        attributes: the values by LLVM's names.
    """
    context, entries = attribute.context, _entries(attribute)
    if _FUNCTION_ATTRIBUTES in entries:
        return None
    given = {name: ir.StringAttr.get(value, context) for name, value in attributes.items()}
    chosen = ir.DictAttr.get(given, context)
    return changed_info(attribute, configuration=entries | {_FUNCTION_ATTRIBUTES: chosen})


def promoting(operands: tuple[int, ...], context: ir.Context) -> dict[str, ir.Attribute]:
    """Returns the entries of a configuration that let IREE stage operands in the LDS."""
    return {
        PROMOTED: numbers_attribute(operands, context),
        _PROMOTION_TYPES: ir.ArrayAttr.get([derived_threads(context)] * len(operands), context),
    }


def derived_threads(context: ir.Context) -> ir.Attribute:
    """Returns the configuration of a copy by which IREE chooses what a lane copies."""
    return ir.Attribute.parse("#iree_gpu.derived_thread_config", context)


def basis_attribute(
    counts: Sequence[int], order: Sequence[int], context: ir.Context
) -> ir.Attribute:
    """Returns how many warps or lanes there are along each loop, and the loops of a contraction."""
    return ir.ArrayAttr.get([numbers_attribute(each, context) for each in (counts, order)], context)


def basis_of(
    contraction: LoweringConfig, name: str = BASIS
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the numbers that `basis_attribute` puts into an entry of a configuration.

    Raises:
        Refusal: there are none.
    """
    if name not in contraction.entries:
        raise Refusal(f"its contractions have no {name}")
    attribute = contraction.entries[name]
    lists: Iterable[ir.Attribute] = attribute if isinstance(attribute, ir.ArrayAttr) else ()
    numbers = [integers(each) for each in lists]
    if len(numbers) != 2:
        raise Refusal(f"{attribute} is no {name}")
    return numbers[0], numbers[1]
