"""Parts of reports as reports (`export --type tacho`), cut by time or to a size, and the timeline in one file (`--type html`)."""

import base64
import html.parser
import os
import sqlite3
import sys
import tempfile

from lib import HERE, Made, check, output, refusal, run, status, table, unpack

SECOND = 1_000_000_000


def lines(file):
    """Every row of every table, whatever the order."""
    output("export", "-q", "-f", "true", "-t", "jsonlines", "-o", "rows.jsonl", file)
    with open("rows.jsonl") as rows:
        return sorted(rows)


def part(file, *options):
    output("export", "-q", "-f", "true", "-t", "tacho", *options, "-o", "part.tacho", file)
    output("export", "-q", "-f", "true", "-o", "part.sqlite", "part.tacho")
    return sqlite3.connect("part.sqlite")


def whole():
    unpack(os.path.join(HERE, "nsys", "mix.sqlite.gz"), "mix.sqlite")
    output("import", "-q", "mix.sqlite")
    expected = lines("mix.tacho")
    part("mix.tacho")
    check("a part that is all has all rows", (len(expected), expected), (len(lines("part.tacho")), lines("part.tacho")))


def by_time():
    original = sqlite3.connect("mix.sqlite")
    low, high = original.execute("SELECT min(start) + 1000000, min(start) + 3000000 FROM NVTX_EVENTS WHERE eventType = 59").fetchone()
    cut = part("mix.sqlite", f"--filter-time={low}/{high}")
    for name in ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "OSRT_API"):
        query = f"SELECT start, end FROM {name} WHERE start <= {high} AND end >= {low} ORDER BY 1, 2"
        check(f"{name} of that time", original.execute(query).fetchall(), cut.execute(f"SELECT start, end FROM {name} ORDER BY 1, 2").fetchall())
    for query in ("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 75", "SELECT count(*) FROM PROCESSES", "SELECT count(*) FROM ThreadNames"):
        check(f"what describes events stays: {query}", original.execute(query).fetchone(), cut.execute(query).fetchone())


def by_steps():
    unpack(os.path.join(HERE, "nsys", "resnet18.sqlite.gz"), "resnet18.sqlite")
    part("resnet18.sqlite", "--steps=10")
    for report in ("cuda_gpu_kern_sum", "cuda_api_sum", "nvtx_sum"):
        expected = table(report, "resnet18.sqlite", "--steps=10")
        check(f"{report} of a step", (True, expected), (len(expected) > 1, table(report, "part.tacho")))


def stacks():
    made = Made("stacks.sqlite")
    for second in range(10):
        made.add("COMPOSITE_EVENTS", id=second + 1, start=second * SECOND, globalTid=1 << 48 | 5 << 24 | 5, threadState=2, cpuCycles=1)
        for depth in range(3):
            made.add("SAMPLING_CALLCHAINS", id=second + 1, symbol=made.text(f"function {second}"), module=made.text("program"), stackDepth=depth)
        made.add("OSRT_API", start=second * SECOND, end=second * SECOND + 5, eventClass=27, globalTid=1 << 48 | 5 << 24 | 5, nameId=made.text(f"call {second}"),
                 returnValue=0, callchainId=second + 1, lockCallchainId=second + 101)
        for chain, symbol in ((second + 1, f"caller {second}"), (second + 101, f"lock {second}")):
            made.add("OSRT_CALLCHAINS", id=chain, symbol=made.text(symbol), module=made.text("program"), stackDepth=0)
    cut = part(made.write(), "--filter-time=3s/5s")
    check("samples of that time", [(4,), (5,), (6,)], cut.execute("SELECT id FROM COMPOSITE_EVENTS ORDER BY 1").fetchall())
    check("their stacks, and no others", [(4, 3), (5, 3), (6, 3)], cut.execute("SELECT id, count(*) FROM SAMPLING_CALLCHAINS GROUP BY 1 ORDER BY 1").fetchall())
    check("those of the calls, and their locks", [(4,), (5,), (6,), (104,), (105,), (106,)], cut.execute("SELECT id FROM OSRT_CALLCHAINS ORDER BY 1").fetchall())
    texts = {value for (value,) in cut.execute("SELECT value FROM StringIds")}
    check("strings that are referred to", {f"{word} {second}" for word in ("function", "call", "caller", "lock") for second in (3, 4, 5)},
          {text for text in texts if " " in text})


def long_capture(name="long.sqlite"):
    """Ten seconds of calls with times that pack badly."""
    made, time, state = Made(name), 0, 1
    for number in range(20000):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        time += 250_000 + (state >> 40) % 500_000
        made.add("OSRT_API", start=time, end=time + (state >> 33) % 200_000, eventClass=27, globalTid=1 << 48 | 5 << 24 | 5, nameId=made.text(f"call {number % 50}"),
                 returnValue=state >> 32, callchainId=0)
    return made


def detail(cut):
    return cut.execute("SELECT start, end FROM TACHO_DETAIL ORDER BY 1").fetchall()


def where_the_work_is():
    """Kernels in two bursts far from the middle; then ranges in one; then both, cut to steps and to a time."""
    made = long_capture("work.sqlite")
    for second in (1, 8.8):
        for number in range(100):
            start = int(second * SECOND) + number * 1_000_000
            made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=start + 400_000, deviceId=0, contextId=1, streamId=7, correlationId=number, globalPid=1 << 48 | 5 << 24,
                     demangledName=made.text("kernel"), shortName=made.text("kernel"))
    file = made.write()
    cut = part(file, "--max-size=25000")
    first, last, count = cut.execute("SELECT min(start), max(start), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    check("all kernels of a burst are kept", (100, True), (count, last - first < SECOND))
    ((begin, end),) = detail(cut)
    starts = [start for (start,) in sqlite3.connect(file).execute("SELECT start FROM OSRT_API WHERE start BETWEEN ? AND ? ORDER BY 1", (begin, end))]
    check("what is said to be there in detail is", starts, [start for (start,) in cut.execute("SELECT start FROM OSRT_API WHERE start BETWEEN ? AND ? ORDER BY 1", (begin, end))])
    for asked, least, most in (("--filter-time=0s/5s", 1, 1.1), ("--filter-time=5s/10s", 8.8, 8.9), ("--times=500ms/1500ms,3s/4s", 1, 1.1)):
        cut = part(file, "--max-size=24000", asked)
        first, last = cut.execute("SELECT min(start), max(start) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
        check(f"those of {asked}", True, least * SECOND <= first <= last <= most * SECOND)
        check("and nothing else", 0, cut.execute("SELECT count(*) FROM OSRT_API WHERE start > ? OR end < ?", (detail(cut)[-1][1], detail(cut)[0][0])).fetchone()[0])
        check("within the size", True, os.path.getsize("part.tacho") <= 24000)
    made = long_capture("ranges.sqlite")
    for number in range(50):
        made.add("NVTX_EVENTS", start=9 * SECOND + number * 2_000_000, end=9 * SECOND + number * 2_000_000 + 1_000_000, eventType=59, globalTid=1 << 48 | 5 << 24 | 5,
                 text="step")
    cut = part(made.write(), "--max-size=25000")
    check("without a GPU, where ranges are", 50, cut.execute("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59").fetchone()[0])
    check("what is not cut to a size says nothing of detail", 0, part(file, "--filter-time=1s/2s").execute("SELECT count(*) FROM sqlite_master WHERE name = 'TACHO_DETAIL'").fetchone()[0])


def steps_to_size(file):
    """Of a step that was asked for, where its work is."""
    everything = sqlite3.connect(file).execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
    all_bytes = os.path.getsize("part.tacho") if part(file, "--steps=11") else 0
    asked = sqlite3.connect("part.sqlite").execute("SELECT min(start), max(start), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    cut = part(file, "--steps=11", f"--max-size={all_bytes * 6 // 7}")
    got = cut.execute("SELECT min(start), max(start), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    check(f"kernels of a part of the step: {got} of {asked}", True, asked[0] <= got[0] <= got[1] <= asked[1] and asked[2] / 10 < got[2] < asked[2] < everything)
    check("within the size", True, os.path.getsize("part.tacho") <= all_bytes * 6 // 7)
    check("which stretch is in detail is said", True, all(begin <= end for begin, end in detail(cut)) and detail(cut) != [])


def by_size(file):
    all_spans = sqlite3.connect(file).execute("SELECT start, end FROM OSRT_API ORDER BY start").fetchall()
    all_starts = [start for start, _ in all_spans]
    for size in (150_000, 60_000, 25_000):
        code, said, _ = run("export", "-f", "true", "-t", "tacho", f"--max-size={size}", "-o", "part.tacho", file)
        check("it can be cut to that size", 0, code)
        check("which is said", True, "exported " in said and " % of the events" in said)
        got = os.path.getsize("part.tacho")
        check(f"{size} bytes are not exceeded, nor is much of them unused: {got}", True, size / 2 < got <= size)
        output("export", "-q", "-f", "true", "-o", "part.sqlite", "part.tacho")
        starts = [start for (start,) in sqlite3.connect("part.sqlite").execute("SELECT start FROM OSRT_API ORDER BY start")]
        left_out = sqlite3.connect("part.sqlite").execute("SELECT sum(count), min(start), max(end), sum(busyNs) FROM TACHO_OVERVIEW WHERE tableName = 'OSRT_API'").fetchone()
        kept = set(starts)
        check("what is left out is counted", len(all_starts), len(starts) + left_out[0])
        check("from end to end", (all_starts[0], True), (left_out[1], all_starts[-1] - left_out[2] < all_starts[-1] / 100))
        check("as busy as it was", sum(end - start for start, end in all_spans if start not in kept), left_out[3])
        first = all_starts.index(starts[0])
        check("it is one stretch", all_starts[first:first + len(starts)], starts)
        check("from the middle", True, abs(first + len(starts) / 2 - len(all_starts) / 2) < len(all_starts) / 10)
    for asked in ("--filter-time=6s/8s", "--times=6s/7s,7500ms/8s"):  # the middle is that of the part
        output("export", "-q", "-f", "true", "-t", "tacho", "--max-size=25000", asked, "-o", "part.tacho", file)
        output("export", "-q", "-f", "true", "-o", "part.sqlite", "part.tacho")
        inside = [start for start in all_starts if 6e9 <= start < 8e9 and not ("times" in asked and 7e9 < start < 7.5e9)]
        first, last = (inside.index(start) for start in sqlite3.connect("part.sqlite").execute("SELECT min(start), max(start) FROM OSRT_API").fetchone())
        check(f"the middle of {asked}: {first} to {last} of {len(inside)}", True, 0 < first < last < len(inside) and abs(first + last - len(inside)) < len(inside) / 5)
    before = os.path.getsize("part.tacho")
    check("a size that cannot be", True, "cannot reach that size" in refusal("export", "-f", "true", "-t", "tacho", "--max-size=300", "-o", "part.tacho", file))
    check("leaves the file that was there", before, os.path.getsize("part.tacho"))
    check("other types are not cut", True, "--max-size" in refusal("export", "--max-size=1M", "-o", "other.sqlite", file))
    check("no size", True, "25MB" in refusal("export", "-t", "tacho", "--max-size=much", file))


class Page(html.parser.HTMLParser):
    """The elements of a page: attributes, and what is in them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append([tag, dict(attributes), ""])
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.elements[-1][2] += data

    def find(self, tag, **attributes):
        return [e for e in self.elements if e[0] == tag and all(e[1].get(name) == value for name, value in attributes.items())]


SCRIPT = 'const end = "</script><b>", start = "<script>", comment = "<!-- ";\n'


def make_page():
    os.mkdir("page")
    files = {"index.html": '<!doctype html>\n<html><head><meta charset="utf-8"><title>T</title>\n<link rel="stylesheet" crossorigin href="./page.css">\n</head>'
                           '<body><div id="page"></div>\n<script src="./page.js"></script>\n</body></html>\n',
             "page.css": "body { margin: 0 }\n", "page.js": SCRIPT, "tacho.wasm.gz": "\0asm" + "x" * 1001}
    for name, content in files.items():
        with open(os.path.join("page", name), "w") as file:
            file.write(content)


def one_file(file):
    check("without the page", True, "built without" in refusal("export", "-t", "html", file))
    make_page()
    os.environ["TACHO_PAGE"] = os.path.abspath("page")
    name = 'a"><script>alert(1)<!--.sqlite'
    os.link(file, name)
    output("export", "-q", "-t", "html", "-o", "out.html", name)
    with open("out.html", encoding="utf-8") as made:
        page = Page(made.read())
    data = page.find("script", type="application/octet-stream;base64")
    check("two elements of data", ["tacho-wasm", "tacho-report"], [element[1]["id"] for element in data])
    check("the name is text", name, data[1][1]["data-name"])
    with open("page/tacho.wasm.gz", "rb") as wasm:
        check("the reader is in it", wasm.read(), base64.b64decode(data[0][2], validate=True))
    with open("inside.tacho", "wb") as inside:
        inside.write(base64.b64decode(data[1][2], validate=True))
    check("the report is in it", lines(file), lines("inside.tacho"))
    policy = page.find("meta", **{"http-equiv": "Content-Security-Policy"})[0][1]["content"]
    scripts = [element for element in page.find("script") if element not in data]
    check("one script", 1, len(scripts))
    check("which the policy allows", True, f"script-src 'nonce-{scripts[0][1]['nonce']}'" in policy and len(scripts[0][1]["nonce"]) == 32)
    check("no other source", True, policy.startswith("default-src 'none'") and "unsafe-inline" not in policy and "http" not in policy)
    check("it means what it meant", SCRIPT, scripts[0][2].replace("\\/", "/").replace("\\!", "!").replace("\\s", "s"))
    check("nothing is fetched", [], [element for element in page.elements if "src" in element[1] or "href" in element[1]])
    check("the style is in it", "body { margin: 0 }\n", page.find("style")[0][2])
    output("export", "-q", "-f", "true", "-t", "html", "--max-size=90K", "-o", "out.html", file)
    check("--max-size is of the page", True, 45_000 < os.path.getsize("out.html") <= 90_000)
    check("too small for the page itself", True, "page" in refusal("export", "-f", "true", "-t", "html", "--max-size=5K", "-o", "out.html", file))
    check("nothing else is left behind", [], [name for name in os.listdir(".") if "unfinished" in name])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["TACHO_PAGE"] = os.path.join(folder, "none")
        whole()
        by_time()
        by_steps()
        stacks()
        steps_to_size("resnet18.sqlite")
        where_the_work_is()
        file = long_capture().write()
        by_size(file)
        one_file(file)
        os.chdir("/")
    return status()


sys.exit(main())
