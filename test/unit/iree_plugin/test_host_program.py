# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stream programs on a device that only remembers what it is told."""

import numpy as np
import pytest
from iree.compiler.api import Session, Source

from bankwise.iree_plugin.embedding import SteppedInvocation
from bankwise.iree_plugin.host_program import HostProgram, HostProgramError


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

    def dispatch(self, command):
        self.dispatches.append(command)
        self.kernels.get(command.kernel, lambda device, command: None)(self, command)


FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")


@pytest.fixture
def load():
    """Compiles text to the end of codegen and gives it a device."""
    sessions = []

    def make(text, device):
        session = Session()
        sessions.append(session)
        session.set_flags(*FLAGS)
        invocation = SteppedInvocation(session)
        assert invocation.parse(Source.wrap_buffer(session, text.encode() + b"\0"))
        invocation.set_phases(end="executable-targets")
        assert invocation.execute()
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
    """What the kernel of ADD does: the scalar comes as a push constant's bits."""
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


def test_unsupported_host_ops_are_named(load):
    program = load(
        """
func.func @read(%a: tensor<4xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<4xf32>
  return %x : f32
}
""",
        RecordingDevice(),
    )
    with pytest.raises(HostProgramError, match=r"host op 'stream\..*' is not supported"):
        program.call("read", [np.zeros(4, np.float32), 1])
