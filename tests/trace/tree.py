"""The process tree in the report against what the programs themselves say: processes, threads, names, how each ended,
shared objects, ranks, and which of the environment is kept."""
import os
import struct
import subprocess

import lib


def global_pid(pid):
    return 1 << 48 | pid << 24


def said(text, word):
    """[(first, second, text)] of the program's lines that begin with this word."""
    lines = [line.split(" ", 3) for line in text.splitlines()]
    return [(int(line[1]), int(line[2]), line[3]) for line in lines if line[0] == word]


class TreeCase(lib.Case):
    def processes(self, report):
        """{(pid, image): row} with the last word on each."""
        rows = report.rows("""SELECT globalPid, image, start, end, parentGlobalPid, exe, command, origin, ending, exitStatus, signal,
                                     rank, localRank, worldSize, rankSource
                              FROM TACHO_PROCESS WHERE rowid IN (SELECT max(rowid) FROM TACHO_PROCESS GROUP BY globalPid, image)""")
        names = ("globalPid", "image", "start", "end", "parent", "exe", "command", "origin", "ending", "exitStatus", "signal",
                 "rank", "localRank", "worldSize", "rankSource")
        return {(row[0] >> 24 & 0xffffff, row[1]): dict(zip(names, row)) for row in rows}

    def profile_tree(self, *arguments, **more):
        report = self.profile(lib.program("tree"), *arguments, **more)
        return report, self.processes(report), self.output.stdout

    def root(self, processes):
        roots = [pid for (pid, image), row in processes.items() if row["origin"] == "launch" and image == 0]
        self.assertEqual(len(roots), 1, processes)
        return roots[0]


class Tree(TreeCase):
    def test_threads_have_their_last_names(self):
        report, processes, told = self.profile_tree("threads")
        truth = {global_pid(pid) | tid: name for pid, tid, name in said(told, "thread")}
        self.assertEqual(len(truth), 6)
        kept = dict(report.rows("""SELECT globalTid, (SELECT value FROM StringIds WHERE id = nameId) FROM TACHO_THREAD
                                   WHERE rowid IN (SELECT max(rowid) FROM TACHO_THREAD GROUP BY globalTid)"""))
        self.assertEqual(kept, truth)
        names = dict(report.rows("SELECT globalTid, (SELECT value FROM StringIds WHERE id = nameId) FROM ThreadNames"))
        self.assertEqual(names, truth)
        unended = report.value("""SELECT count(*) FROM TACHO_THREAD WHERE end IS NULL
                                  AND rowid IN (SELECT max(rowid) FROM TACHO_THREAD GROUP BY globalTid)""")
        self.assertEqual(unended, 0)

    def check_children(self, told, processes, parent, count, image, origin):
        children = [(pid, "exit", status) for pid, status, how in said(told, "exit") if how != "failed"]
        children += [(pid, "signal", number) for pid, number, _ in said(told, "signal")]
        self.assertEqual(len(children), count)
        for pid, ending, number in children:
            row = processes[pid, image]
            self.assertEqual(row["ending"], ending, row)
            self.assertEqual(row["exitStatus" if ending == "exit" else "signal"], number, row)
            self.assertEqual(row["parent"], global_pid(parent), row)
            self.assertEqual(row["origin"], origin, row)
            self.assertLessEqual(row["start"], row["end"])

    def test_forked_children(self):
        report, processes, told = self.profile_tree("fork")
        self.check_children(told, processes, self.root(processes), 3, 0, "fork")
        self.assertEqual(len(processes), 4)

    def test_vforked_children(self):
        report, processes, told = self.profile_tree("vfork")
        self.check_children(told, processes, self.root(processes), 1, 0, "exec")

    def test_spawned_children(self):
        report, processes, told = self.profile_tree("spawn")
        self.check_children(told, processes, self.root(processes), 1, 0, "exec")
        self.assertEqual(len(processes), 2)

    def test_many_short_children_are_counted_once(self):
        """A child may have come and gone before its parent tells of it."""
        report, processes, told = self.profile_tree("spawn-many", "300")
        self.assertEqual(len(processes), 301)
        ends = [row for row in processes.values() if row["origin"] == "exec" and row["exitStatus"] == 7 and row["start"] <= row["end"]]
        self.assertEqual(len(ends), 300)
        self.assertEqual(report.produced("processes"), 0)

    def test_forked_children_can_be_left_out(self):
        report, processes, told = self.profile_tree("fork", options=["--trace-fork-before-exec=false"])
        threads = report.value("SELECT count(DISTINCT globalTid) FROM OSRT_API") if report.has("OSRT_API") else 1
        self.assertEqual(threads, 1)
        report, processes, told = self.profile_tree("vfork", options=["--trace-fork-before-exec=false"])
        self.check_children(told, processes, self.root(processes), 1, 0, "exec")

    def test_exec_chain_is_one_process_with_many_images(self):
        report, processes, told = self.profile_tree("chain", "5", status=8)
        links = said(told, "link")
        pid = links[0][0]
        self.assertEqual({link[0] for link in links}, {pid})
        self.assertEqual(sorted(processes), [(pid, image) for image in range(6)])
        self.assertEqual([processes[pid, image]["ending"] for image in range(6)], ["exec"] * 5 + ["exit"])
        self.assertEqual([processes[pid, image]["origin"] for image in range(6)], ["launch"] + ["exec"] * 5)
        self.assertEqual(processes[pid, 5]["exitStatus"], 8)
        for image in range(5):
            self.assertLessEqual(processes[pid, image]["end"], processes[pid, image + 1]["start"])
        self.assertEqual(report.value("SELECT count(DISTINCT globalTid) FROM TACHO_THREAD"), 1)
        summary = subprocess.run([lib.TACHO, "summary", self.path("report.tacho")], capture_output=True, text=True, env={**os.environ, "COLUMNS": "10000"})
        self.assertRegex(summary.stdout, "(?m); 1 process, 1 thread$")

    def test_scripts(self):
        script = self.path("script.sh")
        with open(script, "w") as file:
            file.write("#!/bin/sh\n%s leaf 15\nexit 16\n" % lib.program("tree"))
        os.chmod(script, 0o755)
        report, processes, told = self.profile_tree("run", script, "argument with space", status=16)
        (pid, parent, _), = said(told, "leaf")
        self.assertEqual(processes[pid, max(image for p, image in processes if p == pid)]["exitStatus"], 15)
        shell = processes[parent, 1]
        self.assertEqual(os.path.realpath(shell["exe"]), os.path.realpath("/bin/sh"))
        self.assertIn(script, shell["command"])
        self.assertIn("'argument with space'", shell["command"])

    def test_exec_with_a_cleaned_environment(self):
        report, processes, told = self.profile_tree("clean", lib.program("tree"), "leaf", "17")
        (pid, parent, _), = said(told, "leaf")
        self.assertEqual(processes[pid, 1]["exitStatus"], 17)
        self.assertEqual(processes[pid, 1]["parent"], global_pid(parent))

    def test_daemons(self):
        done = self.path("done")
        report, processes, told = self.profile_tree("daemon", done)
        self.assertTrue(os.path.exists(done), "the capture must wait for the daemon")
        (pid, parent, _), = said(told, "daemon")
        self.assertEqual(processes[pid, 0]["ending"], "exit")
        self.assertEqual(processes[pid, 0]["exitStatus"], 9)
        (between, _, _), = said(told, "exit")
        self.assertEqual(processes[between, 0]["parent"], global_pid(self.root(processes)))
        self.assertEqual(report.value("SELECT value FROM ThreadNames JOIN StringIds ON id = nameId WHERE globalTid = ?",
                                      global_pid(pid) | pid), "demon")

    def test_endings(self):
        for how, status, ending, column, number in (
                ("exit", 10, "exit", "exitStatus", 10), ("thread", 11, "exit", "exitStatus", 11),
                ("raw", 12, "exit", "exitStatus", 12), ("quick", 13, "exit", "exitStatus", 13),
                ("return", 14, "exit", "exitStatus", 14), ("abort", -6, "signal", "signal", 6),  # and Tacho dies of it as well
                ("kill", -9, "signal", "signal", 9)):
            with self.subTest(how):
                report, processes, told = self.profile_tree("ends", how, status=status)
                (pid, _, _), = said(told, "ends")
                self.assertEqual(processes[pid, 0]["ending"], ending)
                self.assertEqual(processes[pid, 0][column], number)

    def test_modules_come_and_go(self):
        paths = []
        for name, answer in (("goes", 41), ("stays", 42)):
            paths.append(self.path(f"lib{name}.so"))
            source = f"int answer(void); int answer(void) {{ return {answer}; }}\n"
            subprocess.run([os.environ["CC"], "-shared", "-fPIC", "-Wl,--build-id", "-o", paths[-1], "-x", "c", "-"],
                           input=source, text=True, check=True)
        report, processes, told = self.profile_tree("loads", *paths)
        self.assertEqual(said(told, "answer")[0][0], 41)
        query = """SELECT start, end, address, size, buildId FROM TACHO_MODULE
                   WHERE pathId = (SELECT id FROM StringIds WHERE value = ?) ORDER BY rowid DESC LIMIT 1"""
        goes, = report.rows(query, paths[0])
        stays, = report.rows(query, paths[1])
        self.assertIsNotNone(goes[1])
        self.assertLessEqual(goes[0], goes[1])
        self.assertIsNone(stays[1])
        for row, path in ((goes, paths[0]), (stays, paths[1])):
            notes = subprocess.run([os.environ["READELF"], "-n", path], capture_output=True, text=True, check=True).stdout
            self.assertIn(f"Build ID: {row[4]}", notes)
        program = report.rows(query, lib.program("tree"))
        self.assertEqual(len(program), 1, "the program itself is a module")

    def test_modules_of_a_child_that_was_forked_amid_a_load(self):
        """The thread that was noting shared objects then is not in the child, which notes its own all the same."""
        report, _, told = self.profile_tree("forks-amid-a-load", "libm.so.6", "librt.so.1", options=["-t", "osrt"])
        (child, status, _), = said(told, "exit")
        self.assertEqual(status, 0)
        names = {os.path.basename(path) for path, in report.rows("""SELECT value FROM TACHO_MODULE JOIN StringIds s ON s.id = pathId
                                                                    WHERE globalPid = (SELECT globalPid FROM PROCESSES WHERE pid = ?)""", child)}
        self.assertIn("librt.so.1", names)

    def test_python_of_a_child_that_was_forked_while_it_was_looked_at(self):
        """The thread that was looking for Python's symbols then is not in the child, which looks for itself and says what it found."""
        python = self.path("libpython3.so")
        subprocess.run([os.environ["CC"], "-shared", "-fPIC", "-o", python, "-x", "c", "-"],
                       input="void *PyGILState_GetThisThreadState(void) { return 0; }\n", text=True, check=True)
        report, _, told = self.profile_tree("forks-amid-a-load", python, "librt.so.1", "2", options=["-t", "osrt", "--python-backtrace=cuda"])
        (child, status, _), = said(told, "exit")
        self.assertEqual(status, 0)
        refused = {process for process, in report.rows("SELECT globalPid FROM DIAGNOSTIC_EVENT WHERE text LIKE '%Tacho does not support this Python%'")}
        self.assertIn(global_pid(child), refused)
        self.assertEqual(len(refused), 2, "its parent says so, too")

    def test_modules_with_odd_notes(self):
        """The loader never looks at notes: a module may load whose notes are nowhere, longer than it is, or someone else's."""
        good = self.path("libgood.so")
        subprocess.run([os.environ["CC"], "-shared", "-fPIC", "-Wl,--build-id", "-o", good, "-x", "c", "-"],
                       input="int answer(void); int answer(void) { return 41; }\n", text=True, check=True)
        with open(good, "rb") as file:
            image = file.read()
        heads, = struct.unpack_from("<Q", image, 32)
        size, count = struct.unpack_from("<HH", image, 54)
        notes = [at for at in range(heads, heads + size * count, size) if struct.unpack_from("<I", image, at)[0] == 4]  # PT_NOTE
        starts = [struct.unpack_from("<Q", image, at + 8)[0] for at in notes]
        owner = image.index(b"\x03\0\0\0GNU\0") + 4
        changes = {  # where, how it is packed, what
            "address": [(at + 16, "<Q", 0x40000000) for at in notes],
            "far": [(at + 16, "<Q", 2**64 - 8) for at in notes],
            "long": [(at + where, "<Q", 0x7FFFFFFF00) for at in notes for where in (32, 40)],
            "owner": [(owner, "<I", 0x41424344)],
            "name": [(start, "<I", 0xFFFFFFFE) for start in starts],
            "content": [(start + 4, "<I", 0xFFFFFFFF) for start in starts],
        }
        for name, places in changes.items():
            with self.subTest(name):
                odd, path = bytearray(image), self.path(f"lib{name}.so")
                for where, how, value in places:
                    struct.pack_into(how, odd, where, value)
                with open(path, "wb") as file:
                    file.write(odd)
                report, _, told = self.profile_tree("loads", path, good)
                self.assertEqual(said(told, "answer")[0][0], 41)
                ids = dict(report.rows("SELECT value, buildId FROM TACHO_MODULE JOIN StringIds s ON s.id = pathId WHERE value IN (?, ?)", path, good))
                self.assertIsNone(ids[path])
                self.assertEqual(len(ids[good]), 40)


class Environment(TreeCase):
    def variables(self, report):
        return dict(report.rows("SELECT name, value FROM TACHO_PROCESS_ENV"))

    def profile_with(self, variables, **more):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SLURM_", "OMPI_", "PMI_", "PMIX_", "MPI_", "MV2_")) and
                       name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
        environment.update(variables)
        report = self.profile(lib.program("tree"), "leaf", "0", env=environment, **more)
        return report, self.processes(report)

    def test_ranks(self):
        for source, variables, rank in (
                ("torchrun", {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}, (5, 1, 8)),
                ("slurm", {"SLURM_PROCID": "3", "SLURM_LOCALID": "2", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"}, (3, 2, 4)),
                ("openmpi", {"OMPI_COMM_WORLD_RANK": "6", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_SIZE": "7"}, (6, 0, 7)),
                ("mpich", {"PMI_RANK": "9", "PMI_SIZE": "10", "MPI_LOCALRANKID": "1"}, (9, 1, 10))):
            with self.subTest(source):
                report, processes = self.profile_with(variables)
                row, = processes.values()
                self.assertEqual((row["rank"], row["localRank"], row["worldSize"]), rank)
                self.assertTrue(row["rankSource"])

    def test_no_rank_without_a_launcher(self):
        report, processes = self.profile_with({})
        row, = processes.values()
        self.assertEqual((row["rank"], row["localRank"], row["worldSize"], row["rankSource"]), (None, None, None, None))

    def test_nonsense_ranks_are_no_ranks(self):
        report, processes = self.profile_with({"RANK": "first", "WORLD_SIZE": ""})
        row, = processes.values()
        self.assertEqual((row["rank"], row["worldSize"]), (None, None))

    def test_only_listed_variables_are_stored(self):
        secret = "hunter2-correct-horse"
        report, processes = self.profile_with({"API_TOKEN": secret, "AWS_SECRET_ACCESS_KEY": secret, "CUDA_VISIBLE_DEVICES": "0,1",
                                               "OMP_NUM_THREADS": "3", "NCCL_DEBUG": "INFO"},
                                              options=["-e", f"PASSWORD={secret}"])
        variables = self.variables(report)
        for name, value in (("CUDA_VISIBLE_DEVICES", "0,1"), ("OMP_NUM_THREADS", "3"), ("NCCL_DEBUG", "INFO")):
            self.assertEqual(variables.get(name), value)
        for name in ("API_TOKEN", "AWS_SECRET_ACCESS_KEY", "PASSWORD", "PATH", "HOME"):
            self.assertNotIn(name, variables)
        everything = "\n".join(report.database.iterdump())
        self.assertNotIn(secret, everything)
        with open(report.path, "rb") as file:
            self.assertNotIn(secret.encode(), file.read())


if __name__ == "__main__":
    lib.main()
