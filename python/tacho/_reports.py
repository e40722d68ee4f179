"""The reports of a job as one, and workers of any concurrent.futures executor that share the reading of them.

A worker runs `tacho stats --share=K/N`, which leaves its share in a folder; `--share=merge/N` here puts the shares together, and computes
those that did not come. The rows are those that one process makes.
"""
from __future__ import annotations

import glob
import os
import shutil
import tempfile
import warnings
from typing import Any, Iterable, List, Optional, Union

from . import _native
from ._report import Report, _rows
from ._table import Table, of_rows

Path = Union[str, "os.PathLike[str]"]


def _make_share(words: List[str]) -> None:
    """What a worker does; it may be on another host."""
    _native.run(words)


class Reports:
    """The reports of a folder, of a pattern or of several files, which `tacho` reads as one."""

    def __init__(self, *paths: Path) -> None:
        if not paths:
            raise TypeError("Reports() takes a folder, a pattern or files")
        self.paths = [os.path.abspath(os.fspath(path)) for path in paths]
        for path in self.paths:
            if not os.path.exists(path) and not glob.has_magic(path):
                raise _native.TachoError(f"cannot open {path}: there is no such file or folder")

    def __repr__(self) -> str:
        return f"<tacho.Reports {', '.join(self.paths)}>"

    def stats(self, name: str, *options: str, executor: Any = None, shares: Optional[int] = None, folder: Optional[Path] = None) -> Table:
        """A report of `tacho stats` over all files. With an executor, of which submit() alone is used, its workers read `shares` parts of
        them, as many as this machine has CPUs by default; `folder` is one that all of them can write to, by default beside the reports."""
        words = ["stats", "-q", "-r", name, "--format", "json", *options]
        if executor is None:
            return of_rows(name, _rows(_native.run([*words, *self.paths])), list)
        count = max(1, shares if shares is not None else os.cpu_count() or 1)
        beside = self.paths[0] if os.path.isdir(self.paths[0]) else os.path.dirname(self.paths[0])
        try:
            place = tempfile.mkdtemp(prefix=".tacho-share-", dir=os.path.abspath(os.fspath(folder)) if folder is not None else beside)
        except OSError as error:
            raise _native.TachoError(f"cannot make a folder for the shares: {error}; name one that all workers can write to: folder=…") from error
        try:
            words += ["--share-folder", place]
            self._make_shares(executor, count, words)
            return of_rows(name, _rows(_native.run([*words, f"--share=merge/{count}", *self.paths])), list)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _make_shares(self, executor: Any, count: int, words: List[str]) -> None:
        """Shares that fail are named; they are computed by the one who merges."""
        futures = []
        for number in range(count):
            try:
                futures.append((number, executor.submit(_make_share, [*words, f"--share={number}/{count}", *self.paths])))
            except Exception as error:  # pylint: disable=broad-except  # each executor has its own
                self._tell(number, count, error)
        for number, future in futures:
            try:
                future.result()
            except Exception as error:  # pylint: disable=broad-except
                self._tell(number, count, error)

    @staticmethod
    def _tell(number: int, count: int, error: BaseException) -> None:
        warnings.warn(f"tacho: share {number} of {count} is computed here: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=4)

    def to_parquet(self, folder: Path, tables: Optional[Iterable[str]] = None) -> List[str]:
        """Writes each table, or each of these, with the rows of all files and their rank and host, into NAME.parquet of the folder, with
        pyarrow. The paths of the files."""
        with tempfile.TemporaryDirectory(prefix="tacho-") as place:
            merged = os.path.join(place, "merged.tacho")
            _native.run(["merge", "-o", merged, *self.paths])
            with Report(merged) as report:
                return report.to_parquet(folder, tables)
