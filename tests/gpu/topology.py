"""`tacho topo` against `nvidia-smi topo` on this host, byte by byte."""
import subprocess

import gpulib

LIMIT_SECONDS = 60


def printed(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    return done.returncode, done.stdout


class Topology(gpulib.Case):
    def same(self, *options):
        expected = printed("nvidia-smi", "topo", *options)
        if expected[0]:
            self.skipTest(f"nvidia-smi topo {' '.join(options)} fails: {expected[1].decode(errors='replace')}")
        self.assertEqual(expected, printed(gpulib.TACHO, "topo", *options))

    def test_matrix(self):
        self.same("-m")

    def test_matrix_of_pci(self):
        self.same("-mp")

    def test_peers(self):
        for ways in ("r", "w", "n", "a", "p", "rw"):
            with self.subTest(ways=ways):
                self.same("-p2p", ways)

    def test_gpus_of_a_cpu(self):
        self.same("-c", "0")

    def test_nodes_of_a_gpu(self):
        for option in ("-C", "-M", "-gnid"):
            with self.subTest(option=option):
                self.same(option, "-i", "0")

    def test_nearest(self):
        for path in range(6):
            with self.subTest(path=path):
                self.same("-n", str(path), "-i", "0")


if __name__ == "__main__":
    gpulib.main()
