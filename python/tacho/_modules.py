"""Calls of torch's modules, told to the agent: so each operator, and what it launched, has its module.

nn.Module.__call__ is ours while anyone wants them. That costs about a microsecond a call, less than torch's own hooks, which could do the
same (bench/torch_live.py --modules). What torch.compile makes of a module does not have us in it: it sees __call__ as it was.
"""
from __future__ import annotations

import functools
import itertools
import sys
from typing import Any, Callable, Dict, Iterator, Optional

from . import _agent, _imports

_OUTERMOST = 2  # the value of Agent.modules while calls inside others are of no interest
_names: Dict[int, bytes] = {}
_counts: Dict[str, Iterator[int]] = {}
_plain: Optional[Callable[..., Any]] = None  # torch's own __call__, while ours is in its place


def _name(module: Any) -> bytes:
    """Class_N, as torch's traces have it: by class, numbered as they are first called. As there, a module that lies where one lay that is
    gone has that one's name."""
    kind = type(module).__name__
    number = next(_counts.setdefault(kind, itertools.count()))
    return _names.setdefault(id(module), f"{kind}_{number}".encode("utf-8", "replace"))


def _never() -> bool:
    return False


def _told(plain: Callable[..., Any], agent: _agent.Agent) -> Callable[..., Any]:
    begin, end, find, wanted = agent.module_begin, agent.module_end, _names.get, agent.modules
    is_compiling = getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", _never)

    is_inside = False

    @functools.wraps(plain)
    def __call__(self: Any, *arguments: Any, **keywords: Any) -> Any:
        nonlocal is_inside
        level = wanted.value
        if not level or (level == _OUTERMOST and is_inside) or is_compiling():
            return plain(self, *arguments, **keywords)
        call = begin(find(id(self)) or _name(self))
        before, is_inside = is_inside, True
        try:
            return plain(self, *arguments, **keywords)
        finally:
            is_inside = before
            if call:
                end(call)

    return __call__


def tell(agent: _agent.Agent, wanted: bool) -> None:
    """From now on, or no more; nothing happens where torch has not been imported."""
    global _plain
    module = getattr(sys.modules.get("torch.nn.modules.module"), "Module", None)
    if module is None or wanted == (_plain is not None):
        return
    if wanted:
        _plain = module.__call__
        setattr(module, "__call__", _told(module.__call__, agent))
    elif getattr(module.__call__, "__wrapped__", None) is _plain:  # else others have put theirs around it, and it stays
        setattr(module, "__call__", _plain)
        _plain = None


def install() -> None:
    """As soon as torch has been imported."""
    def hook(_: Any) -> None:
        agent = _agent.current()
        if agent is not None:
            tell(agent, True)

    _imports.when_imported("torch", hook)
