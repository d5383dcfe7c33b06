"""The demo on recordings that nobody made for it: names, kinds and streams as they come."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import genlock as gl
from genlock import demo, samples

HEADER = '[recording]\nclock = "device"\n'


def stream(name: str, kind: str, path: str, rest: str = "") -> str:
    time = 'time = { column = "t", unit = "ms" }'
    return f'[streams."{name}"]\nkind = "{kind}"\npath = "{path}"\n{time}\n{rest}\n'


def rows(columns: int, count: int = 300, step_ms: int = 10) -> str:
    names = ",".join(["t", *(f"c{i}" for i in range(columns))])
    values = (",".join(str((i * (k + 3)) % 11) for k in range(columns)) for i in range(count))
    return names + "\n" + "".join(f"{i * step_ms},{v}\n" for i, v in enumerate(values))


def poses(count: int = 300) -> str:
    lines = (f"{i * 10},{i / 100},0,0,0,0,0,1" for i in range(count))
    return "t,tx,ty,tz,qx,qy,qz,qw\n" + "\n".join(lines) + "\n"


def write(folder: Path, tables: dict[str, str], *streams: str) -> Path:
    for name, text in tables.items():
        (folder / name).write_text(text)
    (folder / "recording.toml").write_text(HEADER + "".join(streams))
    return folder


def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    demo.main(["--data", str(folder), "--out", str(folder / "out"), "--epochs", "1"])
    assert (folder / "out" / "demo.png").is_file()
    return capsys.readouterr().out


def test_the_first_stream_of_each_modality_by_its_own_name(sample: Path) -> None:
    with gl.open(sample) as recording:
        fields = demo.choose_fields(recording)
    assert set(fields) == set(samples.TRACKS) - {"labels"}
    assert all(field.stream == name for name, field in fields.items())


def test_names_that_modules_of_torch_cannot_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As those of LeRobot; and a sensor that is called as another modality is."""
    folder = write(
        tmp_path,
        {"a.csv": rows(3), "b.csv": rows(2), "p.csv": poses()},
        stream("observation.state", "sensor", "a.csv"),
        stream("pose", "sensor", "b.csv"),
        stream("head/track", "pose", "p.csv"),
    )
    with gl.open(folder) as recording:
        fields = demo.choose_fields(recording)
    assert {name: type(field) for name, field in fields.items()} == {
        "observation.state": gl.Sensor,
        "pose": gl.Sensor,
        "head/track": gl.Pose,
    }
    assert demo.target_name(fields) == "head/track"
    told = run(folder, capsys)
    assert "worst alignment, observation.state" in told


def test_integers_are_not_interpolated(tmp_path: Path) -> None:
    folder = write(tmp_path, {"a.csv": rows(1, step_ms=7)}, stream("ids", "sensor", "a.csv"))
    with gl.open(folder) as recording:
        (field,) = demo.choose_fields(recording).values()
        values = recording.read({"ids": field}, 0, 1.0)["ids"]
    assert field.method == "nearest"  # type: ignore[attr-defined]
    assert (values == values.round()).all()


def test_a_stream_of_one_row_does_not_shorten_the_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(
        tmp_path,
        {"a.csv": rows(2), "b.csv": rows(2, count=1)},
        stream("imu", "sensor", "a.csv"),
        stream("map", "sensor", "b.csv"),
    )
    with gl.open(folder) as recording:
        assert list(demo.choose_fields(recording)) == ["imu"]
    assert "windows/s" in run(folder, capsys)


def test_poses_alone_predict_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, {"p.csv": poses()}, stream("track", "pose", "p.csv"))
    assert "worst alignment, track" in run(folder, capsys)


def test_the_target_is_the_last_values_of_its_field() -> None:
    batch = {"x": torch.arange(160.0).reshape(2, 80), "y": torch.full((2, 3), 0.5)}
    target = demo.target_of(batch, "x")  # type: ignore[arg-type]
    assert torch.equal(target, torch.stack([torch.arange(10.0, 80), torch.arange(90.0, 160)]) / 159)
    target = demo.target_of(batch, "y")  # type: ignore[arg-type]
    assert torch.equal(target[:, :3], batch["y"])
    assert not target[:, 3:].any()
