"""Call chains of slow calls: right for optimised C++ and Rust without frame pointers, with the names, inlined functions and lines that
addr2line (binutils) has for the same addresses; the same from every form of debug information."""
import functools
import os
import re
import resource
import shutil
import subprocess
import tempfile

import lib

PROGRAMS = os.path.join(lib.SOURCE, "tests", "trace", "chains")
CLONE = re.compile(r" \[clone [^]]*\]|\.(constprop|isra|part|cold)(\.\d+)?|@plt$")
ENDS = {"_start", "clone3", "__clone3", "clone", "__clone"}
UNDEFINED_RETURN = re.compile(r"DW_CFA_undefined: r(16|30) \((rip|x30)\)")


@functools.lru_cache
def outermost(path):
    """[(first, end)] of the functions in a file that have no caller, as its unwind information says: their return address is undefined."""
    frames = subprocess.run(["readelf", "--wide", "--debug-dump=frames", path], capture_output=True, text=True, check=True).stdout
    found = []
    for entry in frames.split("\n\n"):
        pc = re.search(r"FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", entry)
        if pc and UNDEFINED_RETURN.search(entry):
            found.append((int(pc[1], 16), int(pc[2], 16)))
    return found


class Chains(lib.Case):
    samples = True

    def setUp(self):
        super().setUp()
        self.compiler = shutil.which("g++") or shutil.which("clang++-14")
        if not self.compiler or not shutil.which("addr2line") or not shutil.which("objcopy"):
            self.skipTest("needs a C++ compiler and binutils")

    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.mkdtemp(prefix="tacho-test-")
        cls.addClassCleanup(shutil.rmtree, cls.built, ignore_errors=True)

    def compile(self, name, *options, source="program.cc"):
        """Each once for all tests."""
        path = os.path.join(self.built, name)
        if not os.path.exists(path):
            subprocess.run([self.compiler if source.endswith(".cc") else shutil.which("cc"), "-O2", "-fomit-frame-pointer", "-pthread", *options,
                            "-o", path, os.path.join(PROGRAMS, source)], check=True, cwd=self.built)
        return path

    def chains(self, program, *options, arguments=(), **more):
        """For each distinct chain its rows, innermost first, as dictionaries."""
        report = self.profile(program, *arguments, options=["-t", "osrt", "--osrt-backtrace-threshold=1000000", *options], **more)
        columns = [name for _, name, *_ in report.rows("PRAGMA table_info(OSRT_CALLCHAINS)")]
        wanted = {"inlined": "c.inlined", "unresolved": "c.unresolved", "line": "c.sourceLine", "file": "f.value"}
        known = {"inlined": "inlined", "unresolved": "unresolved", "line": "sourceLine", "file": "sourceFile"}
        texts = ", ".join(wanted[key] if known[key] in columns else "NULL" for key in wanted)
        file = "LEFT JOIN StringIds f ON f.id = c.sourceFile" if "sourceFile" in columns else ""
        chains = {}
        for row in report.rows(f"""SELECT c.id, s.value, m.value, c.originalIP, {texts} FROM OSRT_CALLCHAINS c
                                   JOIN StringIds s ON s.id = c.symbol JOIN StringIds m ON m.id = c.module {file} ORDER BY c.id, c.stackDepth"""):
            chains.setdefault(row[0], []).append(dict(zip(("name", "module", "address", *wanted), row[1:])))
        return report, chains

    def truth(self, program, addresses):
        """What addr2line says of addresses in the file: [(function, file, line)], innermost first, by address."""
        done = subprocess.run(["addr2line", "-e", program, "-a", "-f", "-i", "-C", *map(hex, addresses)], capture_output=True, text=True, check=True)
        found, lines = {}, done.stdout.split("\n")
        for line in lines:
            if re.fullmatch(r"0x[0-9a-f]{16}", line):
                current = found.setdefault(int(line, 16), [])
                name = None
            elif name is None:
                name = line
            elif line:
                file, _, number = line.partition(" (")[0].rpartition(":")
                current.append((name, os.path.basename(file), int(number) if number.isdigit() else 0))
                name = None
        return found

    def is_end(self, report, row):
        """Whether a frame is the outermost one of a thread. A libc without debug symbols has no name for it."""
        if row["name"] in ENDS:
            return True
        base = report.value("SELECT address FROM TACHO_MODULE JOIN StringIds ON id = pathId WHERE value = ?", row["module"])
        return row["unresolved"] and any(first <= row["address"] - 1 - base < end for first, end in outermost(row["module"]))

    def own_frames(self, report, chains, program):
        """The program's own frames: address in the file → [(function, file, line)]."""
        base = report.value("SELECT address FROM TACHO_MODULE JOIN StringIds ON id = pathId WHERE value = ?", program)
        frames = {}
        for rows in chains.values():
            by_address = []
            for row in rows:
                if row["module"] == program:
                    if not by_address or by_address[-1][0] != row["address"] or not by_address[-1][1][-1]["inlined"]:
                        by_address.append((row["address"], []))
                    by_address[-1][1].append(row)
            for address, lines in by_address:
                frames[address - 1 - base] = [(row["name"], os.path.basename(row["file"] or ""), row["line"] or 0) for row in lines]
        return frames

    def check(self, program, reference=None, *options):
        """All chains come to an end, and all frames are what addr2line makes of the unstripped file."""
        report, chains = self.chains(program, *options)
        for rows in chains.values():
            self.assertTrue(self.is_end(report, rows[-1]), [row["name"] for row in rows])
        frames = self.own_frames(report, chains, program)
        truth = self.truth(reference or program, sorted(frames))
        for address, lines in frames.items():
            if lines[-1][0] == "_start":  # what debug information the start files have is the distribution's affair
                continue
            self.assertEqual([at for _, *at in lines], [at for _, *at in truth[address]], (hex(address), lines))
            # addr2line has the symbol's name on the innermost function, inlined or not, and names without scope around it.
            if len(lines) == 1:
                self.assertEqual(CLONE.sub("", lines[0][0]), CLONE.sub("", truth[address][0][0]))
            else:
                self.assertIn(re.match(r"[~\w]*", truth[address][-1][0])[0], lines[-1][0])
        return chains

    def test_names_lines_and_inlined_functions(self):
        chains = self.check(self.compile("program", "-g"))
        names = {row["name"] for rows in chains.values() for row in rows}
        for part in ("shapes::box<double, 3>::area(int)", "by_virtual(shapes::shape*, int)", "by_handler(int)", "by_sort()", "recursive(int)", "main"):
            self.assertTrue(any(part in name for name in names), (part, sorted(names)))
        self.assertTrue(any(row["inlined"] and "inlined_wait" in row["name"] for rows in chains.values() for row in rows))
        depths = sorted(sum(CLONE.sub("", row["name"]) == "recursive(int)" for row in rows) for rows in chains.values())
        self.assertEqual([depth for depth in depths if depth], [2, 3, 7])  # in the child, the thread, the main thread

    def test_every_form_of_debug_information(self):
        plain = self.compile("program", "-g")
        for name, options in (("dwarf4", ["-g", "-gdwarf-4"]), ("packed", ["-g", "-gz=zlib"]), ("split", ["-g", "-gsplit-dwarf"])):
            with self.subTest(form=name):
                self.check(self.compile(name, *options), plain)

    def test_separate_debug_files(self):
        plain = self.compile("program", "-g")
        build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", plain], capture_output=True, text=True, check=True).stdout).group(1)
        stripped, debug = self.path("stripped"), self.path("stripped.debug")
        subprocess.run(["objcopy", "--only-keep-debug", plain, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", plain, stripped], check=True)
        with self.subTest(found="by the link beside it"):
            self.check(stripped, plain)
        folder = self.path(f"debug/.build-id/{build_id[:2]}")
        os.makedirs(folder)
        os.rename(debug, os.path.join(folder, build_id[2:] + ".debug"))
        with self.subTest(found="by its build-id"):
            self.check(stripped, plain, f"--debug-symbols=/nowhere:{self.path('debug')}")
        with self.subTest(found="not at all"):
            _, chains = self.chains(stripped)
            own = [row for rows in chains.values() for row in rows if row["module"] == stripped]
            self.assertTrue(own)
            for row in own:
                self.assertEqual((row["unresolved"], row["name"]), (1, hex(row["address"])))

    def test_no_names_are_looked_up(self):
        _, chains = self.chains(self.compile("program", "-g"), "--resolve-symbols=false")
        self.assertEqual({row["unresolved"] for rows in chains.values() for row in rows}, {1})

    def test_rust(self):
        rustc = shutil.which("rustc")
        if not rustc:
            self.skipTest("rustc is not installed")
        program = self.path("rusty")
        done = subprocess.run([rustc, "-O", "-g", "-o", program, os.path.join(PROGRAMS, "program.rs")], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("rustc does not work here: " + done.stderr.strip().split("\n")[-1])
        _, chains = self.chains(program)
        names = [row["name"] for rows in chains.values() for row in rows]
        for part in ("area", "program::twice", "program::main"):
            self.assertTrue(any(part in name for name in names), (part, names))
        self.assertFalse([name for name in names if name.startswith(("_ZN", "_R"))])

    def test_code_made_at_run_time(self):
        report, chains = self.chains(self.compile("made", source="made.c"))
        pid = report.value("SELECT pid FROM PROCESSES")
        os.unlink(f"/tmp/perf-{pid}.map")
        names = [[row["name"] for row in rows] for rows in chains.values()]
        self.assertTrue(any(chain[:3] == ["called_back", "made_function", "main"] for chain in names), names)

    def test_names_without_end(self):
        """A file of 256 GiB without a second line, and not as much memory."""
        if lib.SANITIZE:
            self.skipTest("sanitizers want all of the address space")
        limit = 8 << 30
        report, chains = self.chains(self.compile("made", source="made.c"), arguments=["endless"],
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        os.unlink(f"/tmp/perf-{report.value('SELECT pid FROM PROCESSES')}.map")
        self.assertIn("made_function", [row["name"] for rows in chains.values() for row in rows])
        self.assertIn("256 MiB", self.output.stderr)

    def test_depth_and_threshold(self):
        program = self.compile("program", "-g")
        _, chains = self.chains(program, "--osrt-backtrace-depth=3")
        self.assertEqual({len({row["address"] for row in rows}) for rows in chains.values() if "recursive" not in str(rows)}, {3})
        report = self.profile(program, options=["-t", "osrt", "--osrt-backtrace-threshold=60000000000"])
        self.assertFalse(report.has("OSRT_CALLCHAINS"))
        report = self.profile(program, options=["-t", "osrt", "--osrt-backtrace-stack-size=0"])
        self.assertFalse(report.has("OSRT_CALLCHAINS"))
        report, _ = self.chains(program, "--osrt-backtrace-stack-size=512")
        self.assertGreater(report.count("callchains", "recorded", "cut"), 0)


if __name__ == "__main__":
    lib.main()
