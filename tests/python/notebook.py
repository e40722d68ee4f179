"""%load_ext tacho and %%tacho: in IPython where it is installed, and else in what it asks of a shell."""
import lib

SHELL = """
import tacho

class Result:
    result = 42

class Shell:
    def __init__(self):
        self.user_ns = {}
    def register_magic_function(self, function, magic_kind, magic_name):
        self.magic = (magic_kind, magic_name, function)
    def run_cell(self, cell):
        exec(cell, {"tacho": tacho})
        return Result

shell = Shell()
tacho.load_ipython_extension(shell)
kind, name, function = shell.magic
print(kind, name, function("--row-limit 3 --output kept.tacho", "tacho.mark('in the cell')"))
print(list(tacho.load(shell.user_ns["prof"].report())["NVTX_EVENTS"]["text"]))
function("--output later.tacho", "tacho.mark('in the next')")
print(list(tacho.load("later.tacho")["NVTX_EVENTS"]["text"]))
try:
    function("--html cell.html", "tacho.mark('shown')")
except tacho.TachoError as error:
    assert "built without" in str(error), error
else:
    assert b"tacho-report" in open("cell.html", "rb").read()
try:
    function("--nope", "")
except Exception as error:
    print(type(error).__name__, error)
"""
IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "tacho")
shell.run_cell_magic("tacho", "", "import tacho\\ntacho.mark('in the cell')\\nvalue = 3")
try:
    shell.run_cell_magic("tacho", "--nope", "")
except __import__("IPython").core.error.UsageError:
    print("usage")
print(shell.user_ns["value"], list(__import__("tacho").load(shell.user_ns["prof"].report())["NVTX_EVENTS"]["text"]))
"""


class Notebook(lib.Case):
    def test_shell(self):
        out = self.run_text(SHELL).splitlines()
        self.assertRegex(out[0], "No PyTorch operators were recorded; the report is .*kept.tacho")
        self.assertEqual(out[1:3], ["cell tacho 42", "['in the cell']"])
        self.assertEqual(out[4], "['in the next']")
        self.assertRegex(out[6], "^(UsageError|TachoError) %%tacho: unrecognized arguments: --nope")

    def test_ipython(self):
        if lib.trace.subprocess.run([self.python, "-c", "import IPython"], capture_output=True).returncode != 0:
            self.skipTest("IPython is not installed")
        self.assertEqual(self.run_text(IPYTHON, HOME=self.folder).splitlines()[-2:], ["usage", "3 ['in the cell']"])


if __name__ == "__main__":
    lib.main()
