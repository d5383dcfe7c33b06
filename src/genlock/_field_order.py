"""Which fields take their times from others, and so in which order they are planned."""

from __future__ import annotations

from collections.abc import Mapping

from genlock._field import Field, GridField
from genlock.errors import FieldError
from genlock.fields import Fields, Pose


def check_fields(fields: Fields) -> list[str]:
    """Order names so that each `at=` follows the field it names.

    Raises FieldError for anything but a mapping of names to fields, an unknown `at` and circles.
    """
    if not isinstance(fields, Mapping):
        raise FieldError(f"fields are given by name, {{'x': field}}, not as {fields!r:.80}")
    ordered: list[str] = []
    pending = dict(fields)
    for name, field in pending.items():
        if not isinstance(field, Field):
            raise FieldError(f"field {name!r} is a {type(field).__name__}, not a genlock field")
        at = getattr(field, "at", None)
        if at is not None and not isinstance(fields.get(at), GridField):
            raise FieldError(f"field {name!r}: at={at!r} names no field with rows")
    for name, field in fields.items():
        other = field.reference if isinstance(field, Pose) else None
        if other is not None and (other == name or not isinstance(fields.get(other), Pose)):
            raise FieldError(
                f"field {name!r}: relative_to={other!r} is not 'first', 'previous' or another "
                "Pose field"
            )
    while pending:
        ready = [n for n, f in pending.items() if getattr(f, "at", None) in (None, *ordered)]
        if not ready:
            raise FieldError(f"the at= of {', '.join(map(repr, pending))} go in a circle")
        ordered += ready
        for name in ready:
            del pending[name]
    return ordered
