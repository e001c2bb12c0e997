# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE, without Bankwise, still has each defect that a file works around.

A file that does so says it in a sentence of its docstring, which names the version of IREE and the
section of `docs/for_iree.md`. A table of that page lists the files, and follows from their
sentences and from the checks here.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from iree.compiler.passmanager import PassManager

from bankwise.bench.program_families.matmuls import Contraction
from bankwise.emulator.emulation_errors import LdsRaceError
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

from ...functions import launched, parse
from ...test_pages import titles

pytestmark = pytest.mark.usefixtures("context")

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/for_iree.md"
REPRODUCERS = ROOT / "docs/for_iree"
FOLDER = "tuning/workarounds"
_PRINT = "--mlir-print-ir-after"
_SENTENCE = re.compile(
    r"(This|Part of it) works around IREE (?P<version>[\d.]+)"
    r"\s+\(`docs/for_iree\.md#(?P<section>[\w-]+)`\)\."
)
_HEAD = (
    "| file | section | IREE | what is so as long as the file is needed |",
    "| --- | --- | --- | --- |",
)


class Workaround(NamedTuple):
    """A file that works around a defect of IREE, the version, and the section on the defect."""

    file: str
    version: str
    section: str


def stated() -> Iterator[Workaround]:
    """Yields what the docstrings of all files of the package say."""
    for room in ("dialect_utils", "iree_plugin", "passes", "report", "runtime", "tools", "tuning"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for match in _SENTENCE.finditer(path.read_text()):
                file = path.relative_to(ROOT).as_posix()
                yield Workaround(file, match["version"], match["section"])


def native(text: str, passes: str) -> str:
    """Returns a module behind passes of the compiler's own."""
    parsed = parse(text)
    PassManager.parse(f"builtin.module({passes})").run(parsed.module.operation)
    return parsed.module.operation.get_asm(use_local_scope=True)


def iree(tool: str, file: str | Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs a tool of IREE's over a reproducer or another file."""
    command = [Path(sys.executable).with_name(tool), REPRODUCERS / file, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def saved(program: str, folder: Path) -> Path:
    """Returns the file that holds a program from now on."""
    path = folder / "program.mlir"
    path.write_text(program)
    return path


def errors(file: str, arch: str, *flags: str) -> str:
    """Returns the errors that `iree-compile` ends with; empty where it compiles."""
    done = iree("iree-compile", file, *target_flags(arch), *flags, "-o", os.devnull)
    return done.stderr if done.returncode else ""


def until(phase: str, file: str | Path, arch: str) -> str:
    """Returns a program as `iree-compile` has it behind a phase."""
    done = iree("iree-compile", file, *target_flags(arch), f"--compile-to={phase}")
    assert not done.returncode, done.stderr
    return done.stdout


def configured(file: str | Path, arch: str) -> str:
    """Returns the kernels of a program, configured."""
    text = until("executable-configurations", file, arch)
    assert "lowering_config" in text
    return text


def ptx(file: str | Path, tmp_path: Path, *flags: str) -> str:
    """Returns the assembly that `iree-compile` makes of a program for NVIDIA GPUs."""
    dump = f"--iree-hal-dump-executable-files-to={tmp_path}"
    iree("iree-compile", file, *flags, dump, "-o", os.devnull)
    (code,) = tmp_path.glob("*.ptx")
    return code.read_text()


def emulated(file: str, arch: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Returns what the code of stock IREE gives on the emulator."""
    source = (REPRODUCERS / file).read_text()
    return run_emulated(source, target_flags(arch), "stock", inputs).outputs[0]


def multiplies_bytes_one_by_one(tmp_path: Path) -> bool:
    """A matmul of i8 gets no matrix instruction for sm_80."""
    program = """
      func.func @main(%a: tensor<64x64xi8>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
        %0 = linalg.matmul ins(%a, %a : tensor<64x64xi8>, tensor<64x64xi8>)
            outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
        return %0 : tensor<64x64xi32>
      }"""
    return "mma_kind" not in configured(saved(program, tmp_path), "sm_80")


def saturates_sums_of_bytes(tmp_path: Path) -> bool:
    """`nvgpu.mma.sync` of i8 saturates."""
    return "satfinite" in iree("iree-opt", "mma_i8.mlir", "--iree-convert-to-nvvm").stdout


def multiplies_unsigned_bytes_as_signed(tmp_path: Path) -> bool:
    """255 is multiplied as -1 on gfx942."""
    ones = np.full((16, 32), -1, np.int8)
    return emulated("unsigned_bytes.mlir", "gfx942", [ones, ones])[0, 0] != 32 * 255 * 255


def reads_images_in_another_order(tmp_path: Path) -> bool:
    """Channels are taken for rows where those of a filter come behind its outputs, on gfx942."""
    image = np.arange(18, dtype=np.float16).reshape(3, 3, 2) % 5
    window = np.arange(16, dtype=np.float16).reshape(2, 2, 2, 2) % 7
    return emulated("filter_order.mlir", "gfx942", [image, window])[0, 0, 0] != 68


def begins_minima_with_minus_one(tmp_path: Path) -> bool:
    """The minimum of rows of 5 is -1 on gfx942."""
    return emulated("signed_minimum.mlir", "gfx942", [np.full((4, 1024), 5, np.int32)])[0] != 5


def exchanges_equal_elements(tmp_path: Path) -> bool:
    """Two equal elements of four are exchanged on gfx942."""
    rows = np.array([[1, 1, 1, 1], [3, 2, 2, 1]], np.float32)
    return [*emulated("stable_sort.mlir", "gfx942", [rows])[1]] == [3, 2, 1, 0]


def converts_no_stores_with_gaps(tmp_path: Path) -> bool:
    """A convolution with groups as the last dimension of its result does not compile for sm_80."""
    return "unrealized_conversion_cast" in errors("groups_last.mlir", "sm_80")


def slices_what_is_read_backwards(tmp_path: Path) -> bool:
    """A row of 40 elements that is read backwards does not compile for gfx942."""
    return "inferred input/output operand" in errors("reflected_row.mlir", "gfx942")


def reads_f64_as_f32(tmp_path: Path) -> bool:
    """An argument in f64 of a program from ONNX is taken for one in f32."""
    return "tensor<4xf64> as tensor<4xf32>" in until("flow", "f64_argument.mlir", "gfx942")


def compiles_no_search_by_warps(tmp_path: Path) -> bool:
    """The place of the largest of 1,024 elements does not compile for gfx942."""
    return "failed to distribute" in errors("place_of_largest.mlir", "gfx942")


def moves_columns_in_place(tmp_path: Path) -> bool:
    """Columns that move within a tensor do not compile for gfx942."""
    return "unrealized_conversion_cast" in errors("moved_columns.mlir", "gfx942")


def leaves_nothing_of_a_kernel(tmp_path: Path) -> bool:
    """The hyperbolic tangent of one row leaves nothing of its kernel for gfx942."""
    dump = f"--iree-hal-dump-executable-files-to={tmp_path}"
    flags = (*target_flags("gfx942"), dump)
    iree("iree-compile", "tanh_of_row.mlir", *flags, "-o", os.devnull)
    (code,) = tmp_path.glob("*.rocmasm")
    return "s_endpgm" not in code.read_text()


def reduces_bytes(tmp_path: Path) -> bool:
    """Lanes of gfx942 reduce bytes as they are."""
    program = (REPRODUCERS / "signed_minimum.mlir").read_text()
    program = program.replace("i32", "i8").replace("2147483647", "127")
    file = saved(program, tmp_path)
    # The compiler ends behind this phase.
    flags = ("--compile-to=executable-targets", f"{_PRINT}=iree-llvmgpu-vector-distribute")
    done = iree("iree-compile", file, *target_flags("gfx942"), *flags, "-o", os.devnull)
    assert not done.returncode
    return re.search(r"gpu.subgroup_reduce minsi .* : \(i8\) -> i8", done.stderr) is not None


def widens_what_it_loads(tmp_path: Path) -> bool:
    """Lanes of gfx942 widen 5 elements of f16 that they load."""
    sizes = {"m": 3, "n": 1000, "k": 5}
    program = Contraction("few", "f16", sizes, "m k", "n k", "m n").program().source
    # The compiler ends behind this phase.
    flags = (*target_flags("gfx942"), "--compile-to=executable-targets")
    done = iree("iree-compile", saved(program, tmp_path), *flags, "-o", "-")
    return re.search(r"llvm.fpext .* : vector<5xf16>", done.stdout) is not None


def shares_out_summed_tiles(tmp_path: Path) -> bool:
    """The product of packed f32 matrices has one of 16 summed tiles on gfx1201."""
    ones = [np.ones((count, 16, 8, 1), np.float32) for count in (4, 2)]
    return emulated("packed_tiles.mlir", "gfx1201", ones)[0, 0, 0, 0] != 16


def loses_the_sums_of_warps(tmp_path: Path) -> bool:
    """The mean of 32 keys with a head of 260 is that of 4 on gfx942."""
    inputs = [np.ones((1, each, 260), np.float32) for each in (1, 32)]
    keys = np.arange(1, 33, dtype=np.float32).reshape(1, 32, 1)
    return emulated("head_260.mlir", "gfx942", [*inputs, keys])[0, 0, 0] == 2.5


def gives_lanes_one_copy(tmp_path: Path) -> bool:
    """Lanes of gfx942 have one copy of the tensor that their sums begin with."""
    inputs = [np.ones((48, 13), np.int8)]
    inputs += [np.ones(shape, np.float32) for shape in ((13, 31), (48, 31))]
    try:
        emulated("lane_copies.mlir", "gfx942", inputs)
    except LdsRaceError:
        return True
    return False


def searches_rows_by_all_lanes(tmp_path: Path) -> bool:
    """Two waves search the same rows on gfx942."""
    try:
        emulated("top_k.mlir", "gfx942", [np.ones((8, 64), np.float32)])
    except LdsRaceError:
        return True
    return False


def widens_booleans_as_signed(tmp_path: Path) -> bool:
    """What a boolean of StableHLO chooses by a product has the other sign."""
    return "tensor<4x8xi1>, tensor<8x4xf32>" in until("input", "one_hot.mlir", "gfx942")


def mixes_elements_of_products(tmp_path: Path) -> bool:
    """Elements meet others where the operands of a product have its loops in two orders."""
    text = (REPRODUCERS / "transposed_vectors.mlir").read_text()
    lowered = native(text, "func.func(iree-llvmgpu-vector-lowering,canonicalize)")
    repeated = re.search(r"from_elements %(\d+)#0, %\d+#0", lowered) is not None
    a, b = np.zeros((4, 3, 64, 2), np.float32), np.zeros((2, 3, 4), np.float32)
    a[:, 0, :, 1] = b[1, 0] = 1
    mixed = emulated("two_sums.mlir", "gfx942", [a, b])[0, 0] != 1
    return mixed and repeated and "vector.transpose %arg2" in lowered


def drops_functions_of_factors(tmp_path: Path) -> bool:
    """A factor's exponential is not computed on gfx942."""
    zeros, ones = np.zeros((16, 32), np.float16), np.ones((16, 32), np.float16)
    return emulated("exponential_factor.mlir", "gfx942", [zeros, ones])[0, 0] != 32


def gathers_residuals(tmp_path: Path) -> bool:
    """A tensor that is transposed for an epilogue becomes an `iree_linalg_ext.map_load`."""
    text = """
      #map = affine_map<(i, j, k) -> (i, j, k)>
      func.func @residual(%m: memref<64x64xf16>, %i: index, %x: tensor<4x2x8xf32>,
                          %o: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
        %all = iree_codegen.load_from_buffer %m : memref<64x64xf16> -> tensor<64x64xf16>
        %part = tensor.extract_slice %all[%i, %i] [8, 8] [1, 1]
            : tensor<64x64xf16> to tensor<8x8xf16>
        %p = tensor.expand_shape %part [[0, 1], [2]] output_shape [2, 4, 8]
            : tensor<8x8xf16> into tensor<2x4x8xf16>
        %e = tensor.empty() : tensor<4x2x8xf16>
        %t = linalg.transpose ins(%p : tensor<2x4x8xf16>) outs(%e : tensor<4x2x8xf16>)
            permutation = [1, 0, 2]
        %r = linalg.generic {indexing_maps = [#map, #map, #map],
                             iterator_types = ["parallel", "parallel", "parallel"]}
            ins(%x, %t : tensor<4x2x8xf32>, tensor<4x2x8xf16>) outs(%o : tensor<4x2x8xf32>) {
        ^bb0(%a: f32, %b: f16, %z: f32):
          %0 = arith.extf %b : f16 to f32
          %1 = arith.addf %a, %0 : f32
          linalg.yield %1 : f32
        } -> tensor<4x2x8xf32>
        return %r : tensor<4x2x8xf32>
      }"""
    return "map_load" in native(
        text, "func.func(iree-codegen-combine-source-layout-transformation)"
    )


def leaves_unit_loops_scalar(tmp_path: Path) -> bool:
    """A loop that is run once and has a factor keeps a `linalg.generic` from becoming vectors."""
    text = """
      func.func @once(%image: tensor<32x1x8xf16>, %o: tensor<1x32xf16>) -> tensor<1x32xf16> {
        %0 = linalg.generic {
            indexing_maps = [affine_map<(h, c, e) -> (c, h * 2, e)>,
                             affine_map<(h, c, e) -> (h, c)>],
            iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%image : tensor<32x1x8xf16>) outs(%o : tensor<1x32xf16>) {
        ^bb0(%a: f16, %sum: f16):
          %s = arith.addf %sum, %a : f16
          linalg.yield %s : f16
        } -> tensor<1x32xf16>
        return %0 : tensor<1x32xf16>
      }"""
    vectorize = "func.func(iree-codegen-generic-vectorization)"
    assert "linalg.generic" not in native(text.replace("h * 2", "h"), vectorize)
    return "linalg.generic" in native(text, vectorize)


def strides_through_images(tmp_path: Path) -> bool:
    """An image that another operation makes is indexed by multiples of loops for gfx942."""
    image, result = "1x64x9x9xf16", "1x64x5x5xf16"
    program = f"""
      func.func @main(%i: tensor<{image}>, %f: tensor<64x64x1x1xf16>) -> tensor<{result}> {{
        %e = tensor.empty() : tensor<{image}>
        %a = linalg.elementwise <abs>
            ins(%i : tensor<{image}>) outs(%e : tensor<{image}>) -> tensor<{image}>
        %zero = arith.constant dense<0.0> : tensor<{result}>
        %r = linalg.conv_2d_nchw_fchw {{strides = dense<2> : tensor<2xi64>}}
            ins(%a, %f : tensor<{image}>, tensor<64x64x1x1xf16>)
            outs(%zero : tensor<{result}>) -> tensor<{result}>
        return %r : tensor<{result}>
      }}"""
    plain = program.replace("ins(%a, %f", "ins(%i, %f")
    assert " * 2" not in configured(saved(plain, tmp_path), "gfx942")
    return " * 2" in configured(saved(program, tmp_path), "gfx942")


def forgets_bounds_of_masks(tmp_path: Path) -> bool:
    """A mask of three bounds keeps the last one as it is in `canonicalize`."""
    text = native((REPRODUCERS / "bounds_of_mask.mlir").read_text(), "canonicalize")
    return re.search(r"vector.create_mask %arg\d : vector<2xi1>", text) is not None


def parts_sizes(tmp_path: Path) -> bool:
    """Rows that are a multiple of 2 are two dimensions, which get no matrix instruction."""
    text = configured("parted_rows.mlir", "sm_80")
    return "tensor<?x2x64xf16>" in text and "mma_kind" not in text


def orders_fragments_by_loops(tmp_path: Path) -> bool:
    """Tiles of `mma.sync` hold columns by rows where the loop over columns comes first."""
    kind = "#iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>"
    text = f"""
      func.func @f(%a: tensor<64x32xf16>, %b: tensor<32x128xf16>, %c: tensor<128x64xf32>)
          -> tensor<128x64xf32> {{
        %0 = linalg.generic {{
            indexing_maps = [affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (k, n)>,
                             affine_map<(n, m, k) -> (n, m)>],
            iterator_types = ["parallel", "parallel", "reduction"],
            lowering_config = #iree_gpu.lowering_config<{{mma_kind = {kind}}}>}}
            ins(%a, %b : tensor<64x32xf16>, tensor<32x128xf16>) outs(%c : tensor<128x64xf32>) {{
        ^bb0(%x: f16, %y: f16, %s: f32):
          %l = arith.extf %x : f16 to f32
          %r = arith.extf %y : f16 to f32
          %p = arith.mulf %l, %r : f32
          %t = arith.addf %s, %p : f32
          linalg.yield %t : f32
        }} -> tensor<128x64xf32>
        return %0 : tensor<128x64xf32>
      }}"""
    return "into tensor<16x4x8x16xf32>" in native(
        text, "func.func(iree-codegen-gpu-pack-to-intrinsics)"
    )


def gives_lanes_runs_of_32_bytes(tmp_path: Path) -> bool:
    """A lane gets 32 consecutive f8 of a scaled product, of which the hardware has two runs."""
    tile, scales, sums = "1x1x1x16x4x32xf8E4M3FN", "1x1x16x4xf8E8M0FNU", "1x1x16x16xf32"
    kind = (
        "#iree_gpu.scaled_mma_layout<intrinsic = MFMA_SCALE_F32_16x16x128_B32, "
        "lhs_elem_type = f8E4M3FN, rhs_elem_type = f8E4M3FN, acc_elem_type = f32>"
    )
    loops = ("m, k, b", "n, k, b", "m, k", "n, k", "m, n")
    maps = ", ".join(f"affine_map<(m, n, k, b) -> ({each})>" for each in loops)
    kinds = ", ".join(
        f"#linalg.iterator_type<{each}>" for each in ["parallel"] * 2 + ["reduction"] * 2
    )
    orders = ", ".join(f"array<i64: {each}>" for each in ["0, 1, 2"] * 2 + ["0, 1"] * 3)
    text = f"""
      func.func @scaled(%a: tensor<{tile}>, %s: tensor<{scales}>, %c: tensor<{sums}>)
          -> tensor<{sums}> attributes {{{launched(pipeline="TileAndFuse")}}} {{
        %0 = iree_codegen.inner_tiled ins(%a, %a, %s, %s) outs(%c) <
            indexing_maps = [{maps}], iterator_types = [{kinds}], kind = {kind},
            semantics = #iree_gpu.mma_semantics<distributed = false, opaque = true>,
            permutations = [{orders}]>
            : tensor<{tile}>, tensor<{tile}>, tensor<{scales}>, tensor<{scales}>
            into tensor<{sums}>
        return %0 : tensor<{sums}>
      }}"""
    lanes = native(text, "func.func(iree-gpu-distribute-inner-tiled-to-lanes)")
    assert "distributed = true" in lanes
    return "tensor<1x1x1x1x1x32xf8E4M3FN>" in lanes


def sums_the_lds_of_kernels(tmp_path: Path) -> bool:
    """Each of two kernels with 40 bytes of LDS is launched with 80."""
    text = until("executable-targets", "specialized_matmul.mlir", "sm_80")
    return "workgroup_local_memory = 80" in text


def shares_no_keys_that_the_program_counts(tmp_path: Path) -> bool:
    """Lanes that share keys of a dynamic number keep their shares in private memory for sm_80."""
    shown = f"{_PRINT}=iree-llvmgpu-vector-distribute"
    done = iree(
        "iree-compile", "dynamic_keys.mlir", *target_flags("sm_80"), shown, "-o", os.devnull
    )
    return "memref.alloca() : memref<256x16xf32" in done.stderr


def keeps_results_in_local_memory(tmp_path: Path) -> bool:
    """The results of a rounded matmul for sm_80 go through local memory."""
    return "st.local" in ptx("rounded_matmul.mlir", tmp_path, *target_flags("sm_80"))


def fails_on_sums_in_f16(tmp_path: Path) -> bool:
    """A matmul whose result is in f16 does not compile for gfx942."""
    return "failed to distribute" in errors("sums_in_f16.mlir", "gfx942")


def forgets_nans_for_targets_with_a_letter(tmp_path: Path) -> bool:
    """`arith.maximumf` becomes `max.f32` for an sm_90a."""
    return re.search(r"\bmax\.f32", ptx("letter_of_target.mlir", tmp_path)) is not None


def takes_another_period(tmp_path: Path) -> bool:
    """Element 70 is at two places, by its offset and by that of 6 plus 64."""
    text = (REPRODUCERS / "swizzle_period.mlir").read_text()
    text = native(
        text, "func.func(iree-codegen-resolve-swizzle-hints),inline,canonicalize,symbol-dce"
    )
    return len({*re.findall(r"constant (\d+) : index", text)}) > 1


def has_the_shared_memory_of_sm_80(tmp_path: Path) -> bool:
    """A workgroup of an sm_86 may have 166,912 bytes."""
    return "max_workgroup_memory_bytes = 166912" in configured("rounded_matmul.mlir", "sm_86")


def loses_resources(tmp_path: Path) -> bool:
    """An executable with a resource is refused behind `cat`."""
    flag = "--iree-hal-preprocess-executables-with=cat"
    return "resource does not exist" in errors("resource.mlir", "gfx942", flag)


def gives_attention_instructions_of_8_rows(tmp_path: Path) -> bool:
    """An attention of 24 rows does not compile for gfx942."""
    return "is incompatible with" in errors("rows_24.mlir", "gfx942")


def computes_heads_of_96_by_scalars(tmp_path: Path) -> bool:
    """An attention with a head of 96 gets no matrix instruction for gfx942."""
    return "mma_layout" not in configured("attention_head_96.mlir", "gfx942")


def loses_barriers_of_copies_ahead(tmp_path: Path) -> bool:
    """An attention in f32 that loads K and V a step ahead has a race on gfx942."""
    ones = np.ones((64, 64), np.float32)
    try:
        emulated("ahead_f32.mlir", "gfx942", [ones, ones, ones])
    except LdsRaceError:
        return True
    return False


CHECKS: dict[str, Callable[[Path], bool]] = {
    "dialect_utils/memory/barrier_order.py": loses_barriers_of_copies_ahead,
    "dialect_utils/gpu_target.py": has_the_shared_memory_of_sm_80,
    "iree_plugin/described_target.py": forgets_nans_for_targets_with_a_letter,
    "iree_plugin/executable_text.py": loses_resources,
    "passes/swizzles/resolve_swizzle_hints.py": takes_another_period,
    "tuning/attention/use_matrix_instructions.py": gives_attention_instructions_of_8_rows,
    "tuning/convolutions/slice_strided_images.py": strides_through_images,
    "tuning/copies/stage_operands.py": computes_heads_of_96_by_scalars,
    f"{FOLDER}/carry_integers.py": multiplies_bytes_one_by_one,
    f"{FOLDER}/check_products.py": drops_functions_of_factors,
    f"{FOLDER}/compare_elements.py": compiles_no_search_by_warps,
    f"{FOLDER}/convert_arguments.py": reads_f64_as_f32,
    f"{FOLDER}/copy_own_parts.py": moves_columns_in_place,
    f"{FOLDER}/define_padding.py": leaves_nothing_of_a_kernel,
    f"{FOLDER}/fold_transposes.py": gathers_residuals,
    f"{FOLDER}/gather_reversed.py": slices_what_is_read_backwards,
    f"{FOLDER}/gather_windows.py": reads_images_in_another_order,
    f"{FOLDER}/hold_loads.py": widens_what_it_loads,
    f"{FOLDER}/index_unit_loops.py": leaves_unit_loops_scalar,
    f"{FOLDER}/keep_equal_order.py": exchanges_equal_elements,
    f"{FOLDER}/keep_lanes_apart.py": gives_lanes_one_copy,
    f"{FOLDER}/keep_mask_bounds.py": forgets_bounds_of_masks,
    f"{FOLDER}/keep_unsigned.py": widens_booleans_as_signed,
    f"{FOLDER}/merge_blocked_sizes.py": parts_sizes,
    f"{FOLDER}/multiply_integers.py": saturates_sums_of_bytes,
    f"{FOLDER}/multiply_unsigned.py": multiplies_unsigned_bytes_as_signed,
    f"{FOLDER}/neutral_elements.py": begins_minima_with_minus_one,
    f"{FOLDER}/order_fragments.py": orders_fragments_by_loops,
    f"{FOLDER}/order_products.py": mixes_elements_of_products,
    f"{FOLDER}/order_scaled_operands.py": gives_lanes_runs_of_32_bytes,
    f"{FOLDER}/own_lds.py": sums_the_lds_of_kernels,
    f"{FOLDER}/part_scatters.py": converts_no_stores_with_gaps,
    f"{FOLDER}/reduce_bytes.py": reduces_bytes,
    f"{FOLDER}/round_up_keys.py": shares_no_keys_that_the_program_counts,
    f"{FOLDER}/search_rows_alone.py": searches_rows_by_all_lanes,
    f"{FOLDER}/sum_all_warps.py": loses_the_sums_of_warps,
    f"{FOLDER}/sum_packed_tiles.py": shares_out_summed_tiles,
    f"{FOLDER}/unroll_private_loops.py": keeps_results_in_local_memory,
    f"{FOLDER}/widen_sums.py": fails_on_sums_in_f16,
}
"""What tells that IREE still has the defect that a file works around."""
MARKS = {
    "dialect_utils/memory/barrier_order.py": pytest.mark.nightly,
    f"{FOLDER}/round_up_keys.py": pytest.mark.nightly,
}
"""What takes more than 2 s."""
UNCHECKED = {
    "divided-indices-on-cuda": "The compiler ends, so that no test has it.",
    "names-of-nvidias-products": "The compiler ends, so that no test has it.",
}
"""The sections whose defects no check looks for, and why."""


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("file", [pytest.param(file, marks=MARKS.get(file, ())) for file in CHECKS])
def test_iree_still_needs_it(file: str, tmp_path: Path) -> None:
    assert CHECKS[file](tmp_path), f"IREE no longer needs {file}: remove it, or that part of it"


def test_every_workaround_is_checked_or_says_why_not() -> None:
    checked = [each.file for each in stated() if each.section not in UNCHECKED]
    assert sorted(checked) == sorted(CHECKS)
    folder = {path.relative_to(ROOT).as_posix() for path in (ROOT / FOLDER).glob("*.py")}
    assert folder - {*checked} == {f"{FOLDER}/__init__.py"}


def test_the_page_lists_the_workarounds() -> None:
    number, _, _ = version("iree-base-compiler").rpartition(".")
    assert {each.version for each in stated()} == {number}
    table = "\n".join([*_HEAD, *map(row, stated())])
    assert table in PAGE.read_text(), f"the page has to list them:\n{table}"


def row(workaround: Workaround) -> str:
    """Returns the line of the page's table for a file."""
    file, number, section = workaround
    wrong = UNCHECKED.get(section) or inspect.getdoc(CHECKS[file])
    return f"| `{file}` | [{titles(PAGE)[section]}](#{section}) | {number} | {wrong} |"
