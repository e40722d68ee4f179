"""The name of a function tells it from those of other files: in grep, in gdb and in a profile of Tacho itself. (The same for structs, unions
and enums.) A name may be in MOST_FILES files at most, and MOST_SHARED percent of the functions may have one that is in two or more."""

import collections
import os
import re
import unittest

SOURCE = os.environ["SOURCE"]
MOST_FILES = 4
MOST_SHARED = 15

# The layout of .clang-format is all that this relies on: a function's body opens with a brace in a line of its own, after its head.
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
HEAD = re.compile(r"^([A-Za-z_][^;{}#=]*\))[^;{}#=()]*\n\{$", re.MULTILINE)
ATTRIBUTE = re.compile(r"__attribute__ *\(\(.*?\)\)", re.DOTALL)
NAME = re.compile(r"(\w+) *\(")
TAG = re.compile(r"^(?:struct|union|enum) (\w+)[^;{}()=]*\{$", re.MULTILINE)


def names_of(text):
    """The functions and the tags that a file defines. A head in capitals is a macro, which makes the function's name."""
    text = COMMENT.sub("", text)
    heads = [NAME.search(ATTRIBUTE.sub("", head)) for head in HEAD.findall(text)]
    return {head.group(1) for head in heads if head and not head.group(1).isupper()}, set(TAG.findall(text))


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.functions, cls.tags = collections.defaultdict(set), collections.defaultdict(set)
        for path, _, names in os.walk(os.path.join(SOURCE, "src")):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(path, name)) as text:
                        functions, tags = names_of(text.read())
                    for function in functions:
                        cls.functions[function].add(name)
                    for tag in tags:
                        cls.tags[tag].add(name)

    def test_no_name_is_in_many_files(self):
        for kind in (self.functions, self.tags):
            found = {name: sorted(files) for name, files in kind.items() if len(files) > MOST_FILES}
            self.assertEqual(found, {})

    def test_few_functions_share_their_name(self):
        count = sum(len(files) for files in self.functions.values())
        shared = sum(len(files) for files in self.functions.values() if len(files) > 1)
        print(f"{shared} of {count} functions ({100 * shared / count:.1f} %) share their name with one of another file")
        self.assertGreater(count, 5000)
        self.assertLessEqual(100 * shared / count, MOST_SHARED)


if __name__ == "__main__":
    unittest.main()
