"""%load_ext tacho and %%tacho: in a shell that stands in for IPython, in IPython itself, and the example notebook in a kernel."""
import json
import os

import lib

SHELL = """
import tacho

class Result:
    error_in_exec = error_before_exec = None

class Shell:
    def __init__(self):
        self.user_ns = {}
    def register_magic_function(self, function, magic_kind, magic_name):
        self.magic = (magic_kind, magic_name, function)
    def run_cell(self, cell):
        exec(cell, {"tacho": tacho})
        return Result

def marks(path):
    return list(tacho.load(path)["NVTX_EVENTS"]["text"])

shell = Shell()
tacho.load_ipython_extension(shell)
kind, name, function = shell.magic
function("--row-limit 3 --output kept.tacho", "tacho.mark('in the cell')")
print(kind, name, marks(shell.user_ns["prof"].report()))
markup = shell.user_ns["prof"]._repr_html_()
assert markup.startswith("<pre") and "s recorded in process" in markup, markup
function("--output later.tacho", "tacho.mark('in the next')")
print(marks("later.tacho"))
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
for line, cell in (("--nope", "pass"), ("", "1 / 0")):
    try:
        shell.run_cell_magic("tacho", line, cell)
    except __import__("IPython").core.error.UsageError as error:
        print(str(error).partition(";")[0])
print(shell.user_ns["value"], list(__import__("tacho").load(shell.user_ns["prof"].report())["NVTX_EVENTS"]["text"]))
"""
EXAMPLE = """
import json, os, sys
import nbclient, nbformat
from traitlets.config import Config
book = nbformat.read(sys.argv[1], as_version=4)
if sys.argv[2] == "without":
    book.cells = [cell for cell in book.cells if "--timeline" not in cell.source]
# Not over TCP: its ports are chosen before the kernel takes them, and another test may have them by then.
on_files = Config({"KernelManager": {"transport": "ipc"}})
patience = int(os.environ.get("PATIENCE", "60"))
nbclient.NotebookClient(book, kernel_name="python3", timeout=patience, startup_timeout=patience, config=on_files).execute()
print(json.dumps([[cell.source, [dict(output) for output in cell.outputs]] for cell in book.cells if cell.cell_type == "code"]))
"""


class Notebook(lib.Case):
    def test_shell(self):
        out = self.run_text(SHELL)
        self.assertRegex(out, r"(?m)^tacho: .* s recorded in process \d+$")
        self.assertRegex(out, r"(?m)^  report: .*kept\.tacho")
        self.assertRegex(out, r"(?m)^cell tacho \['in the cell'\]$")
        self.assertRegex(out, r"(?m)^\['in the next'\]$")
        self.assertRegex(out, "(?m)^(UsageError|TachoError) %%tacho: unrecognized arguments: --nope")

    def test_ipython(self):
        self.python = self.python_with("IPython")
        out = self.run_text(IPYTHON, HOME=self.folder)
        self.assertRegex(out, "(?s)%%tacho: unrecognized arguments: --nope\n.*division by zero\n.*%%tacho: the cell ended with ZeroDivisionError\n")
        self.assertEqual(out.splitlines()[-1], "3 ['in the cell']")

    def test_example(self):
        """All cells of the example run, and show what the page says that they show."""
        self.python = self.python_with("nbclient", "ipykernel", "pandas")
        has_page = os.path.exists(os.path.join(os.environ["PAGE"], "index.html"))
        self.write("run.py", EXAMPLE)
        example = os.path.join(lib.SOURCE, "examples", "notebook.ipynb")
        # The kernel's sockets lie in its runtime folder, and their names have 107 characters at most.
        out = self.run_python("run.py", example, "with" if has_page else "without", HOME=self.folder, JUPYTER_RUNTIME_DIR=self.folder,
                              JUPYTER_PLATFORM_DIRS="0", PYDEVD_DISABLE_FILE_VALIDATION="1")
        cells = json.loads(out.splitlines()[-1])
        shown = {}
        for source, outputs in cells:
            self.assertNotIn("error", [output["output_type"] for output in outputs], source)
            shown[source.splitlines()[-1]] = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
        self.assertIn("TACHO_PYTHON_SAMPLE", shown["report"])
        self.assertIn("squares", shown["functions"])
        self.assertIn("dataframe", shown['functions.to_pandas().sort_values("Self (%)", ascending=False).head()'])
        self.assertRegex(shown['report.sql("SELECT text, (end - start) / 1e6 AS ms FROM NVTX_EVENTS ORDER BY start")'], "(?s)numbers.*texts")
        self.assertIn("Python", shown["        text(50_000)"])
        if has_page:
            self.assertIn("<iframe", shown["squares(1_000_000)"])

    def test_example_has_no_outputs(self):
        with open(os.path.join(lib.SOURCE, "examples", "notebook.ipynb"), encoding="utf-8") as file:
            self.assertEqual({str(cell.get("outputs", [])) for cell in json.load(file)["cells"]}, {"[]"})


if __name__ == "__main__":
    lib.main()
