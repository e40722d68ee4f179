"""Calls something when a module has been imported, without importing it: a finder that lets the others find, and adds to the end of
what their loaders do. It must cost other imports nothing but a look into a dictionary, and never fail one.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence

Hook = Callable[[ModuleType], None]


def _call(hooks: List[Hook], module: ModuleType) -> None:
    for hook in hooks:
        try:
            hook(module)
        except Exception as error:  # pylint: disable=broad-except
            print(f"tacho: cannot instrument {module.__name__}: {error}", file=sys.stderr)


class _Loader(importlib.abc.Loader):
    """The loader that was found, and the hooks behind it. All else that is asked of it the other one answers."""

    def __init__(self, loader: Any, hooks: List[Hook]) -> None:
        self._loader, self._hooks = loader, hooks

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        module: Optional[ModuleType] = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The module is to have the loader that it would have had.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _call(self._hooks, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class Finder(importlib.abc.MetaPathFinder):
    """The one finder of ours."""

    def __init__(self) -> None:
        self.hooks: Dict[str, List[Hook]] = {}
        self._busy = threading.local()

    def find_spec(self, fullname: str, path: Optional[Sequence[str]],
                  target: Optional[ModuleType] = None) -> Optional[importlib.machinery.ModuleSpec]:
        """What the other finders find, if anyone waits for it."""
        if fullname not in self.hooks or getattr(self._busy, "name", None) == fullname:
            return None
        self._busy.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._busy.name = None
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self.hooks[fullname])
        return spec


_finder = Finder()


def when_imported(name: str, hook: Hook) -> None:
    """Calls hook(module) after the import of a module, at once if that is over."""
    module = sys.modules.get(name)
    if module is not None:
        _call([hook], module)
        return
    _finder.hooks.setdefault(name, []).append(hook)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def find(name: str) -> Optional[importlib.machinery.ModuleSpec]:
    """For an import that had begun before our finder was there."""
    return _finder.find_spec(name, None)
