"""Notebooks: %load_ext tacho, then %%tacho above a cell: the cell runs recorded, and a summary stands below it."""
from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any, NoReturn

from . import _html, _native
from ._profile import profile


def _usage(message: str) -> NoReturn:
    """An error of the cell that is one line: the kernel goes on."""
    kind = getattr(sys.modules.get("IPython.core.error"), "UsageError", _native.TachoError)
    raise kind(f"%%tacho: {message}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _usage(f"{message}; it takes --timeline, --sort-by COLUMN, --row-limit N, --shapes, --memory, --stacks, --output FILE, --html FILE")


def _arguments() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%tacho", add_help=False, description="Record the cell.")
    parser.add_argument("--timeline", action="store_true", help="show the timeline below the cell")
    parser.add_argument("--sort-by", default=None, help="a column of the table of PyTorch's operators")
    parser.add_argument("--row-limit", type=int, default=20)
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--output", default=None, help="keep the report in this file")
    parser.add_argument("--html", default=None, help="write the timeline page to this file")
    return parser


def _show(text: str, markup: str) -> None:
    """HTML in a notebook, text elsewhere."""
    display = getattr(sys.modules.get("IPython.display"), "display", None)
    if display is None:
        print(text)
    else:
        display({"text/plain": text, "text/html": markup}, raw=True)


def _show_all(prof: profile, options: argparse.Namespace) -> None:
    summary = prof.summary()
    _show(summary, _html.lines(summary))
    rows = prof.key_averages(group_by_input_shape=options.shapes)
    by_device = "self_device_time_total" if any(row.self_device_time_total for row in rows) else "self_cpu_time_total"
    table = rows.table(sort_by=options.sort_by or by_device, row_limit=options.row_limit)
    if table:
        _show(table, _html.lines(table))
    if options.timeline:
        timeline = prof.timeline()
        _show(repr(timeline), timeline._repr_html_())
    if options.html:
        prof.export_html(options.html)


def load_ipython_extension(shell: Any) -> None:
    """Called by %load_ext tacho."""

    def tacho(line: str, cell: str) -> None:
        options = _arguments().parse_args(shlex.split(line))
        prof = profile(record_shapes=options.shapes, profile_memory=options.memory, with_stack=options.stacks, output=options.output)
        with prof:
            result = shell.run_cell(cell)  # shows the cell's value, or its error
        shell.user_ns["prof"] = prof
        _show_all(prof, options)
        error = getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None)
        if error is not None:
            _usage(f"the cell ended with {type(error).__name__}")

    shell.register_magic_function(tacho, magic_kind="cell", magic_name="tacho")
