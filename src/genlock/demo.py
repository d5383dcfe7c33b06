"""`python -m genlock.demo`: load a recording, train a small model on it, say what it took.

Without `--data` it writes the sample recording first. It prints a table (windows/s, frames/s,
MB/s, CPU seconds, time to first batch, waiting, worst alignment error) and writes one picture.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn
from tqdm.auto import tqdm

from genlock import samples
from genlock._field import Field
from genlock.batch import Batch
from genlock.errors import FieldError, GenlockError, WindowError
from genlock.fields import Audio, Depth, Fields, Points, Pose, Sensor, Video
from genlock.loader import Loader
from genlock.notebook import plot
from genlock.recording import Recording
from genlock.recording import open as open_recording
from genlock.spans import Windows
from genlock.stream import Stream

WINDOW_S, STRIDE_S, BATCH = 1.0, 0.25, 4


def choose_fields(recording: Recording) -> dict[str, Field]:
    """Fields by the name of their stream, small enough for a demo: of each modality the first
    stream, and every sensor.

    Streams of one row, such as a map that is sent once, count only where there is nothing else.
    Raises FieldError if there is no stream to load.
    """
    streams = [s for s in recording.streams.values() if s.problem is None and len(s.timeline)]
    several = [stream for stream in streams if len(stream.timeline) > 1] or streams
    fields: dict[str, Field] = {}
    seen: set[str] = set()
    for stream in several:
        kind = stream.info.modality
        field = _small(stream) if kind == "sensor" or kind not in seen else None
        if field is not None:
            seen.add(kind)
            fields[stream.name] = field
    if not fields:
        raise FieldError(f"{recording.uri} has no stream to load", recording=recording.uri)
    return fields


def _small(stream: Stream) -> Field | None:
    """A field of a stream; None for labels, which are no tensor."""
    name, info = stream.name, stream.info
    match info.modality:
        case "video":
            return Video(name, rate=10, size=(64, 64))
        case "depth":
            return Depth(name, rate=10, size=(64, 64))
        case "audio":
            return Audio(name, rate=16_000, channels=1)
        case "sensor":
            return Sensor(name, rate=100, method="linear" if "float" in info.dtype else "nearest")
        case "pose":
            return Pose(name, rate=10, relative_to="first")
        case "points":
            columns = [c for c in ("x", "y", "z") if c in info.columns] or info.columns[:3]
            return Points(name, rate=10, columns=columns, max_points=1024)
        case _:
            return None


def target_name(fields: Fields) -> str:
    """The field that a model of these is to predict: the poses, else the first."""
    poses = (name for name, field in fields.items() if isinstance(field, Pose))
    return next(poses, next(iter(fields)))


class Model(nn.Module):
    """Predicts a field of a window from the others, or from itself where there is no other."""

    def __init__(self, batch: Batch, target: str) -> None:
        super().__init__()
        others = [name for name in batch if name != target and batch[name].numel()]
        self.inputs = others or [target]
        self.encoders = nn.ModuleList(nn.LazyLinear(32) for _ in self.inputs)
        self.head = nn.Sequential(nn.ReLU(), nn.LazyLinear(64), nn.ReLU(), nn.LazyLinear(70))

    def forward(self, batch: Batch) -> torch.Tensor:
        parts = []
        for name, encoder in zip(self.inputs, self.encoders, strict=True):
            scale = 255.0 if batch[name].dtype == torch.uint8 else 1.0
            flat = batch[name].float().flatten(1) / scale
            parts.append(encoder(flat))
        answer: torch.Tensor = self.head(torch.cat(parts, 1))
        return answer


def target_of(batch: Batch, target: str) -> torch.Tensor:
    """What the model is to predict, [B, 70]: the last values of the target, none above 1."""
    track = batch[target].float().flatten(1)[:, -70:]
    track = track / track.abs().amax().clamp(1)
    return nn.functional.pad(track, (0, 70 - track.shape[1]))


class AlignmentError:
    """Keeps the worst |source time - grid time| of each field, over valid entries."""

    def __init__(self) -> None:
        self.worst_ns: dict[str, int] = {}

    def add(self, batch: Batch) -> None:
        for name, times in batch.times.items():
            error = (batch.source_times[name] - times).abs()
            valid = batch.mask[name][:, : error.shape[1]]
            worst = int(error[valid].max()) if valid.any() else 0
            self.worst_ns[name] = max(self.worst_ns.get(name, 0), worst)


def train(windows: Windows, fields: Fields, epochs: int) -> None:
    """Train for some epochs and print the table."""
    worst, target = AlignmentError(), target_name(fields)
    model, optimiser, loss = None, None, torch.tensor(0.0)
    began, cpu = time.perf_counter(), time.process_time()
    first_batch_s = 0.0
    with Loader(windows, fields, batch_size=BATCH) as loader:
        with tqdm(total=epochs * len(loader), desc="training", unit="batch") as bar:
            for _ in range(epochs):
                for batch in loader:
                    first_batch_s = first_batch_s or time.perf_counter() - began
                    if model is None or optimiser is None:
                        model = Model(batch, target)
                        model(batch)
                        optimiser = torch.optim.Adam(model.parameters(), 1e-3)
                    loss = nn.functional.mse_loss(model(batch), target_of(batch, target))
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    worst.add(batch)
                    bar.set_postfix(loss=f"{loss.item():.4f}")
                    bar.update()
        elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
        stats = loader.stats()
    frames = sum(stage.items for stage in stats.stages if stage.name in ("video", "image"))
    _print(
        {
            "windows/s": f"{stats.windows / elapsed:.1f}",
            "frames/s": f"{frames / elapsed:.1f}",
            "MB/s": f"{stats.bytes / elapsed / 1e6:.1f}",
            "CPU seconds": f"{cpu:.2f} (of {elapsed:.2f} s)",
            "first batch after": f"{first_batch_s:.3f} s",
            "step waited for data": f"{stats.waited_s:.2f} s ({stats.waited_s / elapsed:.0%})",
            **{f"worst alignment, {n}": f"{ns / 1e6:.3f} ms" for n, ns in worst.worst_ns.items()},
        }
    )
    print(stats)


def _print(rows: Mapping[str, str]) -> None:
    width = max(map(len, rows))
    print("\n".join(f"  {name:<{width}}  {value}" for name, value in rows.items()))


def main(argv: list[str] | None = None) -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="genlock demo", description=__doc__)
    parser.add_argument("--data", help="your own recording (default: a sample that is written)")
    parser.add_argument("--out", default="out", help="folder for the picture")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args(argv)
    path = options.data or samples.sample_folder(progress=True)
    with open_recording(path) as recording:
        print(recording)
        fields = choose_fields(recording)
        windows = Windows(
            recording,
            duration=WINDOW_S,
            stride=STRIDE_S,
            over=[field.stream for field in fields.values()],
            shuffle=True,
        )
        print(windows)
        if not len(windows):
            _, start_ns, end_ns = recording.opened.span(f.stream for f in fields.values())
            raise WindowError(
                f"{recording.uri}: its streams share {(end_ns - start_ns) / 1e9:g} s, "
                f"less than one window of {WINDOW_S:g} s; give the demo a longer recording",
                recording=recording.uri,
            )
        train(windows, fields, options.epochs)
        picture = Path(options.out) / "demo.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        first = windows[len(windows) // 2]
        plot(recording.read(fields, first.start_ns, WINDOW_S)).savefig(picture, dpi=110)
    print(f"picture: {picture.resolve()}")


if __name__ == "__main__":
    try:
        main()
    except GenlockError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(3)  # as `genlock demo`
