"""What lies beside an Aria recording: results in CSV files, ground truth in other VRS files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from genlock.location import Location

COMPANIONS = ("depth_images.vrs", "segmentations.vrs")
"""Ground truth of Aria Digital Twin that belongs to the recording next to it."""
APART = ("depth_images_with_skeleton.vrs", "segmentations_with_skeleton.vrs", "synthetic_video.vrs")
"""Other renderings of the same, to be opened on their own."""
INSTANCES = "instances.json"
OWN = "mps_.*_vrs"
"""Names of folders that hold the results of one recording."""


@dataclass(frozen=True)
class AriaFolder:
    """A folder by what is in it.

    recordings: VRS files that are no ground truth. companions: ground truth of the only recording.
    instances: what its segmentations mean. results: folders to look for results in. doubtful:
    folders whose results may be those of another recording.
    """

    recordings: tuple[Location, ...] = ()
    companions: tuple[Location, ...] = ()
    instances: Location | None = None
    results: tuple[Location, ...] = ()
    doubtful: tuple[Location, ...] = ()

    @classmethod
    def of(cls, folder: Location) -> AriaFolder:
        """Everything in a folder."""
        names = listed(folder)
        files = [name for name in names if name.lower().endswith(".vrs")]
        recordings = [name for name in files if name not in (*COMPANIONS, *APART)]
        inner = [n for n in names if n.lower() == "mps" or re.fullmatch(OWN, n)]
        return cls(
            tuple(map(folder.child, recordings)),
            tuple(folder.child(name) for name in files if name in COMPANIONS),
            folder.child(INSTANCES) if INSTANCES in names else None,
            (*map(folder.child, inner), folder),
        )

    @classmethod
    def beside(cls, recording: Location) -> AriaFolder:
        """What belongs to one recording: its own results, and all else if it is alone there."""
        if recording.data is not None:
            return cls()
        found = cls.of(recording.parent)
        if recording.name in (*COMPANIONS, *APART):
            return cls(instances=found.instances)
        own, known = own_folder(recording), [own_folder(one) for one in found.recordings]
        alone = len(found.recordings) == 1
        shared = [one for one in found.results if alone and one not in found.owned]
        sure = [one for one in found.results if one.name == own] + shared
        doubtful = [one for one in found.results if one not in sure and one.name not in known]
        mine = found if alone else cls()
        return replace(mine, results=tuple(sure), doubtful=tuple(doubtful))

    @property
    def owned(self) -> list[Location]:
        """Folders of results that are named after a recording."""
        return [folder for folder in self.results if re.fullmatch(OWN, folder.name)]


def own_folder(recording: Location) -> str:
    """The folder that Aria's tools put the results of a recording in."""
    return f"mps_{recording.stem}_vrs"


def listed(folder: Location) -> list[str]:
    """Names in a folder; none where it cannot be listed, as over HTTP."""
    try:
        return folder.names()
    except (OSError, ValueError, NotImplementedError):
        return []
