"""The command line itself: exit statuses, help and completion from the table, files that exist already, recovery."""

import gzip
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

TACHO = os.environ["TACHO"]
failures = 0


def run(*arguments, **more):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def check(what, truth, *shown):
    global failures
    if not truth:
        failures += 1
        print("wrong:", what, *shown)


def check_usage():
    status, out, err = run()
    check("no command is a usage error", status == 2 and out == "" and "usage: tacho COMMAND" in err, status, err)
    status, out, err = run("stast")
    check("a slip is named", status == 2 and "did you mean 'stats'?" in err, status, err)
    for name, advice in (("status", "tacho doctor"), ("launch", "-c api"), ("start", "--delay"), ("stop", "--duration"), ("shutdown", "SIGTERM"),
                         ("record", "tacho profile PROGRAM"), ("report", "-r cpu_sample_sum"), ("dump", "-r python_topdown"),
                         ("script", "-t folded"), ("stat", "tacho stats"), ("trace", "-t osrt")):
        status, out, err = run(name)
        check(f"{name} of another profiler", status == 2 and advice in err and err.count("\n") == 1, status, err)
    for words, nearest in ((["stats", "-r", "cuda_kern_sum", "x"], "cuda_gpu_kern_sum"), (["analyze", "-r", "memcpy_async", "x"], "cuda_memcpy_async"),
                           (["stats", "--filter-range", "x"], "--filter-"), (["export", "-t", "perfeto", "x"], "perfetto"), (["profile", "-t", "cudnnn", "x"], "cudnn"),
                           (["diff", "-r", "kernel_gpu_sum", "x", "y"], "cuda_gpu_kern_sum")):
        status, out, err = run(*words)
        check(f"{words} is answered with a suggestion", status == 2 and f"did you mean {nearest}" in err and err.count("\n") == 1, status, err)
    status, out, err = run("export", "--type", "nosuch", "x")
    types = re.search(r"--type=TYPE +(.*?) Default", " ".join(run("help", "export")[1].split())).group(1)
    named = re.findall(r"[a-z]+", types.partition(":")[2].replace(" or ", " "))
    check("an unknown type lists those that there are", status == 2 and len(named) > 10 and all(name in err for name in named), err, named)
    for words in (["-p", "4711"], ["--pid", "4711"], ["--pid=4711", "ls"]):
        status, out, err = run("profile", *words)
        check(f"{words}: a process that runs", status == 2 and "cannot attach" in err and "4711" in err and err.count("\n") == 1, status, err)
    status, out, err = run("--version")
    check("the version", status == 0 and out.startswith("tacho "), out)
    for command in ("profile", "stats", "analyze", "sql", "diff", "info", "doctor", "export", "import", "recover", "completion"):
        for form in ((command, "--help"), ("help", command), (command, "-h")):
            status, out, err = run(*form)
            check(f"help of {command}", status == 0 and out.startswith(f"usage: tacho {command}") and err == "", status, out, err)
        status, out, err = run(command, "--no-such-thing-at-all")
        check(f"{command} refuses what it does not know", status == 2 and err.count("\n") == 1, status, err)
    for wrong in (["stats"], ["stats", "-r", "nvtx_sun", "x"], ["stats", "-f", "cvs", "x"], ["stats", "--timeunit=years", "x"], ["export", "-t", "pdf", "x"],
                  ["import"], ["recover", "a", "b"], ["profile"], ["completion", "csh"]):
        status, out, err = run(*wrong)
        check(f"{wrong} is a usage error", status == 2 and err.count("\n") == 1, status, err)


def complete(*words):
    """What bash would offer for the last word."""
    script = 'source <("$TACHO" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tacho; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", *words], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split()


def check_completion():
    for name in ("a.tacho", "b.sqlite", "c.txt", "d.nsys-rep"):
        open(name, "w").close()
    check("commands", complete("tacho", "st") == ["stats"], complete("tacho", "st"))
    check("options", complete("tacho", "stats", "--time") == ["--timeunit"], complete("tacho", "stats", "--time"))
    check("values", complete("tacho", "stats", "-r", "osrt") == ["osrt_call_sum", "osrt_sum"], complete("tacho", "stats", "-r", "osrt"))
    check("truth", complete("tacho", "profile", "--stats", "=", "t") == ["true"], complete("tacho", "profile", "--stats", "=", "t"))
    check("after a comma", complete("tacho", "stats", "-r", "nvtx_sum,osrt_s") == ["nvtx_sum,osrt_sum"], complete("tacho", "stats", "-r", "nvtx_sum,osrt_s"))
    check("after a comma, of sources", "nvtx,osrt" in complete("tacho", "profile", "-t", "nvtx,"), complete("tacho", "profile", "-t", "nvtx,"))
    check("no command yet", complete("tacho", "--") == ["--help", "--version"], complete("tacho", "--"))
    check("outputs are files", complete("tacho", "profile", "-o", "c") == ["c.txt"], complete("tacho", "profile", "-o", "c"))
    check("command files", complete("tacho", "profile", "--command-file", "=", "c") == ["c.txt"], complete("tacho", "profile", "--command-file", "=", "c"))
    check("the program's words are its own", complete("tacho", "profile", "-o", "x", "cat", "c") == ["c.txt"], complete("tacho", "profile", "-o", "x", "cat", "c"))
    check("also its options", complete("tacho", "profile", "--stats", "true", "cat", "--st") == [], complete("tacho", "profile", "--stats", "true", "cat", "--st"))
    check("files", sorted(complete("tacho", "stats", "")) == ["a.tacho", "b.sqlite", "d.nsys-rep"], complete("tacho", "stats", ""))
    status, out, err = run("completion", "csh")
    check("another shell", status == 2 and "bash, zsh or fish" in err, err)
    os.unlink("d.nsys-rep")


def make_report(name):
    database = sqlite3.connect("made.sqlite")
    database.execute("CREATE TABLE StringIds(id INTEGER, value TEXT)")
    database.execute("CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER)")
    database.execute("INSERT INTO StringIds VALUES (1000000007, ?)", ("re\033[31mad",))
    database.executemany("INSERT INTO OSRT_API VALUES (?, ?, 27, 281474993487873, 1000000007)", [(i * 10, i * 10 + 5) for i in range(1000)])
    database.commit()
    database.close()
    status, out, err = run("import", "made.sqlite", "-o", name)
    check("an import says where it is", (status, out) == (0, name + "\n"), status, out, err)


def check_files():
    make_report("r.tacho")
    status, out, err = run("stats", "-q", "-f", "csv", "r.tacho")
    check("string ids are mapped", out.endswith("100.0,5000,1000,5.0,5.0,5,5,0.0,re\033[31mad\n"), repr(out))
    status, out, err = run("stats", "-r", "osrt_sum,nosuch", "r.tacho")
    check("tables that are known come before the failure", status == 2 and "osrt_sum" in out and "'nosuch'" in err, status, out, err)
    status, out, err = run("stats", "r.tacho")
    check("escapes are spelt out", "\033" not in out and "re\\x1b[31mad" in out, repr(out))
    status, out, err = run("import", "made.sqlite", "-o", "r.tacho")
    check("an existing report stays", status == 1 and "exists" in err, status, err)
    status, out, err = run("export", "r.tacho")
    check("an export", (status, out) == (0, "r.sqlite\n"), status, out, err)
    status, out, err = run("export", "r.tacho")
    check("an existing export stays", status == 1 and "exists" in err, status, err)
    status, out, err = run("export", "-f", "true", "-q", "r.tacho")
    check("-f replaces it, -q is silent", (status, out) == (0, ""), status, out, err)
    status, out, err = run("export", "-o", "nowhere/r.sqlite", "r.tacho")
    check("a folder that is not there", status == 1 and err.count("\n") == 1, status, err)
    check("nothing is left over", not [name for name in os.listdir(".") if "unfinished" in name], os.listdir("."))


def check_names():
    """What a file is called that was not given a name, and what a misspelt table is answered with."""
    trace = b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}'
    for name, made in (("one.json", "one.tacho"), ("two.pt.trace.json.gz", "two.pt.trace.tacho"), (".three.json.gz", ".three.tacho")):
        with (gzip.open if name.endswith(".gz") else open)(name, "wb") as out:
            out.write(trace)
        status, out, err = run("import", name)
        check(f"the import of {name}", (status, out) == (0, made + "\n"), status, out, err)
    for words in (["sql", "r.tacho", "SELECT * FROM OSRT_APIS"], ["sql", "r.tacho", ".schema osrt"], ["export", "--tables=OSRT_CALLS", "r.tacho"]):
        status, out, err = run(*words)
        check(f"{words}: the table that was meant", status in (1, 2) and "did you mean OSRT_API?" in err, status, err)


def check_closed_pipe():
    """A reader that has enough ends tacho without a word, also where SIGPIPE is ignored, as in Python's children."""
    for words in (["stats", "r.tacho"], ["stats", "-f", "json", "r.tacho"], ["analyze", "r.tacho"], ["info", "r.tacho"], ["sql", "r.tacho", "SELECT * FROM OSRT_API"],
                  ["diff", "r.tacho", "r.tacho"], ["help", "profile"], ["completion", "bash"], ["doctor"], ["version"], ["export", "-t", "text", "-o", "-", "r.tacho"]):
        for is_ignored in (False, True):
            read_end, write_end = os.pipe()
            os.close(read_end)
            done = subprocess.run([TACHO, *words], stdout=write_end, stderr=subprocess.PIPE, restore_signals=not is_ignored)
            os.close(write_end)
            check(f"{words}, SIGPIPE {'ignored' if is_ignored else 'as usual'}", (done.returncode, done.stderr) == (-signal.SIGPIPE, b""), done.returncode, done.stderr)


def check_full_disk():
    """No command succeeds whose output is lost: one sentence says why."""
    for words in (["version"], ["help"], ["help", "profile"], ["stats", "--help"], ["completion", "bash"], ["stats", "r.tacho"], ["stats", "-f", "json", "r.tacho"], ["r.tacho"],
                  ["analyze", "r.tacho"], ["info", "r.tacho"], ["sql", "r.tacho", "SELECT 1"], ["diff", "r.tacho", "r.tacho"], ["doctor"], ["export", "-f", "true", "r.tacho"],
                  ["export", "-t", "text", "-o", "-", "r.tacho"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TACHO, *words], stdout=full, stderr=subprocess.PIPE)
        check(f"{words} > /dev/full", done.returncode == 1 and done.stderr.count(b"No space left on device\n") == 1, done.returncode, done.stderr)


def check_stdout():
    """-o - is stdout for the formats that can be written so, and a sentence for the others."""
    for kind in ("text", "json", "jsonlines", "arrow", "chrome", "perfetto"):
        run("export", "-q", "-t", kind, "-o", "file." + kind, "r.tacho")
        done = subprocess.run([TACHO, "export", "-t", kind, "-o", "-", "r.tacho"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(f"{kind} on stdout", (done.returncode, done.stdout, done.stderr) == (0, open("file." + kind, "rb").read(), b""), done.returncode, done.stderr)
    with open("packed.gz", "wb") as packed:
        subprocess.run([TACHO, "export", "-t", "chrome", "--gzip", "-o", "-", "r.tacho"], stdout=packed, check=True)
    check("packed", gzip.open("packed.gz").read() == open("file.chrome", "rb").read())
    status, out, err = run("export", "-t", "csv", "--tables=OSRT_API", "-o", "-", "r.tacho")
    check("one table as csv", status == 0 and out.startswith("start,end,") and out.count("\n") == 1001, status, out[:100], err)
    for words in (["export"], ["export", "-t", "csv"], ["export", "-t", "arrowdir"], ["export", "-t", "tacho"], ["export", "-t", "html"], ["recover"]):
        status, out, err = run(*words, "-o", "-", "r.tacho")
        check(f"{words} -o - is refused", (status, out, err.count("\n")) == (2, "", 1) and "stdout" in err, status, err)
    status, out, err = run("import", "-o", "-", "made.sqlite")
    check("import -o - is refused", (status, out, err.count("\n")) == (2, "", 1) and "stdout" in err, status, err)
    check("no file is called so", not [name for name in os.listdir(".") if name.startswith("-")], os.listdir("."))


def check_read_only():
    """The result is written beside the file, where nsys writes its own; a directory that refuses is answered with -o."""
    os.makedirs("theirs")
    shutil.copy("made.sqlite", "theirs/one.sqlite")
    status, out, err = run("import", "theirs/one.sqlite")
    check("beside the file", (status, out) == (0, "theirs/one.tacho\n"), status, out, err)
    os.rename("theirs/one.tacho", "theirs/two.tacho")
    os.chmod("theirs", 0o555)
    if os.geteuid() == 0:  # whom no mode stops
        os.chmod(".", 0o755)
        os.chmod("theirs/two.tacho", 0o644)
        shutil.copy(TACHO, "tacho-copy")
    for words, made in ((["import", "theirs/one.sqlite"], "one.tacho"), (["export", "theirs/two.tacho"], "two.sqlite"), (["recover", "theirs/two.tacho"], "two.recovered.tacho")):
        done = subprocess.run([os.path.abspath("tacho-copy") if os.geteuid() == 0 else TACHO, *words], stderr=subprocess.PIPE, text=True, **({"user": 65534} if os.geteuid() == 0 else {}))
        check(f"{words} in a directory of others", done.returncode == 1 and f"theirs/{made}" in done.stderr and "Permission denied; name another file with -o\n" in done.stderr, done)
    os.chmod("theirs", 0o755)


def check_nsys_rep():
    open("other.nsys-rep", "w").close()
    env = dict(os.environ, PATH="/nowhere")
    answers = [run(*command, "other.nsys-rep", env=env) for command in (["stats"], ["import"])]
    for status, out, err in answers:
        check("a file of nsys alone", status == 1 and "nsys export --type sqlite" in err, err)
    os.rename("made.sqlite", "other.sqlite")
    status, out, err = run("import", "other.nsys-rep", env=env)
    check("its export beside it is imported", (status, out) == (0, "other.tacho\n"), status, out, err)


def check_recovery():
    whole = open("r.tacho", "rb").read()
    with open("cut.tacho", "wb") as out:
        out.write(whole[:whole.index(b"TCHK\4") - 16])  # without its first end, and what an import puts behind it
    status, out, err = run("info", "cut.tacho")
    check("a report without its end opens", status == 0 and "unfinished" in out, status, out, err)
    before = run("stats", "-q", "cut.tacho")
    status, out, err = run("recover", "cut.tacho")
    check("recovery", status == 0 and out.endswith("cut.recovered.tacho\n"), status, out, err)
    status, out, err = run("info", "cut.recovered.tacho")
    check("a recovered report says so", status == 0 and "recovered" in out and "unfinished:" not in out, status, out, err)
    after = run("stats", "-q", "cut.recovered.tacho")
    check("and has the same tables", after[:2] == before[:2] and before[0] == 0, before, after)
    check("of which one was unfinished", "unfinished" in before[2] and after[2] == "", before[2], after[2])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_usage()
        check_completion()
        check_files()
        check_names()
        check_closed_pipe()
        check_full_disk()
        check_stdout()
        check_read_only()
        check_recovery()
        check_nsys_rep()
    sys.exit(failures != 0)


main()
