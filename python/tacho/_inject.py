"""What `tacho profile` asks of Python programs: sitecustomize.py loads this, once the program has imported what it is about."""
from __future__ import annotations

import os
from importlib.machinery import ModuleSpec
from typing import Optional


def install(name: str) -> Optional[ModuleSpec]:
    """TACHO_PYTHON is a list of words: replace, functions, modules, events, and functions-file=FILE last. How the module is found whose import it was."""
    wanted = os.environ.get("TACHO_PYTHON", "")
    words, _, file = wanted.partition("functions-file=")
    if "replace" in words.split(","):
        from . import _replace  # pylint: disable=import-outside-toplevel
        _replace.install()
    if "modules" in words.split(","):
        from . import _modules  # pylint: disable=import-outside-toplevel
        _modules.install()
    if "events" in words.split(","):
        from . import _python_events  # pylint: disable=import-outside-toplevel
        _python_events.install()
    if "functions" in words.split(",") or file:
        from . import _functions  # pylint: disable=import-outside-toplevel
        if "functions" in words.split(","):
            _functions.install_torch()
        if file:
            _functions.install_file(file)
    from . import _imports  # pylint: disable=import-outside-toplevel
    return _imports.find(name)
