"""Programming models that a process has loaded: TACHO_MODEL, the lines of `tacho info` and `tacho doctor`, and the line of the summary
that says how to record one that is in use. Libraries are stand-ins with the names of real ones."""
import json
import os
import re
import subprocess

import lib

CC = os.environ["CC"].split()
# Model to its -t, the file of a library, and a function of it.
MODELS = {"MPI": ("mpi", "libmpi.so.40", "MPI_Barrier"), "OpenMP": ("openmp", "libgomp.so.1", "GOMP_barrier"),
          "OpenACC": ("openacc", "libacchost.so", "acc_init"), "UCX": ("ucx", "libucp.so.0", "ucp_cleanup"),
          "OpenSHMEM": ("oshmem", "liboshmem.so.40", "shmem_quiet"), "NCCL": ("nccl", "libnccl.so.2", "ncclGroupStart")}
BY_DEFAULT = {"MPI", "OpenMP"}  # where a program uses them


def doctor(**variables):
    done = subprocess.run([lib.TACHO, "doctor", "-f", "json"], capture_output=True, text=True, check=True, env={**os.environ, **variables})
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


class Models(lib.Case):
    samples = False

    def build(self, name, source, *arguments):
        path = self.path(name)
        subprocess.run([*CC, "-w", "-x", "c", "-", "-o", path, "-Wl,--no-as-needed", f"-Wl,-rpath,{self.folder}", "-fPIC", *arguments, "-ldl"],
                       input=source, text=True, check=True)
        return path

    def library(self, model, *needed):
        _, name, function = MODELS[model]
        return self.build(name, f"int {function}(void) {{ return 0; }}", "-shared", f"-Wl,-soname,{name}", "-x", "none", *needed)

    def caller(self, models, *loaded):
        """A program that calls a function of each of these, and has loaded others."""
        functions = [MODELS[model][2] for model in models]
        source = "".join(f"int {name}(void);\n" for name in functions) + "int main(void) { " + "".join(f"{name}(); " for name in functions) + "return 0; }"
        return self.build("caller", source, "-x", "none", *[self.library(model) for model in models], *loaded)

    def rows(self, report):
        return report.rows("SELECT model, implementation, usedBy FROM TACHO_MODEL ORDER BY model") if report.has("TACHO_MODEL") else []

    def hints(self):
        return re.findall(r"^  (\w+) is in use.*record its calls with -t (\w+)$", self.output.stderr, re.M)

    def test_a_model_that_the_program_calls_is_in_use(self):
        known = {name for name, check in doctor().items() if check["verdict"] != "later"}
        self.assertIn("NCCL", known)
        for model, (trace, _, _) in MODELS.items():
            with self.subTest(model=model):
                report = self.profile(self.caller([model]))
                self.assertIn((model, "program"), [(name, use) for name, _, use in self.rows(report)])
                by_default = model in BY_DEFAULT
                self.assertEqual(self.hints(), [(model, trace)] if model in known and not by_default else [])
                info = subprocess.run([lib.TACHO, "info", report.path], capture_output=True, text=True, check=True).stdout
                self.assertRegex(info, rf"Programming models\n(.*\n)*{model} +.*in use by 1 process; " +
                                 ("recorded: 1 event" if model == "MPI" else "no event was recorded" if by_default else
                                  rf"not recorded \(-t {trace}\)" if model in known else "this version cannot record it"))

    def test_a_library_that_another_one_needs_is_no_sign(self):
        other = self.build("libother.so", "int GOMP_barrier(void); int ucp_cleanup(void); int other(void) { return GOMP_barrier() + ucp_cleanup(); }",
                           "-shared", "-Wl,-soname,libother.so", "-x", "none", self.library("OpenMP"), self.library("UCX"))
        report = self.profile(self.caller([], other))
        self.assertEqual(self.rows(report), [("OpenMP", "GNU", None), ("UCX", "UCX", None)])
        self.assertEqual(self.hints(), [])

    def test_a_library_of_two_models_counts_for_the_one_in_use(self):
        gomp = self.build("libgomp.so.1", "int GOACC_wait(void) { return 0; }", "-shared", "-Wl,-soname,libgomp.so.1")
        program = self.build("acc", "int GOACC_wait(void); int main(void) { return GOACC_wait(); }", "-x", "none", gomp)
        self.assertEqual(self.rows(self.profile(program)), [("OpenACC", "GNU", "program"), ("OpenMP", "GNU", None)])

    def test_a_library_that_is_loaded_later(self):
        program = self.build("loads", '#include <dlfcn.h>\nint main(void) { return !dlopen("' + self.library("NCCL") + '", RTLD_NOW); }')
        self.assertEqual(self.rows(self.profile(program)), [("NCCL", "NCCL", None)])

    def test_a_job_of_several_ranks_uses_what_is_for_such_jobs(self):
        program = self.caller([], self.library("MPI"), self.library("OpenMP"))
        for size, use in (("2", "ranks"), ("1", None)):
            report = self.profile(program, options=["-eOMPI_COMM_WORLD_RANK=0", f"-eOMPI_COMM_WORLD_SIZE={size}"])
            self.assertEqual(self.rows(report), [("MPI", "Open MPI", use), ("OpenMP", "GNU", None)])

    def test_who_names_sources_gets_no_line(self):
        report = self.profile(self.caller(["NCCL"]), options=["-t", "nvtx"])
        self.assertEqual(self.rows(report), [("NCCL", "NCCL", "program")])
        self.assertEqual(self.hints(), [])

    def test_a_model_without_events_has_a_sentence(self):
        for model in ("OpenMP", "OpenACC", "UCX", "OpenSHMEM"):
            self.profile("true", options=["-t", MODELS[model][0]])
            self.assertIn(f"No event of {model} was recorded: no process has loaded a library for it.", self.output.stderr)
        self.profile("true", options=["-t", "openmp,oshmem,mpi"])
        self.assertIn("No event of OpenMP, OpenSHMEM was recorded", self.output.stderr)
        llvm = self.build("libomp.so.5", "int __kmpc_x(void) { return 0; }", "-shared", "-Wl,-soname,libomp.so.5")
        program = self.build("uses", "int __kmpc_x(void); int main(void) { return __kmpc_x(); }", "-x", "none", llvm)
        for value, count in (("disabled", 1), ("enabled", 0)):
            report = self.profile(program, options=["-t", "openmp"], env={**os.environ, "OMP_TOOL": value})
            self.assertEqual(self.output.stderr.count("No event of OpenMP was recorded: OMP_TOOL is set: OMPT is switched off"), count)
            info = subprocess.run([lib.TACHO, "info", report.path], capture_output=True, text=True, check=True).stdout
            self.assertIn("OpenMP            LLVM, in use by 1 process; no event was recorded", info)

    def printer(self, *models):
        """A program that is linked with these, prints its LD_PRELOAD, and starts its arguments."""
        return self.build("-".join(["prints", *models]), """
            #include <stdio.h>
            #include <stdlib.h>
            #include <unistd.h>
            int main(int argc, char **argv) { const char *own = getenv("LD_PRELOAD"); printf("%s\\n", own ? own : ""); fflush(stdout); return argc > 1 ? execv(argv[1], argv + 1) : 0; }""",
                          "-x", "none", *[self.library(model) for model in models])

    def preloaded(self, *command, **more):
        """The libraries that each program of a chain preloads, by their names."""
        self.profile(*command, **more)
        return [[os.path.basename(path).removeprefix("libtacho-").removesuffix(".so") for path in line.split(":")] for line in self.output.stdout.splitlines()]

    def test_only_programs_that_use_a_model_preload_for_it(self):
        neither, openmp, mpi, both = self.printer(), self.printer("OpenMP"), self.printer("MPI"), self.printer("OpenMP", "MPI")
        self.assertEqual(self.preloaded(openmp), [["agent", "openmp"]])  # started by tacho
        self.assertEqual(self.preloaded(neither, openmp, neither, mpi, both, openmp, neither),  # by each other
                         [["agent"], ["agent", "openmp"], ["agent"], ["agent", "mpi"], ["agent", "mpi", "openmp"], ["agent", "openmp"], ["agent"]])
        self.assertEqual(self.preloaded("/usr/bin/env", "-i", both), [["agent", "mpi", "openmp"]])
        script = self.path("script")
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\nexec {openmp} {neither}\n")
        os.chmod(script, 0o755)
        self.assertEqual(self.preloaded(script), [["agent", "openmp"], ["agent"]])

    def test_libraries_of_the_user_stay_after_ours(self):
        own = self.build("libown.so", "int own;", "-shared")
        environment = {**os.environ, "LD_PRELOAD": own}
        self.assertEqual(self.preloaded(self.printer(), self.printer("OpenMP"), self.printer(), env=environment),
                         [["agent", "libown"], ["agent", "openmp", "libown"], ["agent", "libown"]])

    def test_what_is_named_is_preloaded_everywhere(self):
        neither, openmp = self.printer(), self.printer("OpenMP")
        for trace, first, second in (("openmp", ["agent", "openmp"], ["agent", "openmp"]), ("mpi", ["agent", "mpi"], ["agent", "mpi"]),
                                     ("none", ["agent"], ["agent"]), ("cuda,nvtx,osrt", ["agent"], ["agent"])):
            self.assertEqual(self.preloaded(neither, openmp, options=["-t", trace]), [first, second])
        self.assertEqual(self.preloaded(neither, options=["--openmp-details=flush"]), [["agent", "openmp"]])
        self.assertEqual(self.preloaded(neither, options=["--mpi-impl=mpich"]), [["agent", "mpi"]])

    def test_a_rank_of_several_may_use_mpi(self):
        """Python and its like load MPI later."""
        for launcher, names in (("Open MPI", "OMPI_COMM_WORLD"), ("MPICH", "PMI")):
            for size, ours in (("4", ["agent", "mpi"]), ("1", ["agent"])):
                rank = [f"{names}_RANK=0", f"{names}_SIZE={size}"]
                with self.subTest(launcher=launcher, size=size):
                    self.assertEqual(self.preloaded("/usr/bin/env", *rank, self.printer()), [ours])
                    self.assertEqual(self.preloaded(self.printer(), env={**os.environ, **dict(each.split("=") for each in rank)}), [ours])

    def test_who_uses_none_hears_of_none(self):
        report = self.profile(self.printer())
        self.assertNotRegex(self.output.stderr, r"(?i)openmp|\bMPI\b")
        self.assertEqual(report.rows("SELECT source, fate, count FROM TACHO_COUNT WHERE source IN ('mpi', 'openmp') AND count > 0"), [])
        self.profile(self.printer(), options=["--preload=no"])
        self.assertNotRegex(self.output.stderr, r"(?i)openmp|\bMPI\b")

    def test_doctor_names_each_model(self):
        checks = doctor(NCCL_PROFILER_PLUGIN="mine", LD_LIBRARY_PATH=self.folder)
        self.library("NCCL")
        self.assertLessEqual(set(MODELS), set(checks))
        self.assertEqual(checks["NCCL"]["verdict"], "partly")
        self.assertIn("NCCL_PROFILER_PLUGIN", checks["NCCL"]["why"])
        self.assertEqual(checks["NCCL"]["allow"], ["unset NCCL_PROFILER_PLUGIN"])
        for variables, model, verdict, variable in (({"OMP_TOOL": "disabled"}, "OpenMP", "partly", "OMP_TOOL"),
                                                    ({"OMP_TOOL_LIBRARIES": "mine.so"}, "OpenMP", "partly", "OMP_TOOL_LIBRARIES"),
                                                    ({"ACC_PROFLIB": "mine.so"}, "OpenACC", "fails", "ACC_PROFLIB")):
            check = doctor(**variables)[model]
            self.assertEqual((check["verdict"], check["allow"]), (verdict, ["unset " + variable]))
            self.assertEqual(check["why"].count(variable + " is set"), 1, check["why"])
        self.assertEqual(doctor(OMP_TOOL="enabled")["OpenMP"]["verdict"], "works")
        for model, check in checks.items():
            if model in MODELS:  # sentences of several sources, with a blank between them
                self.assertRegex(check["why"], rf"^-t {MODELS[model][0]} records ")
                self.assertNotRegex(check["why"], r"[a-z]\.[A-Z]")
        for name in ("libmpi.so.40", "libmpich.so.12"):
            open(self.path(name), "w").close()
        found = doctor(LD_LIBRARY_PATH=self.folder)
        self.assertIn(self.path("libnccl.so.2"), found["NCCL"]["why"])
        self.assertRegex(found["MPI"]["why"], r"Found: .*/libmpi[^ ]* \((Open MPI|MPICH)\), .*/libmpi[^ ]* \((Open MPI|MPICH)\)\.$")


if __name__ == "__main__":
    lib.main()
