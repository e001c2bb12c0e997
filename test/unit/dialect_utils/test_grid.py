# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many workgroups a function is launched with."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.grid import workgroups_of

from ..functions import parse

X, Y = (f"#iree_codegen.workgroup_mapping<{dim}>" for dim in "xy")


def loop(bounds: str, mapping: str, body: str = "") -> str:
    return f"scf.forall {bounds} {{ {body} }} {{mapping = [{mapping}]}}"


@pytest.mark.parametrize(
    ("body", "workgroups"),
    [
        ("", 1),
        (loop("(%i, %j) = (0, 0) to (1024, 100) step (64, 64)", f"{Y}, {X}"), 32),
        (loop("(%i) = (0) to (%n) step (64)", X), None),
        (
            loop(
                "(%k) = (0) to (96) step (32)",
                "#iree_linalg_ext.split_reduction_mapping<0>",
                loop("(%i) = (0) to (64) step (16)", X),
            ),
            12,
        ),
        (loop("(%i) = (0) to (64) step (16)", X) * 2, None),
        (loop("(%i) = (0) to (64) step (16)", "#gpu.thread<x>"), 1),
        ("%id = hal.interface.workgroup.id[0] : index", None),
    ],
)
def test_workgroups(body: str, workgroups: int | None) -> None:
    parsed = parse(f"func.func @f(%n: index) {{ {body} return }}")
    assert workgroups_of(parsed.function) == workgroups


@pytest.mark.parametrize(("count", "workgroups"), [("%c4", 8), ("%n", None)])
def test_what_an_export_returns(count: str, workgroups: int | None) -> None:
    text = f"""
    hal.executable private @e {{
      hal.executable.variant public @v target(<"rocm", "rocm-hsaco-fb">) {{
        hal.executable.export public @f ordinal(0) layout(#hal.pipeline.layout<bindings = []>)
            count(%d: !hal.device, %n: index) -> (index, index, index) {{
          %c4 = arith.constant 4 : index
          %c2 = arith.constant 2 : index
          %c1 = arith.constant 1 : index
          hal.return {count}, %c2, %c1 : index, index, index
        }}
        builtin.module {{
          func.func @f() {{
            %id = hal.interface.workgroup.id[0] : index
            return
          }}
        }}
      }}
    }}"""
    parsed = parse(text)
    assert workgroups_of(parsed.function) == workgroups
