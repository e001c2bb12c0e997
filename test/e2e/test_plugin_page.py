# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin that `docs/plugins.md` shows is listed, and its test passes, as the page says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .conftest import BIN
from .documented_blocks import blocks


def test_the_plugin_of_the_page(tmp_path: Path) -> None:
    page = blocks(Path(__file__).parents[2] / "docs" / "plugins.md")
    files = {block.file: block.text for block in page if block.file}
    for name in ("my_passes.py", "limit-reads.mlir"):
        (tmp_path / name).write_text(files[name])
    metadata = tmp_path / "my_passes-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: my-passes\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[bankwise.plugins]\nmine = my_passes:edits\n")

    def run(command: str) -> tuple[int, str]:
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        found = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env={**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return found.returncode, found.stdout + found.stderr

    (listing,) = (block.text for block in page if "--list-passes" in block.text)
    _, *listed = listing.replace("...\n", "").splitlines()
    code, printed = run("bankwise-opt --list-passes")
    assert code == 0
    assert "\n".join(listed) in printed
    test, *_ = files["limit-reads.mlir"].removeprefix("// RUN: ").splitlines()
    test = test.replace("%s", "limit-reads.mlir").replace("| FileCheck", "| filecheck")
    tool, _, check = test.removeprefix("not ").partition("| ")
    assert run(f"{{ ! {tool}; }} | {check}")[0] == 0
    assert run(f"{{ ! {tool.replace('most=0', 'most=1')}; }} | {check}")[0] == 1
