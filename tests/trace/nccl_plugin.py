"""--nccl-plugin: what NCCL reports to profiler plugins, against a stand-in of NCCL that plays all versions of the interface,
stops events out of order, twice or never, and reports states of events that have ended (nccl#1992).
"""
import os
import subprocess

import lib

NCCL = os.path.join(os.environ["FAKE"], "lib", "libnccl.so.2")
PLUGIN = os.path.join(os.path.dirname(lib.AGENT), "libtacho-nccl.so")
VERSIONS = [1, 2, 3, 4, 5, 6]
KINDS = {"group": "group", "coll": "collective", "p2p": "p2p", "op": "proxy op", "step": "proxy step", "ctrl": "proxy control",
         "net": "network", "ce": "ce collective"}
NAME = "(SELECT value FROM StringIds WHERE id = {})"


def truth(output):
    """The lines of the stand-in: version to what it has reported."""
    said = {}
    for line in output.splitlines():
        words = line.split()
        if words and words[0][0] == "v" and words[1] == "mask":
            said[int(words[0][1:])] = dict(zip(words[1::2], map(int, words[2::2])))
    return said


class Plugin(lib.Case):
    samples = False

    def play(self, *versions, level="proxy", options=(), **keywords):
        report = self.profile(lib.program("nccl_plays"), NCCL, *map(str, versions),
                              options=["-t", "nvtx", f"--nccl-plugin={level}", *options], **keywords)
        self.assertEqual(self.output.stdout.split()[-1], "ok", self.output.stdout)
        self.assertEqual(report.count("nccl", "lost"), 0)
        return report, truth(self.output.stdout)

    def kinds(self, report):
        found = {}
        for table in ("TACHO_NCCL_OP", "TACHO_NCCL_PROXY"):
            found.update(report.rows(f"SELECT kind, count(*) FROM {table} GROUP BY kind") if report.has(table) else [])
        return found

    def check(self, report, said):
        wanted = {kind: said[word] for word, kind in KINDS.items() if said[word]}
        self.assertEqual(self.kinds(report), wanted)
        self.assertEqual(report.count("nccl", "recorded"), sum(wanted.values()))

    def test_every_version_with_the_network(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                report, said = self.play(version)
                self.check(report, said[version])
                self.assertGreater(said[version]["step"], 0)
                # The state of the handle that never was comes on top.
                self.assertEqual(report.value("SELECT count(*) FROM TACHO_NCCL_STATE"), said[version]["states"] + 1)
                self.operations(report, version)
                self.network(report, version)

    def operations(self, report, version):
        comm = report.rows("SELECT commId, hash & 0xffffffff, name, ranks, nodes, rank, version FROM TACHO_NCCL_COMM")
        size = (8, 2) if version >= 4 else (None, None)
        columns = [name for _, name, *_ in report.rows("PRAGMA table_info(TACHO_NCCL_COMM)")]
        self.assertIn("ranks", columns)
        self.assertEqual(comm, [(1, 1, "world", *size, 1, version)])
        channels = 2 if version >= 4 else None
        self.assertEqual(report.rows(f"""
            SELECT kind, {NAME.format('function')}, sequence, {NAME.format('algorithm')}, {NAME.format('protocol')},
                   {NAME.format('datatype')}, count, bytes, channels, warps, root, peer, rank, commId
            FROM TACHO_NCCL_OP WHERE kind IN ('collective', 'p2p') ORDER BY kind"""), [
            ("collective", "AllReduce", 7, "RING", "LL128", "ncclFloat32", 1024, 4096, 4, 8, 0, None, 1, 1),
            ("p2p", "Send", None, None, None, "ncclFloat64", 10, 80, channels, None, None, 3, 1, 1)])
        self.assertEqual(report.value("""SELECT count(*) FROM TACHO_NCCL_OP o JOIN TACHO_NCCL_OP g ON g.id = o.parentId
                                         WHERE g.kind = 'group' AND o.start >= g.start"""), 2)
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_NCCL_OP WHERE end IS NULL OR end < start"), 0)
        if version == 6:
            self.assertEqual(report.rows(f"""SELECT {NAME.format('function')}, sequence, {NAME.format('algorithm')}, bytes
                                             FROM TACHO_NCCL_OP WHERE kind = 'ce collective'"""), [("AllGather", 9, "CE", 100)])

    def network(self, report, version):
        self.assertEqual(report.rows("""SELECT o.kind, p.channel, p.peer, p.isSend, p.steps, p.chunkBytes FROM TACHO_NCCL_PROXY p
                                        LEFT JOIN TACHO_NCCL_OP o ON o.id = p.parentId WHERE p.kind = 'proxy op' ORDER BY p.id"""),
                         [("collective", 5, 2, 1, 3, 4096), (None, 5, 2, 0, 3, 4096)])
        steps = report.rows("""SELECT s.step, s.end IS NOT NULL FROM TACHO_NCCL_PROXY s JOIN TACHO_NCCL_PROXY o ON o.id = s.parentId
                               WHERE s.kind = 'proxy step' AND o.kind = 'proxy op' ORDER BY s.step""")
        self.assertEqual(steps, [(0, 0), (1, 1), (2, 1)])  # the first one is never stopped
        late = report.rows("""SELECT state FROM TACHO_NCCL_STATE t JOIN TACHO_NCCL_PROXY p ON p.id = t.id WHERE t.timestamp > p.end""")
        self.assertEqual(late, [("send wait",)])
        self.assertEqual(report.value("SELECT max(value) FROM TACHO_NCCL_STATE WHERE state = 'append'"), 2)
        if version >= 4:  # before that, steps have no bytes
            self.assertEqual(report.value("SELECT max(value) FROM TACHO_NCCL_STATE WHERE state = 'send wait'"), 8192)
        if version >= 3:
            self.assertEqual(report.rows(f"SELECT {NAME.format('network')}, bytes, connection FROM TACHO_NCCL_PROXY WHERE kind = 'network' ORDER BY id"),
                             [("IB", 512, 31), (None, None, None)])

    def test_all_versions_in_one_process_without_the_network(self):
        report, said = self.play(*VERSIONS, level="coll")
        self.assertEqual([said[version]["mask"] for version in VERSIONS], [7] * 5 + [7 | 4096])
        self.assertFalse(report.has("TACHO_NCCL_PROXY") or report.has("TACHO_NCCL_STATE"))
        self.assertEqual(self.kinds(report), {"group": 6, "collective": 6, "p2p": 6, "ce collective": 1})
        self.assertEqual(report.rows("SELECT commId, version FROM TACHO_NCCL_COMM ORDER BY commId"), [(v, v) for v in VERSIONS])
        info = subprocess.run([lib.TACHO, "info", report.path], capture_output=True, text=True, check=True).stdout
        self.assertRegex(info, r"NCCL plugin +coll")
        self.assertRegex(info, r"nccl +19")

    def test_off_by_default(self):
        report = self.profile(lib.program("nccl_plays"), NCCL, "6", options=["-t", "nvtx,nccl"])
        self.assertIn("v6 no plugin", self.output.stdout)
        self.assertFalse(report.has("TACHO_NCCL_OP"))

    def test_a_range_that_has_not_begun_records_nothing(self):
        report, _ = self.play(6, options=["-c", "nvtx", "-p", "never@none"])
        self.assertEqual(self.kinds(report), {})

    def test_a_plugin_of_the_user_stays(self):
        own = self.path("libnccl-profiler.so")
        os.symlink(PLUGIN, own)  # under another name: without an agent that is asked, it records nothing
        folder = {"LD_LIBRARY_PATH": self.folder}
        conf = self.path("nccl.conf")
        with open(conf, "w") as file:
            file.write("# mine\nNCCL_PROFILER_PLUGIN=mine\n")
        for variables, named in (({"NCCL_PROFILER_PLUGIN": own}, own), (folder, own), ({"NCCL_CONF_FILE": conf}, "=mine in " + conf)):
            with self.subTest(variables=variables):
                report = self.profile(lib.program("nccl_plays"), NCCL, options=[
                    "-t", "nvtx", "--nccl-plugin=coll", *[f"-e{name}={value}" for name, value in variables.items()]])
                self.assertIn("NCCL loads only one profiler plugin", self.output.stderr)
                self.assertIn(named, self.output.stderr)
                said = report.rows("SELECT value FROM META_DATA_CAPTURE WHERE name = 'NCCL_PLUGIN'")
                self.assertEqual(len(said), 1)
                self.assertIn(named, said[0][0])

    def test_a_child_with_an_empty_environment(self):
        report = self.profile("env", "-i", lib.program("nccl_plays"), NCCL, "6", options=["-t", "nvtx", "--nccl-plugin=coll"])
        self.assertNotIn("no plugin", self.output.stdout)
        self.assertTrue(report.has("TACHO_NCCL_OP"))
        self.profile("env", "-i", "env", options=["-t", "nvtx,nccl"])
        self.assertNotIn("NCCL_PROFILER_PLUGIN", self.output.stdout)

    def test_without_an_agent_the_plugin_asks_for_nothing(self):
        bare = subprocess.run([lib.program("nccl_plays"), NCCL, *map(str, VERSIONS)], capture_output=True, text=True,
                              env={**os.environ, "NCCL_PROFILER_PLUGIN": PLUGIN})
        self.assertEqual(bare.stdout.split()[-1], "ok", bare.stdout)
        self.assertEqual({said["mask"] for said in truth(bare.stdout).values()}, {0})

    def test_a_capture_of_other_things_does_not_record_it(self):
        report = self.profile(lib.program("nccl_plays"), NCCL, "6", options=["-t", "nvtx", f"-eNCCL_PROFILER_PLUGIN={PLUGIN}"])
        self.assertEqual(truth(self.output.stdout)[6]["mask"], 0)
        self.assertFalse(report.has("TACHO_NCCL_OP"))

    def test_a_bad_value(self):
        done = subprocess.run([lib.TACHO, "profile", "--nccl-plugin=all", "true"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nccl-plugin", done.stderr)


if __name__ == "__main__":
    lib.main()
