"""Small HTML for notebooks: a table with its first rows. Colours are the page's own, so it is readable in a light and in a dark theme."""
from __future__ import annotations

import base64
import html
import os
import tempfile
from typing import Any, Iterable, List, Sequence

from . import _native

ROWS = 20  # that are shown

_STYLE = ("<style>.tacho{overflow-x:auto;max-width:100%}.tacho table{border-collapse:collapse;font-size:90%}"
          ".tacho th,.tacho td{padding:2px 10px;border-bottom:1px solid rgba(128,128,128,.3);white-space:nowrap;text-align:left}"
          ".tacho .n{text-align:right;font-variant-numeric:tabular-nums}.tacho p{opacity:.7;font-size:85%;margin:2px 0}</style>")


def text(value: Any) -> str:
    """A value, or nothing for None, as HTML."""
    return "" if value is None else html.escape(str(value))


def _cells(tag: str, values: Iterable[Any], is_number: Sequence[bool]) -> str:
    return "".join(f'<{tag}{" class=n" if right else ""}>{text(value)}</{tag}>' for value, right in zip(values, is_number))


def table(names: List[str], rows: Sequence[Sequence[Any]], total: int, title: str = "") -> str:
    """The rows given, of `total`."""
    is_number = [all(isinstance(row[i], (int, float, type(None))) for row in rows) and bool(rows) for i in range(len(names))]
    head = "<tr>" + _cells("th", names, is_number) + "</tr>"
    body = "".join("<tr>" + _cells("td", row, is_number) + "</tr>" for row in rows)
    shown = f"{len(rows)} of {total:,} rows" if len(rows) < total else f"{total:,} row" + "s" * (total != 1)
    heading = f"<b>{text(title)}</b>" if title else ""
    return f'{_STYLE}<div class="tacho">{heading}<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{shown}</p></div>'


class Timeline:
    """The timeline, which a notebook shows below the cell: a page in a frame of its own."""

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def __repr__(self) -> str:
        return "<tacho timeline; a notebook shows it>"

    def _repr_html_(self) -> str:
        # Not srcdoc: the page keeps its place in its address, which a document without one cannot change.
        address = "data:text/html;charset=utf-8;base64," + base64.b64encode(self.page.encode()).decode()
        return f'<iframe class="tacho" src="{address}" height="{self.height}" style="width:100%;border:1px solid rgba(128,128,128,.3)"></iframe>'


def timeline_of(words: List[str], height: int) -> Timeline:
    """The page that `tacho export` writes with these words."""
    with tempfile.TemporaryDirectory(prefix="tacho-") as folder:
        path = os.path.join(folder, "timeline.html")
        _native.run(["export", "--type", "html", "-q", "-o", path, *words])
        with open(path, encoding="utf-8") as file:
            return Timeline(file.read(), height)


def lines(content: str) -> str:
    """Text as a terminal shows it."""
    return f'<pre class="tacho" style="overflow-x:auto;line-height:1.3">{text(content)}</pre>'
