"""How a stored picture is turned to be upright: EXIF orientations and HEIF transforms."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray


class Orientation(NamedTuple):
    """Transpose first, then reverse the rows, then the columns: covers all eight orientations."""

    transposed: bool = False
    flip_rows: bool = False
    flip_columns: bool = False

    @classmethod
    def from_exif(cls, value: int) -> Orientation:
        """The meaning of the Orientation tag (EXIF 2.32, tag 274); unknown values mean upright."""
        return _EXIF.get(value, UPRIGHT)

    @classmethod
    def from_heif(cls, quarter_turns: int, mirror_axis: int | None) -> Orientation:
        """The transforms of a HEIF or AVIF item (ISO/IEC 23008-12, `irot` then `imir`).

        quarter_turns: anticlockwise. mirror_axis: 0 exchanges top and bottom, 1 left and right.
        """
        turn = _EXIF[(1, 8, 3, 6)[quarter_turns % 4]]
        rows, columns = mirror_axis == 0, mirror_axis == 1
        return cls(turn.transposed, turn.flip_rows ^ rows, turn.flip_columns ^ columns)

    @property
    def flipped(self) -> bool:
        """Whether the stored picture is mirrored horizontally before it is rotated."""
        return self.transposed ^ self.flip_rows ^ self.flip_columns

    @property
    def rotation(self) -> int:
        """Degrees clockwise that turn the (flipped) stored picture upright."""
        if self.transposed:
            return 90 if self.flip_columns else 270
        return 180 if self.flip_rows else 0

    def upright_shape(self, height: int, width: int) -> tuple[int, int]:
        """(height, width) upright of a picture that is stored as height x width."""
        return (width, height) if self.transposed else (height, width)

    def upright(self, picture: NDArray[Any]) -> NDArray[Any]:
        """A view of a stored picture [H, W, ...] as it is meant to be seen."""
        if self.transposed:
            picture = picture.swapaxes(0, 1)
        rows, columns = (slice(None, None, -1 if f else 1) for f in self[1:])
        return picture[rows, columns]


UPRIGHT = Orientation()
_EXIF = {
    1: UPRIGHT,
    2: Orientation(flip_columns=True),
    3: Orientation(flip_rows=True, flip_columns=True),
    4: Orientation(flip_rows=True),
    5: Orientation(transposed=True),
    6: Orientation(transposed=True, flip_columns=True),
    7: Orientation(transposed=True, flip_rows=True, flip_columns=True),
    8: Orientation(transposed=True, flip_rows=True),
}
