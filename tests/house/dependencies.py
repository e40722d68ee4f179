"""The folders of src/ depend on each other one way, as cmake/dependencies.txt says, and so do the files. Every file is found by its
name."""

import collections
import os
import re
import unittest

SOURCE = os.environ["SOURCE"]
TABLE = os.path.join(SOURCE, "cmake", "dependencies.txt")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Headers of libraries, and the library that brings each.
LIBRARIES = {"zstd.h": "zstd", "zlib.h": "z", "lzma.h": "lzma", "xxhash.h": "xxhash", "sqlite3.h": "sqlite3", "event2/": "event_core",
             "libiberty/": "iberty", "elfutils/": "dw"}

STAND_INS = "wasm/include"  # named after the headers of the system that they stand in for


def read_table():
    """Two dictionaries by folder: the folders it names, and its libraries."""
    sees, libraries = {}, {}
    with open(TABLE) as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                folder, rest = line.split(":")
                names, _, links = rest.partition("|")
                sees[folder], libraries[folder] = names.split(), set(links.split())
    return sees, libraries


def closure(sees):
    """For each folder all that it sees, itself among them."""
    known = {}

    def walk(folder, way):
        assert folder not in way, f"{TABLE}: a circle: {' > '.join(way + [folder])}"
        if folder not in known:
            known[folder] = {folder}.union(*(walk(name, way + [folder]) for name in sees[folder]))
        return known[folder]
    for folder in sees:
        walk(folder, [])
    return known


def all_files():
    """Every file of src/, as a path from there."""
    root = os.path.join(SOURCE, "src")
    return [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]


def includes(files):
    """All includes as (file, bracket, name), the file as a path from src/."""
    for file in files:
        if file.endswith((".c", ".h", ".def", ".S")):
            with open(os.path.join(SOURCE, "src", file)) as text:
                for line in text:
                    found = INCLUDE.match(line)
                    if found:
                        yield file, found[1], found[2]


def target(file, name):
    """The file of src/ that an include in quotes means, or None."""
    for path in (os.path.join(os.path.dirname(file), name), name):
        if os.path.isfile(os.path.join(SOURCE, "src", path)):
            return os.path.normpath(path)
    return None


def circles(edges):
    """The strongly connected components of more than one node (Tarjan's algorithm)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]
    for node in sorted(edges):
        if node not in number:
            visit(node)
    return found


class Dependencies(unittest.TestCase):
    def setUp(self):
        self.sees, self.libraries = read_table()
        self.all = closure(self.sees)
        self.files = all_files()
        self.includes = list(includes(self.files))
        self.assertGreater(len(self.includes), 1000)

    def folder(self, file):
        """The row of the table for a file: that of its folder, or of the next folder above that has one."""
        folder = os.path.dirname(file)
        while folder and folder not in self.sees:
            folder = os.path.dirname(folder)
        self.assertTrue(folder, f"{file}: its folder is not in {TABLE}")
        return folder

    def test_folders_see_what_the_table_allows(self):
        wrong = []
        for file, bracket, name in self.includes:
            other = bracket == '"' and target(file, name)
            if other and self.folder(other) not in self.all[self.folder(file)]:
                wrong.append(f"{file}: src/{self.folder(file)} must not see src/{self.folder(other)} ({name})")
        self.assertEqual(wrong, [])

    def test_libraries_are_used_where_the_table_says(self):
        wrong = []
        for file, bracket, name in self.includes:
            for header, library in LIBRARIES.items():
                if bracket == "<" and name.startswith(header) and library not in self.libraries[self.folder(file)]:
                    wrong.append(f"{file}: src/{self.folder(file)} must not use {library} (<{name}>)")
        self.assertEqual(wrong, [])

    def test_headers_are_spelled_from_src(self):
        """A header of the same folder by its name, any other by its path from src/."""
        wrong = []
        for file, bracket, name in self.includes:
            if bracket == '"' and not name.startswith("tacho/"):
                other = target(file, name)
                here = other and os.path.dirname(other) == os.path.dirname(file)
                if not other or name != (os.path.basename(other) if here else other):
                    wrong.append(f'{file}: "{name}"')
        self.assertEqual(wrong, [])

    def test_no_files_include_each_other_in_a_circle(self):
        """x.c and x.h are one node; so is x_state.h, where the files of x share what nobody else sees."""
        edges = collections.defaultdict(set)
        for file, bracket, name in self.includes:
            other = bracket == '"' and target(file, name)
            if other:
                one, two = (os.path.splitext(path)[0].removesuffix("_state") for path in (file, other))
                if one != two:
                    edges[one].add(two)
                    edges[two]  # a node, even if it includes nothing
        self.assertEqual(circles(edges), [])

    def test_a_name_is_of_one_folder(self):
        """A stack trace, a log line and a search name files without their folders."""
        folders = collections.defaultdict(set)
        for file in self.files:
            if os.path.dirname(file) != STAND_INS:
                folders[os.path.splitext(os.path.basename(file))[0]].add(os.path.dirname(file))
        self.assertEqual({name: sorted(where) for name, where in folders.items() if len(where) > 1}, {})


if __name__ == "__main__":
    unittest.main()
