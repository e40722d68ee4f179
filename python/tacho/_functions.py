"""Functions of the program as ranges, without a change to it: --python-functions-trace=FILE.json, and a list for torch.

The file is a list of objects {"module": "a.b", "functions": ["f", "Class.method", …], "domain": …, "color": …}, as nsys has it. A function
is wrapped when its module has been imported; a name that is not there is said on stderr and left out.
"""
from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional

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


def _install_row(row: Any) -> None:
    module_name = row["module"]
    functions: List[str] = [entry if isinstance(entry, str) else entry["function"] for entry in row["functions"]]

    def hook(module: ModuleType) -> None:
        for function in functions:
            try:
                _wrap(module, function, _name(row, function))
            except (AttributeError, KeyError, TypeError):
                if row not in TORCH:
                    print(f"tacho: cannot trace {function}: {module_name} has no such function", file=sys.stderr)

    _imports.when_imported(module_name, hook)


def install_torch() -> None:
    """The list above."""
    for row in TORCH:
        _install_row(row)


def install_file(path: str) -> None:
    """Those that a file names. What is wrong with it is said on stderr, and the program runs all the same."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        for row in rows:
            _install_row(row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"tacho: cannot use {path}: it is not a list of modules and functions ({error})", file=sys.stderr)
