"""Real programs, bare and profiled: what they print, how they end and which files they leave are the same. A program that is missing is named,
and not run."""
import os
import re
import shutil
import sys

import guestlib

GIT = """
export GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z' HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q -b main one && cd one && git config user.name Tester && git config user.email tester@example.invalid
for i in 1 2 3; do echo "line $i" >>file; git add file; git commit -q -m "commit $i"; done
git log --oneline; git fsck --no-progress; cd .. && git clone -q one two && git -C two log --format=%H; git -C two checkout -q nothing; rm -rf one two
"""
BUILD = """
echo 'int main(void) { return 6; }' > main.c; echo 'int unused(int a) { return b; }' > wrong.c
COMPILER -g -O2 -c main.c -o main.o && COMPILER main.o -o main && ./main; echo $?
COMPILER -c wrong.c 2>&1 | grep -c error; rm -f main main.o
"""
MAKE = r"""
printf 'all: a b c d\n%%:\n\t@sleep 0.01; echo made > $@\n' > Makefile
make -s -j4 all; cat a b c d; make -s -j2 -k no/such/target; echo $?
"""
BASH = """
trap 'echo trapped USR1' USR1; trap 'echo at exit' EXIT; kill -USR1 $$; (exit 5); echo $?
sh -c 'kill -TERM $$'; echo $?; yes | head -2; cat <(echo one) <(echo two); wait; coproc cat; echo through >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"; echo "$line"; kill $COPROC_PID; wait $COPROC_PID; echo $?; ulimit -a; ls /proc/self/fd; umask; jobs; exit 42
"""
PERL = r"""
use Time::HiRes "ualarm"; $| = 1; $SIG{CHLD} = sub { print "child\n" }; my $pid = fork(); exit 6 unless $pid; waitpid $pid, 0; print $? >> 8, "\n";
$SIG{ALRM} = sub { print "alarm\n" }; ualarm 10000; select undef, undef, undef, 5; print `echo backticks`; warn "warned\n"; kill 'TERM', $$; sleep 5;
"""
NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) parentPort.postMessage(7);
else new Worker(__filename).on('message', value => {
    console.log(value, require('child_process').execFileSync('sh', ['-c', 'echo child']).toString());
    process.on('SIGUSR2', () => { console.log('signal'); process.exit(4); });
    process.kill(process.pid, 'SIGUSR2'); setTimeout(() => 0, 5000);
});
"""
PYTHON = """
import os, signal, subprocess, threading, multiprocessing
def work(queue): queue.put(os.getppid() == parent)
signal.signal(signal.SIGALRM, lambda *_: print('alarm', flush=True)); signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
thread = threading.Thread(target=lambda: print(threading.active_count(), flush=True)); thread.start(); thread.join()
print(subprocess.run(['sh', '-c', 'exit 3']).returncode, sorted(os.listdir('/proc/self/fd')), flush=True)
parent = os.getpid(); queue = multiprocessing.get_context('fork').Queue()
process = multiprocessing.get_context('fork').Process(target=work, args=(queue,)); process.start(); print(queue.get()); process.join()
raise SystemExit(9)
"""
JAVA = """
class Main { public static void main(String[] a) throws Exception {
    Thread t = new Thread(() -> System.out.println("thread")); t.start(); t.join();
    System.out.println(new ProcessBuilder("sh", "-c", "exit 3").inheritIO().start().waitFor());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook"))); System.exit(5); } }
"""
GO = """
package main
import ("fmt"; "os"; "os/exec"; "os/signal"; "syscall")
func main() {
    c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGUSR1); syscall.Kill(os.Getpid(), syscall.SIGUSR1); fmt.Println(<-c)
    out, err := exec.Command("sh", "-c", "echo child").CombinedOutput(); fmt.Println(string(out), err); os.Exit(9) }
"""
RUST = """
fn main() {
    let t = std::thread::spawn(|| { std::thread::sleep(std::time::Duration::from_millis(5)); 7 }); println!("{}", t.join().unwrap());
    println!("{:?}", std::process::Command::new("sh").args(["-c", "exit 2"]).status()); println!("{:?}", std::panic::catch_unwind(|| panic!("caught")).is_err());
    std::process::exit(8) }
"""
SERVER = """
: > server; echo served > page
PYTHON -u -m http.server --bind 127.0.0.1 0 > server 2>&1 & server=$!
until port=$(sed -n 's/.* port \\([0-9]*\\) .*/\\1/p' server) && test -n "$port"; do sleep 0.05; done
curl -sS http://127.0.0.1:$port/page; curl -sS -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:$port/missing; kill $server; wait $server; echo $?; rm server
"""
GDB = "break only_here\nrun\nbacktrace 1\ncontinue\n"
DEBUGGED = "void only_here(void); void only_here(void) { } int main(void) { only_here(); return 3; }\n"
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "data:text/html,<p>hello<script>document.title=6*7</script>"]

# name: programs that it needs, then a command or a script for the shell.
PROGRAMS = {
    "git": (["git"], GIT),
    "gcc": (["gcc"], BUILD.replace("COMPILER", "gcc")),
    "clang": (["clang"], BUILD.replace("COMPILER", "clang")),
    "make": (["make"], MAKE),
    "bash": (["bash"], ["bash", "-c", BASH]),
    "perl": (["perl"], ["perl", "-e", PERL]),
    "node": (["node"], f"cat > script.js <<'EOF'\n{NODE}\nEOF\nnode script.js; echo $?"),
    "python": ([], [sys.executable, "-c", PYTHON]),
    "java": (["java"], f"cat > Main.java <<'EOF'\n{JAVA}\nEOF\njava Main.java; echo $?"),
    "go": (["go"], ["./../go-program"]),
    "rust": (["rustc"], ["./../rust-program"]),
    "tar": (["tar"], "mkdir a; for i in 1 2 3; do seq $i 1000 > a/$i; done; tar cf - a | tar tf -; tar czf a.tgz a; tar xzf a.tgz -C /no/such; echo $?; rm a.tgz"),
    "rsync": (["rsync"], "mkdir a; seq 1000 > a/1; seq 2000 > a/2; rsync -a a/ b/; rsync -ani --delete b/ a/; cmp a/1 b/1; rsync -a none c; echo $?"),
    "sqlite": (["sqlite3"], "echo 'PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1),(2); SELECT sum(a) FROM t; SELECT * FROM u;' | sqlite3 t.db; echo $?; rm -f t.db*"),
    "openssl": (["openssl"], "seq 100000 > f; openssl dgst -sha256 f; openssl enc -aes-256-cbc -pass pass:x -S 0123456789abcdef -pbkdf2 -in f | openssl dgst -sha1; openssl dgst -sha256 missing 2> /dev/null; echo $?; rm f"),
    "ssh-keygen": (["ssh-keygen"], "ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -y -f key | cut -d' ' -f1; echo text | ssh-keygen -Y sign -f key -n file - | head -1"),
    "curl": (["curl"], SERVER.replace("PYTHON", sys.executable)),
    "find": (["find", "xargs"], "mkdir d; touch d/1 d/2 d/3 d/4; find d -type f -print0 | xargs -0 -n1 -P4 sh -c 'exit 0' ; echo $?; find d | sort; find d -name 1 -exec sh -c 'exit 3' ';'; echo a | xargs -I@ sh -c 'exit 255'; echo $?"),
    "gzip": (["gzip"], "seq 20000 > f; gzip -k f; zcat f.gz | cmp - f; gzip -t f; echo $?"),
    "zstd": (["zstd"], "seq 20000 > f; zstd -q -T2 f -o f.zst; zstd -dc f.zst | cmp - f; zstd -tq f; echo $?; rm f.zst"),
    "xz": (["xz"], "seq 20000 > f; xz -k -T2 f; xz -dc f.xz | cmp - f; xz -t f; echo $?"),
    "busybox": (["busybox"], "busybox ls /proc/self/fd; seq 10 | busybox sort -rn | busybox head -2; busybox sh -c 'kill -9 $$'; echo $?"),
    "strace": (["strace"], "strace -f -e trace=none -o log sh -c 'true; exit 4'; echo $?; rm log"),
    "gdb": (["gdb", "gcc"], f"cat > p.c <<'EOF'\n{DEBUGGED}EOF\ngcc -g p.c -o p; cat > c <<'EOF'\n{GDB}EOF\ngdb -q -nx -batch -x c ./p; echo $?; rm p"),
    "bubblewrap": (["bwrap"], "bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all --die-with-parent sh -c 'echo inside; echo $$ > /dev/null; exit 7'; echo $?"),
    "qemu": (["qemu-aarch64", "aarch64-linux-gnu-gcc"], "echo 'int main(void) { return 6; }' > p.c; aarch64-linux-gnu-gcc -static p.c -o p; qemu-aarch64 ./p; echo $?; rm p"),
    "chromium": (["chromium"], ["bash", "-c", 'exec chromium "$@" 2> /dev/null', "chromium", *CHROMIUM]),
    "python-tests": ([], [sys.executable, "-m", "unittest", "-q", "test.test_signal.PosixTests", "test.test_os.SpawnTests", "test.test_pty",
                          "test.test_fork1", "test.test_threadsignals", "test.test_wait4", "test.test_epoll"]),
}
SLOW = {"java", "chromium", "python-tests", "clang", "go", "rust"}  # only with TACHO_TEST_ALL


def same_each_time(text):
    """Without process ids, times and addresses, which differ between two bare runs too."""
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    text = re.sub(r"(line \d+:) +\d+ ", r"\1 N ", text)
    text = re.sub(r"\[[^]\n]*:[A-Z]+:[^]\n]*\]", "[LOG]", text)
    text = re.sub(r"(?i)(process|pid|thread) \d+", r"\1 N", text)
    text = re.sub(r"(child|Child|'main') \(\d+\)", r"\1 (N)", text)
    text = re.sub(r"\bin \d+\.\d+s", "in N s", text)
    return re.sub(r"\b\d+\.\d+ ?m?s\b", "N s", text)


class Real(guestlib.Case):
    def build(self, name, *command, source, **more):
        """A program in a language that is compiled; None when that does not work here."""
        path = self.path(f"{name}-program")
        with open(self.path("main." + more.pop("ending")), "w") as file:
            file.write(source)
        done = guestlib.subprocess.run([*command], cwd=self.folder, capture_output=True, text=True, env=dict(os.environ, **more))
        return path if done.returncode == 0 else None

    def programs(self):
        found = []
        for name, (needs, command) in PROGRAMS.items():
            missing = [need for need in needs if not shutil.which(need)]
            if name in SLOW and not guestlib.ALL:
                continue
            if name == "go" and not missing and not self.build("go", "go", "build", "-o", "go-program", "main.go", source=GO, ending="go",
                                                               GOCACHE=self.path("cache"), CGO_ENABLED="0"):
                missing = ["a go that builds"]
            if name == "rust" and not missing and not self.build("rust", "rustc", "-O", "-o", "rust-program", "main.rs", source=RUST, ending="rs"):
                missing = ["a rustc that builds"]
            if missing:
                print(f"{name} was not run: there is no {', '.join(missing)} here")
                continue
            found.append(guestlib.Program(name, command if isinstance(command, list) else ["bash", "-c", command], same_each_time, hung_seconds=120))
        return found

    def test_as_children(self):
        self.compare(self.programs(), self.as_children, gate=["osrt+nvtx+perf", "nvtx+cuda+timers"], every=guestlib.EACH)

    def test_as_first(self):
        self.compare(self.programs(), self.as_first, gate=["osrt+nvtx+perf"], every=guestlib.EACH)


if __name__ == "__main__":
    guestlib.lib.main()
