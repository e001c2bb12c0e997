# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Textual pass pipelines that mix Bankwise passes with the compiler's own.

The syntax is MLIR's: `builtin.module(func.func(bankwise-resolve-swizzle-hints,canonicalize),cse)`.
The compiler knows nothing of our passes, so a pipeline is cut at them: each piece is either one of
our passes with the ops that it runs on, or a text for the compiler. The pipeline above becomes

    ours    bankwise-resolve-swizzle-hints   on every func.func in the module
    native  func.func(canonicalize),cse      on the module

Passes on one op cannot look at its siblings, so running a piece on all ops before the next piece
starts equals running all pieces on one op before the next op.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..bank_model.quick_tuple import NamedTuple
from .base import FunctionPass, PassOptionError
from .registry import PIPELINES, UnknownPassError, contributed_passes, make_pass

PREFIX = "bankwise-"
ANY = "any"
MOST_NESTED = 64
"""The most ops in each other that a pipeline names; no IR is nested so deeply."""


class PipelineTextError(ValueError):
    """A pipeline that cannot be read; `position` is the offset of the fault in its text."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class PassText(NamedTuple):
    """`name` or `name{options}`, from `start` to `stop` of the text."""

    name: str
    options: str
    start: int
    stop: int


class NestText(NamedTuple):
    """`anchor(body)`, from `start` to `stop` of the text."""

    anchor: str
    body: tuple[PassText | NestText, ...]
    start: int
    stop: int


ElementText = PassText | NestText


class OurPass(NamedTuple):
    """One of our passes.

    Attributes:
        step: the pass.
        path: the ops that lead from the root (not part of the path) to the ops that it runs on;
            None for every `func.func` and `gpu.func` at any depth.
    """

    step: FunctionPass
    path: tuple[str, ...] | None


class NativeText(NamedTuple):
    """A pipeline text, without the anchor, for the compiler.

    Attributes:
        on_functions: whether it runs on every function at any depth, and not on the root.
    """

    text: str
    on_functions: bool = False


Piece = OurPass | NativeText


def parse_pipeline(text: str) -> NestText:
    """Reads a pipeline that is wrapped in its anchor, as in `builtin.module(cse)`.

    Raises:
        PipelineTextError: unbalanced or misplaced brackets, or no anchor around the whole.
    """
    reader = _Reader(text)
    elements = reader.elements()
    if reader.at < len(text):
        raise PipelineTextError("encountered extra closing ')'", reader.at)
    if len(elements) != 1 or not isinstance(elements[0], NestText):
        raise PipelineTextError(
            "expected pass pipeline to be wrapped with the anchor operation type, "
            "e.g. 'builtin.module(...)'",
            0,
        )
    return elements[0]


class _Reader:
    """A cursor over the text; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self.at = 0

    def elements(self) -> tuple[ElementText, ...]:
        """Returns elements separated by commas, up to an unmatched `)` or the end."""
        self._skip_space()
        if self._peek() in ("", ")"):
            return ()
        found = [self._element()]
        while self._peek() == ",":
            self.at += 1
            found.append(self._element())
        if self._peek() not in ("", ")"):
            raise PipelineTextError("expected ',' after a pass", self.at)
        return tuple(found)

    def _element(self) -> ElementText:
        self._skip_space()
        start = self.at
        while self._peek() not in ("", ",", "{", "(", ")", "}"):
            self.at += 1
        name = self._text[start : self.at].rstrip()
        if not name:
            raise PipelineTextError("expected the name of a pass", self.at)
        if self._peek() == "(":
            return self._nest(name, start)
        stop, options = start + len(name), ""
        if self._peek() == "{":
            options = self._braces()
            stop = self.at
        self._skip_space()
        return PassText(name, options, start, stop)

    def _nest(self, anchor: str, start: int) -> NestText:
        opening = self.at
        self.at += 1
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise PipelineTextError(f"more than {MOST_NESTED} ops are nested here", opening)
        body = self.elements()
        self._depth -= 1
        if self._peek() != ")":
            raise PipelineTextError("this '(' is never closed", opening)
        self.at += 1
        stop = self.at
        self._skip_space()
        return NestText(anchor, body, start, stop)

    def _braces(self) -> str:
        """Returns the text between the braces at the cursor; inner braces must balance."""
        opening, depth = self.at, 0
        while self.at < len(self._text):
            depth += {"{": 1, "}": -1}.get(self._text[self.at], 0)
            self.at += 1
            if depth == 0:
                return self._text[opening + 1 : self.at - 1]
        raise PipelineTextError("missing closing '}' while processing pass options", opening)

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self.at += 1


def is_ours(name: str) -> bool:
    """Returns whether `name` is of our family of passes, or is contributed to it.

    One that begins as our passes do may still be unknown.
    """
    return name.startswith(PREFIX) or name in contributed_passes()


def native_passes(root: NestText) -> Iterator[tuple[PassText, str]]:
    """Yields every pass of the compiler's own in `root`, each with the anchor that it is in."""
    for element in root.body:
        if isinstance(element, NestText):
            yield from native_passes(element)
        elif not is_ours(element.name):
            yield element, root.anchor


def cut_pipeline(text: str, root: NestText) -> list[Piece]:
    """Cuts the pipeline `root` of `text` into pieces to run in order on ops named `root.anchor`.

    Raises:
        PipelineTextError: an unknown pass or option of ours, or an anchor that is no function.
    """
    return join_native(_cut(text, root.body, (), root.anchor))


def _cut(
    text: str, elements: Sequence[ElementText], path: tuple[str, ...], anchor: str
) -> Iterator[Piece]:
    for element in elements:
        if isinstance(element, NestText):
            for piece in join_native(
                _cut(text, element.body, (*path, element.anchor), element.anchor)
            ):
                if isinstance(piece, NativeText) and not piece.on_functions:
                    yield NativeText(f"{element.anchor}({piece.text})")
                else:
                    yield piece
        elif element.name in PIPELINES:
            if element.options:
                raise PipelineTextError(f"{element.name} has no options", element.start)
            yield from _pieces_of(element.name, path if anchor.endswith("func") else None)
        elif is_ours(element.name):
            yield OurPass(_make(element, anchor), path)
        else:
            yield NativeText(text[element.start : element.stop])


def pieces_of(name: str) -> list[Piece]:
    """Returns what a registered pipeline runs on every function at any depth."""
    return join_native(_pieces_of(name, None))


def _pieces_of(name: str, path: tuple[str, ...] | None) -> Iterator[Piece]:
    for step in PIPELINES[name].steps:
        if is_ours(step):
            ours, _, options = step.removesuffix("}").partition("{")
            yield OurPass(make_pass(ours, options), path)
        else:
            yield NativeText(step, on_functions=path is None)


def _make(element: PassText, anchor: str) -> FunctionPass:
    try:
        made = make_pass(element.name, element.options)
    except (UnknownPassError, PassOptionError) as error:
        raise PipelineTextError(str(error), element.start) from None
    # Every function-like op is named so: func.func, util.func, llvm.func, gpu.func.
    if anchor != ANY and not anchor.endswith("func"):
        raise PipelineTextError(
            f"can't add pass '{element.name}' restricted to functions on a pass manager intended "
            f"to run on '{anchor}', did you intend to nest?",
            element.start,
        )
    return made


def pipeline_text(
    anchor: str, pieces: Sequence[Piece], function_paths: Sequence[tuple[str, ...]]
) -> str:
    """Returns pieces as one text in their anchor, from which `cut_pipeline` makes equal ones.

    Args:
        function_paths: the paths from the root to every `func.func`, for passes of ours that run on
            all of these; nothing where there is none.

    Raises:
        PipelineTextError: the text of a native piece cannot be read.
    """
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, NativeText) and not piece.on_functions:
            texts.append(piece.text)
            continue
        if isinstance(piece, OurPass):
            written, path = str(piece.step), piece.path
        else:
            written, path = piece.text, None
        paths = (function_paths or [("func.func",)]) if path is None else [path]
        texts += [_nested(written, each) for each in paths]
    text = f"{anchor}({','.join(texts)})"
    return _text_of(text, [parse_pipeline(text)])


def _nested(text: str, path: tuple[str, ...]) -> str:
    for anchor in reversed(path):
        text = f"{anchor}({text})"
    return text


def _text_of(text: str, elements: Sequence[ElementText]) -> str:
    """Returns elements of a text as a text, in which neighbours in equal anchors share one."""
    written: list[str] = []
    for anchor, neighbours in groupby(elements, lambda e: getattr(e, "anchor", None)):
        run = list(neighbours)
        if anchor is None:
            written += [text[element.start : element.stop] for element in run]
        else:
            body = [inner for each in run if isinstance(each, NestText) for inner in each.body]
            written.append(f"{anchor}({_text_of(text, body)})")
    return ",".join(written)


def join_native(pieces: Iterator[Piece] | Sequence[Piece]) -> list[Piece]:
    """Joins adjacent native pieces into one, so that the compiler runs them in one go."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            isinstance(piece, NativeText)
            and isinstance(last, NativeText)
            and piece.on_functions == last.on_functions
        ):
            joined[-1] = piece._replace(text=f"{last.text},{piece.text}")
        else:
            joined.append(piece)
    return joined
