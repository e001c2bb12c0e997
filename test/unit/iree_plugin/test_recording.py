# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings: reading the compiler's output, the packaged data, the cache."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from iree.compiler.api import Session

from bankwise.iree_plugin import recording as recording_module
from bankwise.iree_plugin import user_cache
from bankwise.iree_plugin.embedding import compiler_version
from bankwise.iree_plugin.python_compile import open_source, settings_of
from bankwise.iree_plugin.recording import (
    Recording,
    RecordingError,
    RecordingKey,
    RecordingStore,
    _passes_over_function,
    _split_at_stages,
    codegen_flags,
    dump_recordings,
    load_recordings,
    pipeline_options,
    record,
)
from bankwise.iree_plugin.recording_samples import RecordingRequest, packaged_requests
from bankwise.iree_plugin.stepped_compile import SteppedCompile
from bankwise.iree_plugin.user_cache import UserCache
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.pipeline_edit import COPYING, LOWERED
from bankwise.sweep.cases import target_flags

KEY = RecordingKey("rocm", "VectorDistribute", ("prefetch_num_stages = 2",), ("--flag=1",))
RECORDING = Recording(KEY, ("canonicalize{max-iterations=10 top-down=true}", "cse"), ("cse",))

OF_LLVM = ("--nvptx-fma-level=1", "--amdgpu-early-inline-all", "--time-passes", "-stats")
"""Flags of LLVM's backends, and those by which it measures."""

UNKNOWN = "--iree-codegen-mmt4d-use-intrinsics=false"
"""A flag that may change pipelines, and leaves them as they are."""

RETILED = """
func.func @f(%a: tensor<128x64xf32>, %b: tensor<64x96xf32>) -> tensor<128x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x96xf32>
  %c = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x96xf32>) -> tensor<128x96xf32>
  %d = linalg.matmul ins(%a, %b : tensor<128x64xf32>, tensor<64x96xf32>)
      outs(%c : tensor<128x96xf32>) -> tensor<128x96xf32>
  return %d : tensor<128x96xf32>
}
"""

PRINTED = """\
// -----// IR Dump After LowerExecutableUsingTransformDialectPass: transform-lower //----- //
module {
  func.func @kernel() {
// -----// IR Dump After FirstPass: first-pass{a=1    b=two} //----- //
#map = affine_map<(d0) -> (d0)>
func.func @kernel() attributes {x} {
  return
}
// -----// IR Dump After OtherPass: other-pass //----- //
func.func @kernel_2() {
// -----// IR Dump After SecondPass: second-pass //----- //
func.func private @kernel() {
// -----// IR Dump After Lower: iree-llvmgpu-lower-executable-target{for-rocdl=true} //----- //
func.func @kernel() {
// -----// IR Dump After mlir::detail::OpToOpPassAdaptor: adaptor //----- //
module {
  func.func @kernel() {
// -----// IR Dump After ThirdPass: third-pass //----- //
func.func @kernel() {
// -----// IR Dump After Resolve: iree-codegen-resolve-swizzle-hints //----- //
func.func @kernel() {
// -----// IR Dump After FourthPass: fourth-pass //----- //
func.func @kernel() {
"""


def test_passes_over_one_function_are_read_with_their_options() -> None:
    passes = _passes_over_function(PRINTED.splitlines(keepends=True), "kernel")
    codegen, lowering = _split_at_stages(passes)
    assert codegen == ["first-pass{a=1 b=two}", "second-pass"]
    assert lowering == ["third-pass", "iree-codegen-resolve-swizzle-hints"]


def test_an_output_cut_short_is_no_recording() -> None:
    cut = PRINTED[: PRINTED.index("// -----// IR Dump After Resolve")]
    passes = _passes_over_function(cut.splitlines(keepends=True), "kernel")
    assert _split_at_stages(passes) == ([], [])


@pytest.mark.parametrize(
    ("attribute", "options"),
    [
        ("{gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, "
         "no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}",
         ("prefetch_num_stages = 2", "use_igemm_convolution = true")),
        ("{gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0>, x = 1}", ()),
        ("#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>>", ()),
        ("#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>",
         ("reorder_workgroups_strategy = <Transpose>",)),
    ],
)  # fmt: skip
def test_only_options_that_differ_from_their_defaults_count(
    attribute: str, options: tuple[str, ...]
) -> None:
    assert pipeline_options(attribute) == options


def test_recordings_survive_their_data_file() -> None:
    text = dump_recordings("1.2", [RECORDING])
    assert load_recordings(text, "1.2") == [RECORDING]
    assert load_recordings(text, "1.3") == []


def test_every_packaged_request_is_in_the_package() -> None:
    store = RecordingStore(cache=UserCache(Path("/nonexistent")))
    for request in packaged_requests():
        options = pipeline_options(f"#iree_gpu.pipeline_options<{request.options}>")
        key = RecordingKey(request.backend, request.pipeline, options)
        assert store.find(key) is not None, key


def check_against_installed_compiler(request: RecordingRequest) -> None:
    taken = request.take()
    assert RecordingStore().find(taken.key) == taken
    least = {LOWERED: 0, COPYING: 10}.get(request.pipeline, 40)
    assert len(taken.codegen) > least or (least == 0 and not taken.codegen)
    assert len(taken.lowering) > 10


@pytest.mark.parametrize("index", [0, 20])
def test_packaged_recordings_equal_what_the_compiler_prints(index: int) -> None:
    check_against_installed_compiler(list(packaged_requests())[index])


@pytest.mark.parametrize("index", [0])
def test_flags_of_llvm_change_no_pipeline(index: int) -> None:
    taken = list(packaged_requests())[index].take(*OF_LLVM)
    packaged = RecordingStore().find(taken.key._replace(flags=()))
    assert packaged is not None
    assert (taken.codegen, taken.lowering) == (packaged.codegen, packaged.lowering)


def compiled_with_unknown_flag() -> list[Action]:
    """Compiles as with a flag on which pipelines may depend; returns what was done."""
    flags, log = target_flags("sm_80"), DecisionLog()
    with closing(Session()) as session:
        session.set_flags(*flags)
        settings = settings_of((*flags, UNKNOWN), "auto/fast")
        with SteppedCompile(session, settings, (), log, console=True) as compilation:
            compilation.run(open_source(session, RETILED))
    return [each.action for each in log.decisions]


def test_a_pipeline_that_a_pass_has_chosen_is_recorded_as_the_first_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged, taken = RecordingStore(), list[str]()

    def take(key: RecordingKey, module: str, function: str) -> Recording:
        taken.append(key.pipeline)
        assert key.flags == (UNKNOWN,)
        assert module.count("hal.executable ") == 1
        assert f"@{function}(" in module
        found = packaged.find(key._replace(flags=()))
        assert found is not None
        return Recording(key, found.codegen, found.lowering)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(recording_module, "record", take)
    assert Action.RETILE in compiled_with_unknown_flag()
    assert taken == ["TileAndFuse", "VectorDistribute"]


@pytest.mark.nightly
def test_the_compiler_prints_the_pipeline_that_a_pass_has_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Action.RETILE in compiled_with_unknown_flag()


def test_what_the_compiler_does_not_print_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    packaged = RecordingStore()

    def take(key: RecordingKey, module: str, function: str) -> Recording:
        found = packaged.find(key._replace(flags=()))
        if found is None or key.pipeline == "VectorDistribute":
            raise RecordingError(f"no pipeline for @{function}")
        return Recording(key, found.codegen, found.lowering)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(recording_module, "record", take)
    assert Action.RETILE not in compiled_with_unknown_flag()
    (said,) = (line for line in capfd.readouterr().err.splitlines() if "no pipeline" in line)
    assert said.endswith(
        "warning: function @f_dispatch_0_matmul_128x96x64_f32 keeps its tiles, because "
        "bankwise-retile cannot go on: no pipeline for @f_dispatch_0_matmul_128x96x64_f32"
    )


@pytest.mark.nightly
@pytest.mark.parametrize("request_", list(packaged_requests()), ids=str)
def test_all_packaged_recordings_equal_what_the_compiler_prints(
    request_: RecordingRequest,
) -> None:
    check_against_installed_compiler(request_)


def test_a_missing_recording_is_taken_once_and_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[RecordingKey] = []

    def take(key: RecordingKey, _module: str, _function: str) -> Recording:
        taken.append(key)
        return RECORDING

    monkeypatch.setattr(recording_module, "record", take)
    store = RecordingStore("0.0.test", UserCache(tmp_path / "cache"))
    assert store.get(KEY, lambda: "module {}", "f") == RECORDING
    assert (
        RecordingStore("0.0.test", UserCache(tmp_path / "cache")).get(KEY, lambda: "module {}", "f")
        == RECORDING
    )
    assert taken == [KEY]
    assert RecordingStore("0.0.other", UserCache(tmp_path / "cache")).find(KEY) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"compiler_version": "0.0.test", "recordings": [{',
        "",
        "[]",
        "7",
        '"text"',
        '{"compiler_version": "0.0.test"}',
        '{"compiler_version": "0.0.test", "pass_lists": 1, "recordings": []}',
        '{"compiler_version": "0.0.test", "pass_lists": [], "recordings": [1]}',
        "lists of numbers",
        "lists of nothing",
        "a name that is cut",
    ],
)
def test_a_spoilt_cache_file_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(recording_module, "record", lambda *_: RECORDING)
    store = RecordingStore("0.0.test", UserCache(tmp_path))
    store.get(KEY, str, "f")
    (spoilt,) = tmp_path.iterdir()
    if text.startswith("lists of"):
        document = json.loads(spoilt.read_text().partition("\n")[2])
        document["pass_lists"] = [[1] if text.endswith("numbers") else []] * 2
        text = user_cache._sealed(json.dumps(document).encode()).decode()
    elif text == "a name that is cut":
        # Every key and every type is right, and yet there is no such pass.
        name = RECORDING.codegen[0]
        text = spoilt.read_text().replace(f'"{name}"', f'"{name[:-2]}"')
        assert text != spoilt.read_text()
    spoilt.write_text(text)
    assert store.find(KEY) is None
    assert store.get(KEY, str, "f") == RECORDING


def test_an_unwritable_cache_does_not_stop_a_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "record", lambda *_: RECORDING)
    assert RecordingStore("0.0.test", UserCache(Path("/proc/none"))).get(KEY, str, "f") == RECORDING


def test_a_module_without_the_function_gives_no_recording() -> None:
    with pytest.raises(RecordingError, match="prints no pipeline for @missing"):
        record(KEY, "module {}", "missing")


def test_functions_of_one_name_are_not_recorded() -> None:
    module = "module {\n  func.func @f() {\n  }\n  func.func @f_2() {\n  }\n  func.func @f() {\n"
    with pytest.raises(RecordingError, match="2 functions are named @f, and"):
        record(KEY, module, "f")


def test_the_packaged_data_is_for_the_installed_compiler() -> None:
    assert RecordingStore().find(RecordingKey("rocm", "VectorDistribute")) is not None, (
        f"no recordings for {compiler_version()}: run python -m bankwise.tools.record_pipelines"
    )


def test_targets_and_dumps_do_not_change_a_pipeline() -> None:
    flags = [
        "--iree-hal-target-device=hip",
        "--iree-rocm-target=gfx942",
        "-iree-hal-dump-executable-files-to=x",
        "--mlir-print-ir-after-all",
        *OF_LLVM,
    ]
    assert codegen_flags(flags) == ()


def test_codegen_flags_may() -> None:
    flags = ["--iree-llvmgpu-b", "--iree-hal-target-device=hip", "--iree-codegen-a=1"]
    assert codegen_flags(flags) == ("--iree-codegen-a=1", "--iree-llvmgpu-b")


def test_a_value_of_its_own_belongs_to_its_flag() -> None:
    flags = ["--iree-hal-target-device", "hip", "--iree-codegen-a", "1", "--iree-rocm-target=x"]
    assert codegen_flags(flags) == ("--iree-codegen-a=1",)
