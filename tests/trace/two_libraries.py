"""Two libraries of the same kind in one process, each loaded for its own plugin (RTLD_LOCAL): every call reaches the library that it reaches without
Tacho, and is counted once."""
import os
import subprocess

import lib

CC = os.environ["CC"].split()
SOURCE = os.path.join(lib.SOURCE, "tests/trace/modules/two_libraries.c")
# -t: names of the two files, a function that all such libraries have, one that is called
KINDS = {
    "mpi": ("libmpi.so.40", "libmpich.so.12", "MPI_Comm_rank", "MPI_Get_version"),
    "ucx": ("libucp.so.0", "libucp-copy.so.0", "ucp_worker_create", "ucp_worker_progress"),
    "oshmem": ("liboshmem.so.40", "libsma.so.2", "shmem_my_pe", "shmem_test_lock"),
    "cublas": ("libcublas.so.11", "libcublas.so.12", "cublasCreate_v2", "cublasSgemm_v2"),
}


class TwoLibraries(lib.Case):
    samples = False

    def build(self, name, *flags):
        subprocess.run([*CC, "-O1", "-w", "-fPIC", SOURCE, *flags, "-o", name, "-Wl,-rpath," + self.folder, "-ldl"], check=True, cwd=self.folder)
        return self.path(name)

    def plugins(self, first, second, sign, called):
        names = [f"-DSIGN={sign}", f"-DCALLED={called}"]
        for number, file in enumerate((first, second), 1):
            self.build(file, "-shared", "-Wl,-soname," + file, f"-DLIBRARY={number}", *names)
        return [self.build(name, "-shared", "-DPLUGIN", *names, self.path(file)) for name, file in (("one.so", first), ("two.so", second), ("three.so", first))]

    def compare(self, trace, *names):
        program, plugins = self.build("loader"), self.plugins(*names)
        bare = subprocess.run([program, *plugins], capture_output=True, text=True, check=True)
        self.assertEqual(bare.stdout, "1 1 2 1 2 1 2 1 1\n")
        report = self.profile(program, *plugins, options=["-t", trace])
        self.assertEqual(self.output.stdout, bare.stdout)
        self.assertEqual(report.produced("libraries" if trace == "cublas" else trace), 9)
        # Without recording, the stubs are there all the same.
        self.profile(program, *plugins, options=["-t", trace + ",nvtx", "-c", "nvtx", "-p", "never@none"])
        self.assertEqual(self.output.stdout, bare.stdout)

    def test_each_kind(self):
        for trace, names in KINDS.items():
            with self.subTest(trace=trace):
                self.compare(trace, *names)


lib.main()
