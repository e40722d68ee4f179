"""Ranges and marks of the program's own: NVTX-like, through the agent. Without a capture they cost a look and a branch."""
from __future__ import annotations

import functools
import sys
from types import TracebackType
from typing import Any, Callable, Optional, Type, TypeVar

from . import _agent

F = TypeVar("F", bound=Callable[..., Any])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\0", b"")


class range:  # pylint: disable=redefined-builtin,invalid-name
    """A range with a name on this thread: `with tacho.range("load"):`, or `@tacho.range()` over a function, whose name it takes."""

    __slots__ = ("name", "_text")

    def __init__(self, name: Optional[str] = None) -> None:
        self.name = name
        self._text: Optional[bytes] = None

    def __enter__(self) -> "range":
        agent = _agent.current()
        if agent is not None:
            if self._text is None:
                self._text = _bytes(self.name or "range")
            agent.push(self._text)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        agent = _agent.current()
        if agent is not None:  # one that came in between has no range to end, and ends none
            agent.pop()

    def __call__(self, function: F) -> F:
        return around(function, self.name or str(getattr(function, "__qualname__", "range")))


def around(function: F, name: Optional[str]) -> F:
    """The function, each call of it a range; one without a name is called like the class of its first argument."""
    text = _bytes(name) if name is not None else None

    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        agent = _agent.current()
        if agent is None:
            return function(*arguments, **keywords)
        agent.push(text if text is not None else _bytes(type(arguments[0]).__name__))
        try:
            return function(*arguments, **keywords)
        finally:
            agent.pop()

    return wrapper  # type: ignore[return-value]


def mark(text: str) -> None:
    """A moment with a name."""
    agent = _agent.current()
    if agent is not None:
        agent.mark(_bytes(text))


def push(text: str) -> None:
    """Begins a range that pop() ends."""
    agent = _agent.current()
    if agent is not None:
        agent.push(_bytes(text))


def pop() -> None:
    """Ends the innermost range of push() on this thread."""
    agent = _agent.current()
    if agent is not None:
        agent.pop()


def torch_record_function() -> Optional[Callable[..., Any]]:
    """torch's own, which operators nest in, if the program has imported torch."""
    profiler = sys.modules.get("torch.autograd.profiler")
    return getattr(profiler, "record_function", None)


class record_function:  # pylint: disable=invalid-name
    """torch's record_function where there is torch, so that it stands among the operators; else a range."""

    def __init__(self, name: str, args: Optional[str] = None) -> None:
        self.name = name
        torchs = torch_record_function()
        self._inner = range(name) if torchs is None else torchs(name) if args is None else torchs(name, args)  # one before 1.11

    def __enter__(self) -> "record_function":
        self._inner.__enter__()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._inner.__exit__(kind, value, trace)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            with record_function(self.name):
                return function(*arguments, **keywords)

        return wrapper  # type: ignore[return-value]
