# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and outputs in iree-run-module's notation."""

import ml_dtypes
import numpy as np
import pytest

from bankwise.runtime.values import (
    Tolerances,
    ValueTextError,
    parse_values,
    save_array,
    value_text,
)

EXACT = Tolerances({}, 0.0)


def one(text):
    """Returns the only value of `text`, a tensor."""
    (value,) = parse_values(text)
    assert isinstance(value, np.ndarray)
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2x3xf16=1.5", np.full((2, 3), 1.5, np.float16)),
        ("2x2xi32=1 2 3 4", np.array([[1, 2], [3, 4]], np.int32)),
        ("2x2xi32=[[1 2][3 4]]", np.array([[1, 2], [3, 4]], np.int32)),
        ("4xf32=1,-2.5,3e2,inf", np.array([1, -2.5, 300, np.inf], np.float32)),
        ("2xbf16=1.0", np.array([1, 1], ml_dtypes.bfloat16)),
        ("2xf8E4M3FNUZ=2 4", np.array([2, 4], ml_dtypes.float8_e4m3fnuz)),
        ("2xi1=true 0", np.array([True, False])),
        ("4xi4=1 -8 15 7", np.array([1, -8, -1, 7], ml_dtypes.int4)),
        ("2xui2=3 0", np.array([3, 0], ml_dtypes.uint2)),
        ("4xi8=255 -128 127 0", np.array([-1, -128, 127, 0], np.int8)),
        ("2xi64=18446744073709551615 -2", np.array([-1, -2], np.int64)),
        ("2xcomplex<f32>=1+2i 3", np.array([1 + 2j, 3], np.complex64)),
        # Beyond the type's range, as in IREE; warnings are errors here.
        ("2xf16=1e30 -1e30", np.array([np.inf, -np.inf], np.float16)),
        ("f32=2", np.array(2, np.float32)),
        ("0x4xf32=", np.zeros((0, 4), np.float32)),
        ("2x2xui8", np.zeros((2, 2), np.uint8)),
    ],
)
def test_tensors(text, expected):
    value = one(text)
    assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)


def test_scalars_are_numbers():
    assert parse_values("7") == [7]
    assert parse_values("-0x10") == [-16]
    assert parse_values("3.5") == [3.5]
    assert isinstance(parse_values("7")[0], int)


def test_files_hold_one_or_more_arrays(tmp_path):
    with (tmp_path / "two.npy").open("wb") as file:
        np.save(file, np.arange(3, dtype=np.float32))
        np.save(file, np.ones((2, 2), np.int8))
    first, second = parse_values(f"@{tmp_path}/two.npy")
    np.testing.assert_array_equal(first, [0, 1, 2])
    assert np.asarray(second).dtype == np.int8
    (tmp_path / "a.bin").write_bytes(np.array([1, 2], np.float16).tobytes())
    np.testing.assert_array_equal(one(f"2xf16=@{tmp_path}/a.bin"), [1, 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2x3xf17=1", "element type 'f17'"),
        ("2x3xf16=1 2", "has 2 elements, its shape 6"),
        ("2xi32=1.5 2", "holds an element that is no i32"),
        ("abc", "is no value"),
        ("4xi8=300", "holds 300, which does not fit i8"),
        ("2xui8=-1 2", "holds -1, which does not fit ui8"),
        ("2xi4=16 0", "holds 16, which does not fit i4"),
        ("1000000x1000000x1000xf32=1", "is a tensor of 4,000,000,000,000,000 bytes"),
        ("1x" * 70 + "f32=1", "has 70 dimensions"),
        ("@missing.npy", "cannot read 'missing.npy'"),
        ("2xf16=@missing.bin", "cannot read 'missing.bin'"),
    ],
)
def test_bad_values_are_named(text, message):
    with pytest.raises(ValueTextError, match=message):
        parse_values(text)


def test_files_of_the_wrong_size_or_kind(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"123")
    with pytest.raises(ValueTextError, match="has 3 bytes, the tensor 4"):
        parse_values(f"2xf16=@{tmp_path}/a.bin")
    with pytest.raises(ValueTextError, match=r"is no \.npy file"):
        parse_values(f"@{tmp_path}/a.bin")
    (tmp_path / "empty.npy").write_bytes(b"")
    with pytest.raises(ValueTextError, match="is empty"):
        parse_values(f"@{tmp_path}/empty.npy")


def test_files_without_a_type_or_in_another_byte_order(tmp_path):
    """NumPy saves arrays of ml_dtypes as raw bytes."""
    values = np.array([[1, 2, 3, 4]], ml_dtypes.bfloat16)
    np.save(tmp_path / "b.npy", values)
    raw = one(f"@{tmp_path}/b.npy")
    assert raw.dtype.type is np.void
    np.testing.assert_array_equal(one(f"1x4xbf16=@{tmp_path}/b.npy"), values)
    with pytest.raises(ValueTextError, match="holds 2 bytes an element, where f32 is wanted"):
        parse_values(f"1x4xf32=@{tmp_path}/b.npy")
    with pytest.raises(ValueTextError, match=r"'.*b\.npy' holds 1x4xbf16"):
        parse_values(f"4x1xbf16=@{tmp_path}/b.npy")
    np.save(tmp_path / "big.npy", np.array([1, -2.5], ">f4"))
    big = one(f"@{tmp_path}/big.npy")
    assert big.dtype == np.float32
    assert big.tolist() == [1, -2.5]
    np.save(tmp_path / "w.npy", np.array([1, -8, 15], np.int8))
    narrow = one(f"3xi4=@{tmp_path}/w.npy")
    assert narrow.dtype == ml_dtypes.int4
    assert narrow.tolist() == [1, -8, -1]


def test_files_that_are_no_arrays_of_numbers(tmp_path):
    path = tmp_path / "a.npy"

    def message():
        with pytest.raises(ValueTextError) as caught:
            parse_values(f"@{path}")
        return str(caught.value)

    with path.open("wb") as file:
        np.savez(file, x=np.zeros(3))
    assert "is an .npz archive; save each array with np.save" in message()
    np.save(path, np.arange(8))
    path.write_bytes(path.read_bytes()[:-5])
    assert "is no .npy file of numbers" in message()
    path.write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': broken\n")
    assert "is no .npy file of numbers" in message()
    np.save(path, np.array(["a"]))
    assert "arrays of <U1 have no element type" in message()


def test_shown_values_are_elided():
    assert value_text(np.arange(6, dtype=np.int32).reshape(2, 3), 4) == "2x3xi32=0 1 2 3..."
    assert value_text(np.array(2.5, np.float32), 4) == "2.5"
    assert value_text(np.array([1, -8], ml_dtypes.int4), 4) == "2xi4=1 -8"
    assert value_text(np.array([254], np.uint8), 4) == "1xui8=254"
    assert value_text(np.array([15], ml_dtypes.uint4), 4) == "1xui4=15"
    assert value_text(np.array([1 - 2j], np.complex64), 4) == "1xcomplex<f32>=1-2j"


def test_narrow_outputs_are_packed_in_binary_files_and_bytes_in_others(tmp_path):
    value = np.array([1, -8, 7, -1], ml_dtypes.int4)
    for name in ("o.npy", "o.bin"):
        save_array(f"@{tmp_path}/{name}", value)
    assert (tmp_path / "o.bin").read_bytes() == bytes([0x81, 0xF7])
    assert np.load(tmp_path / "o.npy").tolist() == [1, -8, 7, -1]
    assert one(f"4xi4=@{tmp_path}/o.bin").tolist() == value.tolist()
    assert EXACT.mismatch(value, one(f"@{tmp_path}/o.npy")) == ""


def test_outputs_are_appended(tmp_path):
    for number in (1, 2):
        save_array(f"+{tmp_path}/o.npy", np.array([number]))
    values = [np.asarray(value).tolist() for value in parse_values(f"@{tmp_path}/o.npy")]
    assert values == [[1], [2]]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_outputs_round_trip(tmp_path, dtype):
    value = np.array([[1, 2], [3, 4]], dtype)
    for name in ("o.npy", "o.bin"):
        save_array(f"@{tmp_path}/{name}", value)
    assert EXACT.mismatch(value, one(f"@{tmp_path}/o.npy")) == ""
    assert (tmp_path / "o.bin").read_bytes() == value.tobytes()
    with pytest.raises(ValueTextError, match=r"expects @file\.npy"):
        save_array(f"@{tmp_path}/o.txt", value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.bin", "o.npy"]


def test_tolerances_follow_the_formula():
    close = Tolerances({"f32": 0.1}, 0.01)
    actual = np.array([10.0, np.nan, np.inf], np.float32)
    assert close.mismatch(actual, np.array([10.19, np.nan, np.inf], np.float32)) == ""
    assert "differs in 1 of 3 elements, first at [0]" in close.mismatch(
        actual, np.array([10.3, np.nan, np.inf], np.float32)
    )
    assert "differs" in close.mismatch(actual, np.array([10.0, 1.0, np.inf], np.float32))
    assert "differs" in EXACT.mismatch(np.array([1, 2]), np.array([1, 3]))
    assert "is 2xi64, expected is 3xi64" in EXACT.mismatch(np.array([1, 2]), np.zeros(3, np.int64))


def test_exact_comparison_is_of_bits():
    bits = Tolerances({"f32": 1.0}, 1.0, exact=True)
    zeros = np.zeros((2, 2), np.float32)
    assert bits.mismatch(zeros, zeros) == ""
    assert "differs in 4 of 4 elements" in bits.mismatch(zeros, -zeros)
    assert EXACT.mismatch(zeros, -zeros) == ""
