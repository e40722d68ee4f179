"""The timeline of more reports than the server has connections: all of them stay open, and it answers."""
import os
import sys
import tempfile

import lib


def main():
    made = lib.Made("made.sqlite")
    made.add("OSRT_API", start=1, end=2, nameId=made.text("poll"), globalTid=1)
    lib.output("import", "-q", "-o", "one.tacho", made.write())
    os.mkdir("run")
    for number in range(1100):
        os.link("one.tacho", f"run/report{number}.tacho")
    with lib.Timeline("run") as timeline:
        lib.check("events of all reports", 1100, timeline.ask("about")["events"])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
sys.exit(lib.status())
