"""Frame numbers of H.264: whether a picture follows those before it, or some between were lost.

FFmpeg fills such gaps with copies and says nothing, so that all pictures up to the next key frame
look sound and are not. Source: ITU-T H.264 7.3.2.1.1 (sequence parameters), 7.3.3 (slice header),
7.4.3 (frame_num).
"""

from __future__ import annotations

CHROMA_PROFILES = frozenset({44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 144, 244})
"""Profiles whose sequence parameters speak of chroma and scaling."""
PARAMETER_BYTES = 256
SLICE_BYTES = 32
"""How much of a NAL unit is read: more than what is looked for can take."""


class FrameNumbers:
    """Follows the numbers of one stream's pictures, in decode order."""

    def __init__(self) -> None:
        self._bits = 0  # of frame_num; 0 while unknown, and where gaps are allowed
        self._separate_planes = False
        self._last: int | None = None

    def parameters(self, nal: bytes) -> None:
        """Read a sequence parameter set (NAL unit type 7)."""
        try:
            self._read_parameters(_Bits(nal[1:PARAMETER_BYTES]))
        except ValueError:
            self._bits = 0

    def _read_parameters(self, bits: _Bits) -> None:
        profile = bits.take(24) >> 16
        bits.golomb()
        self._separate_planes = False
        if profile in CHROMA_PROFILES:
            chroma_444 = bits.golomb() == 3
            self._separate_planes = chroma_444 and bits.take(1) == 1
            bits.golomb()
            bits.golomb()
            bits.take(1)
            if bits.take(1):
                for index in range(12 if chroma_444 else 8):
                    _skip_scaling_list(bits, 16 if index < 6 else 64)
        number_bits = bits.golomb() + 4
        order = bits.golomb()
        if order == 0:
            bits.golomb()
        elif order == 1:
            bits.take(1)
            bits.golomb()
            bits.golomb()
            for _ in range(bits.golomb()):
                bits.golomb()
        bits.golomb()
        gaps_allowed = bits.take(1)
        self._bits = 0 if gaps_allowed else number_bits

    def follows(self, nal: bytes) -> bool:
        """Whether the picture of this slice (NAL unit type 1 or 5) has all before it."""
        if not self._bits:
            return True
        bits = _Bits(nal[1:SLICE_BYTES])
        try:
            for _ in range(3):
                bits.golomb()
            if self._separate_planes:
                bits.take(2)
            number = bits.take(self._bits)
        except ValueError:
            return True  # too damaged to tell, which the decoder will see as well
        is_reference, is_idr = nal[0] >> 5 & 3, nal[0] & 31 == 5
        last, following = self._last, None
        if last is not None:
            following = (last + 1) % (1 << self._bits)
        if is_reference:
            self._last = number
        return is_idr or last is None or number in (last, following)


class _Bits:
    """A NAL unit's payload, bit by bit; ValueError past its end."""

    def __init__(self, payload: bytes) -> None:
        plain = payload.replace(b"\x00\x00\x03", b"\x00\x00")
        self._value = int.from_bytes(plain)
        self._left = 8 * len(plain)

    def take(self, count: int) -> int:
        self._left -= count
        if self._left < 0:
            raise ValueError("the NAL unit ends early")
        return self._value >> self._left & ((1 << count) - 1)

    def golomb(self) -> int:
        """An unsigned Exp-Golomb number; signed ones take the same bits."""
        zeros = 0
        while not self.take(1):
            zeros += 1
        return (1 << zeros) - 1 + self.take(zeros)


def _skip_scaling_list(bits: _Bits, size: int) -> None:
    if not bits.take(1):
        return
    last = following = 8
    for _ in range(size):
        if following:
            code = bits.golomb()
            delta = (code + 1) // 2 if code % 2 else -(code // 2)
            following = (last + delta) % 256
        last = following or last
