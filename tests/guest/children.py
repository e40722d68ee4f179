"""Tiny programs, each of which looks at one thing that a profiler could change, as children of a program that is profiled. To add one is to
add a PROGRAM to a file of programs/, or a file."""
import guestlib


class Children(guestlib.Case):
    def test_tiny_programs(self):
        self.compare(guestlib.tiny_programs(), self.as_children)


if __name__ == "__main__":
    guestlib.lib.main()
