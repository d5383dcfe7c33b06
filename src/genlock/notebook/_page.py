"""Small pieces of HTML and SVG, and the frame that keeps them apart from the notebook's own."""

from __future__ import annotations

from html import escape
from importlib import resources

DROPPED = "This view has a script of its own. Trust the notebook, or run the cell again, to see it."


def asset(name: str) -> str:
    """A style sheet or script of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def element(tag: str, content: str = "", /, **attributes: object) -> str:
    """An element with escaped attributes; a trailing or inner `_` of a name stands for `-`."""
    named = (
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value), quote=True)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{''.join(named)}>{content}</{tag}>"


def tip(text: str) -> str:
    """What shows when the pointer rests on the SVG element that holds it."""
    return element("title", escape(text))


def page(title: str, body: str, style: str, script: str = "") -> str:
    """A whole document that needs nothing else: styles and script are inside."""
    head = element("title", escape(title)) + element("style", style)
    # Without an icon of its own a page asks its host for one.
    icon = '<meta charset="utf-8"><link rel="icon" href="data:,">'
    code = element("script", script) if script else ""
    return (
        f"<!doctype html><html lang='en'><head>{icon}{head}</head><body>{body}{code}</body></html>"
    )


def framed(document: str, height: int) -> str:
    """A document inside a frame of its own: its styles, ids and script meet nobody else's.

    A notebook that is not trusted drops the frame and keeps the words inside.
    """
    return element(
        "iframe",
        DROPPED,
        srcdoc=document,
        style=f"width:100%;height:{height}px;border:0",
        allow="autoplay",
    )
