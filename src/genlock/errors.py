"""The error tree. Everything Genlock raises on purpose is a `GenlockError`.

GenlockError
├── OpenError               a recording cannot be opened: missing, unreadable, unknown, damaged
│   └── LimitError          it claims more memory than a stated limit allows
├── LayoutError             a recording.toml or an option says something that cannot be
├── StreamError             a stream that is not there, or not of the kind asked for
├── TimeUnitError           a file does not say the unit of its times
├── ClockError              streams on clocks that nothing relates
├── DecodeError             units of a stream cannot be decoded
├── FieldError              a field's options contradict each other or the stream
│   └── FieldNameError      a sample or batch holds no field of that name
├── WindowError             windows that cannot be made, or differ from what a state expects
├── StateError              a state that belongs to other windows, fields, seed or batch size
├── ClosedError             something closed is used
└── MissingExtraError       an optional dependency is absent
"""

from __future__ import annotations


class GenlockError(Exception):
    """Base of all errors, with the place they are about.

    Attributes
    ----------
    recording: path or URL of the recording or file, if known.
    stream: name of the stream, if known.
    time_ns: time on the recording's clock in ns, if known.
    """

    def __init__(
        self,
        message: str,
        *,
        recording: str | None = None,
        stream: str | None = None,
        time_ns: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.recording = recording
        self.stream = stream
        self.time_ns = time_ns

    def __str__(self) -> str:
        place = [
            f"{label} {value}"
            for label, value in (
                ("recording", self.recording),
                ("stream", self.stream and repr(self.stream)),
                ("time", None if self.time_ns is None else f"{self.time_ns} ns"),
            )
            if value is not None and str(value) not in self.message
        ]
        return f"{self.message} [{', '.join(place)}]" if place else self.message

    def __reduce__(self) -> tuple[object, ...]:
        place = {"recording": self.recording, "stream": self.stream, "time_ns": self.time_ns}
        return _rebuild, (type(self), self.message, place)


def _rebuild(kind: type[GenlockError], message: str, place: dict[str, object]) -> GenlockError:
    error = kind.__new__(kind)
    GenlockError.__init__(error, message)
    error.__dict__.update(place)
    return error


class OpenError(GenlockError):
    """A recording or one of its files cannot be opened."""


class LimitError(OpenError):
    """A file claims a size above a stated limit; nothing was allocated."""


class LayoutError(GenlockError, ValueError):
    """A recording.toml, or an option that overrides it, is wrong."""


class StreamError(GenlockError, KeyError):
    """A stream is not there, or is not of the kind asked for."""

    __str__ = GenlockError.__str__


class TimeUnitError(GenlockError, ValueError):
    """A file does not say in which unit its times are; the message holds the line to add."""


class ClockError(GenlockError, ValueError):
    """Streams on clocks that nothing relates are asked to be aligned."""


class DecodeError(GenlockError):
    """Units of a stream cannot be decoded."""


class FieldError(GenlockError, ValueError):
    """A field's options contradict each other or the stream."""


class FieldNameError(FieldError, KeyError):
    """A sample or batch holds no field of that name."""

    __str__ = GenlockError.__str__


class WindowError(GenlockError, ValueError):
    """Windows cannot be made as asked."""


class StateError(GenlockError, ValueError):
    """A saved state belongs to other windows, fields, seed or global batch size."""


class ClosedError(GenlockError, RuntimeError):
    """Something that was closed is used."""


class MissingExtraError(GenlockError, ImportError):
    """An optional dependency is absent; the message holds the line that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'genlock[{extra}]'")


class error_context:
    """Attach a place to any `GenlockError` that passes, and turn other failures into `DecodeError`.

    What an error already knows about its place is kept: the innermost context knows best.
    `KeyboardInterrupt`, `SystemExit` and `MemoryError` pass unchanged. Entered for every frame, so
    it is a class: a generator takes three times as long.
    """

    __slots__ = ("_place",)

    def __init__(
        self, recording: str | None = None, stream: str | None = None, time_ns: int | None = None
    ) -> None:
        self._place = recording, stream, time_ns

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        recording, stream, time_ns = self._place
        if isinstance(error, GenlockError):
            error.recording = error.recording or recording
            error.stream = error.stream or stream
            error.time_ns = time_ns if error.time_ns is None else error.time_ns
        elif isinstance(error, Exception) and not isinstance(error, MemoryError):
            message = f"{type(error).__name__}: {error}"
            raise DecodeError(
                message, recording=recording, stream=stream, time_ns=time_ns
            ) from error
