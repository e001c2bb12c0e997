# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pipeline that a file names itself."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.reproducer import Reproducer, ReproducerError


def text(entries: str) -> bytes:
    return (
        f"module {{}}\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n{entries}\n    }}\n"
        "  }\n#-}\n"
    ).encode()


def test_what_is_read_leaves_blanks_and_all_other_places() -> None:
    given = text('pipeline: "any(a{b=\\"c\\"},\\0Ad)", disable_threading: true, verify_each: false')
    found = Reproducer.of(given)
    assert (found.pipeline, found.verify_each) == ('any(a{b="c"},\nd)', False)
    assert given[found.position :].startswith(b"any(a")
    assert b"reproducer" not in found.rest and b"pipeline" not in found.rest
    assert len(found.rest) == len(given)
    assert found.rest.count(b"\n") == given.count(b"\n")
    assert found.rest.startswith(b"module {}\n{-#\n  external_resources: {\n")


def test_the_compilers_own_defaults() -> None:
    assert Reproducer.of(text('pipeline: "any(a)"')).verify_each


@pytest.mark.parametrize(
    ("given", "message", "at"),
    [
        (b"module {}", "names no pipeline", b"module"),
        (b"// mlir_reproducer: {\nmodule {}", "names no pipeline", b"//"),
        (text("verify_each: true"), "has no 'pipeline'", b"mlir_reproducer"),
        (text("pipeline: true"), "has no 'pipeline'", b"mlir_reproducer"),
        (text('pipeline: "a", verify_each: 7'), "expected a name with", b" verify_each: 7"),
        (text('pipeline: "a", threads: true'), "'threads' cannot be used here", b"true"),
        (text('pipeline: "a'), "expected a name with", b'\npipeline: "a'),
    ],
)
def test_what_is_wrong_has_its_place(given: bytes, message: str, at: bytes) -> None:
    with pytest.raises(ReproducerError, match=message) as caught:
        Reproducer.of(given)
    assert given[caught.value.position :].startswith(at)
