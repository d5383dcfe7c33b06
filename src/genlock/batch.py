"""`Sample` (one window's values, NumPy) and `Batch` (many, torch)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genlock._checked import meant
from genlock._views import SampleViews
from genlock.errors import FieldNameError
from genlock.windows import Window

if TYPE_CHECKING:  # importing torch takes longer than all else together, and workers need none
    import torch


@dataclass(eq=False)
class Sample(SampleViews, MutableMapping[str, Any]):
    """One window's values by field name, as NumPy arrays (labels: a list).

    mask, times, source_times, lengths, intrinsics, distortion, counts: by field name as in
    `Batch`, without the batch dimension. columns: names along the last dimension, of tables.
    window: which recording and start it is.
    """

    window: Window
    data: dict[str, Any] = field(default_factory=dict)
    mask: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    times: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    source_times: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    intrinsics: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    distortion: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    counts: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return _field_of(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.data[name] = value

    def __delitem__(self, name: str) -> None:
        del self.data[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"Sample({self.window.recording} at {self.window.start_ns} ns{_shapes(self)})"


@dataclass(eq=False)
class Batch(Mapping[str, Any]):
    """Values of several windows by field name, as tensors [B, …] (labels: a list per window).

    mask: bool [B, T] (audio [B, N]): False where nothing valid is. times: int64 [B, T] ns, the
    grid. source_times: int64 [B, T] ns, the row used. lengths: int64 [B], entries before padding.
    intrinsics: float32 [B, 3, 3], of the pictures as they are here (cropped, scaled, upright), for
    fields whose streams are calibrated; distortion: float32 [B, K], zeros where there is none.
    counts: int64 [B, T], of `Points`: how many of a row's points are not padding. columns: names
    along the last dimension, of tables as they were read, not as a transform made them. windows:
    which recording and start each sample is. A batch is never overwritten while any view of it
    lives.
    """

    windows: list[Window]
    data: dict[str, Any]
    mask: dict[str, torch.Tensor]
    times: dict[str, torch.Tensor]
    source_times: dict[str, torch.Tensor]
    lengths: dict[str, torch.Tensor]
    intrinsics: dict[str, torch.Tensor] = field(default_factory=dict)
    distortion: dict[str, torch.Tensor] = field(default_factory=dict)
    counts: dict[str, torch.Tensor] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return _field_of(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def numpy(self) -> dict[str, Any]:
        """The values as NumPy arrays; without a copy on a CPU."""
        return {
            name: value if isinstance(value, list) else value.cpu().numpy()
            for name, value in self.data.items()
        }

    def sample(self, i: int) -> Sample:
        """One window of the batch as NumPy arrays on the host, padding cut off."""
        sample = Sample(self.windows[i], columns=dict(self.columns))
        for name, value in self.data.items():
            sample[name] = value[i] if isinstance(value, list) else _host(value[i])
            if name in self.mask:
                _cut(sample, name, *(part[name][i] for part in self._aligned()))
            if name in self.counts:
                sample.counts[name] = _host(self.counts[name][i])[: sample.lengths[name]]
        for kept, part in (
            (sample.intrinsics, self.intrinsics),
            (sample.distortion, self.distortion),
        ):
            kept.update({name: _host(value[i]) for name, value in part.items()})
        return sample

    def _aligned(self) -> tuple[dict[str, torch.Tensor], ...]:
        return self.mask, self.times, self.source_times, self.lengths

    def _further(self) -> tuple[dict[str, torch.Tensor], ...]:
        return self.intrinsics, self.distortion, self.counts

    def tensors(self) -> Iterator[torch.Tensor]:
        """Every tensor of the batch."""
        for part in (self.data, *self._aligned(), *self._further()):
            yield from (value for value in part.values() if not isinstance(value, list))

    def __repr__(self) -> str:
        return f"Batch({len(self.windows)} windows{_shapes(self)})"


def _field_of(values: Sample | Batch, name: str) -> Any:
    """The values of a field. Raises FieldNameError, a KeyError, naming those there are."""
    try:
        return values.data[name]
    except KeyError:
        raise FieldNameError(f"no field {name!r}{meant(str(name), values)}") from None


def _host(value: Any) -> Any:
    """A tensor as an array; bfloat16, which NumPy lacks, as float32."""
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).cpu().numpy()


def _cut(sample: Sample, name: str, mask: Any, times: Any, source_times: Any, length: Any) -> None:
    """Give a field of a sample its mask and times, all without padding."""
    steps, padded = int(length), len(mask)
    sample.lengths[name] = steps
    sample.mask[name] = _host(mask)[:steps]
    sample.times[name] = _host(times)[:steps]
    sample.source_times[name] = _host(source_times)[:steps]
    values = sample[name]
    is_audio = len(times) != padded  # one time for all of its samples
    if is_audio and values.shape[-1:] == (padded,):
        sample[name] = values[..., :steps]
    elif values.shape[:1] == (padded,):
        sample[name] = values[:steps]


def _shapes(values: Mapping[str, Any]) -> str:
    def describe(value: Any) -> str:
        if not hasattr(value, "shape"):
            return f"list[{len(value)}]"
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{dtype}[{', '.join(map(str, value.shape))}]"

    return "".join(f", {name}: {describe(value)}" for name, value in values.items())
