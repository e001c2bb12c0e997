# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code objects, bundles, disassembly, macros and encoded instructions, by LLVM's tools."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from bankwise.emulator.instruction_text import AssemblyError
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly
from bankwise.runtime.llvm_tools import LlvmToolError, assembled, find_tool

pytest.importorskip("elftools", reason="pyelftools is not installed")
zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")


def knows_chip() -> bool:
    """Returns whether LLVM's tools are there, and are no older than the chip of these tests."""
    try:
        return find_tool("llvm-objdump") is not None and bool(assembled("s_endpgm", "gfx942"))
    except LlvmToolError:
        return False


pytestmark = pytest.mark.skipif(
    not knows_chip(), reason="LLVM's tools are not installed, or do not know gfx942"
)

FILE = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.text
\t.globl k
\t.p2align 8
\t.type k,@function
k:
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\tv_lshlrev_b32_e32 v9, 2, v0
\ts_mov_b32 s20, 3
.Lagain:
\tv_add_u32_e32 v0, 1, v0
\ts_sub_u32 s20, s20, 1
\ts_cmp_lg_u32 s20, 0
\ts_cbranch_scc1 .Lagain
\ts_getpc_b64 s[16:17]
\ts_add_u32 s16, s16, table@rel32@lo+4
\ts_addc_u32 s17, s17, table@rel32@hi+12
\ts_load_dwordx2 s[18:19], s[16:17], 0x8
\ts_load_dword s21, s[16:17], 0x10
\ts_waitcnt lgkmcnt(0)
\ts_swappc_b64 s[30:31], s[18:19]
\tglobal_store_dword v9, v0, s[2:3]
\ts_endpgm
.Lfunc_end0:
\t.size k, .Lfunc_end0-k
\t.type add,@function
add:
\tv_add_u32_e32 v0, s21, v0
\tv_mov_b32_e32 v1, 0
\tv_mov_b32_e32 v2, 9
\tglobal_store_dword v1, v2, s[16:17] offset:16
\ts_setpc_b64 s[30:31]
.Lend:
\t.size add, .Lend-add
\t.type bad,@function
bad:
\ts_sendmsghalt 3
\ts_setpc_b64 s[30:31]
.Lend1:
\t.size bad, .Lend1-bad
\t.data
\t.globl table
\t.p2align 3
\t.type table,@object
table:
\t.quad bad, add
\t.long 100, 0
\t.size table, 24
\t.section .rodata,"a",@progbits
\t.p2align 6
\t.amdhsa_kernel k
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_next_free_vgpr 16
\t\t.amdhsa_next_free_sgpr 40
\t\t.amdhsa_accum_offset 16
\t.end_amdhsa_kernel
\t.text
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - {.address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 64
    .name: k
    .private_segment_fixed_size: 0
    .sgpr_count: 40
    .symbol: k.kd
    .vgpr_count: 16
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.version: [1, 2]
...
\t.end_amdgpu_metadata
"""


@pytest.fixture(scope="module")
def code_object() -> bytes:
    return assembled(FILE, "gfx942")


def bundle(*parts: tuple[str, bytes]) -> bytes:
    """Returns a bundle as clang-offload-bundler writes it."""
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(parts)), b""
    start = len(head) + sum(24 + len(name) for name, _ in parts)
    for name, contents in parts:
        head += struct.pack("<QQQ", start + len(body), len(contents), len(name)) + name.encode()
        body += contents
    return head + body


def run(path: Path, contents: bytes | str, target: str = "") -> AssemblyRun:
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return run_assembly(path, [np.zeros(64, np.int32)], grid=(1,), block=(64,), target=target)


def check(done: AssemblyRun) -> None:
    (left,) = done.buffers
    assert left is not None
    assert left.tolist() == list(range(103, 167))


def test_the_text_and_its_code_object_do_the_same(tmp_path: Path, code_object: bytes):
    from_text = run(tmp_path / "k.s", FILE)
    from_object = run(tmp_path / "k.co", code_object)
    for done in (from_text, from_object):
        check(done)
        assert done.changed == ("table",)
        assert done.variables["table"][4:].tolist() == [9, 0]
    assert from_text.counters == from_object.counters


def test_a_bundle_holds_code_objects_of_chips(tmp_path: Path, code_object: bytes):
    host = ("host-x86_64-unknown-linux-gnu", b"")
    ours = ("hip-amdgcn-amd-amdhsa--gfx942:sramecc+", code_object)
    check(run(tmp_path / "k.hsaco", bundle(host, ours)))
    other = ("hip-amdgcn-amd-amdhsa--gfx1100", code_object)
    check(run(tmp_path / "k.hsaco", bundle(host, other, ours), "gfx942"))
    with pytest.raises(AssemblyError, match=r"several code objects; .* --target: gfx1100, gfx942"):
        run(tmp_path / "k.hsaco", bundle(host, other, ours))
    with pytest.raises(AssemblyError, match="the bundle holds nothing for gfx950: gfx942"):
        run(tmp_path / "k.hsaco", bundle(host, ours), "gfx950")


def compressed(contents: bytes, version: int, method: int, size: int = -1) -> bytes:
    """Returns a bundle as LLVM compresses it, whose header states a size."""
    pack = (zlib.compress, zstandard.ZstdCompressor().compress, bytes)[method]
    packed = pack(contents)
    header = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}[version]
    whole = struct.calcsize(header) + len(packed)
    sizes = [] if version == 1 else [whole]
    stated = len(contents) if size < 0 else size
    return struct.pack(header, b"CCOB", version, method, *sizes, stated, 0) + packed


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, 1])
def test_a_compressed_bundle(tmp_path: Path, code_object: bytes, version: int, method: int):
    whole = bundle(("hip-amdgcn-amd-amdhsa--gfx942", code_object))
    check(run(tmp_path / "k.hsaco", compressed(whole, version, method)))


def test_a_compressed_bundle_of_llvm(tmp_path: Path, code_object: bytes):
    tool = find_tool("clang-offload-bundler")
    if tool is None:
        pytest.skip("clang-offload-bundler is not installed")
    (tmp_path / "k.co").write_bytes(code_object)
    (tmp_path / "host").write_bytes(b"")
    targets = "host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa--gfx942"
    names = [f"-input={tmp_path / name}" for name in ("host", "k.co")]
    output = tmp_path / "k.hsaco"
    command = [tool, "-type=o", f"-targets={targets}", *names, f"-output={output}", "-compress"]
    subprocess.run(command, check=True)
    assert output.read_bytes().startswith(b"CCOB")
    check(run(output, output.read_bytes()))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"CCOB\x04\0\0\0", "the compressed bundle has version 4, where 1, 2, 3 are known"),
        (compressed(b"abc", 2, 2), "the bundle is compressed by an unknown method 2"),
        (compressed(b"abc", 3, 0, 1 << 40), "more than 2 GiB"),
        (compressed(b"abc" * 999, 2, 0, 9), "does not have the 9 bytes that it states"),
        (compressed(b"abc" * 999, 2, 1, 9), "does not have the 9 bytes that it states"),
        (compressed(bytes(range(256)), 2, 0)[:-20], "does not have the 256 bytes"),
        (compressed(b"abc", 2, 0)[:24] + b"no zlib", "the bundle cannot be decompressed"),
        (compressed(b"abc", 2, 1)[:24] + b"no zstd", "the bundle cannot be decompressed"),
    ],
)
def test_what_is_wrong_with_a_compressed_bundle(tmp_path: Path, contents: bytes, message: str):
    with pytest.raises(AssemblyError, match=message) as found:
        run(tmp_path / "k.hsaco", contents)
    assert "\n" not in str(found.value)


def test_zstd_may_be_missing(tmp_path: Path, code_object: bytes, monkeypatch: pytest.MonkeyPatch):
    for name in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(AssemblyError, match="compressed by zstd: pip install zstandard"):
        run(tmp_path / "k.hsaco", compressed(code_object, 2, 1))


@pytest.mark.parametrize(
    ("keep", "message"), [(200, "can be read"), (5000, "can be read"), (4, "can be read")]
)
def test_a_truncated_code_object_is_refused(
    keep: int, message: str, tmp_path: Path, code_object: bytes
):
    with pytest.raises(AssemblyError, match=message):
        run(tmp_path / "k.co", code_object[: min(keep, len(code_object) - 600)])


def test_an_elf_file_of_a_host_is_refused(tmp_path: Path):
    with pytest.raises(AssemblyError, match="it is an ELF file for EM_"):
        run(tmp_path / "k.co", Path("/proc/self/exe").read_bytes())


def test_disassembly_with_descriptor_and_metadata_runs(tmp_path: Path):
    """A kernel that needs no data."""
    code = FILE.replace("table@rel32", "add@rel32")
    code = code.replace("\ts_load_dwordx2 s[18:19], s[16:17], 0x8\n", "\ts_mov_b32 s21, 100\n")
    code = code.replace("\ts_load_dword s21, s[16:17], 0x10\n", "")
    code = code.replace("s_swappc_b64 s[30:31], s[18:19]", "s_swappc_b64 s[30:31], s[16:17]")
    code = code.replace("\tglobal_store_dword v1, v2, s[16:17] offset:16\n", "")
    path = tmp_path / "k.co"
    path.write_bytes(assembled(code, "gfx942"))
    from bankwise.runtime.llvm_tools import run_tool

    printed = run_tool("llvm-objdump", ["-d", "-j", ".text", "-j", ".rodata", str(path)]).decode()
    notes = run_tool("llvm-readelf", ["--notes", str(path)]).decode()
    check(run(tmp_path / "k.txt", printed + notes))
    with pytest.raises(AssemblyError, match=r"no metadata in this disassembly: print all"):
        run(tmp_path / "k.txt", printed)
    only = run_tool("llvm-objdump", ["-d", str(path)]).decode()
    with pytest.raises(AssemblyError, match=r"no \.amdhsa_kernel block in this disassembly: print"):
        run(tmp_path / "k.txt", only)


def test_disassembly_without_the_data_that_it_needs_is_refused(tmp_path: Path, code_object: bytes):
    done = run(tmp_path / "k.co", code_object)
    with pytest.raises(AssemblyError, match=r":\d+: the kernel needs data at 0x\w+, which a disas"):
        run(tmp_path / "k.txt", done.assembly)


def test_macros_symbols_and_conditions_are_expanded(tmp_path: Path):
    text = FILE.replace(
        "\tv_add_u32_e32 v0, 1, v0\n",
        "\t.macro add_to register, value\n"
        "\tv_add_u32 v[\\register], \\value, v[\\register]\n\t.endm\n"
        "\t.set first, 0\n\t.if first == 0\n\tadd_to first, 1\n\t.else\n\tnonsense\n\t.endif\n",
    )
    check(run(tmp_path / "k.s", text))
    with pytest.raises(AssemblyError, match=r"error: .*nonsense|invalid instruction"):
        run(tmp_path / "k.s", text.replace("first == 0", "first == 1"))


@pytest.mark.parametrize("directive", [".include", ".incbin"])
def test_no_other_file_is_read(directive: str, tmp_path: Path):
    text = FILE.replace("\ts_mov_b32 s20, 3\n", f'\t{directive} "k.s"\n\t.if 0\n\t.endif\n')
    with pytest.raises(AssemblyError, match=rf"expands no \.{directive[1:]}|expands no"):
        run(tmp_path / "k.s", text)


def test_instructions_may_be_written_as_numbers(tmp_path: Path):
    check(run(tmp_path / "k.s", FILE.replace("\ts_mov_b32 s20, 3\n", "\t.long 0xbe940083\n")))


def test_no_tool_of_a_relative_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    planted = tmp_path / "bin" / "bankwise-no-such-tool"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\nexit 0\n")
    planted.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for folder in ("bin", ".", ""):
        monkeypatch.setenv("PATH", folder)
        find_tool.cache_clear()
        assert find_tool(planted.name) is None
    monkeypatch.setenv("PATH", str(planted.parent))
    find_tool.cache_clear()
    assert find_tool(planted.name) == str(planted)
    find_tool.cache_clear()
