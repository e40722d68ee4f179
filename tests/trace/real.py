"""Real programs behave under Tacho as they do without: same stdout, same stderr (less Tacho's own lines at the end),
same status; and the report has the programs that ran."""
import os
import shutil
import subprocess
import sys

import lib

SCRIPT_NODE = """
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
if (!isMainThread) {
    let sum = 0;
    for (let i = 0; i < 200000; i++) sum += i % (workerData + 2);
    parentPort.postMessage(sum);
} else {
    const sums = [];
    let left = 4;
    for (let k = 0; k < 4; k++)
        new Worker(__filename, { workerData: k }).on('message', s => sums[k] = s).on('exit', () => {
            if (--left) return;
            console.log(sums.join(' '));
            console.log(execFileSync('sh', ['-c', 'echo from a child; exit 0']).toString().trim());
            fs.writeFileSync('node.txt', 'x'.repeat(100000));
            console.log(fs.readFileSync('node.txt').length);
            const child = spawn('sh', ['-c', 'cat; echo oops >&2; exit 3'], { stdio: ['pipe', 'inherit', 'inherit'] });
            child.stdin.end('through a pipe\\n');
            child.on('exit', code => { console.log('code', code); process.exitCode = 4; });
        });
}
"""

SCRIPT_SQL = """
PRAGMA journal_mode = WAL;
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
    INSERT INTO t SELECT i, 'row ' || i, i * 0.5 FROM n;
COMMIT;
CREATE INDEX by_name ON t(name);
SELECT count(*), sum(value), max(name) FROM t;
SELECT id FROM t WHERE name = 'row 777';
VACUUM;
PRAGMA integrity_check;
SELECT * FROM missing;
"""

SCRIPT_GIT = """
set -e
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z' HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q -b main one && cd one
git config user.name Tester && git config user.email tester@example.invalid
for i in $(seq 20); do echo "line $i" >>file; git add file; git commit -q -m "commit $i"; done
git gc -q
git log --oneline | head -3
git fsck --no-progress
cd .. && git clone -q one two && cd two && git log --format=%H | sha1sum
git status --short; git checkout -q nothing
"""

SCRIPT_SHELL = """
seq 20000 | sort -rn | awk '{ s += $1 } END { print s }'
yes | head -3
echo $(( $(cat /proc/self/status | wc -l) > 10 ))
(exit 5); echo "status $?"
cat <(echo one) <(echo two)
trap 'echo trapped' USR1; kill -USR1 $$
sh -c 'kill -TERM $$'; echo "status $?"
echo err >&2
wait; exec 3>&1; echo through three >&3
ls /proc/self/fd | wc -l
exit 42
"""

SCRIPT_CHILDREN = """
for i in $(seq 150); do
    sum=$((sum + $(echo $i)))
    (exit 3) &
done
wait
echo $sum
"""

SCRIPT_PERL = """
$| = 1; pipe(R, W); my $pid = fork();
if (!$pid) { close R; print W "from the child\\n"; close W; exit 6 }
close W; print <R>; waitpid $pid, 0; print $? >> 8, "\\n";
print `echo backticks`; system('exit 3;'); print $? >> 8, "\\n";
$SIG{ALRM} = sub { print "alarm\\n" }; alarm 1; select undef, undef, undef, 5; warn "warned\\n"; exit 7;
"""

SCRIPT_GO = """
package main
import ("fmt"; "os"; "os/exec"; "sync")
func main() {
	var group sync.WaitGroup
	sums := make([]int, 8)
	for k := range sums { group.Add(1); go func() { defer group.Done(); for i := 0; i < 100000; i++ { sums[k] += i % (k + 1) } }() }
	group.Wait()
	out, err := exec.Command("sh", "-c", "echo child").CombinedOutput()
	fmt.Println(sums, string(out), err)
	os.Exit(9)
}
"""

SCRIPT_RUST = """
fn main() {
    let threads: Vec<_> = (0..4u64).map(|k| std::thread::spawn(move || (0..100000u64).map(|i| i % (k + 1)).sum::<u64>())).collect();
    for t in threads { println!("{}", t.join().unwrap()); }
    let out = std::process::Command::new("sh").args(["-c", "echo child; exit 2"]).output().unwrap();
    print!("{} {}", out.status, String::from_utf8_lossy(&out.stdout));
    std::process::exit(8);
}
"""

SCRIPT_JAVA = """
class Main {
    public static void main(String[] arguments) throws Exception {
        long[] sums = new long[4];
        Thread[] threads = new Thread[4];
        for (int k = 0; k < 4; k++) {
            int mine = k;
            threads[k] = new Thread(() -> { for (int i = 0; i < 100000; i++) sums[mine] += i % (mine + 1); });
            threads[k].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(java.util.Arrays.toString(sums));
        Process child = new ProcessBuilder("sh", "-c", "echo child; exit 3").inheritIO().start();
        System.out.println(child.waitFor());
        System.exit(5);
    }
}
"""


class Real(lib.Case):
    def need(self, name):
        path = shutil.which(name)
        if not path:
            self.skipTest(f"there is no {name} here")
        return path

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def run_in(self, folder, command, **more):
        """Status, stdout and stderr of a command in a fresh folder of that name."""
        os.makedirs(self.path(folder))
        done = subprocess.run(command, cwd=self.path(folder), capture_output=True, text=True, timeout=lib.PATIENCE, **more)
        return done.returncode, done.stdout, done.stderr

    def compare(self, *command, normal=lambda text: text, programs=(), **more):
        """Runs it bare and profiled, compares; the report."""
        status, stdout, stderr = self.run_in("bare", command, **more)
        profiled = self.run_in("profiled", self.command(*command), **more)
        self.assertEqual(normal(profiled[1]), normal(stdout))
        # Tacho speaks once, when the program has ended.
        self.assertEqual(normal(profiled[2])[:len(normal(stderr))], normal(stderr), profiled[2])
        self.assertEqual(profiled[0], status, profiled[2])
        own = profiled[2][len(stderr):] if normal(stderr) == stderr else ""
        self.assertLessEqual(len(own.splitlines()), 18, own)
        report = self.report()
        ran = {os.path.basename(exe or "") for exe, in report.rows("SELECT exe FROM TACHO_PROCESS")}
        for program in programs:
            self.assertIn(os.path.basename(os.path.realpath(shutil.which(program) or program)), ran)
        return report

    def test_make(self):
        self.need("make")
        for i in range(8):
            self.write(f"part{i}.c", f'#include <stdio.h>\nint part{i}(void);\nint part{i}(void) {{ return printf("part {i}\\n"); }}\n')
        self.write("main.c", "".join(f"int part{i}(void);\n" for i in range(8)) +
                   "int main(void) { return " + " + ".join(f"part{i}()" for i in range(8)) + " == 56 ? 0 : 1; }\n")
        self.write("Makefile", "parts = $(patsubst %,part%.o,0 1 2 3 4 5 6 7)\nall: program\n\t./program && nm program | grep -c part\n"
                   "program: main.o $(parts)\n\t@$(CC) -o $@ $^ && echo linked\n%.o: ../%.c\n\t@$(CC) -O1 -c -o $@ $<\n"
                   "broken:\n\t@$(CC) -c -x c /dev/null -o broken.o && exit 3\n")
        report = self.compare("make", "-j4", "-f", "../Makefile", programs=("make", "program", "nm", "grep"))
        compilers = report.value("SELECT count(*) FROM (SELECT DISTINCT globalPid, image FROM TACHO_PROCESS WHERE exe LIKE '%cc1')")
        if compilers:  # clang does without
            self.assertEqual(compilers, 9)

    def test_make_that_fails(self):
        self.need("make")
        self.write("Makefile", "all:\n\t@echo before; exit 3\n")
        self.compare("make", "-s", "-f", "../Makefile", programs=("make",))

    def test_git(self):
        self.need("git")
        report = self.compare("bash", "-c", SCRIPT_GIT, programs=("bash", "git", "seq", "sha1sum"))
        self.assertGreater(report.value("SELECT count(DISTINCT globalPid) FROM TACHO_PROCESS"), 40)

    def test_node(self):
        self.need("node")
        script = self.write("script.js", SCRIPT_NODE)
        report = self.compare("node", script, programs=("node", "sh"))
        self.assertGreater(report.value("SELECT count(*) FROM TACHO_THREAD WHERE end IS NOT NULL"), 5)

    def test_sqlite(self):
        self.need("sqlite3")
        self.compare("sqlite3", "test.db", input=SCRIPT_SQL, programs=("sqlite3",))

    def test_shell(self):
        self.compare("bash", "-c", SCRIPT_SHELL, programs=("bash", "sort", "awk", "head"))

    def test_shell_with_many_children(self):
        """It waits for them in a handler of SIGCHLD, which often comes while the agent writes a record."""
        report = self.compare("bash", "-c", SCRIPT_CHILDREN, programs=("bash", "seq"))
        self.assertEqual(report.rows("SELECT source, cause, count FROM TACHO_COUNT WHERE fate = 'lost' AND count > 0"), [])
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE exitStatus = 3"), 150)

    def test_stdin_goes_through(self):
        self.compare("sort", "-n", input="3\n1\n2\n", programs=("sort",))

    def test_env_without_environment(self):
        self.compare("env", "-i", "/bin/sh", "-c", "echo ${HOME:-none} ${USER:-none}; /bin/ls /", programs=("ls",))

    def test_perl(self):
        self.need("perl")
        self.compare("perl", "-e", SCRIPT_PERL, programs=("perl", "sh"))

    def test_open_files_are_the_same(self):
        """A program that looks at its own descriptors finds none of ours."""
        script = "import os; print(sorted(os.listdir('/proc/self/fd'))); os.closerange(3, 1000); print(os.open('/', 0))"
        self.compare(sys.executable, "-c", script)

    def test_java(self):
        if not shutil.which("java"):
            self.skipTest("there is no java here")
        self.write("Main.java", SCRIPT_JAVA)
        self.compare("java", "-Xshare:auto", "../Main.java", programs=("java",))

    def test_go_is_left_alone(self):
        self.need("go")
        source = self.write("main.go", SCRIPT_GO)
        built = subprocess.run(["go", "build", "-o", self.path("gone"), source], capture_output=True, text=True, cwd=self.folder,
                               env=dict(os.environ, CGO_ENABLED="0", GOCACHE=self.path("cache"), GOFLAGS="-mod=mod"))
        if built.returncode:
            self.skipTest("go cannot build here: " + built.stderr.strip().split("\n")[-1])
        self.compare(self.path("gone"), programs=())

    def test_rust(self):
        self.need("rustc")
        source = self.write("main.rs", SCRIPT_RUST)
        subprocess.run(["rustc", "-O", "-o", self.path("rusty"), source], check=True, cwd=self.folder)
        self.compare(self.path("rusty"), programs=("rusty", "sh"))


if __name__ == "__main__":
    if lib.SANITIZE:  # only the collector is sanitized: one program of each kind is enough for it
        for slow in ("test_java", "test_go_is_left_alone", "test_rust"):
            delattr(Real, slow)
    lib.main()
