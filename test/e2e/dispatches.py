# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with one kernel whose body a test writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_MODULE = """
#translation = #iree_codegen.translation_info<pipeline = PIPELINE
    workgroup_size = [THREADS] subgroup_size = SUBGROUP>
#lds = #gpu.address_space<workgroup>
#raw = #amdgpu.address_space<fat_raw_buffer>
ALIASES
stream.executable private @kernels {
  stream.executable.export public @kernel workgroups() -> (index, index, index) {
    %x = arith.constant WORKGROUPS : index
    %one = arith.constant 1 : index
    stream.return %x, %one, %one : index, index, index
  }
  builtin.module {
    func.func @kernel(BINDINGS) attributes {translation_info = #translation} {
BODY
      return
    }
  }
}

func.func @run(ARGUMENTS) -> (RESULTS) {
  RETURNED = flow.dispatch @kernels::@kernel(OPERANDS) : (TYPES) -> (RESULTS)
  return VALUES : RESULTS
}
"""


def dispatch_module(
    body: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    threads: Sequence[int] = (64, 1, 1),
    workgroups: int = 1,
    pipeline: str = "#iree_codegen.no_pipeline",
    aliases: str = "",
    subgroup: int = 64,
) -> str:
    """Returns a module whose function `run` dispatches one kernel.

    Args:
        body: finds its bindings in %in0, %in1, ... and %out0, %out1, ...
        inputs, outputs: shapes with the type of an element, such as `8x128xf16`.
        aliases: of attributes and types that the body names, beside #lds and #raw.
        subgroup: the lanes of a wave.
    """
    names = [f"%in{n}" for n in range(len(inputs))]
    bindings = [*names, *(f"%out{n}" for n in range(len(outputs)))]
    types = [f"tensor<{kind}>" for kind in inputs]
    several = len(outputs) > 1
    values = [f"%r#{n}" for n in range(len(outputs))] if several else ["%r"]
    given = {
        "PIPELINE": pipeline,
        "THREADS": ", ".join(map(str, threads)),
        "SUBGROUP": str(subgroup),
        "ALIASES": aliases,
        "WORKGROUPS": str(workgroups),
        "BINDINGS": ", ".join(f"{name}: !stream.binding" for name in bindings),
        "ARGUMENTS": ", ".join(f"{n}: {kind}" for n, kind in zip(names, types, strict=True)),
        "RESULTS": ", ".join(f"tensor<{kind}>" for kind in outputs),
        "RETURNED": f"%r:{len(outputs)}" if several else "%r",
        "OPERANDS": ", ".join(names),
        "TYPES": ", ".join(types),
        "VALUES": ", ".join(values),
        "BODY": body,
    }
    source = _MODULE
    for name, text in given.items():
        source = source.replace(name, text)
    return source


class BodyWriter:
    """Writes the body of a kernel: its lines, the names of its values, and its constants."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = 6
        self._names: dict[str, int] = {}
        self._constants: dict[str, str] = {}

    def emit(self, text: str) -> None:
        self._lines.append(" " * self._indent + text)

    def name(self, hint: str) -> str:
        """Returns a name that no value has."""
        number = self._names.get(hint, 0)
        self._names[hint] = number + 1
        return f"%{hint}{number}" if number else f"%{hint}"

    def let(self, hint: str, text: str) -> str:
        """Emits an operation, and returns the name of its result."""
        name = self.name(hint)
        self.emit(f"{name} = {text}")
        return name

    def constant(self, name: str, text: str) -> str:
        """Returns a constant of this name; all uses of the name share it."""
        self._constants[name] = f"{name} = arith.constant {text}"
        return name

    def index(self, value: int) -> str:
        return self.constant(f"%c{value}", f"{value} : index")

    def block(self, head: str, body: Callable[[], None]) -> None:
        """Emits an operation with a region."""
        self.emit(head + " {")
        self._indent += 2
        body()
        self._indent -= 2
        self.emit("}")

    def apply(self, hint: str, formula: str, **values: str) -> str:
        """Emits an affine map; `values` are those of the names in the formula."""
        names = ", ".join(values)
        given = ", ".join(values.values())
        return self.let(hint, f"affine.apply affine_map<({names}) -> ({formula})>({given})")

    def binding(self, hint: str, name: str, memref: str) -> tuple[str, str]:
        """Emits the memory of a binding; returns it with its type."""
        text = f"stream.binding.subspan {name}[{self.index(0)}] : !stream.binding -> {memref}"
        return self.let(hint, text), memref

    def body(self) -> str:
        """Returns the constants, and the lines behind them."""
        return "\n".join([*(" " * 6 + each for each in self._constants.values()), *self._lines])
