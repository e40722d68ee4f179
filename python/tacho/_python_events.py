"""Events of Python itself, told to the agent: collections of its garbage collector, and compilations of torch.compile.

Both come by callbacks that Python and torch have for this: gc.callbacks, and torch._dynamo.callback from torch 2.3 on. What they say is read
from lists that Dynamo keeps anyway: no setting and no log of the program changes. A callback never fails and uses no globals, because the
last collections run while the interpreter takes modules apart.
"""
from __future__ import annotations

import gc
import sys
import weakref
from types import CodeType, FrameType, ModuleType
from typing import Any, Callable, Dict, List, MutableMapping, Optional, Tuple

from . import _agent, _imports

# WIRE_PYTHON_EVENTS
_COLLECTION, _COMPILATION, _RECOMPILATION, _GRAPH_BREAK, _BACKWARD, _AUTOTUNING, _GRAPH_RECORDING = range(7)
# torch's CallbackTrigger, from 2.7 on
_TRIGGERS = {"LAZY_BACKWARD": _BACKWARD, "TRITON_AUTOTUNING": _AUTOTUNING, "CUDAGRAPH_RECORDING": _GRAPH_RECORDING}
_LONGEST_REASON = 2000


def _collections(agent: _agent.Agent) -> Callable[[str, Dict[str, int]], None]:
    """A function for gc.callbacks. A collection does not begin within another one."""
    begin, end = agent.event_begin, agent.event_end
    begun = 0

    def collection(phase: str, info: Dict[str, int], kind: int = _COLLECTION) -> None:
        nonlocal begun
        if phase == "start":
            begun = begin()
        elif begun:
            end(begun, kind, b"%d\t%d\t%d" % (info["generation"], info["collected"], info["uncollectable"]))
            begun = 0

    return collection


def _fields(function: str, file: str, line: int, reason: str) -> bytes:
    """Tabs separate fields, so none may be within one but the last."""
    return "\t".join([function.replace("\t", " "), file.replace("\t", " "), str(line), reason[:_LONGEST_REASON].strip()]).encode("utf-8", "replace")


def _compiled_code(frame: Optional[FrameType]) -> Optional[CodeType]:
    """The function that Dynamo compiles: an argument of its own function around us."""
    while frame is not None:
        if frame.f_code.co_name == "_compile" and frame.f_code.co_filename.endswith("convert_frame.py"):
            code = frame.f_locals.get("code")
            return code if isinstance(code, CodeType) else None
        frame = frame.f_back
    return None


class _Compilations:
    """Callbacks of Dynamo, which keeps the guards that failed, by function, and the breaks of graphs in torch._dynamo.utils."""

    def __init__(self, agent: _agent.Agent) -> None:
        self.agent = agent
        self.compiled: MutableMapping[CodeType, int] = weakref.WeakKeyDictionary()  # how many guards of a function had failed then
        self.open: List[Tuple[int, int, Optional[CodeType], int]] = []

    @staticmethod
    def kept(name: str, default: Any) -> Any:
        """A list of Dynamo's."""
        return getattr(sys.modules.get("torch._dynamo.utils"), name, default)

    def breaks(self) -> List[Any]:
        """Of all graphs so far."""
        return list(self.kept("graph_break_reasons", []))

    def start(self, *arguments: Any) -> None:
        """Torch passes an argument from 2.7 on, which says what begins."""
        trigger = getattr(getattr(arguments[0] if arguments else None, "callback_trigger", None), "name", "DYNAMO")
        kind = _TRIGGERS.get(trigger, _COMPILATION)
        code = _compiled_code(sys._getframe(1)) if kind == _COMPILATION else None  # pylint: disable=protected-access
        self.open.append((self.agent.event_begin(), kind, code, len(self.breaks())))

    def end(self, *_: Any) -> None:
        """Of what began last."""
        if not self.open:
            return
        begun, kind, code, breaks = self.open.pop()
        reason = ""
        if code is not None:
            failures = self.kept("guard_failures", {}).get(code, [])
            if code in self.compiled:
                kind = _RECOMPILATION
                reason = "".join(failures[self.compiled[code]:][:1])
            self.compiled[code] = len(failures)
        if begun:
            self.tell(begun, kind, code, reason)
            for reason_of in self.breaks()[breaks:]:
                self.tell_break(reason_of)

    def tell(self, begun: int, kind: int, code: Optional[CodeType], reason: str) -> None:
        """A compilation."""
        function = (code.co_name, code.co_filename, code.co_firstlineno) if code is not None else ("", "", 0)
        self.agent.event_end(begun, kind, _fields(*function, reason))

    def tell_break(self, of: Any) -> None:
        """A break of a graph, at the innermost of its frames."""
        frame = of.user_stack[-1] if of.user_stack else None
        place = (str(frame.name), str(frame.filename), int(frame.lineno or 0)) if frame is not None else ("", "", 0)
        self.agent.event_end(self.agent.event_begin(), _GRAPH_BREAK, _fields(*place, str(of.reason)))


def _guarded(callback: Callable[..., None]) -> Callable[..., None]:
    """Dynamo keeps some of these lists for its own use: they may change. Then the program goes on without us."""
    def call(*arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception:  # pylint: disable=broad-except
            pass

    return call


def install() -> None:
    """From now on, and for Dynamo as soon as the program has imported it."""
    agent = _agent.current()
    if agent is None:
        return
    gc.callbacks.append(_collections(agent))

    def hook(module: ModuleType) -> None:
        compilations = _Compilations(agent)
        module.on_compile_start(_guarded(compilations.start))
        module.on_compile_end(_guarded(compilations.end))

    _imports.when_imported("torch._dynamo.callback", hook)
