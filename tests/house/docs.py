"""The docs name things that exist: links, headings, paths, and CI the scripts that it calls. The design page shows every folder of src/ and the table of dependencies."""

import glob
import os
import re
import unittest

import dependencies

SOURCE = os.environ["SOURCE"]
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FOLDERS = "src|web/src|tests|docs|scripts|bench|cmake|python|include|examples"
PATH = re.compile(rf"(?:{FOLDERS})(?:/[\w.*-]+)+/?$")
PLACEHOLDER = re.compile(r"(^|[/_.])[A-Z]{3,}\b")  # NAME.c and NNN-title.md are to be filled in


def read(path):
    with open(path) as text:
        return text.read()


def pages():
    """All pages of the tree, less the blocks that are set apart as code."""
    found = glob.glob(os.path.join(SOURCE, "*.md"))
    for folder in ("docs", "bench", "tests", "python", "examples"):
        found += glob.glob(os.path.join(SOURCE, folder, "**", "*.md"), recursive=True)
    return {path: re.sub(r"^```.*?^```", "", read(path), flags=re.S | re.M) for path in sorted(found)}


def anchors(text):
    """The names under which headings are linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def closure(sees):
    """For each module the modules that it sees, also through others."""
    def walk(module):
        return set().union(*({name} | walk(name) for name in sees[module]))
    return {module: walk(module) for module in sees}


class Docs(unittest.TestCase):
    def setUp(self):
        self.pages = pages()
        self.design = read(os.path.join(SOURCE, "docs", "design.md"))
        self.assertGreater(len(self.pages), 50)

    def test_links_lead_somewhere(self):
        dead = []
        for page, text in self.pages.items():
            for link in LINK.findall(text):
                path, _, anchor = link.partition("#")
                if re.match(r"[a-z]+:", link):
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if not os.path.exists(target) or (anchor and target.endswith(".md") and anchor not in anchors(read(target))):
                    dead.append(f"{os.path.relpath(page, SOURCE)}: {link}")
        self.assertEqual(dead, [])

    def test_no_line_is_too_long(self):
        """Docs wrap at 100; a terminal or a diff of 130 columns shows every line whole, tables and code too."""
        wide = [f"{os.path.relpath(page, SOURCE)}:{number}: {len(line)}" for page in self.pages
                for number, line in enumerate(read(page).splitlines(), 1) if len(line) > 130]
        self.assertEqual(wide, [])

    def test_paths_exist(self):
        dead = []
        for page, text in self.pages.items():
            for code in CODE.findall(text):
                for word in code.split():
                    if PATH.match(word) and not PLACEHOLDER.search(word) and not glob.glob(os.path.join(SOURCE, word)):
                        dead.append(f"{os.path.relpath(page, SOURCE)}: {word}")
        self.assertEqual(dead, [])

    def test_workflow_calls_scripts_that_exist(self):
        called = set(re.findall(r"\bscripts/[\w-]+", read(os.path.join(SOURCE, ".github", "workflows", "ci.yml"))))
        self.assertLessEqual({"scripts/build", "scripts/test", "scripts/dist"}, called)
        self.assertEqual({script for script in called if not os.access(os.path.join(SOURCE, script), os.X_OK)}, set())

    def folders(self):
        """The folders of the list on the design page, in its order."""
        part = self.design.partition("\n## The folders of src/\n")[2].partition("\n## ")[0]
        return re.findall(r"^- `([^`]*)`: \S", part, flags=re.M)

    def test_design_has_a_line_for_every_folder(self):
        self.assertEqual(sorted(self.folders()), sorted({os.path.dirname(file) for file in dependencies.all_files()}))

    def test_folders_stand_after_those_that_they_see(self):
        sees = dependencies.closure(dependencies.read_table()[0])
        rows, wrong = [], []
        for folder in self.folders():
            row = folder
            while row not in sees:
                row = os.path.dirname(row)
            wrong += [f"{folder} stands after {before}, which sees it" for before in rows if before != row and row in sees[before]]
            rows.append(row)
        self.assertEqual(wrong, [])

    def test_picture_is_the_table_of_dependencies(self):
        picture = {row.split()[0]: arrow.split() for row, arrow in re.findall(r"^│[^│]*│ ([^│]*)│ →([^│]*)│$", self.design, flags=re.M)}
        table = {}
        for line in read(os.path.join(SOURCE, "cmake", "dependencies.txt")).splitlines():
            if line.strip() and not line.startswith("#"):
                module, *sees = [name.split("/")[0] for name in line.partition("|")[0].replace(":", " ").split()]
                table.setdefault(module, set()).update(name for name in sees if name != module)
        self.assertEqual(closure(picture), closure(table))

    def test_decisions_are_in_the_index(self):
        folder = os.path.join(SOURCE, "docs", "decisions")
        index = LINK.findall(read(os.path.join(folder, "README.md")))
        written = sorted(name for name in os.listdir(folder) if name != "README.md")
        self.assertEqual(sorted(name for name in index if not name.startswith("..")), written)
        for name in written:
            self.assertRegex(read(os.path.join(folder, name)), rf"^# {int(name.split('-')[0])}\. \S")


if __name__ == "__main__":
    unittest.main()
