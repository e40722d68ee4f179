"""`tacho diff` on CPU samples of a faster and a slower build, whose addresses and file names differ: right in both directions."""
import json
import os
import subprocess

import lib

# Computes for a while, in two functions, of which one differs between the builds. What lies in front of them moves them.
PROGRAM = """
enum { MILLION = 1000000 };
#define TEXT_OF_THIS(x) #x
#define TEXT_OF(x) TEXT_OF_THIS(x)
__asm__(".skip 16 * " TEXT_OF(WORK));
static volatile double sum;

static __attribute__((noinline)) void compute(void)
{
    for (long i = 0; i < 100L * MILLION; i++)
        sum = sum + (double)i * 0.5;
}

static __attribute__((noinline)) void work(void)
{
    for (long i = 0; i < 1L * WORK * MILLION; i++)
        sum = sum + (double)i * 0.25;
}

int main(void)
{
    work();
    compute();
    return 0;
}
"""
WORK = {"fast": 100, "slow": 400}  # millions of steps


class TwoBuilds(lib.Case):
    samples = True

    def build(self, name):
        """The program of a build, in a folder and with a name of its own, and the address of work() in it."""
        os.mkdir(self.path(name))
        program = os.path.join(self.path(name), f"two_builds_{name}")
        subprocess.run([*os.environ["CC"].split(), "-O2", "-g", f"-DWORK={WORK[name]}", "-o", program, "-x", "c", "-"], input=PROGRAM, text=True, check=True)
        symbols = subprocess.run([os.environ["NM"], program], capture_output=True, text=True, check=True).stdout
        return program, next(line.split()[0] for line in symbols.splitlines() if line.endswith(" work"))

    def record(self, name, program):
        self.profile(program, output=f"{name}.tacho", options=["--sampling-frequency=1000"])
        return self.path(f"{name}.tacho")

    def diff(self, *arguments):
        return subprocess.run([lib.TACHO, "diff", "-q", "-f", "json", "-r", "cpu_sample_sum", *arguments], capture_output=True, text=True, timeout=lib.PATIENCE)

    def test_both_directions(self):
        (fast_program, fast_address), (slow_program, slow_address) = self.build("fast"), self.build("slow")
        self.assertNotEqual(fast_address, slow_address)
        fast, slow = self.record("fast", fast_program), self.record("slow", slow_program)
        for before, after, is_slower in ((fast, slow, True), (slow, fast, False)):
            with self.subTest(is_slower=is_slower):
                done = self.diff("--fail-if", "total>+20%", before, after)
                self.assertEqual((done.returncode, done.stderr.startswith("FAILED cpu_sample_sum: total ")), (int(is_slower), is_slower), done.stderr)
                done = self.diff("--fail-if", "any total>+100%", before, after)
                self.assertEqual((done.returncode, "FAILED cpu_sample_sum: total of work, two_builds_" in done.stderr), (int(is_slower), is_slower), done.stderr)
                row = json.loads(done.stdout)[0]
                self.assertEqual((row["Function"], row["Module"], row["Note"]), ("work", "two_builds_slow" if is_slower else "two_builds_fast", ""))
                self.assertEqual(row["After (ns)"] > 2 * row["Before (ns)"], is_slower, row)
                self.assertEqual(2 * row["After (ns)"] < row["Before (ns)"], not is_slower, row)


if __name__ == "__main__":
    lib.main()
