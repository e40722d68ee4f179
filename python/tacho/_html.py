"""Small HTML for notebooks: a table with its first rows. Colours are the page's own, so it is readable in a light and in a dark theme."""
from __future__ import annotations

import html
from typing import Any, Iterable, List, Sequence

ROWS = 20  # that are shown

_CELL = "padding:2px 10px;border-bottom:1px solid rgba(128,128,128,.3);white-space:nowrap;font-variant-numeric:tabular-nums;"


def text(value: Any) -> str:
    """A value, or nothing for None, as HTML."""
    return "" if value is None else html.escape(str(value))


def _cells(tag: str, values: Iterable[Any], is_number: Sequence[bool]) -> str:
    return "".join(f'<{tag} style="{_CELL}text-align:{"right" if right else "left"}">{text(value)}</{tag}>' for value, right in zip(values, is_number))


def table(names: List[str], rows: Sequence[Sequence[Any]], total: int, title: str = "") -> str:
    """The rows given, of `total`."""
    is_number = [all(isinstance(row[i], (int, float, type(None))) for row in rows) and bool(rows) for i in range(len(names))]
    head = "<tr>" + _cells("th", names, is_number) + "</tr>"
    body = "".join("<tr>" + _cells("td", row, is_number) + "</tr>" for row in rows)
    shown = f"{len(rows)} of {total:,} rows" if len(rows) < total else f"{total:,} row" + "s" * (total != 1)
    return (f'<div class="tacho" style="overflow-x:auto;max-width:100%">{f"<b>{text(title)}</b>" if title else ""}'
            f'<table style="border-collapse:collapse;font-size:90%"><thead>{head}</thead><tbody>{body}</tbody></table>'
            f'<div style="opacity:.7;font-size:85%">{shown}</div></div>')


class Timeline:
    """The timeline, which a notebook shows below the cell: a page in a frame of its own."""

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def __repr__(self) -> str:
        return "<tacho timeline; a notebook shows it>"

    def _repr_html_(self) -> str:
        return (f'<iframe class="tacho" srcdoc="{html.escape(self.page)}" height="{self.height}" '
                'style="width:100%;border:1px solid rgba(128,128,128,.3)"></iframe>')


def lines(content: str) -> str:
    """Text as a terminal shows it."""
    return f'<pre class="tacho" style="overflow-x:auto;line-height:1.3">{text(content)}</pre>'
