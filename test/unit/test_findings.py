# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts of `findings/` have the form that CONTRIBUTING.md asks for; no test runs them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = sorted((ROOT / "findings").iterdir())
_HEADINGS = ("# What: ", "# Version: ", "# Input: ", "# Seen: ")
_INSTALLED = re.compile(r"pip install --quiet (.*)")
_FOLDER = """\
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
"""


def test_there_are_findings() -> None:
    assert len(FINDINGS) >= 4


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.name)
def test_a_finding_has_the_form_of_one(path: Path) -> None:
    text = path.read_text()
    assert path.suffix == ".sh"
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", path], check=True)
    comment = text[: text.index("set -euo pipefail")].splitlines()
    assert all(line.startswith("#") for line in comment)
    assert [heading for heading in _HEADINGS if f"\n{heading}" not in text] == []
    assert _FOLDER in text
    assert "exit 1; }" in text
    assert "bankwise" not in text.lower()
    (installed,) = _INSTALLED.findall(text)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", package) for package in installed.split())
