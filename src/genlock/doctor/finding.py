"""`Finding`: one thing that looks wrong, how grave it is, where, and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from genlock.errors import GenlockError

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
Decode = Literal["none", "sample", "all"]


@dataclass(frozen=True)
class Finding:
    """What one check says.

    check: its name. severity: "error" (data is lost, unreadable or means something else than it
    says), "warning" (it probably hurts), "note" (worth knowing). problem, advice: a sentence each.
    recording, stream: where. time_ns: the first place in time, on the recording's clock, if any.
    count: how many rows or places it is about.
    """

    check: str
    severity: Severity
    problem: str
    advice: str
    stream: str | None = None
    time_ns: int | None = None
    count: int = 1
    recording: str | None = None

    @classmethod
    def of(cls, error: GenlockError, check: str) -> Finding:
        """An error that kept something from being read, as a finding."""
        advice = "see the message; without it the stream cannot be loaded"
        return cls(check, "error", error.message, advice, error.stream, error.time_ns)

    def at(self, recording: str) -> Finding:
        """The same finding, naming its recording."""
        return replace(self, recording=self.recording or recording)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        place = self.stream or "recording"
        time = "" if self.time_ns is None else f" from {self.time_ns} ns"
        return f"{self.severity}: {place}{time}: {self.problem}. {self.advice} [{self.check}]"


def counted(count: int, noun: str) -> str:
    """A number and what it counts: "1 gap", "2 gaps"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
