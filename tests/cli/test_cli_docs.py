"""The examples in docs/cli.md are what the program prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from genlock import doctor
from genlock.cli import app

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
EXAMPLES = re.findall(r"```console\n\$ genlock (.+)\n((?:.*\n)*?)```", DOCS.read_text("utf-8"))


@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_examples_are_true(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, output: str
) -> None:
    (tmp_path / "session").symlink_to(sample)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert result.stdout == output


def test_there_are_examples_of_the_main_commands() -> None:
    assert {command.split()[0] for command, _ in EXAMPLES} == {"info", "check", "preview"}


def test_every_check_is_told_of() -> None:
    sources = Path(doctor.__file__).parent.glob("*.py")
    code = "".join(source.read_text("utf-8") for source in sources)
    names = set(re.findall(r'Finding(?:\.of)?\((?:error, )?"([a-z-]+)"', code))
    told = set(re.findall(r"`([a-z-]+)`", DOCS.read_text("utf-8").split("| check |")[1]))
    assert len(names) > 15
    assert names <= told
