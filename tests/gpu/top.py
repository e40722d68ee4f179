"""`tacho top` beside nvidia-smi: the same GPUs and memory, a program that keeps the GPU busy, and its process."""
import json
import subprocess
import time

import gpulib
import tools

LIMIT_SECONDS = 120
ALONE = True
BUSY = "import time, torch; a = torch.randn(8192, 8192, device='cuda'); end = time.time() + 60\nwhile time.time() < end: (a @ a); torch.cuda.synchronize()"


def smi(fields):
    done = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, timeout=30, check=True)
    return [line.split(", ") for line in done.stdout.decode().splitlines()]


class Top(gpulib.Case):
    def reading(self, *options):
        done = subprocess.run([gpulib.TACHO, "top", "--json", "-n", "1", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def test_gpus(self):
        whole = self.reading()
        theirs = smi("index,name,uuid,memory.total")
        self.assertEqual([[str(gpu["gpu"]), gpu["name"], gpu["uuid"], round(gpu["memory_bytes"] / 2**20)] for gpu in whole["gpus"]],
                         [row[:3] + [int(row[3])] for row in theirs])

    def test_busy(self):
        self.need_torch()
        running = tools.start([tools.PYTHON, "-c", BUSY])
        self.addCleanup(tools.end_group, running)
        time.sleep(15)
        whole = self.reading("-d", "2")
        gpu = whole["gpus"][0]
        self.figure("reading", gpu)
        self.assertGreater(gpu["util_percent"], 90)
        if gpu["sm_percent"] is not None:
            self.assertGreater(gpu["sm_percent"], 80)
            self.assertGreater(gpu["tensor_percent"] + gpu["dram_percent"], 1)
        processes = [process for process in whole["processes"] if process["gpu"] == gpu["gpu"]]
        self.assertTrue(processes, "NVML names the process, by its number in the host's namespace")
        self.figure("processes", processes)

    def test_text(self):
        done = subprocess.run([gpulib.TACHO, "top", "-b", "-n", "2", "-d", "0.5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout.decode().count("tacho top"), 2)
        self.figure("text", done.stdout.decode())


if __name__ == "__main__":
    gpulib.main()
