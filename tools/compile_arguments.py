# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `bankwise-compile`: iree-compile's flags and a few of our own.

LLVM's option parser knows iree-compile's flags; it gets them untouched. Those that belong to the
`iree-compile` program itself (output, phases, modes) and ours are read here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..iree_plugin.compile_settings import COMPILE_MODES, OUTPUT_FORMATS, CompileSettings
from ..iree_plugin.program_flags import (
    PRINT_LISTS,
    SWITCHES,
    VALUES,
    expand_response_files,
    flags_of_attributes,
    wrong_value,
)
from ..passes.mode import LEVELS, MITIGATIONS, MODE_PARTS, RETILE, gone_value, without_effect
from .usage import (
    UsageError,
    check_choice,
    flag_of,
    refuse_mistyped,
    switch_of,
    unknown_flag,
    value_of,
)

HELP = """\
OVERVIEW: Bankwise compilation driver: iree-compile with conflict-free LDS layouts

USAGE: bankwise-compile [options] <input file or '-' for stdin>

BANKWISE OPTIONS:

  --bankwise-mitigation=<value>   How to deal with bank conflicts:
{modes}
  --bankwise-level=<value>        What auto and swizzle may change:
{levels}
  --bankwise-retile=<value>       Where workgroups get tiles that are predicted to be faster:
{retile}
  --bankwise-write-tuning-spec=<file>
                                  Write these tiles for --iree-codegen-tuning-spec-path
  --bankwise-remarks              Print what each allocation got and why, as remarks
  --bankwise-decisions=<file>     Write the same as JSON
  --bankwise-verify               Fail if an LDS access has, or may have, bank conflicts
  --bankwise-dump-ir=<directory>  Write the IR after each Bankwise pass, in numbered files; the
                                  numbers go on over the parts of a split input
  --quiet                         Leave out the line that says what the compile has gained
  --print-completion=<shell>      Print a script that completes this command, for bash or zsh
  --help, --version

IREE MAIN OPTIONS:

  -o <filename>                   Output file, '-' (default) for stdout
  --output-format=<value>         vm-bytecode (default), vm-asm, vm-c
  --compile-mode=<value>          std (default), vm, precompile
  --compile-from=<phase>, --compile-to=<phase>
  --split-input-file, --verify, --dump-compilation-phases-to=<directory>
  --emit-mlir-bytecode, --emit-mlir-bytecode-version=<int>
  --remarks-filter=<regex>, --remarks-output-file=<file>
  --iree-hal-list-target-backends, --iree-list-plugins

IREE AND LLVM OPTIONS:
"""


def help_text() -> str:
    """Returns what `--help` prints above the compiler's own help."""
    return HELP.format(modes=_listed(MITIGATIONS), levels=_listed(LEVELS), retile=_listed(RETILE))


def _listed(values: Mapping[str, str]) -> str:
    return "\n".join(f"    {'=' + name:<32}{what}" for name, what in values.items())


_OTHERS = ("print-completion", "help", "version")
_CHOICES = {
    **MODE_PARTS,
    "output_format": OUTPUT_FORMATS,
    "compile_mode": COMPILE_MODES,
}


def parse_arguments(argv: Sequence[str], others: Iterable[str] = ()) -> CompileSettings:
    """Splits a command line into ours, the program's and the library's flags.

    Args:
        others: the flags of a tool that has read its own already, for messages.

    Raises:
        UsageError: a flag of ours or the program's is wrong.
    """
    result = CompileSettings()
    given: set[str] = set()
    rest: list[str] = []
    try:
        words = iter([*expand_response_files(argv)])
    except ValueError as error:
        raise UsageError(str(error)) from None
    for word in words:
        name, separator, text = word.lstrip("-").partition("=")
        if not word.startswith("-") or word == "-":
            rest.append(word)
        elif name in VALUES:
            attribute, text = VALUES[name], value_of(word, words)
            result = replace(result, **{attribute: _value(flag_of(word), attribute, text)})
            given.add(attribute)
        elif name in SWITCHES:
            result = replace(result, **{SWITCHES[name]: switch_of(word)})
            given.add(SWITCHES[name])
        elif name.startswith("bankwise-"):
            known = [each for each in (*VALUES, *SWITCHES) if each.startswith("bankwise-")]
            listed = ", ".join(f"--{each}" for each in known)
            raise unknown_flag(word, known, f" (known: {listed})")
        elif name in PRINT_LISTS and separator:
            ours, native = _split_pass_names(text)
            result = replace(result, **{PRINT_LISTS[name]: ours})
            if native:
                rest.append(f"--{name}={','.join(native)}")
        else:
            rest.append(word)
    _check_together(result, given)
    source, flags = _take_input(rest)
    refuse_mistyped(flags, [*VALUES, *SWITCHES, *_OTHERS, *others])
    if wrong := wrong_value(flags):
        raise UsageError(wrong)
    return replace(result, input=source, process_flags=tuple(flags), given=frozenset(given))


def _check_together(settings: CompileSettings, given: Collection[str]) -> None:
    """Raises UsageError where nothing would come of a flag because of another one."""
    level = settings.level if "level" in given else None
    ignored = without_effect(settings.mitigation, level, settings.retile)
    if ignored:
        flag = f"--bankwise-{ignored.part}={getattr(settings, ignored.part)}"
        raise UsageError(f"{flag}: {ignored.reason}")
    if settings.tuning_spec is not None:
        # The flag writes tiles, as if it asked for them.
        ignored = without_effect(settings.mitigation, None, "on", settings.level)
        reason = ignored.reason if ignored else "--bankwise-retile=off replaces no tiles"
        if ignored or settings.retile == "off":
            raise UsageError(f"--bankwise-write-tuning-spec: there is nothing to write: {reason}")


def flags_without_codegen(settings: CompileSettings) -> list[str]:
    """Returns the flags of Bankwise that were given to a compile which generates no GPU code.

    Raises:
        UsageError: one of them asks for a check, which then would be passed without being made.
    """
    if settings.generates_code:
        return []
    if settings.verify_lds:
        raise UsageError(f"--bankwise-verify: {settings.why_no_code}, so that nothing is verified")
    flags = flags_of_attributes()
    ours = (flags[attribute] for attribute in settings.given)
    return sorted(flag for flag in ours if flag.startswith("--bankwise-"))


def _value(flag: str, attribute: str, text: str) -> str | int:
    if attribute == "compile_mode" and text == "hal-executable":
        raise UsageError(
            "--compile-mode=hal-executable runs codegen in one piece, where no pass can be "
            "spliced in; use iree-compile, or compile the whole module"
        )
    if attribute == "retile" and (gone := gone_value("--bankwise-retile", text)):
        raise UsageError(gone)
    if attribute in _CHOICES:
        check_choice(flag, text, _CHOICES[attribute])
    if attribute == "bytecode_version":
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"{flag} expects an integer, got '{text}'") from None
    return text


def _split_pass_names(text: str) -> tuple[tuple[str, ...], list[str]]:
    names = text.split(",")
    ours = tuple(name for name in names if name.startswith("bankwise-"))
    return ours, [name for name in names if name not in ours]


def _take_input(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Finds the positional argument among flags whose arity only LLVM knows.

    `--flag value` and `--switch input` look alike: a word after `--flag` without `=` is taken for
    the input only when no other word can be it.
    """
    plain = [i for i, word in enumerate(words) if word == "-" or not word.startswith("-")]
    after_flag = {i for i in plain if i and words[i - 1].startswith("-") and words[i - 1] != "-"}
    certain = [i for i in plain if i not in after_flag or "=" in words[i - 1]]
    candidates = certain or [i for i in plain if words[i] == "-" or Path(words[i]).exists()]
    candidates = candidates or plain[-1:]
    if len(candidates) > 1:
        names = ", ".join(f"'{words[i]}'" for i in candidates)
        raise UsageError(f"several input files: {names}; write a flag's value as --flag=value")
    if not candidates:
        return None, list(words)
    at = candidates[0]
    return words[at], [*words[:at], *words[at + 1 :]]


def unhonoured_flags(settings: CompileSettings, honoured: Sequence[str]) -> Iterator[str]:
    """Returns the flags that were given, but those that set an attribute in `honoured`.

    For tools that compile and have another output than `bankwise-compile`.
    """
    usual = CompileSettings()
    for name, flag in flags_of_attributes().items():
        if name not in honoured and getattr(settings, name) != getattr(usual, name):
            yield flag
