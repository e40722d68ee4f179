"""The folders of src/ depend on each other one way, as cmake/dependencies.txt says, and so do the files: by what they include, declare
and call. Every file is found by its name."""

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

# C, as far as the names at file level need it. A #define is dropped: names that it declares are pasted from the rows of a table.
TEXT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
NOISE = re.compile(rf"\b(?:__attribute__|__asm__|_Static_assert|_Alignas|_Atomic)\s*{NESTED}"
                   rf"|^[A-Z][A-Z0-9_]*{NESTED}$(?!\n\{{)", re.M)  # the latter: a macro that stands alone, such as MAP(…)
ITEM = re.compile(r"(?:[^;{}]|\{\})*?(?:;|\)\s*\{\})")  # up to its semicolon, or to the body of a function
MACRO = re.compile(r"\b[A-Z][A-Z0-9_]*\(([a-z]\w*)[^()]*\)")  # that stands for a declaration: PAGE_EXPORT(page_alloc)(size_t size)
VARIABLE = re.compile(r"([a-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")
STRUCT = re.compile(r"\bstruct\s+(\w+)\b\s*([{;]?)")
CALL = re.compile(r"(?<![\w.>])([a-z_]\w+)\(")

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


def code(file):
    """The text of a file of src/ without comments and strings."""
    with open(os.path.join(SOURCE, "src", file)) as text:
        return TEXT.sub(" ", text.read())


def file_level(text):
    """The items of a file, without directives and what stands in braces."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", NOISE.sub("", DIRECTIVE.sub("", text))):
        depth -= part == "}"
        if depth == 0:
            kept.append(part)
        depth += part == "{"
    return [item.strip() for item in ITEM.findall("".join(kept))]


def externals(items, is_header):
    """The names with external linkage among the items: those declared, and those defined."""
    declared, defined = set(), set()
    for item in items:
        item = MACRO.sub(r"\1()", item)
        if re.match(r"(static|typedef)\b|(struct|union|enum)\s*\w*\s*(\{\})?\s*;|;", item):
            continue
        function = re.match(r"[^=(]*?\b(\w+)\s*\((?!\s*\*)", item)
        if function:
            (defined if item.endswith("}") else declared).add(function[1])
        else:
            parts = [item.partition("=")[0]] if "=" in item else item[:-1].split(",")
            (declared if item.startswith("extern") or is_header else defined).update(
                found[1] for found in (VARIABLE.search(part.strip()) for part in parts) if found)
    return declared, defined


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
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.sees, cls.libraries = read_table()
        cls.all = closure(cls.sees)
        cls.files = all_files()
        cls.includes = list(includes(cls.files))
        cls.texts = {file: code(file) for file in cls.files if file.endswith((".c", ".h"))}
        cls.items = {file: file_level(text) for file, text in cls.texts.items()}
        cls.declared, cls.homes = {}, collections.defaultdict(set)  # names by file; the folders that define a name
        for file, items in cls.items.items():
            cls.declared[file], defined = externals(items, file.endswith(".h"))
            for name in defined:
                cls.homes[name].add(cls.folder(file))
        assert len(cls.includes) > 1000 and len(cls.homes) > 3000

    @classmethod
    def folder(cls, file):
        """The row of the table for a file: that of its folder, or of the next folder above that has one."""
        folder = os.path.dirname(file)
        while folder and folder not in cls.sees:
            folder = os.path.dirname(folder)
        assert folder, f"{file}: its folder is not in {TABLE}"
        return folder

    def is_shared_by(self, folder, homes):
        """Whether each of several libraries defines a name for itself, and this is the folder that they share."""
        return len(homes) > 1 and all(folder in self.all[home] for home in homes)

    def test_folders_see_what_the_table_allows(self):
        wrong = []
        for file, bracket, name in self.includes:
            other = bracket == '"' and target(file, name)
            if other and self.folder(other) not in self.all[self.folder(file)]:
                wrong.append(f"{file}: src/{self.folder(file)} must not see src/{self.folder(other)} ({name})")
        self.assertEqual(wrong, [])

    def test_declarations_stand_with_their_definitions(self):
        """A prototype or an extern variable stands in the folder that defines it; a .c file may repeat one that it sees, as weak. Free
        are the rows of a table, whose names a #define pastes."""
        wrong = [f"{file}: {line}" for file, text in self.texts.items() for line in DIRECTIVE.findall(text)
                 if re.search(r"\bextern\b", line) and "##" not in line]
        for file, names in self.declared.items():
            folder = self.folder(file)
            for name in names:
                homes = self.homes[name]
                repeats = file.endswith(".c") and homes & self.all[folder]
                if homes and folder not in homes and not repeats and not self.is_shared_by(folder, homes):
                    wrong.append(f"{file}: {name} is of src/{', src/'.join(sorted(homes))}")
        self.assertEqual(sorted(wrong), [])

    def test_calls_go_where_the_table_allows(self):
        """Follows from the test above and that of the includes, but for calls that a macro hides."""
        public = set().union(*(names for file, names in self.declared.items()
                               if file.endswith(".h") and os.path.dirname(file) != STAND_INS))
        wrong = []
        for file, text in self.texts.items():
            folder = self.folder(file)
            own = set(CALL.findall("\n".join(item for item in self.items[file] if item.startswith("static"))))
            for name in (public & set(CALL.findall(text))) - own:
                homes = self.homes[name]
                if homes and not homes & self.all[folder] and not self.is_shared_by(folder, homes):
                    wrong.append(f"{file}: {name}() is of src/{', src/'.join(sorted(homes))}")
        self.assertEqual(sorted(wrong), [])

    def test_structs_of_other_folders_are_handles(self):
        """A struct of a folder that a file must not see is a handle: a header declares it, and structs and callbacks there pass
        pointers to it from one folder above to another. No function takes or returns one, and no .c file names it."""
        homes, shared = collections.defaultdict(set), set()
        for file, text in self.texts.items():
            for name, after in STRUCT.findall(text):
                if after == "{":
                    homes[name].add(self.folder(file))
                    shared |= {name} if file.endswith(".h") else set()
        wrong = []
        for file, text in self.texts.items():
            for name in shared & {name for name, _ in STRUCT.findall(text)}:
                if not homes[name] & self.all[self.folder(file)]:
                    functions = [item for item in self.items[file] if "(" in item and f"struct {name} " in item]
                    if file.endswith(".c") or f"\nstruct {name};\n" not in text or functions:
                        wrong.append(f"{file}: struct {name} is of src/{', src/'.join(sorted(homes[name]))}")
        self.assertEqual(sorted(wrong), [])

    def test_only_the_table_of_commands_sees_imitations(self):
        """What imitates other tools (compat) can go without a change to anything but the table of commands (main)."""
        above = {folder for folder, sees in self.all.items() if any(name.split("/")[0] == "compat" for name in sees)}
        self.assertEqual({folder for folder in above if folder.split("/")[0] != "compat"}, {"main"})

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
