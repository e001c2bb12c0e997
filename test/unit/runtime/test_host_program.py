# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stream programs on a device that only remembers what it is told."""

import ml_dtypes
import numpy as np
import pytest
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.embedding import SteppedInvocation
from bankwise.runtime.host_program import HostProgram
from bankwise.runtime.host_values import HostProgramError


class RecordingDevice:
    """Memory, and a list of dispatches; `kernels` may compute."""

    def __init__(self, kernels=None):
        self.memory = np.full(1 << 20, 0xAA, np.uint8)
        self.next = 256
        self.dispatches = []
        self.kernels = kernels or {}

    def allocate(self, size):
        address = self.next
        self.next += (size + 255) // 256 * 256 + 256
        return address

    def write(self, address, data):
        self.memory[address : address + len(data)] = data

    def read(self, address, size):
        return self.memory[address : address + size].copy()

    def copy(self, source, target, size):
        self.write(target, self.read(source, size))

    def dispatch(self, command):
        self.dispatches.append(command)
        self.kernels.get(command.kernel, lambda device, command: None)(self, command)


FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")


@pytest.fixture
def load():
    """Compiles text to the end of codegen and gives it a device."""
    sessions = []

    def make(text, device, *flags):
        session = Session()
        sessions.append(session)
        session.set_flags(*FLAGS, *flags)
        invocation = SteppedInvocation(session)
        assert invocation.parse(Source.wrap_buffer(session, text.encode() + b"\0"))
        invocation.execute(end="executable-targets")
        return HostProgram(invocation.export(), device)

    yield make
    for session in sessions:
        session.close()


ADD = """
func.func @add(%a: tensor<{n}xf32>, %s: f32) -> tensor<{n}xf32> {{
  %e = tensor.empty({d}) : tensor<{n}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}}
      ins(%a : tensor<{n}xf32>) outs(%e : tensor<{n}xf32>) {{
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %s : f32
    linalg.yield %y : f32
  }} -> tensor<{n}xf32>
  return %r : tensor<{n}xf32>
}}
"""
STATIC_ADD = ADD.format(n="256", d="")


def add_kernel(device, command):
    """Does what the kernel of ADD does; the scalar comes as a push constant's bits."""
    source, target = command.bindings
    scalar = np.array([command.constants[0]], np.uint32).view(np.float32)[0]
    data = device.read(source.address, source.size).view(np.float32) + scalar
    device.write(target.address, data.view(np.uint8))


def test_inputs_constants_and_results_reach_their_places(load):
    name = "add_dispatch_0_elementwise_256_f32"
    device = RecordingDevice({name: add_kernel})
    program = load(STATIC_ADD, device)
    values = np.arange(256, dtype=np.float32)
    (result,) = program.call("add", [values, 1.5])
    np.testing.assert_array_equal(result, values + 1.5)
    (command,) = device.dispatches
    assert command.kernel == name
    assert [binding.size for binding in command.bindings] == [1024, 1024]
    assert command.workgroups[1:] == (1, 1)


def test_an_input_that_a_kernel_stores_to_and_the_program_returns(load):
    text = """
func.func @main(%x: tensor<4xi32>, %place: tensor<1xi32>) -> tensor<4xi32> {
  %seven = arith.constant dense<7> : tensor<1xi32>
  %r = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%seven, %place : tensor<1xi32>, tensor<1xi32>) outs(%x : tensor<4xi32>) {
    ^bb0(%new: i32, %old: i32):
      iree_linalg_ext.yield %new : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}
"""

    class Device(RecordingDevice):
        def dispatch(self, command):
            place, target = (self.read(each.address, each.size) for each in command.bindings)
            target.view(np.int32)[place.view(np.int32)[0]] = 7
            self.write(command.bindings[1].address, target)

    given = np.arange(4, dtype=np.int32)
    # IREE returns the buffer of the input itself in this model of execution, which is PyTorch's.
    program = load(text, Device(), "--iree-execution-model=async-external")
    (result,) = program.call("main", [given, np.array([2], np.int32)])
    np.testing.assert_array_equal(result, [0, 1, 7, 3])
    np.testing.assert_array_equal(given, np.arange(4))


def test_dynamic_shapes_set_grid_and_constants(load):
    device = RecordingDevice()
    program = load(
        """
func.func @double(%a: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
""",
        device,
    )
    (result,) = program.call("double", [np.zeros(1000, np.float32)])
    assert result.shape == (1000,)
    (command,) = device.dispatches
    assert command.constants[0] == 1000
    assert all(binding.size == 4000 for binding in command.bindings)


@pytest.mark.parametrize(("size", "suffix"), [(4, ""), (5, "_0"), (64, "_0"), (65, "_0_1")])
def test_a_size_is_computed_by_the_kernel_for_its_range(load, size, suffix):
    device = RecordingDevice()
    sized = "%c0 = arith.constant 0 : index\n %d = tensor.dim %a, %c0 : tensor<?xf32>\n %e ="
    ranges = "#util<int.assumption.multi_array[[<umax = 4>], [<umax = 64>]]>"
    attributes = f"attrs = {{iree_codegen.specialization_ranges = {ranges}}} {{\n"
    source = ADD.format(n="?", d="%d").replace("%e =", sized)
    source = source.replace("f32>) {\n  ^bb0", f"f32>) {attributes}  ^bb0")
    load(source, device).call("add", [np.ones(size, np.float32), 1.5])
    (command,) = device.dispatches
    assert command.kernel == f"add_dispatch_0_elementwise_D_f32{suffix}"


def test_constants_fills_and_copies(load):
    blob = np.arange(1024, dtype=np.float32)
    text = """
func.func @both() -> (tensor<1024xf32>, tensor<64xi32>) {
  %c = util.unfoldable_constant dense_resource<blob> : tensor<1024xf32>
  %s = util.unfoldable_constant dense<7> : tensor<64xi32>
  return %c, %s : tensor<1024xf32>, tensor<64xi32>
}
{-# dialect_resources: { builtin: { blob: "0x04000000HEX" } } #-}
""".replace("HEX", blob.tobytes().hex().upper())
    first, second = load(text, RecordingDevice()).call("both", [])
    np.testing.assert_array_equal(first, blob)
    np.testing.assert_array_equal(second, np.full(64, 7, np.int32))


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        ("sub", [], "no function 'sub'; the module exports add"),
        ("add", [np.zeros(256, np.float32)], "takes 2 inputs, 1 are given"),
        ("add", [np.zeros(255, np.float32), 1.0], "input0 is 255xf32, the function takes 256xf32"),
        ("add", [np.zeros(256, np.float16), 1.0], "input0 is 256xf16, the function takes 256xf32"),
        ("add", [np.zeros(256, np.float32), np.zeros(2)], "input 1 is a tensor"),
    ],
)
def test_calls_that_do_not_fit(load, function, inputs, message):
    device = RecordingDevice()
    with pytest.raises(HostProgramError, match=message):
        load(STATIC_ADD, device).call(function, inputs)
    assert not device.dispatches


def test_unsupported_host_ops_are_named_with_their_place(load):
    program = load(
        """
func.func @read() -> i1 {
  %c0 = arith.constant 0 : index
  %d = hal.devices.get %c0 : !hal.device
  %ok, %x = hal.device.query<%d : !hal.device> key("a" :: "b") : i1, i32
  return %ok : i1
}
""",
        RecordingDevice(),
    )
    message = r":5:\d+: the emulator does not run the host op 'hal.device.query'"
    with pytest.raises(HostProgramError, match=message):
        program.call("read", [])


def test_an_imported_function_is_named(load):
    text = """
util.func private @elsewhere(i32) -> i32
util.func public @main(%a: i32) -> i32 {
  %r = util.call @elsewhere(%a) : (i32) -> i32
  util.return %r : i32
}
"""
    message = ":2:1: the module calls @elsewhere and does not hold it"
    with pytest.raises(HostProgramError, match=message):
        load(text, RecordingDevice()).call("main", [1])


def test_numbers_are_read_from_tensors_and_written(load):
    text = """
func.func @read(%a: tensor<4xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<4xf32>
  return %x : f32
}
func.func @write(%a: tensor<4xi8>, %x: i8, %i: index) -> tensor<4xi8> {
  %t = tensor.insert %x into %a[%i] : tensor<4xi8>
  return %t : tensor<4xi8>
}
"""
    program = load(text, RecordingDevice())
    assert program.call("read", [np.array([1, 2, 3, 4], np.float32), 2])[0] == 3
    (written,) = program.call("write", [np.array([1, 2, 3, 4], np.int8), -7, 1])
    assert written.tolist() == [1, -7, 3, 4]
    assert [signature.name for signature in program.signatures] == ["read", "write"]


CONTROL = """
util.global private mutable @state = 5 : i32
util.global private @start : i32
util.initializer {
  %c = util.unfoldable_constant 100 : i32
  util.global.store %c, @start : i32
  util.return
}
util.func private @square(%a: i32) -> i32 attributes {inlining_policy = #util.inline.never} {
  %r = arith.muli %a, %a : i32
  util.return %r : i32
}
func.func @control(%n: index, %x: f32) -> (i32, i32, i32, i32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> i32 {
    %v = arith.index_cast %i : index to i32
    %q = util.call @square(%v) : (i32) -> i32
    %t = arith.addi %s, %q : i32
    scf.yield %t : i32
  }
  %limit = util.global.load @start : i32
  %power = scf.while (%p = %one) : (i32) -> i32 {
    %less = arith.cmpi slt, %p, %limit : i32
    scf.condition(%less) %p : i32
  } do {
  ^bb0(%p: i32):
    %d = arith.addi %p, %p : i32
    scf.yield %d : i32
  }
  %case = scf.index_switch %n -> i32
  case 4 { %c = arith.constant 40 : i32 scf.yield %c : i32 }
  case 6 { %c = arith.constant 60 : i32 scf.yield %c : i32 }
  default { %c = arith.constant -1 : i32 scf.yield %c : i32 }
  %before = util.global.load @state : i32
  %after = arith.addi %before, %one : i32
  util.global.store %after, @state : i32
  %half = arith.constant 0.5 : f32
  %low = arith.cmpf olt, %x, %half : f32
  %y = scf.if %low -> f32 {
    %m = math.sqrt %x : f32
    scf.yield %m : f32
  } else {
    %m = arith.negf %x : f32
    scf.yield %m : f32
  }
  return %sum, %power, %case, %before, %y : i32, i32, i32, i32, f32
}
"""


def test_loops_calls_and_globals(load):
    program = load(CONTROL, RecordingDevice())
    results = [value.item() for value in program.call("control", [6, 0.25])]
    assert results == [0 + 1 + 4 + 9 + 16 + 25, 128, 60, 5, 0.5]
    assert [value.item() for value in program.call("control", [1, 0.75])][2:] == [-1, 6, -0.75]


@pytest.mark.parametrize("name", ["main", "torch-jit-export"])
def test_a_function_with_fences_is_called_through_its_synchronous_form(load, name):
    """What the importers of ONNX and torch make: `main` calls `main$async` and waits.

    The name that PyTorch gave its exports stands in quotes in MLIR.
    """
    text = """
func.func @"NAME"(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %r = torch.aten.neg %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %r : !torch.vtensor<[4],f32>
}
""".replace("NAME", name)

    def negate(device, command):
        source, target = command.bindings
        data = -device.read(source.address, source.size).view(np.float32)
        device.write(target.address, data.view(np.uint8))

    class NegatingDevice(RecordingDevice):
        def dispatch(self, command):
            negate(self, command)

    program = load(text, NegatingDevice(), "--iree-input-type=torch")
    (signature,) = program.signatures
    assert signature.name == name
    assert signature.results == 1
    values = np.array([1, -2, 3, 0.5], np.float32)
    for function in (name, f"{name}$async"):
        np.testing.assert_array_equal(program.call(function, [values])[0], -values)
    # Bytes without a type are read as what the function asserts.
    np.testing.assert_array_equal(program.call(name, [values.view("V4")])[0], -values)
    with pytest.raises(HostProgramError, match="holds 2 bytes an element, where f32 is wanted"):
        program.call(name, [np.zeros(4, np.float16).view("V2")])


NARROW = """
func.func @main(%a: tensor<8xi4>, %b: tensor<8xi2>) -> (tensor<8xi4>, tensor<8xi2>) {
  %x = util.optimization_barrier %a : tensor<8xi4>
  %y = util.optimization_barrier %b : tensor<8xi2>
  return %x, %y : tensor<8xi4>, tensor<8xi2>
}
"""


def test_narrow_integers_are_packed_from_the_low_bits_up(load):
    written = []

    class WatchedDevice(RecordingDevice):
        def write(self, address, data):
            written.append(data.tolist())
            super().write(address, data)

    device = WatchedDevice()
    a = np.array([1, 2, 3, -4, 7, 0, -8, -1], ml_dtypes.int4)
    b = np.array([1, 0, -2, -1, 0, 0, 1, 1], ml_dtypes.int2)
    first, second = load(NARROW, device).call("main", [a, b])
    assert written[0] == [0x21, 0xC3, 0x07, 0xF8]
    assert written[1] == [0b11_10_00_01, 0b01_01_00_00]
    assert first.tolist() == a.tolist() and first.dtype == a.dtype
    assert second.tolist() == b.tolist() and second.dtype == b.dtype
    # A file holds such integers as bytes, -1 also as 15.
    written.clear()
    plain = np.array([1, 2, 3, 12, 7, 0, 8, 15], np.uint8)
    load(NARROW, WatchedDevice()).call("main", [plain, b])
    assert written[0] == [0x21, 0xC3, 0x07, 0xF8]
    with pytest.raises(HostProgramError, match="input 0 has elements that do not fit i4"):
        load(NARROW, device).call("main", [plain + 1, b])


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_unsigned_integers_are_inputs_and_outputs(load, bits):
    """As in IREE, a tensor of the other sign, or of none, is taken too."""
    text = f"""
func.func @main(%a: tensor<2xui{bits}>) -> tensor<2xui{bits}> {{
  %b = util.optimization_barrier %a : tensor<2xui{bits}>
  return %b : tensor<2xui{bits}>
}}
"""
    largest = (1 << bits) - 1
    given = np.array([1, largest], f"uint{bits}")
    program = load(text, RecordingDevice())
    for each in (given, given.view(f"int{bits}")):
        (output,) = program.call("main", [each])
        assert output.tolist() == [1, largest]
    with pytest.raises(HostProgramError, match=f"is 2xf16, the function takes 2xui{bits}"):
        program.call("main", [np.array([1, 2], np.float16)])


def test_constants_of_types_that_numpy_does_not_know(load):
    text = """
util.global private @c : !util.buffer
util.func public @main() -> (tensor<4xbf16>, tensor<3xf8E4M3FNUZ>) {
  %a = util.unfoldable_constant dense<[1.0, -2.5, 0x7FC0, 3.0]> : tensor<4xbf16>
  %b = util.unfoldable_constant dense<[1.0, -2.5, 240.0]> : tensor<3xf8E4M3FNUZ>
  util.return %a, %b : tensor<4xbf16>, tensor<3xf8E4M3FNUZ>
}
"""
    first, second = load(text, RecordingDevice()).call("main", [])
    np.testing.assert_array_equal(first.astype(np.float32), [1, -2.5, np.nan, 3])
    np.testing.assert_array_equal(second.astype(np.float32), [1, -2.5, 240])
