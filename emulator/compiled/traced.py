# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that write down, in LLVM's IR, what NumPy would compute with them.

A step is run once with such values in place of arrays. What it computes becomes code, so that the
semantics of an instruction stand in one place: its step. A value is that of one wave, or that of
each lane of a wave, and has the shape of an array of one wave: (1,), (1, 1) or (1, lanes).

A step may ask arrays whether any element has some property, to save work where none has. Values
answer as mixed ones do: some have it, and some have not. What a value cannot do is a `NotTraced`,
and its instruction runs as a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..floats import widen_f16
from .code import CHUNK, Code, LaneLoop

Dtype = np.dtype[Any]


class NotTraced(Exception):
    """An instruction does what there is no code for."""


_KINDS: Mapping[str, str] = {"b": "i1", "i": "i", "u": "i", "f": "f"}


def scalar_type(dtype: Dtype) -> str:
    """Returns LLVM's name of a type; numbers of 16 bits are only bits."""
    if dtype.kind == "b":
        return "i1"
    if dtype.kind in "iu" or dtype == np.float16:
        return f"i{8 * dtype.itemsize}"
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        return {4: "float", 8: "double"}[dtype.itemsize]
    raise NotTraced(f"values of {dtype}")


def _bits_type(dtype: Dtype) -> Dtype:
    return np.dtype(f"u{dtype.itemsize}")


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A value in the code.

    Attributes:
        code: where it is computed.
        text: how the code names it.
        dtype: its type in NumPy.
        loop: the loop in which it is computed for each lane; None if it is one value of the wave.
        shape: that of an array of one wave.
        is_exec: whether it is EXEC.
    """

    __array_priority__ = 1000.0
    is_exec = False

    def __init__(
        self,
        code: Code,
        text: str,
        dtype: Any,
        loop: LaneLoop | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.code = code
        self.text = text
        self.dtype = np.dtype(dtype)
        self.loop = loop
        self.shape = shape or ((1, code.lanes) if loop else (1,))
        self._slot: str | None = None

    # What arrays have.

    @property
    def lane(self) -> bool:
        """Returns whether each lane has its own value."""
        return self.loop is not None

    @property
    def itemsize(self) -> int:
        """Returns the bytes of an element."""
        return self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Returns a number of elements that no count of elements is."""
        return 2

    @property
    def is_constant(self) -> bool:
        """Returns whether the value is a number in the text, which is no NaN."""
        return self.text.startswith("bitcast (")

    def any(self) -> bool:
        """Says that some elements are true."""
        return True

    def all(self) -> bool:
        """Says that some elements are false."""
        return False

    def copy(self) -> Traced:
        """Returns the value, which an assignment to the copy does not change."""
        return Traced(self.code, self.text, self.dtype, self.loop, self.shape)

    def __bool__(self) -> bool:
        raise NotTraced("a decision by a value")

    def __array__(self, *unused: Any, **more: Any) -> npt.NDArray[Any]:
        raise NotTraced("an array of a value")

    def __len__(self) -> int:
        raise NotTraced("the length of a value")

    def __iter__(self) -> Any:
        raise NotTraced("the elements of a value")

    def view(self, dtype: Any) -> Traced:
        """Returns the bits as another type of the same size."""
        to = np.dtype(dtype)
        if to.itemsize != self.itemsize:
            raise NotTraced("a view of another size")
        return _same_bits(self, to)

    def astype(self, dtype: Any, copy: bool = True, **unused: Any) -> Traced:
        """Converts to a type, as C does."""
        return convert(self, np.dtype(dtype))

    def take(self, lanes: npt.NDArray[np.intp], axis: int = 0, mode: str = "raise") -> Traced:
        """Returns the values of other lanes of the row."""
        if axis != 1:
            raise NotTraced("a choice of waves")
        return from_lanes(self, lanes)

    def of_table(self, table: npt.NDArray[Any]) -> Traced:
        """Returns the elements of a table that the values name."""
        return _take(table, self)

    def fused(self, a: Any, b: Any, c: Any) -> Traced:
        """Returns a * b + c of f64 with one rounding.

        A NaN is that of `(a * b) + c`.
        """
        kind = np.dtype(np.float64)
        a, b, c = (traced(self.code, each, kind) for each in (a, b, c))
        return where(np.isnan(a * b), a * b, _nan_or(c, called("fma", kind, a, b, c)))

    def __getitem__(self, key: Any) -> Traced:
        if isinstance(key, Traced) and key.dtype.kind == "b":
            # Elements that the mask does not name are computed too, and not used.
            return self
        if isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None):
            if key[1] is None and not self.lane and self.ndim == 1:
                return Traced(self.code, self.text, self.dtype, None, (1, 1))
            if isinstance(key[1], np.ndarray):
                return from_lanes(self, key[1])
        raise NotTraced("a part of a value")

    def __setitem__(self, key: Any, value: Any) -> None:
        if not (isinstance(key, Traced) and key.dtype.kind == "b"):
            raise NotTraced("a part of a value")
        new = where(key, value, self)
        self.text, self.loop, self._slot = convert(new, self.dtype).text, new.loop, None

    # How NumPy calls it.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        options.pop("casting", None)
        if method != "__call__" or options or (out and out[0] is not inputs[0]):
            raise NotTraced(f"{ufunc.__name__} in this form")
        found = call(self.code, ufunc, inputs)
        return convert(found, out[0].dtype) if out else found

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        found = _FUNCTIONS.get(function)
        if found is None:
            raise NotTraced(f"{function.__name__}")
        return found(*args, **kwargs)

    # How code uses it.

    def use(self, lane: bool) -> str:
        """Returns how the code names the value in the open loop, or outside of it."""
        if self.loop is None:
            return splat(self.code, self.text, self.dtype) if lane else self.text
        if not lane:
            raise NotTraced("the values of lanes in the place of one")
        if self.loop is self.code.open_loop():
            return self.text
        code, kind = self.code, scalar_type(self.dtype)
        stored = "i8" if kind == "i1" else kind
        address = lane_address(code, self._spilled(), stored, code.open_loop().counter)
        text = code.emit(f"load <{CHUNK} x {stored}>, ptr {address}, align 1", lane=True)
        if kind != "i1":
            return text
        return code.emit(f"trunc <{CHUNK} x i8> {text} to <{CHUNK} x i1>", lane=True)

    def _spilled(self) -> str:
        """Returns the address of all lanes' values, which the loop that computes them stores."""
        loop, code = self.loop, self.code
        assert loop is not None
        if self._slot is None:
            kind, text = scalar_type(self.dtype), self.text
            stored = "i8" if kind == "i1" else kind
            self._slot = code.alloca(f"[{code.lanes} x {stored}]")
            if kind == "i1":
                text = code.name()
                loop.tail.append(f"{text} = zext <{CHUNK} x i1> {self.text} to <{CHUNK} x i8>")
            address = code.name()
            loop.tail += [
                f"{address} = getelementptr {stored}, ptr {self._slot}, i64 {loop.counter}",
                f"store <{CHUNK} x {stored}> {text}, ptr {address}, align 1",
            ]
        return self._slot


def lane_address(code: Code, base: str, kind: str, lane: str) -> str:
    """Returns the address of element `lane` of an array, in the open loop."""
    return code.emit(f"getelementptr {kind}, ptr {base}, i64 {lane}", lane=True)


def vector_type(dtype: Dtype, lane: bool) -> str:
    """Returns LLVM's name of a value's type."""
    kind = scalar_type(dtype)
    return f"<{CHUNK} x {kind}>" if lane else kind


def splat(code: Code, text: str, dtype: Dtype) -> str:
    """Returns a vector, in the open loop, of which all elements are one value of the wave."""
    kind = scalar_type(dtype)
    vector = f"<{CHUNK} x {kind}>"
    code.open_loop()
    one = code.emit(f"insertelement {vector} poison, {kind} {text}, i32 0", lane=True)
    zeros = f"<{CHUNK} x i32> zeroinitializer"
    return code.emit(f"shufflevector {vector} {one}, {vector} poison, {zeros}", lane=True)


def constant(code: Code, values: Any, dtype: Dtype) -> Traced:
    """Returns a constant: a number, an array of one element, or one of an element for each lane."""
    array = np.asarray(values)
    array = array.astype(dtype) if array.dtype != dtype else array
    shape = array.shape or (1,)
    if array.size == 1:
        return Traced(code, _bits_text(code, array.reshape(-1)[0], dtype), dtype, None, shape)
    if array.shape[-1] != code.lanes or array.size != code.lanes:
        raise NotTraced(f"an array of shape {array.shape}")
    integers = array.reshape(-1)
    kind = np.dtype(np.uint8) if dtype.kind == "b" else _bits_type(dtype)
    words = [str(int(word)) for word in integers.view(kind)]
    address = code.constant(scalar_type(kind), words)
    loop = code.open_loop()
    place = lane_address(code, address, scalar_type(kind), loop.counter)
    text = code.emit(f"load {vector_type(kind, True)}, ptr {place}, align 1", lane=True)
    return _same_bits(Traced(code, text, kind, loop), dtype)


def _bits_text(code: Code, number: Any, dtype: Dtype) -> str:
    if dtype.kind == "b":
        return "true" if number else "false"
    bits = int(np.asarray(number).view(_bits_type(dtype)))
    kind = scalar_type(dtype)
    if kind in ("float", "double"):
        return f"bitcast (i{8 * dtype.itemsize} {bits} to {kind})"
    return str(bits)


def traced(code: Code, value: Any, dtype: Dtype | None = None) -> Traced:
    """Returns a value or a constant as a value, of type `dtype` if it is given."""
    if not isinstance(value, Traced):
        array = np.asarray(value)
        return constant(code, array, dtype or array.dtype)
    return value if dtype is None else convert(value, dtype)


def shape_of(*values: Any) -> tuple[int, ...]:
    """Returns the shape that several values have together."""
    return np.broadcast_shapes(*(value.shape for value in values))


def computed(text: str, dtype: Any, *values: Traced) -> Traced:
    """Returns what an instruction makes of values; {0}, {1}, ... stand for them in its text."""
    code, lane = values[0].code, any(value.lane for value in values)
    names = [value.use(lane) for value in values]
    result = code.emit(text.format(*names, t=vector_type(values[0].dtype, lane)), lane)
    shape = shape_of(*values)
    return Traced(code, result, dtype, code.loop if lane else None, shape)


def called(function: str, dtype: Any, *values: Traced) -> Traced:
    """Returns what one of LLVM's functions makes of values of the same type."""
    code, lane = values[0].code, any(value.lane for value in values)
    kind = vector_type(values[0].dtype, lane)
    short = scalar_type(values[0].dtype).replace("float", "f32").replace("double", "f64")
    suffix = f"v{CHUNK}{short}" if lane else short
    arguments = ", ".join(f"{kind} {value.use(lane)}" for value in values)
    name = f"@llvm.{function}.{suffix}"
    parameters = ", ".join([kind] * len(values))
    code.constants.setdefault(name, f"{kind} ({parameters})")
    result = code.emit(f"call {kind} {name}({arguments})", lane)
    return Traced(code, result, dtype, code.loop if lane else None, shape_of(*values))


# Types.


def _same_bits(value: Traced, to: Dtype) -> Traced:
    """Returns the bits of a value as another type of its size."""
    source, target = scalar_type(value.dtype), scalar_type(to)
    lane = value.lane
    if source == target:
        found = Traced(value.code, value.text, to, value.loop, value.shape)
        found._slot = value._slot
        return found
    vector = vector_type(to, lane)
    if source == "i1":
        return computed(f"zext {{t}} {{0}} to {vector}", to, value)
    if target == "i1":
        return computed(f"trunc {{t}} {{0}} to {vector}", to, value)
    return computed(f"bitcast {{t}} {{0}} to {vector}", to, value)


def convert(value: Traced, to: Dtype) -> Traced:
    """Converts a value, as C does."""
    source = value.dtype
    if source == to:
        return value
    vector = vector_type(to, value.lane)
    if np.float16 in (source, to):
        raise NotTraced("a conversion of f16")
    if to.kind == "b":
        return call(value.code, np.not_equal, (value, 0))
    if source.kind == "b" and to.kind in "iu":
        return computed(f"zext {{t}} {{0}} to {vector}", to, value)
    if source.kind == "b":
        return convert(convert(value, np.dtype(np.uint32)), to)
    if source.kind in "iu" and to.kind in "iu":
        if source.itemsize == to.itemsize:
            return _same_bits(value, to)
        wider = "sext" if source.kind == "i" else "zext"
        op = "trunc" if to.itemsize < source.itemsize else wider
        return computed(f"{op} {{t}} {{0}} to {vector}", to, value)
    if source.kind == "f" and to.kind == "f":
        op = "fptrunc" if to.itemsize < source.itemsize else "fpext"
        return computed(f"{op} {{t}} {{0}} to {vector}", to, value)
    if source.kind == "f":
        op = "fptosi" if to.kind == "i" else "fptoui"
        return computed(f"{op} {{t}} {{0}} to {vector}", to, value)
    op = "sitofp" if source.kind == "i" else "uitofp"
    return computed(f"{op} {{t}} {{0}} to {vector}", to, value)


# Functions of elements.


def call(code: Code, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """Returns what a function of NumPy makes of values and constants."""
    make = _UFUNCS.get(ufunc.__name__)
    kinds = [
        type(x) if isinstance(x, (int, float)) and not isinstance(x, (bool, np.generic))
        else np.asarray(x).dtype if not isinstance(x, Traced) else x.dtype
        for x in inputs
    ]  # fmt: skip
    types = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))  # type: ignore[arg-type]
    values = [traced(code, x, dtype) for x, dtype in zip(inputs, types, strict=False)]
    results = types[ufunc.nin :]
    if make is None:
        found = outside(ufunc, values, results)
        return found[0] if ufunc.nout == 1 else tuple(found)
    if any(value.dtype == np.float16 for value in values) and ufunc.__name__ not in _ON_BITS:
        raise NotTraced(f"{ufunc.__name__} of f16")
    return make(results[0], *values)


def outside(ufunc: np.ufunc, values: list[Traced], results: Sequence[Dtype]) -> list[Traced]:
    """Returns what NumPy itself makes of values, so that each result has the same last bit."""
    code, lane = values[0].code, any(value.lane for value in values)
    count = code.lanes if lane else 1
    sources = [np.zeros(count, value.dtype) for value in values]
    targets = [np.zeros(count, dtype) for dtype in results]
    code.tables += [*sources, *targets]
    number = code.function(lambda: ufunc(*sources, out=tuple(targets)))
    if lane:
        code.open_loop()
    for value, array in zip(values, sources, strict=True):
        kind = vector_type(value.dtype, lane)
        address = _address_of(code, array, lane)
        code.line(f"store {kind} {value.use(lane)}, ptr {address}, align 1", lane)
    if lane:
        code.leave()
        code.open_loop()
    code.line(f"call i64 %callback(i64 {-1 - number}, i64 0)")
    found: list[Traced] = []
    for array in targets:
        address = _address_of(code, array, lane)
        text = code.emit(f"load {vector_type(array.dtype, lane)}, ptr {address}, align 1", lane)
        loop = code.loop if lane else None
        found.append(Traced(code, text, array.dtype, loop, shape_of(*values)))
    return found


def _address_of(code: Code, array: npt.NDArray[Any], lane: bool) -> str:
    """Returns where an array, or the elements of a round of the open loop, lies."""
    base = f"inttoptr (i64 {array.ctypes.data} to ptr)"
    if not lane:
        return base
    return lane_address(code, base, scalar_type(array.dtype), code.open_loop().counter)


def _is_float(value: Traced) -> bool:
    return value.dtype.kind == "f"


def _arithmetic(name: str, commutes: bool = False) -> Callable[..., Traced]:
    """Returns an operation of integers or floats, and which NaN comes out of two."""

    def make(result: Dtype, a: Traced, b: Traced) -> Traced:
        if result.kind == "b":
            raise NotTraced(f"{name} of conditions")
        if not _is_float(a):
            return computed(f"{name} {{t}} {{0}}, {{1}}", result, a, b)
        total = computed(f"f{name} {{t}} {{0}}, {{1}}", result, a, b)
        # The first operand's NaN wins. Where NumPy adds or multiplies with one number for all, it
        # is that number's. LLVM keeps neither, and may leave a signaling NaN as it is.
        found = _nan_or(a, _nan_or(b, total))
        if commutes and a.lane and not b.lane and not b.is_constant:
            single = Traced(a.code, "%single", bool)
            found = where(np.logical_and(_is_nan(result, b), single), _quiet(b), found)
        return found

    return make


def _nan_or(value: Traced, other: Traced) -> Traced:
    """Returns a value as a quiet NaN where it is one, and else `other`."""
    if value.is_constant:
        return other
    return where(_is_nan(value.dtype, value), _quiet(value), other)


def _quiet(value: Traced) -> Traced:
    bits = value.view(_bits_type(value.dtype))
    bit = bits.dtype.type(1 << (int(np.finfo(value.dtype).nmant) - 1))
    return (bits | bit).view(value.dtype)


def _divide(result: Dtype, a: Traced, b: Traced) -> Traced:
    if not _is_float(a):
        raise NotTraced("a division of integers")
    return _arithmetic("div")(result, a, b)


def _bitwise(name: str) -> Callable[..., Traced]:
    def make(result: Dtype, a: Traced, b: Traced) -> Traced:
        return computed(f"{name} {{t}} {{0}}, {{1}}", result, a, b)

    return make


def _invert(result: Dtype, a: Traced) -> Traced:
    ones = constant(a.code, True if result.kind == "b" else -1, result)
    return computed("xor {t} {0}, {1}", result, a, ones)


def _negative(result: Dtype, a: Traced) -> Traced:
    if _is_float(a):
        bits = a.view(_bits_type(result))
        return (bits ^ _sign(a.code, bits.dtype)).view(result)
    zero = constant(a.code, 0, result)
    return computed("sub {t} {0}, {1}", result, zero, a)


def _sign(code: Code, kind: Dtype) -> Traced:
    """Returns the sign bit of a float as LLVM cannot know it.

    It moves negations that it sees to where they change the sign of a NaN.
    """
    width = 8 * kind.itemsize
    whole = Traced(code, "%sign", np.uint64)
    shifted = computed(f"lshr {{t}} {{0}}, {64 - width}", np.uint64, whole) if width < 64 else whole
    return convert(shifted, kind)


def _absolute(result: Dtype, a: Traced) -> Traced:
    if _is_float(a):
        bits = a.view(_bits_type(result))
        return (bits & ~_sign(a.code, bits.dtype)).view(result)
    if result.kind == "u":
        return a
    return where(a < 0, -a, a)


def _shift(left: bool) -> Callable[..., Traced]:
    """Returns a shift, of which NumPy says what it does by all bits and more."""

    def make(result: Dtype, a: Traced, b: Traced) -> Traced:
        width = 8 * result.itemsize
        signed = result.kind == "i"
        inside = call(a.code, np.less, (b.view(_bits_type(b.dtype)), width))
        limit = constant(a.code, width - 1, result)
        amount = where(inside, b, limit)
        name = "shl" if left else "ashr" if signed else "lshr"
        shifted = computed(f"{name} {{t}} {{0}}, {{1}}", result, a, amount)
        if signed and not left:
            return shifted
        return where(inside, shifted, constant(a.code, 0, result))

    return make


def _compare(signed: str, unsigned: str, floating: str) -> Callable[..., Traced]:
    def make(result: Dtype, a: Traced, b: Traced) -> Traced:
        if _is_float(a):
            a, b = _comparable(a), _comparable(b)
            return computed(f"fcmp {floating} {{t}} {{0}}, {{1}}", bool, a, b)
        name = signed if a.dtype.kind == "i" else unsigned
        return computed(f"icmp {name} {{t}} {{0}}, {{1}}", bool, a, b)

    return make


def _extreme(larger: bool) -> Callable[..., Traced]:
    def make(result: Dtype, a: Traced, b: Traced) -> Traced:
        first = a >= b if larger else a <= b
        return where(first | _is_nan(result, a) if _is_float(a) else first, a, b)

    return make


def _is_nan(result: Dtype, a: Traced) -> Traced:
    return computed("fcmp uno {t} {0}, {0}", bool, _comparable(a))


def _comparable(a: Traced) -> Traced:
    """Returns f16 as f32."""
    return widen_f16(a) if a.dtype == np.float16 else a  # type: ignore[arg-type, return-value]


def _is_infinite(result: Dtype, a: Traced) -> Traced:
    return abs(a) == a.dtype.type(np.inf)


def _is_finite(result: Dtype, a: Traced) -> Traced:
    return abs(a) < a.dtype.type(np.inf)


def _sign_bit(result: Dtype, a: Traced) -> Traced:
    return a.view(f"i{a.itemsize}") < 0


def _copy_sign(result: Dtype, a: Traced, b: Traced) -> Traced:
    kind = _bits_type(result)
    sign = _sign(a.code, kind)
    return ((a.view(kind) & ~sign) | (b.view(kind) & sign)).view(result)


def _rounded(name: str) -> Callable[..., Traced]:
    def make(result: Dtype, a: Traced) -> Traced:
        return called(name, result, a)

    return make


def _bit_count(result: Dtype, a: Traced) -> Traced:
    if a.dtype.kind != "u":
        raise NotTraced("the bits of a signed number")
    return convert(called("ctpop", a.dtype, a), result)


def _logical(name: str) -> Callable[..., Traced]:
    def make(result: Dtype, a: Traced, b: Traced) -> Traced:
        condition = np.dtype(bool)
        return computed(f"{name} {{t}} {{0}}, {{1}}", bool, convert(a, condition),
                        convert(b, condition))  # fmt: skip

    return make


_UFUNCS: Mapping[str, Callable[..., Traced]] = {
    "add": _arithmetic("add", commutes=True),
    "subtract": _arithmetic("sub"),
    "multiply": _arithmetic("mul", commutes=True),
    "divide": _divide,
    "bitwise_and": _bitwise("and"),
    "bitwise_or": _bitwise("or"),
    "bitwise_xor": _bitwise("xor"),
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "invert": _invert,
    "negative": _negative,
    "absolute": _absolute,
    "fabs": _absolute,
    "left_shift": _shift(left=True),
    "right_shift": _shift(left=False),
    "less": _compare("slt", "ult", "olt"),
    "less_equal": _compare("sle", "ule", "ole"),
    "greater": _compare("sgt", "ugt", "ogt"),
    "greater_equal": _compare("sge", "uge", "oge"),
    "equal": _compare("eq", "eq", "oeq"),
    "not_equal": _compare("ne", "ne", "une"),
    "maximum": _extreme(larger=True),
    "minimum": _extreme(larger=False),
    "isnan": _is_nan,
    "isinf": _is_infinite,
    "isfinite": _is_finite,
    "signbit": _sign_bit,
    "copysign": _copy_sign,
    "floor": _rounded("floor"),
    "ceil": _rounded("ceil"),
    "trunc": _rounded("trunc"),
    "rint": _rounded("roundeven"),
    "sqrt": _rounded("sqrt"),
    "bitwise_count": _bit_count,
}
_ON_BITS = frozenset(
    {
        *("negative", "absolute", "signbit", "copysign", "isnan", "isinf", "isfinite"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
        *("maximum", "minimum"),
    }
)
"""What there is of f16 too, because it needs no arithmetic."""


# Other functions.


def where(mask: Any, yes: Any, no: Any) -> Traced:
    """Takes `yes` where `mask` is true, and else `no`."""
    code = next(x for x in (mask, yes, no) if isinstance(x, Traced)).code
    kinds = [x.dtype if isinstance(x, (Traced, np.ndarray, np.generic)) else x for x in (yes, no)]
    dtype = np.result_type(*kinds)
    mask = traced(code, mask, np.dtype(bool))
    a, b = traced(code, yes, dtype), traced(code, no, dtype)
    lane = mask.lane or a.lane or b.lane
    names = [x.use(lane) for x in (mask, a, b)]
    kind = vector_type(dtype, lane)
    condition = f"<{CHUNK} x i1>" if lane else "i1"
    text = f"select {condition} {names[0]}, {kind} {names[1]}, {kind} {names[2]}"
    result = code.emit(text, lane)
    return Traced(code, result, dtype, code.loop if lane else None, shape_of(mask, a, b))


def _select(conditions: list[Any], values: list[Any], default: Any = 0) -> Any:
    found = default
    for condition, value in reversed(list(zip(conditions, values, strict=True))):
        found = np.where(condition, value, found)
    return found


def _clip(a: Any, low: Any, high: Any, **unused: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


def _count_nonzero(a: Any) -> int:
    return 1


def _full_like(a: Traced, value: Any, dtype: Any = None) -> Traced:
    return constant(a.code, value, np.dtype(dtype or a.dtype))


def _zeros_like(a: Traced, dtype: Any = None) -> Traced:
    return _full_like(a, 0, dtype)


def _broadcast_arrays(*values: Any) -> list[Any]:
    code = next(x for x in values if isinstance(x, Traced)).code
    return [traced(code, value) for value in values]


def _take(table: npt.NDArray[Any], index: Traced) -> Traced:
    """Returns elements of a table, which must stay where it is."""
    code, kind = index.code, scalar_type(table.dtype)
    table = np.ascontiguousarray(table)
    code.tables.append(table)
    code.open_loop()
    wide = convert(index, np.dtype(np.uint64)).use(lane=True)
    base = f"inttoptr (i64 {table.ctypes.data} to ptr)"
    places = code.emit(f"getelementptr {kind}, ptr {base}, <{CHUNK} x i64> {wide}", lane=True)
    text = gathered(code, kind, places)
    return Traced(code, text, table.dtype, code.loop)


def gathered(code: Code, kind: str, places: str) -> str:
    """Returns the elements at a vector of addresses."""
    short = kind.replace("float", "f32").replace("double", "f64")
    name = f"@llvm.masked.gather.v{CHUNK}{short}.v{CHUNK}p0"
    vector, mask = f"<{CHUNK} x {kind}>", f"<{CHUNK} x i1>"
    code.constants.setdefault(name, f"{vector} (<{CHUNK} x ptr>, i32, {mask}, {vector})")
    ones = f"<{', '.join(['i1 true'] * CHUNK)}>"
    return code.emit(
        f"call {vector} {name}(<{CHUNK} x ptr> {places}, i32 1, {mask} {ones}, {vector} poison)",
        lane=True,
    )


def from_lanes(value: Traced, lanes: npt.NDArray[np.intp]) -> Traced:
    """Returns what other lanes of the same row hold; any value where `lanes` has -1."""
    code = value.code
    rows = np.asarray(lanes).reshape(-1, CHUNK)
    first = np.arange(len(rows))[:, None] * CHUNK
    places = np.where(rows < 0, 0, rows - first)
    present = np.where(rows < 0, -1, places)
    pattern = present.max(axis=0)
    alike = ((present == pattern) | (present < 0)).all() and (places < CHUNK).all()
    if not value.lane or not alike or (places < 0).any():
        raise NotTraced("an exchange between rows")
    kind = vector_type(value.dtype, lane=True)
    name = value.use(lane=True)
    picks = ", ".join(f"i32 {max(0, int(pick))}" for pick in pattern)
    text = f"shufflevector {kind} {name}, {kind} poison, <{CHUNK} x i32> <{picks}>"
    return Traced(code, code.emit(text, lane=True), value.dtype, code.loop)


_FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    np.where: where,
    np.select: _select,
    np.clip: _clip,
    np.count_nonzero: _count_nonzero,
    np.full_like: _full_like,
    np.zeros_like: _zeros_like,
    np.broadcast_arrays: _broadcast_arrays,
    np.broadcast_to: lambda a, shape: a,
    np.ascontiguousarray: lambda a, **unused: a,
}
