"""Colour on the device: YUV planes to RGB in plain torch, on whichever device they are.

A frame crosses the bus as I420 planes at its target size, half the bytes of RGB; this makes RGB,
flips, normalises, casts and lays out, in one pass over the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from genlock._field import Field
from genlock.errors import FieldError
from genlock.fields import Video

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Finish:
    """What becomes of RGB: flip, normalisation, dtype, layout.

    dtype: "uint8" (0 to 255, rounded) or "float16", "bfloat16", "float32" (0 to 1, then
    (value - mean) / std per channel). layout: "TCHW" or "THWC"; channels_last keeps TCHW and
    stores channels next to each other. flip: mirror horizontally.
    """

    dtype: str = "uint8"
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    layout: Literal["TCHW", "THWC"] = "TCHW"
    channels_last: bool = False
    flip: bool = False


def finish_of(field: Field) -> Finish | None:
    """What a field asks for on the device; None where its values are finished on the host."""
    if not isinstance(field, Video) or field.color != "device":
        return None
    mean, std = field.normalize or (Finish.mean, Finish.std)
    return Finish(field.dtype, mean, std, field.layout, field.channels_last, field.flip)


def to_rgb(
    planes: torch.Tensor,
    coefficients: torch.Tensor,
    finish: Finish | None = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """I420 planes to RGB on their device.

    planes: uint8 [B, T, H * 3 / 2, W]: H lines of Y, then U and V at half size, each two rows of
    chroma in one line. coefficients: [B, 3, 4] on the same device, see `_yuv.rgb_coefficients`.
    mask: bool [B, T]; frames that are False become zero. Returns [B, T, 3, H, W] or
    [B, T, H, W, 3] as `finish` says. The four pixels of a block share its chroma. Runs on the
    current stream; the host does not wait. Raises FieldError for planes of another shape.
    """
    finish = finish or Finish()
    batch, steps, lines, width = planes.shape
    height = lines * 2 // 3
    if lines % 3 or width % 2 or height % 2:
        raise FieldError(f"planes of {lines} lines of {width} are not I420")
    luma = planes[:, :, :height].float()
    chroma = planes[:, :, height:].reshape(batch, steps, 2, height // 2, width // 2).float()
    chroma = chroma.repeat_interleave(2, -1).repeat_interleave(2, -2)
    if finish.flip:
        luma, chroma = luma.flip(-1), chroma.flip(-1)
    affine = coefficients.float().reshape(batch, 3, 4, 1, 1, 1)
    rgb, target = _empty(finish, (batch, steps, height, width), planes.device)
    for channel in range(3):
        of_y, of_u, of_v, constant = affine[:, channel].unbind(1)
        value = (luma * of_y).add_(constant)
        value.add_(chroma[:, :, 0] * of_u).add_(chroma[:, :, 1] * of_v).clamp_(0, 255)
        if finish.dtype == "uint8":
            value.round_()
        else:  # Python numbers, since a tensor of them would be a copy that the host waits for
            value.div_(255 * finish.std[channel]).sub_(finish.mean[channel] / finish.std[channel])
        if mask is not None:
            value.mul_(mask[:, :, None, None])
        target[:, :, channel] = value
    return rgb


def _empty(
    finish: Finish, shape: tuple[int, int, int, int], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """The result, and the same memory as [B, T, 3, H, W]."""
    import torch  # here, since whoever only asks for `finish_of` needs none

    batch, steps, height, width = shape
    dtype = getattr(torch, finish.dtype)
    if finish.layout == "TCHW" and not finish.channels_last:
        rgb = torch.empty(batch, steps, 3, height, width, dtype=dtype, device=device)
        return rgb, rgb
    interleaved = torch.empty(batch, steps, height, width, 3, dtype=dtype, device=device)
    target = interleaved.movedim(-1, 2)
    return (interleaved if finish.layout == "THWC" else target), target
