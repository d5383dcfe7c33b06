"""TUM RGB-D sequences: pictures and depth with lists of their times, a trajectory, accelerations.

Format: "File Formats" of the RGB-D SLAM data set and benchmark (Sturm et al., IROS 2012). Times are
decimal seconds, read as text and never through a float. docs/formats/tum.md says what becomes which
stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genlock._checked import Place
from genlock.declaration import TimeRule
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._assembled import Assembly
from genlock.stream import Modality
from genlock.tables.files import open_table
from genlock.tables.names import POSE, read_columns
from genlock.tables.rows import read_stamps

CLOCK = "tum"
PICTURES: Mapping[str, tuple[Modality, Mapping[str, Any]]] = {
    "rgb": ("video", {}),
    "depth": ("depth", {"depth": {"encoding": "tum5000"}}),
}
"""Lists of files and their times, by stream, and how their files are read."""
TABLES: Mapping[str, tuple[Modality, tuple[str, ...]]] = {
    "groundtruth": ("pose", ("timestamp", *POSE)),
    "accelerometer": ("sensor", ("timestamp", "ax", "ay", "az")),
}
"""Tables, by stream, and their columns where the file does not name them."""
UNITS = {"accelerometer": dict.fromkeys(("ax", "ay", "az"), "m/s^2")}


def claims(location: Location, head: bytes) -> bool:
    """A folder with a list of pictures, rgb.txt or depth.txt, beside the folder that it lists."""
    return location.is_folder() and any(
        location.child(f"{name}.txt").exists() and location.child(name).is_folder()
        for name in PICTURES
    )


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open the sequence; only tables and the first pictures' headers are read.

    A file that is missing leaves its stream out; a damaged one makes it a stream with a problem.
    Raises OpenError if nothing can be read.
    """
    with Assembly(location, CLOCK, options, open_child) as assembly:
        for name, (modality, reading) in PICTURES.items():
            if location.child(f"{name}.txt").exists():
                _add_pictures(assembly, name, modality, reading)
        for name, (modality, names) in TABLES.items():
            if location.child(f"{name}.txt").exists():
                _add_table(assembly, name, modality, names)
        return assembly.source()


def _add_pictures(
    assembly: Assembly, name: str, modality: Modality, reading: Mapping[str, Any]
) -> None:
    listing = assembly.location.child(f"{name}.txt")
    place = Place(listing.uri, ("streams", name, "time"))
    with assembly.reading(name, modality, listing):
        table = open_table(listing, ("timestamp", "filename"))
        time, file, *_ = read_columns(table.headers)
        stamps = read_stamps(listing.uri, table, time, TimeRule(unit="s"), place)
        files = [str(file) for file in table.values([file.index])[0].tolist()]
        listed = {**reading, "files": files, "time": {"ns": stamps}}
        assembly.add(assembly.file(name, modality, assembly.location, listed))


def _add_table(assembly: Assembly, name: str, modality: Modality, names: tuple[str, ...]) -> None:
    file = assembly.location.child(f"{name}.txt")
    with assembly.reading(name, modality, file):
        headers = open_table(file, names).headers
        reading: dict[str, Any] = {"time": {"column": read_columns(headers)[0].name, "unit": "s"}}
        if headers == names:
            reading["columns"] = list(names)
        frames = ("world", "rgb") if modality == "pose" else None
        part = assembly.file(name, modality, file, reading)
        assembly.add(part, frames=frames, units=UNITS.get(name))
