"""The tiny programs, each as the program that is profiled: its parent is tacho, and its status is what tacho ends with."""
import guestlib


class First(guestlib.Case):
    def test_tiny_programs(self):
        self.compare(guestlib.tiny_programs(), self.as_first, gate=[guestlib.COMMON])


if __name__ == "__main__":
    guestlib.lib.main()
