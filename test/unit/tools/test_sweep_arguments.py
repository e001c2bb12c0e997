# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bankwise-sweep."""

from pathlib import Path

import pytest

from bankwise.tools.sweep_arguments import parse_arguments
from bankwise.tools.usage import UsageError


def test_defaults_are_the_public_sweep():
    settings = parse_arguments([])
    assert settings.kernels == "attention"
    assert settings.dtypes == ("f16", "f32")
    assert settings.targets == ("gfx942",)
    assert settings.modes == ("none", "stock", "auto")
    assert settings.workgroups == 2
    assert settings.backend is None
    assert not settings.timing
    assert parse_arguments(["--timing"]).timing
    assert settings.stem == "attention_sweep"


def test_lists_keep_their_order():
    settings = parse_arguments(["--modes=auto,none,auto", "--kernels=dir/mine.json"])
    assert settings.modes == ("auto", "none")
    assert settings.stem == "mine_sweep"


def test_a_sweep_is_drawn_again_beside_its_table_or_elsewhere():
    settings = parse_arguments(["--redraw=results/mine_sweep.json"])
    assert settings.path("png") == Path("results/mine_sweep.png")
    settings = parse_arguments(["--redraw=results/mine_sweep.json", "-o", "out"])
    assert settings.path("png") == Path("out/mine_sweep.png")
    assert parse_arguments(["--kernels=dir/mine.json"]).path("png") == Path("mine_sweep.png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kernels=conv"], "'conv' is neither attention nor matmul nor a .json"),
        (["--dtypes=f8"], "--dtypes: 'f8' is not one of f16, bf16, f32"),
        (["--dtypes="], "--dtypes: '' is not one of"),
        (["--targets=sm_80"], "--targets: 'sm_80' is not one of gfx90a, gfx942, gfx950"),
        (["--modes=none,best"], "--modes: 'best' is not one of auto"),
        (["--jobs=0"], "--jobs=0: expects a number from 1"),
        (["--jobs=two"], "invalid int value"),
        (["--every=0"], "--every=0"),
        (["--workgroups=1"], "expects a number from 2: the first and the last"),
        (["--scheduler=h:1"], "--scheduler: needs --backend=dask"),
        (["--frobnicate"], "unknown flag '--frobnicate'; see --help"),
        (["attention"], "unknown argument 'attention'"),
        (["--redraw=a_sweep.json", "--jobs=2"], "--jobs: --redraw measures nothing"),
        (["--redraw=a_sweep.json", "--targets=gfx950"], "--targets: --redraw measures nothing"),
        (["--redraw=a_sweep.csv"], "--redraw: 'a_sweep.csv' is no .json"),
    ],
)
def test_bad_command_lines_are_explained(arguments, message):
    with pytest.raises(UsageError, match=message):
        parse_arguments(arguments)
