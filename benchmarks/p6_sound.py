"""P6: windows of sound, and of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, faster

TITLE = "random windows: 1 s of sound to float32 [C, N]; tables of 400x6 at 200 Hz from 800 Hz"
UNIT = "windows"
SECONDS = 300
RATE = 48_000
BATCH = 32


def prepare(quick: bool) -> dict[str, str]:
    wav = inputs.made("sound.wav", lambda path: inputs.wave(path, SECONDS))
    coded = {
        suffix: inputs.made(
            f"sound.{suffix}",
            lambda path, codec=codec, box=box: inputs.coded_sound(path, wav, codec, box),  # type: ignore[misc]
        )
        for suffix, codec, box in (("mp3", "libmp3lame", "mp3"), ("m4a", "aac", "mp4"))
    }
    tables = str(inputs.recordings(1, 60)[0])
    return {"wav": str(wav), **{k: str(v) for k, v in coded.items()}, "imu": tables}


def starts(path: str, count: int = 20_000, seconds: float = SECONDS) -> list[tuple[str, float]]:
    drawn = np.random.default_rng(0).uniform(1, seconds - 3, count)
    return [(path, float(t)) for t in drawn]


def genlock(kind: str) -> Callable[..., Batches]:
    def run(work: dict[str, str], extra: dict[str, float]) -> Batches:
        import genlock as gl

        table = [(path, round(t * 1e9), 1.0) for path, t in starts(work[kind])]
        fields = {"audio": gl.Audio("audio")}
        with gl.Loader(gl.Windows.at(table), fields, batch_size=BATCH, threads=1) as loader:
            for batch in loader:
                yield len(batch.windows), None

    return run


def tables(work: dict[str, str], extra: dict[str, float]) -> Batches:
    import genlock as gl

    clips = starts(work["imu"], 60_000, 57)
    table = [(path, round(t * 1e9), 2.0) for path, t in clips]
    fields = {"imu": gl.Sensor("imu", rate=200)}
    with gl.Loader(gl.Windows.at(table), fields, batch_size=BATCH) as loader:
        for batch in loader:
            yield len(batch.windows), None


def soundfile(work: dict[str, str]) -> Batches:
    import soundfile

    with soundfile.SoundFile(work["wav"]) as file:

        def read(clip: tuple[str, float]) -> Any:
            file.seek(round(clip[1] * RATE))
            return file.read(RATE, "float32", always_2d=True).T

        yield from peers.batched(map(read, starts(work["wav"])))


def pyav(work: dict[str, str], kind: str) -> Batches:
    """A seek for each window, decoding up to its end."""
    import av

    with av.open(work[kind]) as container:
        stream = container.streams.audio[0]

        def read(clip: tuple[str, float]) -> Any:
            container.seek(int((clip[1] - 0.1) / stream.time_base), stream=stream)
            parts = []
            for frame in container.decode(stream):
                if frame.time + frame.samples / RATE > clip[1]:
                    parts.append(frame.to_ndarray())
                if sum(part.shape[-1] for part in parts) >= RATE + 2048:
                    break
            return np.concatenate(parts, axis=-1)[:, :RATE]

        yield from peers.batched(map(read, starts(work[kind])))


CONTESTANTS = {
    "genlock, WAV": genlock("wav"),
    "soundfile, WAV": lambda work, _: soundfile(work),
    "genlock, MP3": genlock("mp3"),
    "PyAV, MP3": lambda work, _: pyav(work, "mp3"),
    "genlock, AAC": genlock("m4a"),
    "PyAV, AAC": lambda work, _: pyav(work, "m4a"),
    "genlock, tables": tables,
}
GOALS = [
    ("WAV 3x soundfile", faster("genlock, WAV", "soundfile, WAV"), 3.0),
    ("MP3 3x PyAV", faster("genlock, MP3", "PyAV, MP3"), 3.0),
    ("AAC 3x PyAV", faster("genlock, AAC", "PyAV, AAC"), 3.0),
    (
        "thousand table windows a minute",
        lambda results: results["genlock, tables"].rate * 0.06,
        300.0,
    ),
]
