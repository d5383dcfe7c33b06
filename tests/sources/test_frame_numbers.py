"""H.264 frame numbers, read from headers that the test writes bit by bit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.sources._frame_numbers import CHROMA_PROFILES, FrameNumbers

BASELINE, HIGH = 66, 100
IDR, REFERENCE, DISPOSABLE = 0x65, 0x41, 0x01


def golomb(value: int) -> str:
    """Unsigned Exp-Golomb bits (ITU-T H.264, 9.1)."""
    bits = f"{value + 1:b}"
    return "0" * (len(bits) - 1) + bits


def signed(value: int) -> str:
    return golomb(2 * value - 1 if value > 0 else -2 * value)


def nal(head: int, bits: str) -> bytes:
    """A NAL unit, with emulation prevention (7.4.1)."""
    bits += "1"
    bits += "0" * (-len(bits) % 8)
    payload = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    out = bytearray([head])
    zeros = 0
    for byte in payload:
        if zeros >= 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = 0 if byte else zeros + 1
    return bytes(out)


def parameters(
    profile: int = BASELINE,
    number_bits: int = 4,
    order: int = 0,
    chroma: int = 1,
    planes_apart: bool = False,
    scaling: bool = False,
    gaps: bool = False,
) -> bytes:
    bits = f"{profile:08b}{0:08b}{30:08b}" + golomb(0)
    if profile in CHROMA_PROFILES:
        bits += golomb(chroma) + (str(int(planes_apart)) if chroma == 3 else "")
        bits += golomb(0) + golomb(0) + "0" + str(int(scaling))
        if scaling:
            lists = 12 if chroma == 3 else 8
            bits += "1" + "".join(signed((-1) ** i * (i % 5)) for i in range(16))
            bits += "1" + signed(-8)  # use the default list
            bits += "0" * (lists - 2)
    bits += golomb(number_bits - 4) + golomb(order)
    if order == 0:
        bits += golomb(2)
    elif order == 1:
        bits += "0" + signed(-3) + signed(5) + golomb(2) + signed(1) + signed(-1)
    return nal(0x67, bits + golomb(3) + str(int(gaps)) + golomb(7) + golomb(3))


def a_slice(head: int, number: int, number_bits: int = 4, planes_apart: bool = False) -> bytes:
    bits = golomb(0) + golomb(7) + golomb(0) + ("01" if planes_apart else "")
    return nal(head, bits + f"{number % 2**number_bits:0{number_bits}b}" + "1010" * 8)


@given(
    options=st.fixed_dictionaries(
        {
            "profile": st.sampled_from([BASELINE, HIGH, 244]),
            "number_bits": st.integers(4, 16),
            "order": st.integers(0, 2),
            "chroma": st.integers(0, 3),
            "planes_apart": st.booleans(),
            "scaling": st.booleans(),
        }
    ),
    references=st.lists(st.booleans(), min_size=2, max_size=40),
    data=st.data(),
)
def test_a_loss_is_seen_at_the_next_pictures(
    options: dict[str, Any], references: list[bool], data: st.DataObject
) -> None:
    apart = options["profile"] in CHROMA_PROFILES and options["chroma"] == 3
    apart = apart and options["planes_apart"]
    numbers, number, coded = FrameNumbers(), 0, [(IDR, 0)]
    for reference in references:
        coded.append((REFERENCE if reference else DISPOSABLE, number + 1))
        number += reference
    lost = data.draw(st.integers(1, len(coded) - 1))
    numbers.parameters(parameters(**options))
    wrong = []
    for index, (head, number) in enumerate(coded):
        if index != lost and not numbers.follows(
            a_slice(head, number, options["number_bits"], apart)
        ):
            wrong.append(index)
    after = coded[lost + 1 :]
    if coded[lost][0] == DISPOSABLE or not after:
        assert not wrong  # nothing builds on it
    else:  # up to and including the next picture that others build on
        stop = next((i for i, (head, _) in enumerate(after) if head == REFERENCE), len(after) - 1)
        assert wrong == list(range(lost + 1, lost + 2 + stop))


def test_numbers_start_anywhere_and_anew_at_each_idr() -> None:
    numbers = FrameNumbers()
    numbers.parameters(parameters())
    coded = [(REFERENCE, 9), (REFERENCE, 10), (IDR, 0), (DISPOSABLE, 1), (REFERENCE, 1)]
    assert all(numbers.follows(a_slice(*picture)) for picture in coded)


@pytest.mark.parametrize("data", [b"g", b"g\0\0\0", parameters(gaps=True)])
def test_nothing_is_told_where_gaps_are_allowed_or_parameters_unreadable(data: bytes) -> None:
    numbers = FrameNumbers()
    numbers.parameters(data)
    assert numbers.follows(a_slice(IDR, 0)) and numbers.follows(a_slice(REFERENCE, 7))


@given(st.binary(max_size=64))
def test_any_bytes_are_survived(data: bytes) -> None:
    numbers = FrameNumbers()
    numbers.parameters(b"g" + data)
    numbers.parameters(parameters())
    assert isinstance(numbers.follows(b"A" + data), bool)
