"""How depth is written as numbers: the one place that reads and writes `StreamInfo.depth`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from genlock._nanoseconds import exact
from genlock.errors import LayoutError


@dataclass(frozen=True)
class DepthEncoding:
    """metres = scale * code, where a code that is `invalid`, or not a positive number, is none.

    scale: metres per unit, exact. rotated: the 16 bits are rotated left by 3, as the SUN RGB-D
    toolbox (read3dPoints.m) undoes. Its text is "mm", "tum5000", "sun", "metres" or
    "scale=0.001 invalid=0"; `parse` reads it back.
    """

    scale: Fraction
    invalid: float = 0
    rotated: bool = False

    @classmethod
    def parse(cls, text: str) -> DepthEncoding:
        """Read the text of `StreamInfo.depth`. Raises LayoutError for anything else."""
        if text in _NAMED:
            return _NAMED[text]
        parts = dict(part.partition("=")[::2] for part in text.split())
        return cls.declared(parts)

    @classmethod
    def declared(cls, declaration: Any) -> DepthEncoding:
        """Read a declaration: { scale = 0.001, invalid = 0 }, { encoding = "mm" }, or "mm".

        Raises LayoutError that says what may be declared.
        """
        if isinstance(declaration, str):
            declaration = {"encoding": declaration}
        if isinstance(declaration, Mapping):
            keys = set(declaration)
            if keys == {"encoding"} and declaration["encoding"] in _NAMED:
                return _NAMED[declaration["encoding"]]
            if "scale" in keys <= {"scale", "invalid"}:
                return cls._scaled(declaration["scale"], declaration.get("invalid", 0))
        raise LayoutError(
            f"depth = {declaration!r} is not a depth encoding: write {{ scale = 0.001, "
            f"invalid = 0 }} (metres per unit) or {{ encoding = {' | '.join(map(repr, _NAMED))} }}"
        )

    @classmethod
    def _scaled(cls, scale: Any, invalid: Any) -> DepthEncoding:
        try:
            encoding = cls(exact(scale), float(invalid))
        except (ValueError, TypeError) as error:
            raise LayoutError(f"depth: scale and invalid are numbers ({error})") from error
        if encoding.scale <= 0:
            raise LayoutError(f"depth: scale is metres per unit, above 0, not {scale}")
        return encoding

    def __str__(self) -> str:
        for name, encoding in _NAMED.items():
            if encoding == self:
                return name
        return f"scale={float(self.scale)!r} invalid={self.invalid:.17g}"


_NAMED = {
    "mm": DepthEncoding(Fraction(1, 1000)),
    "tum5000": DepthEncoding(Fraction(1, 5000)),
    "sun": DepthEncoding(Fraction(1, 1000), rotated=True),
    "metres": DepthEncoding(Fraction(1)),
}
