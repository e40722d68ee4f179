"""What is wrong with a report is said: by info, and by every command that reads it, on stderr and whatever -q says."""
import os
import struct
import subprocess

import lib

HEADER, ROWS = 48, 2  # docs/format.md: a chunk's header, the kind of chunks of rows

READERS = (["stats", "-q", "-r", "nvtx_sum"], ["analyze", "-q"], ["sql", "FILE", "SELECT count(*) FROM NVTX_EVENTS"],
           ["export", "-q", "true", "-f", "true", "-o", "out.sqlite"], ["diff", "-r", "nvtx_sum", "FILE"])


def chunks(data):
    """(offset, kind, payload size) of each, by stepping from header to header."""
    at = 16
    while at < len(data):
        magic, kind, _, _, _, size = struct.unpack_from("<4sBBHII", data, at)
        assert magic == b"TCHK", f"no chunk at {at}"
        yield at, kind, size
        at += HEADER + size


class Health(lib.Case):
    def tacho(self, *arguments, status=0):
        done = subprocess.run([lib.TACHO, *arguments], capture_output=True, text=True, cwd=self.folder, env={**os.environ, "COLUMNS": "10000"})
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def all_say(self, words, name="report.tacho", but=()):
        for command in READERS:
            if command[0] in but:
                continue
            words_of = [name if word == "FILE" else word for word in command]
            done = self.tacho(*words_of, *([] if command[0] == "sql" else [name]))
            self.assertIn(words, done.stderr, command[0])
            self.assertNotIn(words, done.stdout, command[0])

    def record(self, *options):
        self.profile(lib.program("counts"), "burst", "2", "5000", "8", options=["-t", "nvtx", *options])

    def damage_largest(self):
        """Turns a bit of the largest chunk of rows; its header and the index are good."""
        with open(self.path("report.tacho"), "rb") as file:
            data = bytearray(file.read())
        at, _, size = max((chunk for chunk in chunks(data) if chunk[1] == ROWS), key=lambda chunk: chunk[2])
        data[at + HEADER + size // 2] ^= 1
        with open(self.path("report.tacho"), "wb") as file:
            file.write(data)
        return size + HEADER

    def test_a_good_report_is_not_talked_about(self):
        self.record()
        for command in READERS:
            words = ["report.tacho" if word == "FILE" else word for word in command]
            self.assertEqual(self.tacho(*words, *([] if command[0] == "sql" else ["report.tacho"])).stderr, "", command[0])
        self.assertRegex(self.tacho("info", "report.tacho").stdout, r"Health +complete\n")

    def test_damage(self):
        self.record()
        size = self.damage_largest()
        self.assertRegex(self.tacho("info", "report.tacho").stdout, r"Health +damaged: 1 chunk, ")
        self.all_say("report.tacho is damaged: 1 chunk (", but=["analyze"])  # its rules do not read these rows
        done = self.tacho("recover", "-o", "whole.tacho", "report.tacho")
        self.assertIn(f"1 damaged chunk ({size} bytes) was skipped.", done.stdout)
        self.assertRegex(self.tacho("info", "whole.tacho").stdout, r"Health +recovered")
        done = self.tacho("recover", "-o", "whole.tacho", "report.tacho", status=1)
        self.assertIn("-f true", done.stderr)

    def test_losses(self):
        self.profile(lib.program("counts"), "burst", "4", "5000", "1000", options=["-t", "nvtx", "--buffer-limit", "4M"])
        report = self.report()
        lost, recorded = report.count("nvtx", "lost"), report.count("nvtx", "recorded")
        self.assertGreater(lost, 0)
        percent = -(-1000 * lost // (lost + recorded)) / 10  # rounded up
        sentence = f"{lost:,} of {lost + recorded:,} NVTX events lost (buffer full): counts up to {percent:.1f} % low"
        self.all_say("report.tacho: " + sentence, but=["analyze"])  # its rules do not read these rows
        for command in [["info", "report.tacho"], ["summary", "report.tacho"], ["report.tacho"]]:
            done = self.tacho(*command)
            self.assertIn(sentence, done.stdout)
            self.assertEqual(done.stderr, "")

    def test_losses_are_told_where_they_matter(self):
        """Tables that are not made of the lost events are as good as ever."""
        self.profile(lib.program("counts"), "burst", "4", "5000", "1000", options=["-t", "nvtx,osrt", "--osrt-threshold=0", "--buffer-limit", "4M"])
        self.assertGreater(self.report().count("nvtx", "lost"), 0)
        self.assertGreater(self.report().count("switches", "recorded"), 0)
        self.assertIn("NVTX events lost", self.tacho("stats", "-r", "nvtx_sum", "report.tacho").stderr)
        self.assertEqual(self.tacho("stats", "-r", "sched_sum", "report.tacho").stderr, "")
        self.assertEqual(self.tacho("sql", "report.tacho", "SELECT count(*) FROM TACHO_PROCESS").stderr, "")

    def test_an_end_that_is_cut_off(self):
        self.record()
        with open(self.path("report.tacho"), "rb") as file:
            data = file.read()
        at, _, size = [chunk for chunk in chunks(data) if chunk[1] == ROWS][-1]
        with open(self.path("report.tacho"), "wb") as file:
            file.write(data[: at + HEADER + size - 1])
        self.all_say("report.tacho is unfinished")
        done = self.tacho("recover", "-o", "whole.tacho", "report.tacho")
        self.assertIn(f"{HEADER + size - 1} bytes of an incomplete chunk at the end", done.stdout)

    def test_what_was_not_counted_is_not_0(self):
        self.record()
        with open(self.path("report.tacho"), "rb") as file:
            data = file.read()
        at, _, size = max((chunk for chunk in chunks(data) if chunk[1] == ROWS), key=lambda chunk: chunk[2])
        with open(self.path("report.tacho"), "wb") as file:
            file.write(data[: at + HEADER + size])  # before the counts, which come with the end of the program
        self.assertRegex(self.tacho("info", "report.tacho").stdout, r"\n nvtx +[1-9][0-9,]* +\? +\? +\? ")

    def test_output_that_was_hidden(self):
        self.profile("sh", "-c", "echo to stdout; echo to stderr >&2", options=["-w", "false"])
        done = self.tacho("info", "--output", "report.tacho")
        self.assertEqual((done.stdout, done.stderr), ("to stdout\n", "to stderr\n"))
        self.profile("true")
        self.assertIn("-w false", self.tacho("info", "--output", "report.tacho", status=1).stderr)

    def test_sql_and_exports_have_one_row_for_a_process_and_a_thread(self):
        """The report has two of each: when it began and when it ended."""
        report = self.profile("sh", "-c", "ls / >/dev/null; exec true")
        for table, key in (("TACHO_PROCESS", "globalPid, image"), ("TACHO_THREAD", "globalTid, start")):
            rows = report.rows(f"SELECT {key} FROM {table}")
            self.assertEqual(len(rows), len(set(rows)), table)
            counted = self.tacho("sql", "-f", "csv", "report.tacho", f"SELECT count(*) FROM {table}").stdout
            self.assertEqual(counted.split()[-1], str(len(rows)), table)
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE ending IS NULL OR ending = 'running'"), 0)

    def test_the_next_command_can_be_typed(self):
        done = self.run_tacho("true", output="it's one.tacho")
        line = next(line for line in done.stderr.splitlines() if line.startswith("  next:"))
        command = line.partition(":")[2].partition(", or ")[0]
        again = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, line + again.stderr)

    def test_nothing_to_recover(self):
        self.record()
        with open(self.path("report.tacho"), "r+b") as file:
            file.truncate(17)
        done = self.tacho("recover", "-o", "whole.tacho", "report.tacho", status=1)
        self.assertIn("no row of it can be read", done.stderr)
        self.assertFalse(os.path.exists(self.path("whole.tacho")))


lib.main()
