"""Programs that use a programming model, bare and profiled with the models: what they compute, how they end, and what they see of themselves (descriptors,
threads, signals, limits) is the same. Each runs without a launcher. What does not build here is named, and not run."""
import os
import subprocess

import guestlib

SOURCES = os.path.join(os.environ["SOURCE"], "tests/guest/models")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}
# name: its compiler, its file, and variables that it needs. Open MPI 4.1 crashes in shmem_finalize() where UCX has hooks of free(), with or without tacho.
PROGRAMS = {
    "openmp-gcc": (["gcc", "-fopenmp"], "guest_openmp.c", {}),
    "openmp-clang": (["clang", "-fopenmp"], "guest_openmp.c", {}),
    "openacc": (["gcc", "-fopenacc"], "guest_openacc.c", {}),
    "openmpi": (["mpicc.openmpi"], "guest_mpi.c", ROOT),
    "mpich": (["mpicc.mpich"], "guest_mpi.c", ROOT),
    "ucx": (["gcc"], "guest_ucx.c", ROOT),
    "oshmem": (["oshcc"], "guest_oshmem.c", {**ROOT, "OMPI_MCA_memory": "^patcher"}),
}
TABLES = {"guest_openmp.c": "OPENMP_EVENT_KIND_PARALLEL", "guest_openacc.c": "CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "guest_mpi.c": "MPI_P2P_EVENTS",
          "guest_ucx.c": "UCP_SUBMIT_EVENTS", "guest_oshmem.c": "TACHO_OSHMEM"}
LIBRARIES = {"guest_ucx.c": ["-lucp", "-lucs"]}


class Models(guestlib.Case):
    def programs(self):
        found = []
        for name, (compiler, source, environment) in PROGRAMS.items():
            path = self.path(name)
            try:
                subprocess.run([*compiler, "-O1", "-w", os.path.join(SOURCES, source), "-I", os.path.join(SOURCES, "../programs"), "-o", path,
                                *LIBRARIES.get(source, [])], check=True, capture_output=True)
                names = subprocess.run([path, "list"], check=True, capture_output=True, text=True).stdout.split()
            except (OSError, subprocess.CalledProcessError):
                print(f"{name} was not run: {' '.join(compiler)} does not build {source} here")
                continue
            found += [guestlib.Program(f"{name}/{each}", [path, each], environment=environment, hung_seconds=60) for each in names]
        return found

    def test_as_children(self):
        programs = self.programs()
        self.compare(programs, self.as_children, gate=[guestlib.MODELS], every=guestlib.EACH)
        if not guestlib.ALL and not os.environ.get("TACHO_GUEST_PROGRAMS"):
            report = self.report()  # of that one combination
            for source in {PROGRAMS[program.name.partition("/")[0]][1] for program in programs}:
                self.assertTrue(report.has(TABLES[source]), f"no call of {source} was recorded")

    def test_as_first(self):
        self.compare(self.programs(), self.as_first, gate=[], every=guestlib.EACH)


if __name__ == "__main__":
    guestlib.lib.main()
