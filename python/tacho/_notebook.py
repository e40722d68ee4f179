"""Notebooks: %load_ext tacho, then %%tacho above a cell: the cell runs recorded, and its table stands below it."""
from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any, NoReturn

from . import _native
from ._profile import profile


class _Parser(argparse.ArgumentParser):
    """Words that it does not know are an error of the cell: the kernel goes on."""

    def error(self, message: str) -> NoReturn:
        kind = getattr(sys.modules.get("IPython.core.error"), "UsageError", _native.TachoError)
        raise kind(f"%%tacho: {message}; it takes --sort-by COLUMN, --row-limit N, --shapes, --memory, --stacks, --output FILE, --html FILE")


def _arguments() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%tacho", add_help=False, description="Record the cell.")
    parser.add_argument("--sort-by", default=None)
    parser.add_argument("--row-limit", type=int, default=20)
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--output", default=None, help="keep the report in this file")
    parser.add_argument("--html", default=None, help="write the timeline page to this file")
    return parser


def load_ipython_extension(shell: Any) -> None:
    """Called by %load_ext tacho."""

    def tacho(line: str, cell: str) -> Any:
        options = _arguments().parse_args(shlex.split(line))
        prof = profile(record_shapes=options.shapes, profile_memory=options.memory, with_stack=options.stacks, output=options.output)
        with prof:
            result = shell.run_cell(cell)
        table = prof.key_averages(group_by_input_shape=options.shapes).table(sort_by=options.sort_by, row_limit=options.row_limit)
        print(table or f"No PyTorch operators were recorded; the report is {prof.report()}")
        if options.html:
            prof.export_html(options.html)
        shell.user_ns["prof"] = prof
        return result.result

    shell.register_magic_function(tacho, magic_kind="cell", magic_name="tacho")
