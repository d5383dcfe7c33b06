"""The code in the documentation runs as it stands, page by page, beside a sample recording.

A block of Python with a title is another library's, or needs data that the title names: it is
compiled only. Blocks with a prompt are doctests.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import genlock

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(
    r"^( *)```python(?P<title> title=\"[^\"]+\")?\n(?P<code>.*?)^\1```$", re.M | re.S
)
PROMPT = ">>>"


def blocks(page: Path) -> Iterator[tuple[CodeType, bool]]:
    """The blocks of a page, compiled so that errors name its lines; and whether each is to run."""
    text = page.read_text()
    for block in BLOCK.finditer(text):
        if PROMPT in block["code"]:
            continue
        tree = ast.parse(block["code"], str(page))
        ast.increment_lineno(tree, text.count("\n", 0, block.start("code")))
        yield compile(tree, str(page), "exec"), block["title"] is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_a_page_runs(
    page: Path, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "session").symlink_to(sample)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace: dict[str, Any] = {"gl": genlock, "__name__": "page"}
    for code, runs in blocks(page):
        if runs:
            exec(code, namespace)
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert tried == page.read_text().count(f"\n{PROMPT} ")


def test_every_block_is_seen() -> None:
    """No fence of Python is written in a way that the expression above passes over."""
    for page in PAGES:
        text = page.read_text()
        assert len(BLOCK.findall(text)) == len(re.findall(r"^ *```+ ?\{?\.?py", text, re.M)), page


def test_every_public_name_is_in_the_reference() -> None:
    listed = set(re.findall(r"^::: genlock\.(\w+)$", (DOCS / "reference.md").read_text(), re.M))
    assert listed >= {*genlock.__all__, "doctor", "notebook", "samples"}


def test_the_site_lists_every_page() -> None:
    listed = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_links_of_the_readme_lead_somewhere() -> None:
    linked = re.findall(r"\]\(([^):#]+)\)", (ROOT / "README.md").read_text())
    assert len(linked) > 10
    assert [target for target in linked if not (ROOT / target).exists()] == []
