# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra over F2, the field of two elements.

A vector is a Python int whose bit i is coordinate i; adding vectors is XOR. A matrix is the
sequence of its columns, so column j is the image of unit vector `1 << j`. For example
`apply([0b01, 0b11], 0b10)` is 0b11: the second column.

A subspace is given by vectors that span it. Functions that return a subspace return its
*reduced basis*: leading bits are distinct, descending, and each leading bit occurs in its own
vector only. Two sets of vectors span the same space exactly when their reduced bases are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .errors import InvalidParameterError, is_power_of_two

if TYPE_CHECKING:
    import numpy.typing as npt


def reduced_basis(vectors: Iterable[int]) -> tuple[int, ...]:
    """Returns the reduced basis of the span of `vectors` (Gauss-Jordan elimination)."""
    by_lead: dict[int, int] = {}
    for vector in vectors:
        if vector < 0:
            raise InvalidParameterError("vectors", vector, "integers >= 0")
        rest = vector
        while rest and (known := by_lead.get(rest.bit_length())):
            rest ^= known
        if rest:
            by_lead[rest.bit_length()] = rest
    basis: list[int] = []
    for lead in sorted(by_lead):
        vector = by_lead[lead]
        for earlier in basis:
            if vector >> (earlier.bit_length() - 1) & 1:
                vector ^= earlier
        basis.append(vector)
    return tuple(reversed(basis))


def basis_of_members(members: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the `reduced_basis` of a subspace, given its distinct members; None if it is none."""
    if not is_power_of_two(len(members)):
        return None
    dimension = len(members).bit_length() - 1
    by_lead: dict[int, int] = {}
    for vector in members:
        rest = vector
        while rest and (known := by_lead.get(rest.bit_length())):
            rest ^= known
        if rest:
            if len(by_lead) == dimension:
                return None
            by_lead[rest.bit_length()] = rest
    return reduced_basis(by_lead.values())


def reduced_basis_of_many(vectors: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """Returns `reduced_basis` of an array of numbers >= 0, faster if these are many."""
    left = vectors.ravel()
    echelon: list[int] = []
    while left.size and (largest := int(left.max())):
        echelon.append(largest)
        # Every number with this leading bit loses it, the largest becomes 0.
        left = np.minimum(left, left ^ largest)
    return reduced_basis(echelon)


def rank(vectors: Iterable[int]) -> int:
    """Returns the dimension of the span of `vectors`."""
    return len(reduced_basis(vectors))


def span(vectors: Iterable[int]) -> tuple[int, ...]:
    """Returns all members of the span of `vectors`, ascending; 2**rank of them."""
    members = [0]
    for vector in reduced_basis(vectors):
        members += [member ^ vector for member in members]
    return tuple(sorted(members))


def contains(vectors: Iterable[int], vector: int) -> bool:
    """Returns whether `vector` lies in the span of `vectors`."""
    for member in reduced_basis(vectors):
        if vector >> (member.bit_length() - 1) & 1:
            vector ^= member
    return vector == 0


def apply(columns: Sequence[int], vector: int) -> int:
    """Returns the matrix with these columns times `vector`.

    Raises InvalidParameterError when `vector` has more coordinates than there are columns.
    """
    if vector >> len(columns):
        raise InvalidParameterError("vector", vector, f"0 .. {(1 << len(columns)) - 1}")
    image = 0
    while vector:
        low = vector & -vector
        image ^= columns[low.bit_length() - 1]
        vector ^= low
    return image


def kernel(columns: Sequence[int]) -> tuple[int, ...]:
    """Returns the reduced basis of the vectors that the matrix maps to 0."""
    # Eliminate on the images and remember which columns were added up.
    by_lead: dict[int, tuple[int, int]] = {}
    found: list[int] = []
    for index, column in enumerate(columns):
        image, combination = column, 1 << index
        while image and (known := by_lead.get(image.bit_length())):
            image ^= known[0]
            combination ^= known[1]
        if image:
            by_lead[image.bit_length()] = (image, combination)
        else:
            found.append(combination)
    return reduced_basis(found)


def intersection(first: Iterable[int], second: Iterable[int]) -> tuple[int, ...]:
    """Returns the reduced basis of the vectors in both spans.

    Worked example: span{01, 10} and span{11}. The kernel of the columns (01, 10, 11) holds the
    combination 111: 01 + 10 = 11, so 11 is in both.
    """
    a, b = reduced_basis(first), reduced_basis(second)
    common = [apply(a, combination & ((1 << len(a)) - 1)) for combination in kernel((*a, *b))]
    return reduced_basis(common)


def product(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Returns the columns of the matrix product: first `right`, then `left`."""
    return tuple(apply(left, column) for column in right)


def inverse(columns: Sequence[int], bits: int) -> tuple[int, ...] | None:
    """Returns the columns of the inverse of a matrix of `bits` rows; None where it has none."""
    if len(columns) != bits:
        return None
    left, right = list(columns), [1 << place for place in range(bits)]
    for bit in range(bits):
        pivot = next((i for i in range(bit, bits) if left[i] >> bit & 1), None)
        if pivot is None:
            return None
        for values in (left, right):
            values[bit], values[pivot] = values[pivot], values[bit]
        for other in range(bits):
            if other != bit and left[other] >> bit & 1:
                left[other] ^= left[bit]
                right[other] ^= right[bit]
    return tuple(right)
