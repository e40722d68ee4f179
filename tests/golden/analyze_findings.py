"""The findings of `tacho analyze` for tools: SARIF, annotations of GitHub Actions, JSON, and --fail-if. A problem, no problem and "not checked" are three
different answers in each. The truth is a launch-bound program of PyTorch's (train.json.gz) and captures of system calls that are made up here."""

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

import lib
from lib import TACHO, check, output, refusal, run

TRAIN = os.path.join(lib.KINETO, "train.json.gz")

# Objects of SARIF 2.1.0 that Tacho writes: what the schema requires, and what else it allows of that we use. It allows nothing that it does not name.
LEVELS, KINDS = {"none", "note", "warning", "error"}, {"notApplicable", "pass", "fail", "review", "open", "informational"}
TEXT = ({"text"}, {})
RULE = ({"id"}, {"shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT, "defaultConfiguration": (set(), {"level": LEVELS}), "name": None})
NOTIFICATION = ({"message"}, {"message": TEXT, "level": LEVELS, "descriptor": (set(), {"id": None}), "associatedRule": (set(), {"id": None, "index": None})})
LOCATION = (set(), {"physicalLocation": (set(), {"artifactLocation": (set(), {"uri": None}), "region": (set(), {"startLine": None})})})
RESULT = ({"message"}, {"ruleId": None, "ruleIndex": None, "level": LEVELS, "kind": KINDS, "message": TEXT, "locations": [LOCATION], "properties": None})
DRIVER = ({"name"}, {"version": None, "rules": [RULE], "notifications": [RULE]})
RUN = ({"tool"}, {"tool": ({"driver"}, {"driver": DRIVER}), "automationDetails": (set(), {"id": None}), "results": [RESULT],
                  "invocations": [({"executionSuccessful"}, {"toolExecutionNotifications": [NOTIFICATION]})]})
LOG = ({"version", "runs"}, {"$schema": None, "runs": [RUN]})


def check_shape(where, value, shape):
    """Reports what the schema would refuse."""
    if isinstance(shape, list):
        check(f"{where} is an array", True, isinstance(value, list))
        for number, item in enumerate(value):
            check_shape(f"{where}[{number}]", item, shape[0])
    elif isinstance(shape, set):
        check(f"{where} is one of {sorted(shape)}: {value}", True, value in shape)
    elif shape:
        required, members = shape
        check(f"{where} lacks members", set(), required - set(value))
        check(f"{where} has members that the schema does not know", set(), set(value) - required - set(members))
        for name, of_member in members.items():
            if name in value:
                check_shape(f"{where}.{name}", value[name], of_member)


def sarif(*arguments):
    document = json.loads(output("analyze", "-f", "sarif", *arguments))
    check_shape("sarif", document, LOG)
    check("version", "2.1.0", document["version"])
    for one in document["runs"]:
        rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
        check("each rule is described once", len(rules), len(set(rules)))
        for result in one["results"]:
            check("ruleIndex", result["ruleId"], rules[result["ruleIndex"]])
            check("every result has a location", 1, len(result["locations"]))
        for note in one["invocations"][0]["toolExecutionNotifications"]:
            check("index of the rule of a notification", note["associatedRule"]["id"], rules[note["associatedRule"]["index"]])
    return document


def notes(run_of_sarif, what):
    return [note["associatedRule"]["id"] for note in run_of_sarif["invocations"][0]["toolExecutionNotifications"] if note["descriptor"]["id"] == what]


def answers(file):
    return {row["Rule"]: row for row in lib.table("rule_sum", file)}


def check_answers():
    """All formats name the same rules for each of the three answers."""
    rules = answers(TRAIN)
    by_answer = {answer: [name for name, row in rules.items() if row["Answer"] == answer] for answer in ("problem", "no problem", "not checked")}
    check("the program is launch-bound", "launch_bound", by_answer["problem"][0])
    check("findings of a rule, not their events", [1, 0, ""], [rules[name]["Findings"] for name in ("launch_bound", "result_waits", "gil_contention")])
    check("waits are no problem", True, "result_waits" in by_answer["no problem"])
    check("the GIL was not checked", ("not checked", "Python samples", "--python-sampling=true"),
          tuple(rules["gil_contention"][name] for name in ("Answer", "Missing Data", "Recorded By")))
    document = sarif(TRAIN)["runs"][0]
    check("sarif: problems", set(by_answer["problem"]), {result["ruleId"] for result in document["results"]})
    check("sarif: no problem", by_answer["no problem"], notes(document, "no problem"))
    check("sarif: not checked", by_answer["not checked"], notes(document, "not checked"))
    lines = output("analyze", "-f", "github", TRAIN).splitlines()
    check("github: problems", set(by_answer["problem"]), {re.search("title=([^:]*)::", line)[1] for line in lines if line.startswith("::warning ")})
    for answer in ("no problem", "not checked"):
        named = next(line for line in lines if line.startswith(f"::notice title={answer}::"))
        check(f"github: {answer}", by_answer[answer], re.findall(r"(\w+)(?: \([^)]*\))?(?:,|$)", named.split(": ", 1)[1]))
    listed = re.sub(r"\s+", " ", output("analyze", "-f", "human", TRAIN))
    events = {"cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "cuda_api_sync", "gpu_gaps", "gpu_time_util", "dram_bound"}  # they list events, and are no advice
    for answer, label in (("no problem", "Nothing found by"), ("not checked", "Not checked, for lack of data")):
        named = re.sub(r"\([^)]*\)", "", re.search(rf"{label}: (.*?)(?= Not checked|$)", listed)[1])
        check(f"human: {answer}", set(by_answer[answer]), set(re.findall(r"\w+", named)) - events)
    tables = json.loads(output("analyze", "--json", TRAIN))
    check("json: the answers", rules, {row["Rule"]: row for row in tables["rule_sum"]})
    for name, expected in (("launch_bound", list), ("result_waits", []), ("gil_contention", None)):
        got = json.loads(output("analyze", "-q", "--json", "-r", name, TRAIN))
        check(f"json: {name}", True, bool(got) if expected is list else got == expected)
    check("--json is --format=json", output("analyze", "-f", "json", TRAIN), output("analyze", "--json", TRAIN))


def check_finding():
    """The figures and the line of a finding are those of advice_sum."""
    row = lib.table("advice_sum", TRAIN)[0]
    result = sarif(TRAIN)["runs"][0]["results"][0]
    check("sarif: figures", (row["From (ns)"], row["To (ns)"], row["Saves per Step (ns)"], row["Confidence"]),
          tuple(result["properties"][name] for name in ("low_ns", "high_ns", "estimate_ns", "confidence")))
    place = result["locations"][0]["physicalLocation"]
    check("sarif: the line", row["Where"].split()[0], f"{place['artifactLocation']['uri']}:{place['region']['startLine']}")
    check("sarif: the sentence", True, result["message"]["text"].startswith(row["Finding"]) and result["message"]["text"].endswith(row["Advice"]))
    check("two files are two runs", 2, len(sarif("--each", TRAIN, TRAIN)["runs"]))
    check("sarif: one rule", ["result_waits"], [rule["id"] for rule in sarif("-r", "result_waits", TRAIN)["runs"][0]["tool"]["driver"]["rules"]])
    for form in ("sarif", "github"):
        check(f"{form} stands alone", True, "alone" in refusal("analyze", "-f", form, "-f", "csv", TRAIN))
        check(f"{form} has no files", True, "alone" in refusal("analyze", "-f", form, "-o", "here", TRAIN))


def check_paths():
    """A file of another machine is found in the checkout in which tacho runs, by the end of its path. Paths of all kinds are escaped."""
    with gzip.open(TRAIN, "rt") as file:
        text = file.read()
    recorded = "/home/ann/a model, v2: 50%/src/kineto_cap.py"
    check("the trace names its file", True, "kineto_cap.py(" in text)
    with open("moved.json", "w") as file:
        file.write(text.replace("kineto_cap.py(", recorded + "("))
    os.makedirs("checkout/src")
    for here, exists, expected in ((".", False, recorded), ("checkout", True, "src/kineto_cap.py"), ("checkout/src", True, "kineto_cap.py")):
        if exists:
            open("checkout/src/kineto_cap.py", "w").close()
        trace = os.path.abspath("moved.json")
        said = subprocess.run([TACHO, "analyze", "-f", "github", trace], cwd=here, stdout=subprocess.PIPE, text=True, check=True).stdout
        escaped = expected.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
        check(f"github, in {here}", True, said.startswith(f"::warning file={escaped},line=8,title=launch_bound::launch-bound"))
        said = subprocess.run([TACHO, "analyze", "-f", "sarif", trace], cwd=here, stdout=subprocess.PIPE, text=True, check=True).stdout
        uri = json.loads(said)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        check(f"sarif, in {here}", "file:///home/ann/a%20model%2C%20v2%3A%2050%25/src/kineto_cap.py" if expected == recorded else expected, uri)


def make_calls(path, waits):
    """A capture of one thread that writes files: no CUDA at all."""
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'fsync');"
        "CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);")
    for start, end in waits:
        database.execute("INSERT INTO OSRT_API VALUES (?, ?, 27, 16777217, 1, 0, 0, 0)", (start, end))
    database.commit()
    database.close()
    return path


def check_conditions():
    row = lib.table("advice_sum", TRAIN)[0]
    about, bound = row["Saves per Step (ns)"], row["To (ns)"]
    for condition, status in (("saving > 5 %", 1), ("saving>5%", 1), ("saving>99%", 0), (f"saving>{about - 1}ns", 1), (f"saving>{about}ns", 0),
                              (f"bound>{bound - 1}", 1), (f"bound>{bound}", 0), ("saving>1s", 0), ("saving>1ms", 1), ("impact>1%", 1)):
        for form in ("github", "sarif", "json", "csv"):
            got, said, _ = run("analyze", "-q", "-f", form, "--fail-if", condition, TRAIN)
            check(f"--fail-if '{condition}' -f {form}: {said}", status, got)
            check(f"--fail-if '{condition}' says which: {said}", status, len(re.findall("^FAILED launch_bound: ", said, re.M)))
    _, said, _ = run("analyze", "-q", "--fail-if", "saving>5%", TRAIN)
    check("the line says how much, of what, where, and the limit", True,
          re.fullmatch(r"FAILED launch_bound: saving [\d.]+ ms of a step of [\d.]+ ms \([\d.]+ %\), kineto_cap\.py:8 step, limit 5 %(; \d+ more findings? exceeds? it)?\n", said) is not None)
    check("a rule that finds nothing does not fail", 0, run("analyze", "-r", "result_waits", "--fail-if", "saving>0", TRAIN)[0])
    for wrong in ("saving", "saving<5%", "saving>much", "total>5%", ">5%", "saving>-5%"):
        got, said, _ = run("analyze", "--fail-if", wrong, TRAIN)
        check(f"--fail-if '{wrong}' is refused", (2, True), (got, "--fail-if must be like 'saving>5%'" in said))
    clean = make_calls("clean.sqlite", [(0, 1000), (10 ** 9, 10 ** 9 + 1000)])
    check("savings of a program without a GPU could not be checked", True, "could not be checked" in refusal("analyze", "-q", "-f", "csv", "--fail-if", "saving>5%", clean))
    check("that is status 1", 1, run("analyze", "--fail-if", "saving>5%", clean)[0])
    check("its impacts can", 0, run("analyze", "--fail-if", "impact>5%", clean)[0])
    check("no problem", "no problem", answers(clean)["blocked_io"]["Answer"])
    blocked = make_calls("blocked.sqlite", [(0, 1000), (10 ** 6, 9 * 10 ** 8), (10 ** 9, 10 ** 9 + 1000)])
    check("a problem", "problem", answers(blocked)["blocked_io"]["Answer"])
    check("an impact of 90 %", 1, run("analyze", "--fail-if", "impact>85%", blocked)[0])
    check("and no more", 0, run("analyze", "--fail-if", "impact>95%", blocked)[0])
    check("sarif: a finding without a line is at the report", "blocked.sqlite",
          sarif("blocked.sqlite")["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def found(*rule):
    return [row["Finding"] for row in json.loads(output("analyze", "-q", "--json", "-r", ":".join(rule), TRAIN))]


def check_thresholds():
    """378 kernels of 11.8 µs in a step, and a saving of some 74 % of it: the rule finds them up to these limits, in tables and in findings."""
    for option, below, above in (("kernels", 378, 379), ("mean", 12, 11), ("saving", 70, 80)):
        check(f"{option}={below}", 1, len(found("launch_bound", f"{option}={below}")))
        check(f"{option}={above}", 0, len(found("launch_bound", f"{option}={above}")))
        for value, count in ((below, 1), (above, 0)):
            check(f"sarif: {option}={value}", count, len(sarif("-r", f"launch_bound:{option}={value}", TRAIN)["runs"][0]["results"]))
    text = output("analyze", "--help-rules", "launch_bound")
    for words in ("launch_bound[:saving=<percent>][:kernels=<count>][:mean=<us>][:share=<percent>]", "Default: 10.", "Default: 100.", "Default: 1."):
        check(f"the help has {words}", True, words in " ".join(text.split()))
    check("an unknown option", True, "launch_bound takes [:saving=<percent>]" in refusal("analyze", "-r", "launch_bound:limit=3", TRAIN))
    check("a value out of range", True, "from 0 to 100" in refusal("analyze", "-r", "launch_bound:saving=101", TRAIN))
    check("another rule's option", True, "not 'kernels'" in refusal("analyze", "-r", "result_waits:kernels=3", TRAIN))


def check_operators():
    """Advice names an operator of emit_nvtx without the numbers of the call ("aten::conv2d, seq = 720, op_id = 1")."""
    lib.unpack(os.path.join(lib.HERE, "nsys", "resnet18.sqlite.gz"), "resnet18.sqlite")
    texts = [text for text, in sqlite3.connect("resnet18.sqlite").execute("SELECT text FROM NVTX_EVENTS WHERE text LIKE '%, op_id = %'")]
    operators = {text.split(", seq = ")[0].split(", op_id = ")[0] for text in texts}
    check("ranges of operators", True, len(texts) > 1000 > len(operators) > 50)
    rows = json.loads(output("analyze", "-r", "slow_operators", "-f", "json", "resnet18.sqlite"))
    named = [row["Finding"].rsplit(": ", 1)[0] for row in rows]
    check("advice on operators", True, "conv2d" in named)
    check("no two lines on one operator of one line", len(rows), len({(row["Finding"].rsplit(": ", 1)[0], row["Where"]) for row in rows}))
    for name in named:
        check(f"{name} is an operator", True, name in operators or f"aten::{name}" in operators)


def check_launches():
    """How many kernels a step launches, how long they run and how long it launches them: from the calls and kernels of the file itself."""
    file = sqlite3.connect("resnet18.sqlite")
    steps = file.execute("SELECT start, end FROM NVTX_EVENTS WHERE text LIKE 'iteration%' AND end IS NOT NULL ORDER BY start").fetchall()
    rows = file.execute("""SELECT r.start, r.end, k.end - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k
                           JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId""").fetchall()
    own = [[row for row in rows if start <= row[0] < end] for start, end in steps]
    kernels = [row for step in own for row in step]
    launching = sum(max(end for _, end, _ in step) - min(start for start, _, _ in step) for step in own) / len(own)
    wanted = f"launch-bound: {len(kernels) // len(own)} kernels of {sum(ns for _, _, ns in kernels) / len(kernels) / 1e3:.1f} µs, launched in {launching / 1e6:.1f} ms"
    check("launches of a step", [wanted], [row["Finding"] for row in json.loads(output("analyze", "-r", "launch_bound", "-f", "json", "resnet18.sqlite"))])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_answers()
        check_finding()
        check_paths()
        check_conditions()
        check_thresholds()
        check_operators()
        check_launches()
        os.chdir("/")
    return lib.status()


sys.exit(main())
