"""Functions of the program as ranges, without a change to it: --python-functions-trace=FILE.json, and a list for torch.

The file is a list of objects {"module": "a.b", "functions": ["f", "Class.method", …], "domain": …, "color": …}, as nsys has it. A function
is wrapped when its module has been imported. A message on stderr names functions that a module does not have and, when the program ends,
modules that it has not imported. The program's own file runs as __main__: nothing imports it, so its functions cannot be wrapped.
"""
from __future__ import annotations

import atexit
import json
import os
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional, Set

from . import _imports
from ._marks import around

# by_class: a call is named like the class of its object.
TORCH: List[Dict[str, Any]] = [
    {"module": "torch.nn.modules.module", "functions": ["Module.__call__"], "by_class": True},
    {"module": "torch.optim.optimizer", "functions": ["Optimizer.zero_grad"]},
    {"module": "torch.optim.sgd", "functions": ["SGD.step"]},
    {"module": "torch.optim.adam", "functions": ["Adam.step"]},
    {"module": "torch.optim.adamw", "functions": ["AdamW.step"]},
    {"module": "torch.autograd", "functions": ["backward", "grad"]},
    {"module": "torch.utils.data.dataloader", "functions": ["_BaseDataLoaderIter.__next__"]},
    {"module": "torch.nn.parallel.distributed", "functions": ["DistributedDataParallel.forward"]},
    {"module": "torch.amp.grad_scaler", "functions": ["GradScaler.scale", "GradScaler.step", "GradScaler.update", "GradScaler.unscale_"]},
    {"module": "torch.distributed.distributed_c10d",
     "functions": ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "barrier"]},
    {"module": "torch.serialization", "functions": ["save", "load"]},
]


def _wrap(module: ModuleType, function: str, name: Optional[str]) -> None:
    *path, last = function.split(".")
    owner: Any = module
    for part in path:
        owner = getattr(owner, part)
    plain = owner.__dict__[last] if last in getattr(owner, "__dict__", {}) else getattr(owner, last)
    if isinstance(plain, (staticmethod, classmethod)):
        setattr(owner, last, type(plain)(around(plain.__func__, name)))
    else:
        setattr(owner, last, around(plain, name))


def _name(row: Any, function: str) -> Optional[str]:
    if row.get("by_class"):
        return None
    name = f"{row['module']}.{function}"
    return f"{row['domain']}: {name}" if row.get("domain") else name


def _install_row(row: Any, awaited: Optional[Set[str]] = None) -> None:
    """awaited: the modules that have not been imported yet."""
    module_name = str(row["module"])
    functions: List[str] = [entry if isinstance(entry, str) else entry["function"] for entry in row["functions"]]

    def hook(module: ModuleType) -> None:
        if awaited is not None:
            awaited.discard(module_name)
        for function in functions:
            try:
                _wrap(module, function, _name(row, function))
            except (AttributeError, KeyError, TypeError):
                if awaited is not None:
                    print(f"tacho: cannot trace {function}: {module_name} has no such function", file=sys.stderr)

    if awaited is not None:
        awaited.add(module_name)
    if module_name != "__main__":  # which is there from the beginning, but empty
        _imports.when_imported(module_name, hook)


def _is_first() -> bool:
    """Whether tacho has started this process. The others, which the program starts, may well do without its modules."""
    try:
        with open(f"/proc/{os.getppid()}/comm", encoding="utf-8") as file:
            return file.read() == "tacho\n"
    except (OSError, ValueError):
        return False


def _say_what_is_missing(path: str, awaited: Set[str], pid: int) -> None:
    """The program's own file runs as __main__ and is not imported, except by multiprocessing in its children."""
    own_name = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    if os.getpid() != pid or "__mp_main__" in sys.modules:
        return
    missing = awaited if _is_first() else awaited & {own_name}
    own = missing & {"__main__", own_name}
    if own:
        print(f"tacho: {path}: the functions of {', '.join(sorted(own))} are not traced, because the program itself is not imported as a module: "
              "move them to a module, or write @tacho.range() above them", file=sys.stderr)
    if missing - own:
        print(f"tacho: {path}: nothing of {', '.join(sorted(missing - own))} was traced: the program did not import it", file=sys.stderr)


def install_torch() -> None:
    """The list above."""
    for row in TORCH:
        _install_row(row)


def install_file(path: str) -> None:
    """Those that a file names. What is wrong with it is said on stderr, and the program runs all the same."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        awaited: Set[str] = set()
        for row in rows:
            _install_row(row, awaited)
        atexit.register(_say_what_is_missing, path, awaited, os.getpid())
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"tacho: cannot use {path}: it is not a list of modules and functions ({error})", file=sys.stderr)
