# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every method of the builder emits one operation, which MLIR verifies and prints as expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.dialect_utils import builders
from bankwise.dialect_utils.builders import Builder
from bankwise.dialect_utils.dynamic_sizes import DYNAMIC
from bankwise.dialect_utils.memory.memref_types import row_major_type, strided_type, type_of
from bankwise.dialect_utils.operations import operations_in

LDS = "#gpu.address_space<workgroup>"
VIEW = f"memref<4x32xf16, strided<[64, 1], offset: ?>, {LDS}>"
FIXED = f"memref<4x32xf16, strided<[64, 1]>, {LDS}>"
FLAT, WIDE = f"memref<1024xf16, {LDS}>", f"memref<8x128xf16, {LDS}>"
V, H = "vector<4xf16>", "vector<2xf16>"
TILE, GLOBAL = f"memref<16x64xf16, {LDS}>", "memref<16x64xf16>"
ARGUMENTS = {
    "i": "index",
    "j": "index",
    "w": "i32",
    "b": "i1",
    "f": "f32",
    "v": V,
    "h": H,
    "m": "vector<2x4xf16>",
    "s": "vector<4xf32>",
    "t": TILE,
    "g": GLOBAL,
}
LAYOUT = NestedLayout((1, 1), (1, 1), (1, 1), (2, 1), (1, 4), (0, 0), (1, 0))
SWIZZLE = "#iree_codegen.xor_shuffle<64, 8>"
Emit = Callable[[Builder, SimpleNamespace], Any]


@pytest.fixture
def fresh() -> Iterator[ir.Context]:
    yield Session().context


def emitted(context: ir.Context, emit: Emit) -> list[str]:
    """Returns the text of the operations that `emit` creates, which MLIR has verified."""
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in ARGUMENTS.items())
    with context:
        module = ir.Module.parse(f"func.func @f({arguments}) {{ return }}")
        (function,) = operations_in(module.operation, "func.func")
        block = function.regions[0].blocks[0]
        emit(
            Builder.at_begin(block, function.location),
            SimpleNamespace(**dict(zip(ARGUMENTS, block.arguments, strict=True))),
        )
        assert module.operation.verify()
        created = [each for each in operations_in(function) if each.parent == function][:-1]
        lines = [each.get_asm(use_local_scope=True) for each in created]
    names = list(ARGUMENTS)
    return [re.sub(r"%arg(\d+)", lambda found: f"%{names[int(found[1])]}", line) for line in lines]


def every_operation(at: Builder, v: SimpleNamespace) -> None:
    at.addi(v.i, v.j)
    at.xori(v.w, v.w)
    at.add_without_wrap(v.i, v.j, ir.Attribute.parse("#arith.overflow<nsw, nuw>"))
    at.index(7)
    at.constant(v.w.type, -1)
    at.constant(v.v.type, 0.5)
    at.cmpi("slt", v.i, v.j)
    at.select(v.b, v.i, v.j)
    at.extui(v.w, 64)
    at.negf(v.f)
    at.fma(v.f, v.f, v.f)
    at.apply("d0 + d1 floordiv 4", v.i, v.j)
    at.linearize([v.i, v.j], [64])
    at.thread_id("y")
    at.extract(v.m, [1])
    at.extract(v.m, [1, 3])
    at.insert(v.v, v.m, [1])
    at.extract_slice(v.v, 1, 2)
    at.insert_slice(v.h, v.v, 2)
    at.from_elements([v.f, v.f], [1, 2])
    at.shape_cast(v.m, [8])
    at.transpose(v.m, [1, 0])
    at.broadcast(v.v, [3, 4])
    at.bitcast(v.v, [2], at.integer_type(32))
    at.shuffle(v.h, [1, 0])
    at.multi_reduction(ir.Attribute.parse("#vector.kind<add>"), v.m, v.v, [0])
    at.poison(v.v.type)
    at.store(v.v, v.g, v.i, v.j)
    at.dim(v.g, v.i)
    at.copy(v.g, v.t)
    kind = type_of(v.t)
    at.subview(v.t, strided_type(kind, (4, 32), (64, 1), DYNAMIC), v.i)
    at.subview(v.t, strided_type(kind, (4, 32), (64, 1), 0))
    flat = at.collapse_shape(v.t, row_major_type(kind, [1024]), [[0, 1]])
    at.expand_shape(flat, row_major_type(kind, [8, 128]), [[0, 1]])
    at.ldmatrix(v.t, [v.i, v.j], at.vector_type([4, 2], ir.F16Type.get()), True)
    at.copy_async([v.t, v.i, v.j], [v.g, v.j, v.i], 8, bypass_l1=True)
    at.wait(at.close_group(), 1)
    at.swizzle_hint(v.g, ir.Attribute.parse(SWIZZLE))
    at.to_layout(v.m, LAYOUT)
    at.to_simd(at.to_simt(v.m, [1, 1, 1, 1, 1, 4]), [2, 4])
    at.fptrunc(v.s, at.vector_type([4], ir.BF16Type.get()))
    at.intrinsic("llvm.amdgcn.perm", [v.w] * 3, v.w.type)


EXPECTED = f"""
arith.addi %i, %j : index
arith.xori %w, %w : i32
arith.addi %i, %j overflow<nsw, nuw> : index
arith.constant 7 : index
arith.constant -1 : i32
arith.constant dense<5.000000e-01> : vector<4xf16>
arith.cmpi slt, %i, %j : index
arith.select %b, %i, %j : index
arith.extui %w : i32 to i64
arith.negf %f : f32
math.fma %f, %f, %f : f32
affine.apply affine_map<(d0, d1) -> (d0 + d1 floordiv 4)>(%i, %j)
affine.linearize_index [%i, %j] by (64) : index
gpu.thread_id y
vector.extract %m[1] : vector<4xf16> from vector<2x4xf16>
vector.extract %m[1, 3] : f16 from vector<2x4xf16>
vector.insert %v, %m [1] : vector<4xf16> into vector<2x4xf16>
vector.extract_strided_slice %v offsets = [1], sizes = [2], strides = [1] : {V} to {H}
vector.insert_strided_slice %h, %v offsets = [2], strides = [1] : {H} into {V}
vector.from_elements %f, %f : vector<1x2xf32>
vector.shape_cast %m : vector<2x4xf16> to vector<8xf16>
vector.transpose %m, [1, 0] : vector<2x4xf16> to vector<4x2xf16>
vector.broadcast %v : vector<4xf16> to vector<3x4xf16>
vector.bitcast %v : vector<4xf16> to vector<2xi32>
vector.shuffle %h, %h [1, 0] : vector<2xf16>, vector<2xf16>
vector.multi_reduction <add>, %m, %v [0] : vector<2x4xf16> to vector<4xf16>
ub.poison : vector<4xf16>
vector.store %v, %g[%i, %j] : {GLOBAL}, vector<4xf16>
memref.dim %g, %i : {GLOBAL}
memref.copy %g, %t : {GLOBAL} to {TILE}
memref.subview %t[%i, 0] [4, 32] [1, 1] : {TILE} to {VIEW}
memref.subview %t[0, 0] [4, 32] [1, 1] : {TILE} to {FIXED}
memref.collapse_shape %t [[0, 1]] : {TILE} into {FLAT}
memref.expand_shape % [[0, 1]] output_shape [8, 128] : {FLAT} into {WIDE}
nvgpu.ldmatrix %t[%i, %j] numTiles = 4 transpose = true : {TILE} -> vector<4x2xf16>
nvgpu.device_async_copy %g[%j, %i], %t[%i, %j], 8 bypassL1 : {GLOBAL} to {TILE}
nvgpu.device_async_create_group
nvgpu.device_async_wait % numGroups = 1
iree_codegen.swizzle_hint %g[{SWIZZLE}] : {GLOBAL}
iree_vector_ext.to_layout %m to layout({LAYOUT}) : vector<2x4xf16>
iree_vector_ext.to_simt %m : vector<2x4xf16> -> vector<1x1x1x1x1x4xf16>
iree_vector_ext.to_simd % : vector<1x1x1x1x1x4xf16> -> vector<2x4xf16>
llvm.fptrunc %s : vector<4xf32> to vector<4xbf16>
llvm.call_intrinsic "llvm.amdgcn.perm"(%w, %w, %w) : (i32, i32, i32) -> i32
"""


def test_tensors_are_reshaped_and_computed_element_by_element(fresh: ir.Context) -> None:
    """The dimensions of an input may be fewer than the loops; `slice` may leave some out."""

    def emit(at: Builder, v: SimpleNamespace) -> None:
        single = ir.F32Type.get()
        whole = at.fill(v.f, at.empty(at.tensor_type([4, 6], single)))
        parts = at.expand_shape(whole, at.tensor_type([4, 2, 3], single), [[0], [1, 2]])
        row = at.slice(parts, at.tensor_type([4, 3], single), [0, 1, 0], [4, 1, 3])
        half = at.empty(at.tensor_type([4, 2, 3], ir.F16Type.get()))
        at.parallel([parts, row], [(0, 1, 2), (0, 2)], half, _compute)
        at.collapse_shape(parts, at.tensor_type([4, 6], single), [[0], [1, 2]])

    text = "\n".join(emitted(fresh, emit))
    for line in (
        "tensor.expand_shape % [[0], [1, 2]] output_shape [4, 2, 3]",
        "tensor.extract_slice %[0, 1, 0] [4, 1, 3] [1, 1, 1] : tensor<4x2x3xf32> to tensor<4x3",
        "affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]",
        "arith.maximumf",
        "arith.subf",
        "math.exp2",
        "arith.divf",
        "arith.truncf",
        "tensor.collapse_shape % [[0], [1, 2]] : tensor<4x2x3xf32> into tensor<4x6xf32>",
    ):
        assert line in re.sub(r"%\w+(?=[ \[])", "%", text)


def _compute(at: Builder, whole: ir.Value, row: ir.Value, before: ir.Value) -> ir.Value:
    greatest = at.maximumf(whole, row)
    return at.truncf(at.divf(at.exp2(at.subf(whole, greatest)), row), before.type)


def test_each_method_emits_its_operation(fresh: ir.Context) -> None:
    expected = EXPECTED.strip().splitlines()
    # Results are not named: only arguments are.
    shown = [re.sub(r"%(\w\w+|\d+)", "%", line) for line in emitted(fresh, every_operation)]
    assert [re.sub(r"^%\S* = ", "", line).strip() for line in shown] == expected


def test_dialects_are_loaded_when_they_are_needed(fresh: ir.Context) -> None:
    def guarded(at: Builder, v: SimpleNamespace) -> None:
        at.if_(v.b, lambda inside: inside.copy(v.g, v.t))

    (choice,) = emitted(fresh, guarded)
    assert choice.startswith("scf.if %b {")
    assert "memref.copy" in choice


def test_both_branches_of_a_condition_yield(fresh: ir.Context) -> None:
    def chosen(at: Builder, v: SimpleNamespace) -> None:
        kind = v.i.type
        at.if_(v.b, lambda then: [then.addi(v.i, v.j)], lambda _: [v.j], [kind])

    (choice,) = emitted(fresh, chosen)
    assert choice.startswith("%0 = scf.if %b -> (index) {")
    assert choice.count("scf.yield") == 2


def test_elements_are_taken_apart_and_joined(fresh: ir.Context) -> None:
    def reversed_elements(at: Builder, v: SimpleNamespace) -> None:
        (scalar,) = at.elements(v.f)
        assert at.joined([scalar], v.f.type) == v.f
        at.joined(at.elements(v.m)[::-1], v.m.type)

    lines = emitted(fresh, reversed_elements)
    assert [line.split(" = ")[1].split()[0] for line in lines] == [
        "vector.shape_cast",
        *["vector.extract"] * 8,
        "vector.from_elements",
        "vector.shape_cast",
    ]


def test_a_like_operation_keeps_the_attributes_that_are_asked_for(fresh: ir.Context) -> None:
    def alike(at: Builder, v: SimpleNamespace) -> None:
        total = at.add_without_wrap(
            v.i, v.j, ir.Attribute.parse("#arith.overflow<nsw>")
        ).owner.operation
        at.like(total, [v.j, v.i])
        at.like(total, [v.j, v.i], kept=(), name="arith.muli")

    _, same, bare = emitted(fresh, alike)
    assert same.endswith("arith.addi %j, %i overflow<nsw> : index")
    assert bare.endswith("arith.muli %j, %i : index")


def test_the_operands_of_an_operation_are_held(
    fresh: ir.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bindings let go of what another sequence gives them before they have read it."""
    handed: list[object] = []

    def create(name: str, **given: Any) -> ir.Operation:
        handed.append(given["operands"])
        return ir.Operation.create(name, **given)

    watched = SimpleNamespace(**vars(ir) | {"Operation": SimpleNamespace(create=create)})
    monkeypatch.setattr(builders, "ir", watched)

    def again(at: Builder, v: SimpleNamespace) -> None:
        total = at.addi(v.i, v.j).owner.operation
        assert not isinstance(total.operands, list)
        at.like(total, total.operands)

    assert len({line.partition(" = ")[2] for line in emitted(fresh, again)}) == 1
    assert [type(each) for each in handed] == [list, list]


def test_a_clone_keeps_what_the_bindings_do_not_show(fresh: ir.Context) -> None:
    text = """
      func.func @f(%i: index, %j: index) -> index {
        %l = affine.linearize_index disjoint [%i, %j] by (16, 64) : index
        return %l : index
      }"""
    with fresh:
        module = ir.Module.parse(text)
        (old,) = operations_in(module.operation, "affine.linearize_index")
        i, j = old.operands
        new = Builder.after(old).clone(old, [j, i])
        assert list(new.operands) == [j, i]
        assert "linearize_index disjoint" in new.get_asm(use_local_scope=True)
        assert "disjoint" not in new.attributes
