# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-opt` does: parse a text, run a pipeline that mixes passes, print the result.

The compiler runs its own passes, under the process's command line flags; ours run between them as
Python passes.
"""

from __future__ import annotations

import io
import re
import sys
import time
from dataclasses import field

from iree.compiler import ir
from iree.compiler.api import Session

from ..bank_model.quick_dataclass import dataclass
from ..dialect_utils.diagnostics import Diagnostic, DiagnosticSink, Severity
from ..dialect_utils.kernels import functions_in
from ..dialect_utils.memory.lds_reading import state_block_sizes
from ..dialect_utils.operations import GPU_FUNC, children, operations_in
from ..passes.base import PassContext
from ..passes.pipeline_text import (
    ANY,
    NativeText,
    Piece,
    parse_pipeline,
    pipeline_text,
)
from .atomic_file import (
    check_distinct,
    check_output,
    is_stream_or_device,
    is_terminal,
    write_output,
)
from .diagnostic_capture import CapturedInvocation, captured_diagnostics
from .embedding import SteppedInvocation
from .expected_diagnostics import ExpectedDiagnostics
from .input_text import SPLIT_MARKER, STDIN_NAME, InputText
from .native_passes import with_all_options
from .replay import IrPrinting, PassRunner, ReplayError

_FUNCTIONS = ("func.func", GPU_FUNC)
"""What passes run on that no pipeline nests in anything."""
_NEAR_MISS = re.compile(rb"// ---(?!--)")


class OptError(RuntimeError):
    """An input that cannot be used."""


@dataclass(frozen=True)
class OptSettings:
    """One run of `bankwise-opt`.

    Attributes:
        input: a path, or `-` for stdin.
        output: a path, or `-` for stdout.
        anchor: the name of the op that the pipeline runs on; `any` fits every op.
        pieces: the pipeline.
        split_marker: what separates the parts of the input, or None for an input in one part.
        output_split_marker: what separates the parts of the output.
        verify_diagnostics: compare diagnostics with comments instead of printing them.
        only_expected: accept diagnostics that no comment expects.
        verify_each: verify the IR after each pass.
        verify_roundtrip: check that what is printed of the input is the input.
        allow_unregistered_dialects: accept ops of unknown dialects.
        remarks: whether our passes' remarks are printed.
        decisions: where our passes' decisions are written as JSON, if anywhere.
        test_target: architecture of functions without a target of their own.
        block: the size of the workgroups of functions that state none; it is written to them.
        printing: which of our passes print their IR.
        timing: whether the time of our passes is printed.
        dump_pipeline: whether the pipeline is printed before it runs.
        emit_bytecode: whether the result is written as bytecode.
        bytecode_version: the version of this bytecode; None for the newest one.
    """

    input: str = "-"
    output: str = "-"
    anchor: str = ANY
    pieces: tuple[Piece, ...] = ()
    split_marker: str | None = None
    output_split_marker: str = SPLIT_MARKER
    verify_diagnostics: bool = False
    only_expected: bool = False
    verify_each: bool = True
    verify_roundtrip: bool = False
    allow_unregistered_dialects: bool = False
    remarks: bool = False
    decisions: str | None = None
    test_target: str | None = None
    block: tuple[int, ...] = ()
    printing: IrPrinting = field(default_factory=IrPrinting)
    timing: bool = False
    dump_pipeline: bool = False
    emit_bytecode: bool = False
    bytecode_version: int | None = None


def optimize(settings: OptSettings) -> bool:
    """Runs the tool; the process's flags have been set.

    Returns:
        False when a diagnostic has been reported or one that was expected did not come. The output
        file then is as it was before.

    Raises:
        OptError: the input cannot be read, or bytecode would go to a terminal.
        OutputError: an output that cannot be written.
    """
    if settings.emit_bytecode and is_terminal(settings.output):
        raise OptError(
            "bytecode is not written to a terminal: name a file with -o, or redirect the output"
        )
    parts = _read_parts(settings)
    outputs = {"-o": settings.output, "--bankwise-decisions": settings.decisions}
    check_distinct([settings.input], outputs)
    check_output(settings.output)
    if settings.decisions is not None:
        check_output(settings.decisions)
    session = Session()
    session.context.allow_unregistered_dialects = settings.allow_unregistered_dialects
    context = PassContext(test_target=settings.test_target)
    run = _Run(settings, session, context)
    printed = [run.process(part) for part in parts]
    if not run.failed or is_stream_or_device(settings.output):
        separator = f"{settings.output_split_marker}\n"
        write_output(settings.output, separator.encode().join(each or b"" for each in printed))
    if not run.failed and settings.decisions is not None:
        write_output(settings.decisions, context.log.to_json().encode())
    run.print_timing()
    return not run.failed


@dataclass
class _Run:
    settings: OptSettings
    session: Session
    context: PassContext
    failed: bool = False
    _seconds: dict[str, float] = field(default_factory=dict)

    def process(self, part: InputText) -> bytes | None:
        """Returns the printed result of one part, or None after a diagnostic."""
        if self.settings.verify_diagnostics:
            return self._process_expecting(part)
        self.context.sink = DiagnosticSink(part.show, self.settings.remarks)
        text = self._run_passes(part)
        self.failed |= text is None
        return text

    def _process_expecting(self, part: InputText) -> bytes | None:
        expected = ExpectedDiagnostics.of(
            part.text.decode(errors="replace"),
            part.file,
            only_expected=self.settings.only_expected,
        )

        def check(diagnostic: Diagnostic) -> None:
            expected.check([diagnostic])

        self.context.sink = DiagnosticSink(check, self.settings.remarks)
        with captured_diagnostics(self.session.context, check):
            text = self._run_passes(part)
        errors = expected.finish()
        for error in errors:
            part.show(error)
        self.failed |= bool(errors)
        return text

    def _run_passes(self, part: InputText) -> bytes | None:
        parsed = self._invocation()
        try:
            # The invocation stays open: its handler prints the later diagnostics too.
            console = not self.settings.verify_diagnostics
            if not parsed.parse(part.source(self.session), console_diagnostics=console):
                return None
            root = parsed.export()
            if self.settings.verify_roundtrip and not _comes_back(root):
                return None
            if not self._fits_anchor(root):
                return None
            if self.settings.block:
                state_block_sizes(root, self.settings.block)
            if self.settings.dump_pipeline:
                self._print_pipeline(root)
            if not all(self._run_piece(root, piece) for piece in self.settings.pieces):
                return None
            return self._written(root)
        finally:
            parsed.close()

    def _print_pipeline(self, root: ir.Operation) -> None:
        """Prints what will run, for `--pass-pipeline` to read."""
        anchor = self.settings.anchor
        pieces = [
            piece._replace(text=with_all_options(piece.text, _anchor_of(piece, anchor)))
            if isinstance(piece, NativeText)
            else piece
            for piece in self.settings.pieces
        ]
        paths = dict.fromkeys(_path_to(each, root) for each in operations_in(root, *_FUNCTIONS))
        text = pipeline_text(anchor, pieces, list(paths))
        count = len(parse_pipeline(text).body)
        print(f"Pass Manager with {count} passes:\n{text}\n", file=sys.stderr, flush=True)

    def _written(self, root: ir.Operation) -> bytes | None:
        """Returns the result as text or as bytecode, or None after a diagnostic."""
        if not self.settings.emit_bytecode:
            return root.get_asm(binary=True) + b"\n"
        written = io.BytesIO()
        try:
            root.write_bytecode(written, self.settings.bytecode_version)
        except ValueError:  # There is no such version, which has been reported.
            return None
        return written.getvalue()

    def _invocation(self) -> SteppedInvocation:
        kind = CapturedInvocation if self.settings.verify_diagnostics else SteppedInvocation
        return kind(self.session, verify=self.settings.verify_each)

    def _fits_anchor(self, root: ir.Operation) -> bool:
        if self.settings.anchor in (ANY, root.name):
            return True
        root.location.emit_error(
            f"can't run '{self.settings.anchor}' pass manager on '{root.name}' op"
        )
        return False

    def _run_piece(self, root: ir.Operation, piece: Piece) -> bool:
        if isinstance(piece, NativeText):
            places = _functions(root, None) if piece.on_functions else [root]
            return all(self._run_native(each, piece.text) for each in places)
        if piece.path == () and not _is_function(root):
            root.location.emit_error(
                f"'{root.name}' op trying to schedule pass '{piece.step.name}' on an unsupported "
                "operation"
            )
            return False
        runner = PassRunner(
            self.session,
            self.context,
            self.settings.printing,
            verify=self.settings.verify_each,
        )
        start = time.perf_counter()
        try:
            everywhere = piece.path is None and piece.step.on_all_functions
            for function in functions_in(root) if everywhere else _functions(root, piece.path):
                runner.run_python_pass(function, piece.step)
        except ReplayError:
            return False
        finally:
            name = piece.step.name
            self._seconds[name] = self._seconds.get(name, 0) + time.perf_counter() - start
        return True

    def _run_native(self, root: ir.Operation, text: str) -> bool:
        try:
            return self._invocation().run_on(root, text)
        except RuntimeError:  # The op does not verify, which has been reported.
            return False

    def print_timing(self) -> None:
        """Prints the seconds that each of our passes took, if asked for."""
        if not self.settings.timing or not self._seconds:
            return
        rule = f"==={'-' * 73}==="
        title = "... Bankwise pass execution time report ..."
        total = sum(self._seconds.values())
        print(f"{rule}\n{title.center(len(rule)).rstrip()}\n{rule}", file=sys.stderr)
        print("\n  ----Wall Time----  ----Name----", file=sys.stderr)
        for name, seconds in [*self._seconds.items(), ("Total", total)]:
            share = 100 * seconds / total
            print(f"  {seconds:8.4f} ({share:5.1f}%)  {name}", file=sys.stderr)


def _anchor_of(piece: NativeText, anchor: str) -> str:
    return "func.func" if piece.on_functions else anchor


def _comes_back(root: ir.Operation) -> bool:
    """Returns whether the op is the same after it was printed and read, as text and as bytecode;
    False after a diagnostic."""
    bytecode = io.BytesIO()
    root.write_bytecode(bytecode)
    forms = {
        "text": root.get_asm(binary=True, enable_debug_info=True),
        "generic text": root.get_asm(
            binary=True, enable_debug_info=True, print_generic_op_form=True
        ),
        "bytecode": bytecode.getvalue(),
    }
    given = _all_of(root)
    for form, written in forms.items():
        # In a context of its own: in one that has a resource already, another gets a new name.
        context = Session().context
        context.allow_unregistered_dialects = root.context.allow_unregistered_dialects
        try:
            read = ir.Module.parse(written, context).operation
        except ir.MLIRError as error:
            reason = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
            root.location.emit_error(f"what is printed as {form} cannot be read: {reason}")
            return False
        if _all_of(read) != given:
            root.location.emit_error(f"what is printed as {form} is read as another program")
            return False
    return True


def _all_of(root: ir.Operation) -> str:
    """Returns a text that holds everything of an op, locations included."""
    return root.get_asm(print_generic_op_form=True, enable_debug_info=True, use_local_scope=True)


def _functions(root: ir.Operation, path: tuple[str, ...] | None) -> list[ir.Operation]:
    """Returns the function-like ops at the end of `path`, or every `func.func` and `gpu.func`."""
    if path is None:
        return operations_in(root, *_FUNCTIONS)
    ops = [root]
    for anchor in path:
        ops = [each for op in ops for each in children(op) if anchor in (ANY, each.name)]
    return [op for op in ops if _is_function(op)]


def _path_to(op: ir.Operation, root: ir.Operation) -> tuple[str, ...]:
    """Returns the names of the ops that lead from `root` to `op`, without that of `root`."""
    path: list[str] = []
    while op != root:
        path.append(op.name)
        parent = op.parent
        assert parent is not None
        op = parent.operation
    return tuple(reversed(path))


def _is_function(op: ir.Operation) -> bool:
    return "function_type" in op.attributes


def _read_parts(settings: OptSettings) -> list[InputText]:
    try:
        whole = InputText.read(settings.input)
    except OSError as error:
        file = STDIN_NAME if settings.input == "-" else settings.input
        raise OptError(f"cannot open input file '{file}': {error.strerror}") from None
    if settings.split_marker == SPLIT_MARKER and not whole.is_bytecode:
        _warn_of_near_misses(whole)
    return whole.parts(settings.split_marker)


def _warn_of_near_misses(whole: InputText) -> None:
    for match in _NEAR_MISS.finditer(whole.text):
        message = "near miss with file split marker"
        whole.show(Diagnostic(Severity.WARNING, message, whole.place(match.end())))
