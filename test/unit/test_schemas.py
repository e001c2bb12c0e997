# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The JSON that the tools write is what `docs/schemas/` says, field by field."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bankwise.emulator.counters import counter_names
from bankwise.passes.decisions import Action, Decision, DecisionLog
from bankwise.report.compile_decisions import decisions
from bankwise.report.contents import Contents, number_report
from bankwise.report.json_document import json_report
from bankwise.report.measured.comparison import compare
from bankwise.report.proofs import with_checked_proofs
from bankwise.report.sources import report_files
from bankwise.runtime.argument_values import parse_argument
from bankwise.runtime.assembly_run import LaunchOptions, read_kernel, run_kernel
from bankwise.runtime.module_run import counters_document
from bankwise.sweep.rows import swept_counters
from bankwise.sweep.tables import json_table
from bankwise.tiles.answer_json import answer_json
from bankwise.tiles.solve import count, solve

from .report.measured.profiler_files import rocprofv3
from .sweep.swept_rows import case, differing_row, failed_row, row

ROOT = Path(__file__).parents[2]
SCHEMAS = {path.name.partition(".")[0]: path for path in (ROOT / "docs/schemas").iterdir()}


def schema(name: str) -> dict[str, Any]:
    return json.loads(SCHEMAS[name].read_text())


def check(name: str, text: str) -> None:
    """Fails with all that the schema of this name objects to."""
    found = Draft202012Validator(schema(name)).iter_errors(json.loads(text))
    assert [f"{error.json_path}: {error.message}" for error in found] == []


def parts(part: object, place: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields all objects inside a schema, with their places."""
    if isinstance(part, dict):
        yield place, part
        for key, each in part.items():
            yield from parts(each, f"{place}.{key}")
    elif isinstance(part, list):
        for each in part:
            yield from parts(each, place)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_valid_closed_and_described(name: str):
    document = schema(name)
    Draft202012Validator.check_schema(document)
    version = document["properties"]["version"]["const"]
    assert document["$id"] == f"urn:bankwise:schema:{name}:{version}"
    assert document["title"]
    for place, part in parts(document):
        if part.get("type") == "object":
            assert "additionalProperties" in part, place
        for field, value in part.get("properties", {}).items():
            # A sentence that begins with a name begins with a back-tick.
            text = value["description"]
            assert (text[0].isupper() or text[0] == "`") and text.endswith("."), f"{place}.{field}"
        for definition, value in part.get("$defs", {}).items():
            assert value["description"].endswith("."), f"{place}.{definition}"


def test_schemas_are_shipped_and_listed():
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    globs = setuptools["package-data"]["bankwise"]
    assert {*SCHEMAS.values()} <= {path for glob in globs for path in ROOT.glob(glob)}
    page = (ROOT / "docs/report.md").read_text()
    assert all(f"schemas/{path.name}" in page for path in SCHEMAS.values())


def test_what_is_no_field_is_refused():
    with pytest.raises(AssertionError, match="'more' was unexpected"):
        check("decisions", '{"version": 1, "decisions": [], "more": 1}')


def test_decisions_of_a_compile():
    flags = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
    log = decisions(ROOT / "examples/attention_f16.mlir", flags)
    assert len([*log]) > 2
    check("decisions", log.to_json())


def test_decisions_of_every_kind():
    one = Decision("bankwise-retile", "f", "memref<4xf32>", "a.mlir:1:2", Action.KEEP, "it is odd")
    log = DecisionLog([replace(one, action=action) for action in Action])
    check("decisions", log.to_json())


@pytest.mark.parametrize("name", ["row_major", "padded", "xor"])
def test_reports_with_all_that_they_can_have(tmp_path: Path, name: str):
    path = str(ROOT / f"examples/transpose/{name}.mlir")
    reports = [(path, with_checked_proofs(each)) for _, each in report_files([path], "gfx942")]
    measured = tmp_path / "counter_collection.csv"
    counters = "SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT"
    measured.write_text(rocprofv3(*((1, name, 8, counter, "7") for counter in counters)))
    functions = number_report(reports, [path])
    comparison = compare([str(measured)], [report for _, report in reports])
    whole = Contents((path,), ("bankwise-report",), "", functions, True, comparison)
    check("report", json_report(whole))
    check("report", json_report(replace(whole, mitigation="auto", bank_maps=False, measured=None)))


def test_reports_on_what_is_not_known():
    path = str(ROOT / "examples/transpose/row_major.mlir")
    functions = number_report(report_files([path], "sm_80"), [path])
    check("report", json_report(Contents((path,), ("bankwise-report",), "", functions, True)))
    check("report", json_report(Contents((), ("bankwise-report",), "", (), False)))


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize(("target", "tile"), [("gfx942", "64x32xf16"), ("sm_90", "32x32xf32")])
def test_answers_on_tiles(target: str, tile: str, maps: bool):
    write, read = ["rows:128"], ["columns:32"]
    check("tile", answer_json(solve(target, tile, write=write, read=read), maps=maps))
    padded = count(target, tile, write=write, read=read, layout="padded:2")
    check("tile", answer_json(padded, maps=maps))


def test_counters_of_a_run():
    kernel = read_kernel(str(ROOT / "examples/assembly/by_hand.s"))
    arguments = [parse_argument(each) for each in ("64x64xf32=1", "64x64xf32")]
    for timing in (False, True):
        options = LaunchOptions((1, 1, 1), (64, 1, 1), timing=timing)
        run = run_kernel(kernel, arguments, options)
        document = counters_document([run.record])
        check("counters", json.dumps(document))
        assert ("timing" in json.dumps(document)) is timing
    described = schema("counters")["$defs"]["dispatch"]["properties"]["counters"]["properties"]
    assert [*described] == counter_names()


def test_tables_of_sweeps():
    rows = [row(case()), replace(differing_row(case("m")), measured=None), failed_row(case("n"))]
    check("sweep", json_table(rows, ["bankwise-sweep", "--dtypes=f16"]))
    check("sweep", json_table([row(replace(case(), timing=True), expected=7)], []))
    record = json.loads((ROOT / "bench/results/timing_sweep.json").read_text())
    check("sweep", json.dumps(record | {"rows": record["rows"][:20]}))
    assert [*schema("sweep")["$defs"]["counters"]["properties"]] == swept_counters()
