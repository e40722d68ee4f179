"""The folders of src/ depend on each other one way, as cmake/dependencies.txt says."""

import os
import re
import unittest

SOURCE = os.environ["SOURCE"]
TABLE = os.path.join(SOURCE, "cmake", "dependencies.txt")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Headers of libraries, and the library that brings each.
LIBRARIES = {"zstd.h": "zstd", "zlib.h": "z", "lzma.h": "lzma", "xxhash.h": "xxhash", "sqlite3.h": "sqlite3", "event2/": "event_core",
             "libiberty/": "iberty", "elfutils/": "dw"}


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


def includes():
    """All includes as (file, bracket, name), the file as a path from src/."""
    root = os.path.join(SOURCE, "src")
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".c", ".h", ".def", ".S")):
                path = os.path.join(folder, name)
                with open(path) as text:
                    for line in text:
                        found = INCLUDE.match(line)
                        if found:
                            yield os.path.relpath(path, root), found[1], found[2]


def target(file, name):
    """The file of src/ that an include in quotes means, or None."""
    for path in (os.path.join(os.path.dirname(file), name), name):
        if os.path.isfile(os.path.join(SOURCE, "src", path)):
            return os.path.normpath(path)
    return None


class Dependencies(unittest.TestCase):
    def setUp(self):
        self.sees, self.libraries = read_table()
        self.all = closure(self.sees)
        self.includes = list(includes())
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


if __name__ == "__main__":
    unittest.main()
