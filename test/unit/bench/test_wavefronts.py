# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorded launches of one instruction of one warp, held against the bank model."""

from __future__ import annotations

import json

import pytest

from bankwise.bench.wavefronts import FORMS, RECORD, Table, differences, main, modelled, tables


def test_every_recorded_launch_is_counted_as_the_gpu_did() -> None:
    every, differing = differences(json.loads(RECORD.read_text()))
    assert {*every} == {form.name for form in FORMS}
    assert every.total() >= 1000
    assert not differing.total()


def test_another_count_is_a_difference(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    document = json.loads(RECORD.read_text())
    first = document["rows"][0]
    first[-1] = {name: value + 1 for name, value in first[-1].items()}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(document | {"rows": document["rows"][:40]}))
    assert main(["compare", str(path)]) == 1
    assert f"{first[0]}: 2 launches, 1 differ" in capsys.readouterr().out


def test_lanes_that_copy_write_to_different_places() -> None:
    drawn = [each for each in tables(200, seed=3) if each.form.startswith("cp.async")]
    assert drawn and all(len({*each.addresses}) == len(each.addresses) for each in drawn)


def test_lanes_that_are_not_there_count_for_nothing() -> None:
    (load,) = (form for form in FORMS if form.name == "ld.shared.b32")
    addresses = [128 * lane for lane in range(32)]
    assert modelled(load, Table(load.name, 0b1, addresses, addresses, "")) == (1, 0)
    assert modelled(load, Table(load.name, 0b111, addresses, addresses, "")) == (3, 2)
