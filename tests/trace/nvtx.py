"""All of NVTX: what programs say is in the report, once, with its names, values and times; nothing else is."""
import json
import os
import shutil
import subprocess
import unittest

import lib

NAME = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"


class Nvtx(lib.Case):
    def setUp(self):
        super().setUp()
        self.options = ["-t", "nvtx"]

    def nvtx(self, *arguments, options=(), **more):
        return self.profile(*arguments, options=[*self.options, *options], **more)

    def all(self, part, options=()):
        report = self.nvtx(lib.program("nvtx_all"), part, options=options)
        self.assertEqual(self.output.stdout.splitlines()[0], "attached 1, tool version 3")
        return report

    def build(self, name, *flags, compiler=None):
        """Compiles a file of modules/."""
        source = os.path.join(lib.SOURCE, "tests/trace/modules", name)
        output = self.path(os.path.splitext(name)[0])
        subprocess.run([*(compiler or os.environ["CC"]).split(), "-O1", "-D_GNU_SOURCE", *flags, "-o", output, source,
                        "-ldl", "-lpthread"], check=True)
        return output

    def counts(self, report):
        """(name, how many) of all events, in whichever domain."""
        return dict(report.rows(f"SELECT {NAME} AS name, count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60) GROUP BY name"))

    def check_balance(self, report, produced):
        self.assertEqual(report.produced("nvtx"), produced)
        self.assertEqual(report.count("nvtx", "lost"), 0)

    def test_marks_and_ranges(self):
        report = self.all("plain")
        marks = [name for name, in report.rows("SELECT text FROM NVTX_EVENTS WHERE eventType = 34 ORDER BY start")]
        self.assertEqual(marks, ["a mark", "wide ä€😀", "x\ufffd\ufffdy", None, ""])
        self.assertEqual(report.rows("SELECT text FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start"), [("outer",), ("inner",)])
        outer, inner = report.rows("SELECT start, end FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start")
        self.assertLess(outer[0], inner[0])
        self.assertLessEqual(inner[0], inner[1])
        self.assertLess(inner[1], outer[1])
        first, second = report.rows("SELECT text, rangeId, endGlobalTid FROM NVTX_EVENTS WHERE eventType = 60 ORDER BY start")
        self.assertEqual((first[0], second[0]), ("first", "second"))
        self.assertNotEqual(first[1], second[1])
        self.assertEqual((first[2], second[2]), (None, None), "ended by the thread that started it")
        self.check_balance(report, 9)

    def test_attributes(self):
        report = self.all("attributes")
        values = {row[0]: row[1:] for row in report.rows(
            "SELECT text, category, color, uint64Value, int64Value, doubleValue, uint32Value, int32Value, floatValue, domainId "
            "FROM NVTX_EVENTS WHERE eventType = 34 AND text IS NOT NULL")}
        self.assertEqual(values, {
            "u64": (7, 0xff00ff00, -1, None, None, None, None, None, 0),  # 2^64 - 1, as SQLite has it
            "i64": (None, None, None, -5, None, None, None, None, 0),
            "f64": (None, None, None, None, 2.5, None, None, None, 0),
            "u32": (None, None, None, None, None, 2 ** 32 - 1, None, None, 0),
            "i32": (None, None, None, None, None, None, -7, None, 0),
            "f32": (None, None, None, None, None, None, None, 0.5, 0),
            "unknown payload": (None,) * 8 + (0,),
            "black": (None, 0, None, None, None, None, None, None, 1)})
        self.assertEqual(report.rows("SELECT category FROM NVTX_EVENTS WHERE eventType = 34 AND text IS NULL ORDER BY start"),
                         [(3,), (None,)], "a short struct, and none at all")

    def test_domains_and_registered_strings(self):
        report = self.all("domains")
        self.assertEqual(report.rows("SELECT domainId, text FROM NVTX_EVENTS WHERE eventType = 75 ORDER BY domainId"),
                         [(1, "all"), (2, "wïde"), (3, "all")])
        self.assertEqual(report.rows("SELECT domainId FROM NVTX_EVENTS WHERE eventType = 76"), [(3,)])
        ranges = report.rows(f"SELECT domainId, {NAME}, text IS NULL FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY domainId")
        self.assertEqual(ranges, [(0, "in default", 0), (1, "registered", 1), (2, "registëred", 1)])
        self.assertEqual(report.rows("SELECT domainId, category, text FROM NVTX_EVENTS WHERE eventType = 33 ORDER BY start"),
                         [(0, 7, "seven"), (0, 8, "eïght"), (1, 7, "seven in all"), (1, 9, "nine in all")])
        self.assertEqual(report.rows("SELECT domainId, text, textId FROM NVTX_EVENTS WHERE eventType = 34 ORDER BY start"),
                         [(0, None, None), (3, None, None)], "handles from nowhere")

    def test_names(self):
        report = self.all("names")
        self.assertEqual(report.rows("SELECT eventType, text, uint64Value FROM NVTX_EVENTS WHERE eventType >= 97 ORDER BY start"),
                         [(97, "device 0", 0), (97, "device 1", 1), (98, "a context", 16), (99, "a stream", 32), (99, "another stream", 33)])
        self.assertEqual(report.rows("SELECT text, globalTid = (SELECT globalTid FROM TACHO_THREAD) FROM NVTX_EVENTS WHERE eventType = 39 ORDER BY start"),
                         [("the main thread", 1), ("the mäin thread", 1)])
        self.assertEqual(report.rows("SELECT value FROM ThreadNames JOIN StringIds ON id = nameId"), [("the mäin thread",)])
        self.assertEqual(report.rows("SELECT action FROM TACHO_SYNC ORDER BY timestamp"),
                         [(a,) for a in ("create", "acquire-start", "acquire-failed", "acquire-start", "acquire-success", "releasing", "destroy")])
        self.assertEqual(report.rows("SELECT kind, identifier, value FROM TACHO_RESOURCE LEFT JOIN StringIds ON id = nameId "
                                     "WHERE objectId IS NOT NULL ORDER BY timestamp"),
                         [("pointer", 64, "a buffer"), ("destroyed", None, None)])

    def test_deep_and_many(self):
        report = self.all("deep")
        self.assertEqual(self.counts(report), {"deep": 1000, "many": 100})
        self.assertEqual(report.value("SELECT count(DISTINCT domainId) FROM NVTX_EVENTS WHERE text = 'many'"), 100)
        self.check_balance(report, 1100)

    def test_payloads(self):
        report = self.all("payloads")
        packet = {"size": 4096, "at": {"x": 3, "y": -4}, "ratios": [0.5, 1, 2], "kind": "receive", "bits": "urgent|last",
                  "note": "a note", "label": "label"}
        rows = report.rows("SELECT eventType, text, jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL ORDER BY start")
        self.assertEqual([(kind, text, json.loads(value)) for kind, text, value in rows],
                         [(34, "label", packet), (59, "label", [packet, packet]), (60, "label", packet), (34, "with payload", [42, "text"])])
        self.assertEqual(report.value("SELECT binaryData FROM NVTX_EVENTS WHERE text = 'with payload'"), "2a00000000000000,74657874")
        self.assertEqual(report.rows("SELECT name, numEntries, payloadSize FROM NVTX_PAYLOAD_SCHEMAS ORDER BY schemaId"),
                         [("point", 2, 8), ("packet", 7, 56)])
        self.assertEqual(report.rows("SELECT idx, name, description FROM NVTX_PAYLOAD_SCHEMA_ENTRIES WHERE schemaId = "
                                     "(SELECT min(schemaId) FROM NVTX_PAYLOAD_SCHEMAS) ORDER BY idx"),
                         [(0, "x", None), (1, "y", "the other way")])
        self.assertEqual(report.rows("SELECT name, value, isFlag FROM NVTX_PAYLOAD_ENUM_ENTRIES ORDER BY schemaId, idx"),
                         [("none", 0, 0), ("send", 1, 0), ("receive", 2, 0), ("urgent", 1, 1), ("last", 4, 1)])
        self.assertEqual(report.rows("SELECT path, parentScopeId FROM NVTX_SCOPES"), [("a/b", 1)])

    def test_long_texts_are_cut_and_hold_nothing_up(self):
        report = self.all("long")
        self.assertEqual(self.counts(report), {"registered afterwards": 1})
        self.assertEqual(report.value("SELECT length(rtrim(name, 'L')) FROM NVTX_PAYLOAD_SCHEMA_ENTRIES"), 0)
        self.assertGreater(report.value("SELECT length(name) FROM NVTX_PAYLOAD_SCHEMA_ENTRIES"), 16000, "cut, but not to nothing")
        self.check_balance(report, 1)

    def test_a_layout_that_is_left_to_the_tool_is_that_of_c(self):
        report = self.all("layout")
        (value, data), = report.rows("SELECT jsonText, binaryData FROM NVTX_EVENTS WHERE jsonText IS NOT NULL")
        self.assertEqual(json.loads(value), {"first": "f", "at": {"x": 3, "y": -4}, "last": "l"})
        self.assertEqual(len(data), 2 * 16, "what the agent copied is the struct, and nothing behind it")

    def test_empty_arrays_are_not_followed(self):
        report = self.all("empty")
        value = report.value("SELECT jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL")
        self.assertEqual(json.loads(value)["count"], 0)

    def test_counters(self):
        report = self.all("counters")
        self.assertEqual(report.rows("SELECT intValue FROM TACHO_COUNTER JOIN StringIds ON id = nameId WHERE StringIds.value = 'queue' ORDER BY timestamp"),
                         [(3 * i,) for i in range(10)])
        self.assertEqual(report.rows("SELECT StringIds.value, TACHO_COUNTER.value, intValue FROM TACHO_COUNTER JOIN StringIds ON id = nameId "
                                     "WHERE StringIds.value != 'queue' ORDER BY timestamp, StringIds.value"),
                         [("load", 0.25, None), ("load", None, None), ("position/x", 11.0, 11), ("position/y", -12.0, -12)])
        self.check_balance(report, 13)

    def test_a_forked_child_uses_what_its_parent_registered(self):
        report = self.all("forks")
        self.assertEqual(report.rows(f"SELECT domainId, {NAME} FROM NVTX_EVENTS WHERE eventType = 59"), [(1, "from the parent")])
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'all'"), 2, "in both processes")

    def test_domain_filters(self):
        for options, ranges in ((["--nvtx-domain-exclude=default"], {"registered", "registëred"}),
                                (["--nvtx-domain-include=default"], {"in default"}),
                                (["--nvtx-domain-include=all,default"], {"in default", "registered"}),
                                (["--nvtx-domain-exclude=wïde"], {"in default", "registered"})):
            with self.subTest(options=options):
                report = self.all("domains", options=options)
                self.assertEqual({name for name, in report.rows(f"SELECT {NAME} FROM NVTX_EVENTS WHERE eventType = 59")}, ranges)

    def test_not_asked_for(self):
        done = self.run_tacho(lib.program("nvtx_all"), options=["-t", "osrt"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[0], "attached 0, tool version 0")

    def test_threads_and_signal_handlers(self):
        report = self.nvtx(lib.program("nvtx_threads"), "4", "2000")
        ranges, handled = map(int, self.output.stdout.splitlines()[0].split())
        counts = self.counts(report)
        self.assertEqual(report.produced("nvtx"), ranges + handled + 1)
        self.assertEqual(report.count("nvtx", "recorded"), sum(counts.values()))
        self.assertEqual(report.count("nvtx", "lost"), 0)
        self.assertEqual({name: counts[name] for name in ("outer", "registered", "handed on", "in the handler")},
                         {"outer": 8000, "registered": 8000, "handed on": 8000, "in the handler": handled})
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE text = 'handed on' AND endGlobalTid IS NULL"), 0)
        self.assertEqual(report.open_ranges(), ["levels are back at 0"])
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE end < start"), 0)

    def check_names(self, arguments, options):
        report = self.nvtx(lib.program("nvtx_names"), *arguments, options=options)
        own, children = map(int, self.output.stdout.splitlines()[0].split())
        self.assertEqual(report.produced("nvtx"), own + children)
        names = [name for name, in report.rows(f"SELECT {NAME} FROM NVTX_EVENTS WHERE eventType = 34")]
        self.assertEqual(len(names), report.count("nvtx", "recorded"))
        self.assertEqual(names.count(None), 0, "every string is known, however late")
        self.assertEqual(len(set(names) - {"before all"}), len(names) - names.count("before all"), "each is used once")
        return report

    def test_strings_registered_by_many_threads(self):
        report = self.check_names(["8", "2000", "20"], ["--buffer-limit=64M"])
        self.assertEqual(report.count("nvtx", "lost"), 0)

    def test_names_outlive_a_full_buffer(self):
        self.check_names(["4", "50000", "0"], ["--buffer-limit=4M"])

    @unittest.skipIf(lib.SANITIZE, "sanitizers need more memory at any moment")
    def test_names_that_no_memory_is_left_for_are_no_events(self):
        report = self.nvtx(lib.program("nvtx_names"), "1", "20000", "0", "full")
        self.assertGreater(report.count("notes", "lost", "buffer-full"), 0)
        self.assertEqual(report.produced("nvtx"), 20000)

    def test_capture_ranges(self):
        for kind, wanted in (("push", "go"), ("wide", "go"), ("registered", "go"), ("start", "go"), ("domain", "go@gates"),
                             ("push", "go@*"), ("domain", "go@*")):
            with self.subTest(kind=kind, wanted=wanted):
                report = self.nvtx(lib.program("nvtx_capture"), kind, "3",
                                   options=["-c", "nvtx", "-p", wanted, "--capture-range-end=repeat:2"])
                counts = self.counts(report)
                # The range itself, the one inside it, and the mark; twice, as was asked for.
                self.assertEqual(counts, {"go": 4, "inside": 2})
                self.assertEqual(report.value("SELECT count(*) FROM TACHO_RANGE WHERE end IS NOT NULL"), 2)
                self.assertEqual(report.value("SELECT text FROM NVTX_EVENTS WHERE eventType = 75"), "gates", "told before recording began")

    def test_a_capture_range_that_never_comes(self):
        report = self.nvtx(lib.program("nvtx_capture"), "none", "1", options=["-c", "nvtx", "-p", "other"])
        self.assertEqual(self.counts(report), {})

    def test_every_module_attaches(self):
        library = self.build("nvtx_plugin.c", "-shared", "-fPIC")
        report = self.nvtx(self.build("nvtx_host.c"), library, "4")
        self.assertEqual(self.counts(report), {"the host": 1, "in the plugin": 20})
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'plugin'"), 4)
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 76"), 4)

    def test_cpp(self):
        compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("clang++-14")
        if not compiler:
            self.skipTest("no C++ compiler")
        report = self.nvtx(self.build("nvtx_cpp.cc", "-std=c++11", "-Wall", "-Wextra", "-Werror", compiler=compiler))
        self.assertEqual(self.counts(report), {"recursion": 30, "left by an exception": 1, "caught": 1})

    def test_without_preload(self):
        report = self.nvtx(lib.program("nvtx_all"), "plain", options=["--preload=no"])
        self.check_balance(report, 9)


if __name__ == "__main__":
    lib.main()
