# Loads the package, which is beside us in an installation and around us in a wheel, and has it do what TACHO_PYTHON asks for. Run by
# sitecustomize.py, which says where it is ("here"), before the first import that matters ("name"), and finds it as "spec" says, if
# anything; the program goes on whatever happens.
import importlib.util
import os
import sys


def package():
    for levels in (1, 6):
        path = os.path.join(os.path.normpath(os.path.join(here, *[os.pardir] * levels)), "tacho")
        if os.path.exists(os.path.join(path, "_inject.py")):
            return path
    raise ImportError("the package tacho is not beside " + here)


def load(path):
    if "tacho" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location("tacho", os.path.join(path, "__init__.py"), submodule_search_locations=[path])
    module = importlib.util.module_from_spec(spec)
    sys.modules["tacho"] = module
    spec.loader.exec_module(module)


try:
    load(package())
    from tacho import _inject
    spec = _inject.install(name)
except Exception as error:
    sys.stderr.write("tacho: Python is not looked into, the program runs as it is: %s\n" % (error,))
