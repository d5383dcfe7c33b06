"""What `import genlock` offers: every public name, and nothing by accident."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types

import genlock as gl


def test_all_is_sorted_and_complete() -> None:
    public = {
        name
        for name, value in vars(gl).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert set(gl.__all__) == public
    assert gl.__all__ == sorted(gl.__all__)


def test_every_public_name_is_documented() -> None:
    for name in gl.__all__:
        value = getattr(gl, name)
        assert inspect.getdoc(value), name
        if inspect.isclass(value):
            for member, method in vars(value).items():
                if inspect.isfunction(method) and not member.startswith("_"):
                    assert inspect.getdoc(getattr(value, member)), f"{name}.{member}"


def test_errors_form_one_tree() -> None:
    errors = [getattr(gl, name) for name in gl.__all__ if name.endswith("Error")]
    assert len(errors) > 10
    assert all(issubclass(error, gl.GenlockError) for error in errors)


def test_importing_starts_no_thread_and_loads_no_reader() -> None:
    script = (
        "import threading, sys; before = threading.active_count(); import genlock;"
        "assert threading.active_count() == before;"
        "print([m for m in ('matplotlib', 'soundfile', 'pyvrs', 'mcap') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
