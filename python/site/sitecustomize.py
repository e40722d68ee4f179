# Python finds this first when `tacho profile` was asked to work inside of Python programs (TACHO_PYTHON says what is wanted). It waits for
# the program to import something that matters (start.py), takes itself out of the path, and runs the sitecustomize that would have run. It
# must run in any Python, do nothing in those that it does not know, never fail, and be short: it may be compiled at every start.
import os
import sys


class _Waiting(object):
    def __init__(self, here, words):
        self.here = here
        self.root = None if "functions-file=" in words else "torch"

    def find_spec(self, name, path=None, target=None):
        if self in sys.meta_path and self.root in (None, name):
            sys.meta_path.remove(self)
            with open(self.here + "/start.py") as file:
                names = {"here": self.here, "name": name}
                exec(file.read(), names)
            return names.get("spec")


_here = os.path.dirname(__file__)
_words = os.environ.get("TACHO_PYTHON")
if _here in sys.path:
    sys.path.remove(_here)
if _words and sys.version_info >= (3, 8):
    sys.meta_path.insert(0, _Waiting(_here, _words))
_self = sys.modules.pop("sitecustomize")  # kept: old Pythons empty a module that nobody holds
try:
    import sitecustomize
except ImportError as _error:
    sys.modules["sitecustomize"] = _self  # the import that brought us here looks for it
    if getattr(_error, "name", "sitecustomize") != "sitecustomize":
        raise
