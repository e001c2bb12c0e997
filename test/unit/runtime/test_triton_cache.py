# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Triton's cache says of a kernel, in the files that Triton 3.9 has written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import GlobalAccessError
from bankwise.runtime.argument_values import ArgumentError, with_element
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly
from bankwise.runtime.triton_cache import (
    Parameter,
    TritonCacheError,
    TritonKernel,
    find_kernel,
    kernel_beside,
)

EXAMPLES = Path(__file__).parents[3] / "examples" / "assembly"
LEFT = np.ones((64, 96), np.float16)
RIGHT = np.full((96, 64), 0.5, np.float16)
ARGUMENTS = (LEFT, RIGHT, np.zeros((64, 64), np.float32), np.int32(64), np.int32(96))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Returns a cache with both example kernels, as Triton lays it out."""
    for digest, name in (("TF62BC", "matmul"), ("B3M7CK", "attention")):
        folder = tmp_path / digest
        folder.mkdir()
        for suffix in ("json", "ttir", "amdgcn"):
            shutil.copy(EXAMPLES / f"{name}.{suffix}", folder)
        paths = {each.name: str(each) for each in folder.iterdir()}
        (folder / f"__grp__{name}.json").write_text(json.dumps({"child_paths": paths}))
    # Triton keeps the launchers that it has compiled there too.
    (tmp_path / "ABCDEF").mkdir()
    (tmp_path / "ABCDEF" / "hip_utils.so").write_bytes(b"\x7fELF")
    return tmp_path


def changed(cache: Path, **values: Any) -> Path:
    """Changes the metadata of the product, and returns the path of its assembly."""
    path = cache / "TF62BC" / "matmul.json"
    document = json.loads(path.read_text()) | values
    path.write_text(json.dumps(document))
    return path.with_suffix(".amdgcn")


def test_a_kernel_is_found_by_its_name_or_its_chip(cache: Path):
    path = cache / "TF62BC" / "matmul.json"
    expected = TritonKernel(
        path=path,
        name="matmul",
        arch="gfx942",
        block=256,
        shared=4096,
        scratch=(0, 0),
        parameters=(
            *(Parameter("a", "f16", True), Parameter("b", "f16", True)),
            *(Parameter("c", "f32", True), Parameter("n", "i32", False)),
            Parameter("k", "i32", False),
        ),
    )
    assert find_kernel(cache, "matmul") == expected
    assert find_kernel(cache, arch="gfx942") == expected
    assert find_kernel(cache / "TF62BC") == expected
    assert find_kernel(path) == expected
    assert kernel_beside(path.with_suffix(".amdgcn")) == expected
    attention = find_kernel(cache, "attention")
    assert (attention.block, attention.shared, attention.arch) == (256, 20928, "gfx950")
    names = [each.name for each in attention.parameters or ()]
    assert names == ["q", "k", "v", "out", "length", "scale"]


def test_what_is_not_found_is_said(cache: Path):
    with pytest.raises(TritonCacheError, match=r"several kernels: attention for gfx950 .*, matmul"):
        find_kernel(cache)
    with pytest.raises(TritonCacheError, match="no kernel 'x'; there are attention for gfx950 "):
        find_kernel(cache, "x")
    with pytest.raises(TritonCacheError, match="no kernel 'matmul' for gfx950; there are"):
        find_kernel(cache, "matmul", "gfx950")
    with pytest.raises(
        TritonCacheError, match=r"no kernel for an AMD GPU, a \.json with an \.amdgcn"
    ):
        find_kernel(cache / "ABCDEF")
    with pytest.raises(FileNotFoundError):
        find_kernel(cache / "nowhere")
    shutil.copytree(cache / "TF62BC", cache / "TF62BD")
    with pytest.raises(TritonCacheError, match=r"several kernels 'matmul': .*TF62BC.*TF62BD"):
        find_kernel(cache, "matmul")


def test_kernels_for_other_gpus_and_other_files_are_passed_over(cache: Path):
    path = changed(cache, target={"backend": "cuda", "arch": 90, "warp_size": 32})
    assert find_kernel(cache).name == "attention"
    assert kernel_beside(path) is None
    (cache / "TF62BC" / "matmul.json").write_text("{")
    assert kernel_beside(path) is None
    assert kernel_beside(EXAMPLES / "transpose.s") is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"num_warps": "4"}, "'num_warps' is '4', where a number is expected"),
        ({"shared": -1}, "'shared' is -1, where a number is expected"),
        ({"name": None}, "it does not say for which chip which kernel is"),
        ({"target": {"backend": "hip"}}, "it does not say for which chip which kernel is"),
    ],
)
def test_a_damaged_file_is_named(cache: Path, values: dict[str, Any], reason: str):
    with pytest.raises(TritonCacheError, match=rf"matmul\.json: {reason}"):
        kernel_beside(changed(cache, **values))


def product(assembly: Path, *arguments: Any, **options: Any) -> AssemblyRun:
    return run_assembly(assembly, arguments or ARGUMENTS, grid=(2, 2), **options)


def test_a_launch_takes_block_shared_memory_and_scratch_from_the_cache(cache: Path):
    run = product(cache / "TF62BC" / "matmul.amdgcn")
    assert len(run.buffers) == 5
    assert (run.buffers[2] == 48).all()
    assert run.stored == (2,)
    assert run.record.lds_bytes == 4096
    assert run.record.dispatch.workgroup_size == (256, 1, 1)


def test_all_arguments_of_the_assembly_may_be_given(cache: Path):
    run = product(cache / "TF62BC" / "matmul.amdgcn", *ARGUMENTS, None, None)
    assert len(run.buffers) == 7
    assert (run.buffers[2] == 48).all()


@pytest.mark.parametrize("suffix", [".glir", ".ttgir"])
def test_gluons_kernels_have_another_source(cache: Path, suffix: str):
    (source,) = cache.glob("*/matmul.ttir")
    source.rename(source.with_suffix(suffix))
    (assembly,) = cache.glob("*/matmul.amdgcn")
    assert (product(assembly).buffers[2] == 48).all()


def test_a_kernel_that_wants_scratch_memory_gets_it_for_each_program(cache: Path):
    path = changed(cache, global_scratch_size=128, num_ctas=2)
    # The kernel begins with a load of the last 4 bytes: 4 programs have 256 each.
    load = "\ts_load_dwordx2 vcc, s[0:1], 0x20\n\ts_waitcnt lgkmcnt(0)\n"
    load += "\ts_load_dword vcc_lo, vcc, 0x3fc\n\ts_waitcnt lgkmcnt(0)\n"
    text = path.read_text()
    entry = text.index("\n", text.index("\n.LBB0_0:") + 1) + 1
    path.write_text(text[:entry] + load + text[entry:])
    assert (product(path).buffers[2] == 48).all()
    path.write_text(path.read_text().replace("0x3fc", "0x400"))
    with pytest.raises(GlobalAccessError, match="'global_scratch', which has 1024"):
        product(path)


@pytest.mark.parametrize(
    ("arguments", "options", "reason"),
    [
        ((), {"block": (128,)}, r"block is 128x1x1, and .*matmul.json says 256"),
        ((), {"shared": 64}, r"shared is 64, and .*matmul.json says 4096"),
        ((LEFT.astype(np.float32),), {}, "argument 0 'a' .* points to f16 .*, and f32 is given"),
        (ARGUMENTS[:4], {}, "argument 4 'k' of kernel 'matmul' is missing, of 5: write np.int32"),
    ],
)
def test_what_contradicts_the_cache_is_refused(
    cache: Path, arguments: tuple[Any, ...], options: dict[str, Any], reason: str
):
    given = arguments if len(arguments) != 1 else (*arguments, *ARGUMENTS[1:])
    with pytest.raises(ArgumentError, match=reason):
        product(cache / "TF62BC" / "matmul.amdgcn", *given, **options)


def test_without_the_kernels_source_the_arguments_are_those_of_the_assembly(cache: Path):
    (cache / "TF62BC" / "matmul.ttir").unlink()
    path = cache / "TF62BC" / "matmul.amdgcn"
    assert (product(path, *ARGUMENTS, None, None).buffers[2] == 48).all()
    with pytest.raises(ArgumentError, match="argument 5 of kernel 'matmul' is missing, of 7"):
        product(path)


@pytest.mark.parametrize(
    ("text", "pointer", "typed"),
    [
        ("64x96=1", True, "64x96xf16=1"),
        ("64", True, "64xf16"),
        ("64x96xf32=1", True, "64x96xf32=1"),
        ("@a.npy", True, "@a.npy"),
        ("null", True, "null"),
        ("64", False, "64:f16"),
        ("-1.5e3", False, "-1.5e3:f16"),
        ("64:i32", False, "64:i32"),
        ("null", False, "null"),
    ],
)
def test_types_are_added_where_none_are_named(text: str, pointer: bool, typed: str):
    assert with_element(text, "f16", pointer) == typed
