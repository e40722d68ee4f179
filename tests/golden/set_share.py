"""`tacho stats --share`: processes that divide the reports of a folder print the bytes that one process prints.

The truth is `tacho stats` of one process over the same folder: six reports made of nsys's files, with calls of MPI, equal and different
durations, and a range that never ends."""

import glob
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tty

from lib import TACHO, check, job_files, status

REPORTS = "cuda_gpu_kern_sum,cuda_gpu_kern_gb_sum,cuda_api_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum,cuda_gpu_sum,cuda_api_gpu_sum," \
          "nvtx_sum,nvtx_pushpop_sum,osrt_sum,mpi_event_sum,mpi_msg_size_sum,mpi_sum,cuda_gpu_kern_sum:nvtx-name,nvtx_sum:rows=3"
RANK_VARIABLES = ("RANK", "JSM_NAMESPACE_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")


def environment(**variables):
    return {**{name: value for name, value in os.environ.items() if name not in RANK_VARIABLES}, **variables}


def stats(*words, **variables):
    return subprocess.run([TACHO, "stats", *words], env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def truth(*words):
    done = stats(*words, "run")
    check("one process", 0, done.returncode)
    check("has an answer", True, len(done.stdout) > 1000)
    return done.stdout


def launch(count, *words, without=(), **variables):
    """The processes of a job, as a launcher starts them."""
    return [subprocess.Popen([TACHO, "stats", "--share", *words, "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=environment(PMI_RANK=str(rank), PMI_SIZE=str(count), **variables)) for rank in range(count) if rank not in without]


def finish(processes):
    done = [process.communicate() for process in processes]
    return [out for out, _ in done if out], b"".join(err for _, err in done).decode(), [process.returncode for process in processes]


def left_over():
    return [name for name in os.listdir("run") if name.startswith(".tacho-share")]


def check_job():
    for words in (["-r", REPORTS, "-f", "csv"], ["-r", REPORTS, "-f", "json"], [], ["-r", "osrt_sum,nvtx_sum", "--filter-time", "0/2s"]):
        expected = truth(*words)
        for count in (1, 3, 8):
            printed, said, codes = finish(launch(count, *words))
            check(f"{count} processes, {words}: one prints, what one process prints", [expected], printed)
            check(f"{count} processes: all end well, {said}", {0}, set(codes))
            check("nothing is left", [], left_over())


def check_relayed():
    """The terminal of a process that a launcher started is the launcher's: what is printed may go to a file."""
    words = ["-r", "osrt_sum"]
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    job = subprocess.Popen([TACHO, "stats", "--share", *words, "run"], stdout=theirs, env=environment(PMI_RANK="0", PMI_SIZE="1", TERM="xterm"))
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65536):
            printed += piece
    except OSError:  # all have closed the terminal
        pass
    check("the job ends well", 0, job.wait())
    check("on a launcher's terminal", truth(*words), printed)


def check_launchers():
    expected = truth("-r", REPORTS, "-f", "csv")
    for mpirun in ("mpirun.openmpi", "mpirun.mpich"):
        if not shutil.which(mpirun):
            print(f"skipped: no {mpirun}")
            continue
        more = {"mpirun.openmpi": ["--oversubscribe", "--allow-run-as-root"]}.get(mpirun, [])
        done = subprocess.run([mpirun, *more, "-n", "3", TACHO, "stats", "--share", "-r", REPORTS, "-f", "csv", "run"], env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        check(f"{mpirun}: {done.stderr.decode()}", (0, expected), (done.returncode, done.stdout))
    check("nothing is left", [], left_over())


def check_absent():
    """A process that never comes, and one that is killed before it writes its share: both are named, and done by the last one."""
    words = ["-r", REPORTS, "-f", "csv"]
    expected = truth(*words)
    printed, said, codes = finish(launch(3, "--share-wait", "1", *words, without=(1,)))
    check("without one", ([expected], [0, 0]), (printed, codes))
    check("it is named", True, "share 1 of 3: its process did not start; computed here" in said)
    victim, = launch(3, *words, without=(0, 1))
    while not glob.glob("run/.tacho-share/*.2.begun") and victim.poll() is None:
        time.sleep(0.0005)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    check("it was killed while it worked or waited", -signal.SIGKILL, victim.returncode)
    printed, said, codes = finish(launch(3, *words, without=(2,)))
    check("with one that was killed", ([expected], [0, 0]), (printed, codes))
    check("it is named", True, "share 2 of 3: its process ended early; computed here" in said)
    check("nothing is left", [], left_over())


def ranks(launcher, count, *words, without=()):
    """The processes of a job under variables with {rank} in them."""
    return [subprocess.Popen([TACHO, "stats", "--share", *words, "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=environment(**{name: value.format(rank=rank, count=count) for name, value in launcher.items()}))
            for rank in range(count) if rank not in without]


TORCHRUN = {"RANK": "{rank}", "WORLD_SIZE": "{count}", "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
JSRUN = {"JSM_NAMESPACE_RANK": "{rank}", "JSM_NAMESPACE_SIZE": "{count}", "LSB_JOBID": "7"}
SLURM = {"SLURM_PROCID": "{rank}", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "12", "SLURM_STEP_NUM_TASKS": "{count}"}


def check_again():
    """A later run prints, whatever an earlier one of the same name lacked. A late process of the same run does not, and says why."""
    words = ["--share-wait", "2", "-r", "osrt_sum,nvtx_sum", "-f", "csv"]
    expected = truth(*words[2:])
    for launcher in (TORCHRUN, JSRUN):
        for without in ((1,), (), ()):
            printed, said, codes = finish(ranks(launcher, 2, *words, without=without))
            check(f"{sorted(launcher)[0]} without {without}: {said}", ([expected], {0}), (printed, set(codes)))
        check("nothing is left", [], left_over())
    printed, said, codes = finish(ranks(SLURM, 2, *words, without=(1,)))
    check(f"Slurm without one: {said}", ([expected], [0]), (printed, codes))
    printed, said, codes = finish(ranks(SLURM, 2, *words, without=(0,)))
    check("it comes later", ([], "tacho: share 1 of 2: came too late; another process of the job computed it, and prints\n", [0]), (printed, said, codes))
    done, = glob.glob("run/.tacho-share-12.0/*.done")
    os.utime(done, (time.time() - 120, time.time() - 120))
    printed, said, codes = finish(ranks(SLURM, 2, *words))
    check(f"a job that was put back into the queue: {said}", ([expected], [0, 0]), (printed, codes))
    check("nothing is left", [], left_over())


def start_file(*words):
    """The name of a job's files, from a process that is killed once it has begun; what it wrote is left."""
    victim, = launch(2, *words, without=(0,))
    while not glob.glob("run/.tacho-share/*.1.begun") and victim.poll() is None:
        time.sleep(0.0005)
    victim.kill()
    victim.communicate()
    path, = glob.glob("run/.tacho-share/*.1.begun")
    return path[:-len("1.begun")]


def check_killed():
    """A job that was killed on other hosts has left a collector's file: the next one waits for a sign of life, and prints."""
    words = ["--share-wait", "1", "-r", REPORTS, "-f", "csv"]
    expected = truth(*words[2:])
    for age in (0, 30, 86400):
        stem = start_file(*words)
        for number in (0, 1):
            with open(f"{stem}{number}.collector", "w", encoding="utf-8") as file:
                file.write("another-host/pid:[1] 17 12345")
            os.utime(file.name, (time.time() - age, time.time() - age))
        printed, said, codes = finish(launch(2, *words))
        check(f"a collector of {age} s ago: {said}", ([expected], [0, 0]), (printed, codes))
        check("nothing is left", [], left_over())


def check_late():
    """One that is stopped until the others have given it up ends well, and prints nothing."""
    words = ["--share-wait", "1", "-r", REPORTS, "-f", "csv"]
    expected = truth(*words[2:])
    for _ in range(20):
        late, = launch(2, *words, without=(0,))
        while not glob.glob("run/.tacho-share/*.1.begun") and late.poll() is None:
            time.sleep(0.0002)
        late.send_signal(signal.SIGSTOP)
        if late.poll() is None and not glob.glob("run/.tacho-share/*.collector"):
            break
        late.kill()
        late.communicate()
        shutil.rmtree("run/.tacho-share", ignore_errors=True)
    else:
        print("skipped: a process could not be stopped while it computed")
        return
    printed, said, codes = finish(launch(2, *words, without=(1,)))
    check(f"without the late one: {said}", ([expected], [0], True), (printed, codes, "share 1 of 2: its process did not finish in time" in said))
    late.send_signal(signal.SIGCONT)
    printed, said, codes = finish([late])
    check("the late one", ([], "tacho: share 1 of 2: came too late; another process of the job computed it, and prints\n", [0]), (printed, said, codes))
    check("nothing is left", [], left_over())


def check_changed():
    """A file that changes between the starts of two processes: they still find each other, and one of them prints."""
    words = ["-r", REPORTS, "-f", "csv"]
    expected = truth(*words)
    first, = launch(2, *words, without=(0,))
    while not glob.glob("run/.tacho-share/*.collector") and first.poll() is None:
        time.sleep(0.001)
    os.utime(sorted(glob.glob("run/*.tacho"))[0])
    printed, said, codes = finish([first, *launch(2, *words, without=(1,))])
    check("one prints", ([expected], [0, 0]), (printed, codes))
    check("the share that is of another state is named", "tacho: share 0 of 2: its process read the reports before they changed, or after; computed here\n", said)
    check("nothing is left", [], left_over())


def check_strange_files():
    """What others may put into the folder: no pipe is waited for, no device read, no link followed, and files are of the user alone."""
    words = ["-r", REPORTS, "-f", "csv", "--share-folder", "shares", "run"]
    expected = truth("-r", REPORTS, "-f", "csv")
    for share in ("0/3", "1/3", "2/3"):
        stats(f"--share={share}", *words)
    paths = sorted(glob.glob("shares/*.share"))
    check("modes", {0o700, 0o600}, {os.stat(path).st_mode & 0o777 for path in ["shares", *paths]})
    for path in paths[:2]:
        os.remove(path)
    os.mkfifo(paths[0])
    os.symlink("/dev/zero", paths[1])
    with open(f"{paths[2]}.0123-77", "w", encoding="utf-8"):
        pass  # a process that was killed before it renamed this
    done = stats("--share=merge/3", *words)
    check("merged", (0, expected), (done.returncode, done.stdout))
    check("two are named", 2, len([line for line in done.stderr.splitlines() if b"left a damaged file; computed here" in line]))
    check("the folder is removed", False, os.path.exists("shares"))


def check_by_hand():
    """Shares that someone else coordinates."""
    words = ["-r", REPORTS, "-f", "csv", "--share-folder", "shares", "run"]
    expected = truth("-r", REPORTS, "-f", "csv")
    for share in ("2/3", "0/3"):
        done = stats(f"--share={share}", *words)
        check(f"share {share} prints nothing", (0, b""), (done.returncode, done.stdout))
    done = stats("--share=merge/3", *words)
    check("merged", (0, expected), (done.returncode, done.stdout))
    check("the missing one is named", True, b"share 1 of 3: its process did not start; computed here" in done.stderr)
    check("the folder is removed", False, os.path.exists("shares"))
    for share in ("0/2", "1/2"):
        stats(f"--share={share}", *words)
    for path in glob.glob("shares/*.share"):
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
    done = stats("--share=merge/2", *words)
    check("damaged shares are computed again", (0, expected), (done.returncode, done.stdout))
    check("and named", 2, len([line for line in done.stderr.splitlines() if b"left a damaged file; computed here" in line]))


def check_refusals():
    for words, variables, part in (
            (["--share"], {}, "none started this one"),
            (["--share"], {"JOB_COMPLETION_INDEX": "1"}, "Kubernetes does not say how many processes it started: --share=N"),
            (["--share=3/3"], {}, "--share takes the number of processes"),
            (["--share=many"], {}, "--share takes the number of processes"),
            (["--share=4"], {"JOB_COMPLETION_INDEX": "4"}, "rank 4 is not one of 4 processes"),
            (["--share=0/2", "--share-folder", "/proc/none"], {}, "cannot create the folder '/proc/none'"),
            (["--share=0/2", "--share-folder", "run/mix0.tacho"], {}, "--share-folder")):
        done = stats(*words, "-r", "osrt_sum", "run", **variables)
        check(f"{words}: no answer", (True, b""), (done.returncode != 0, done.stdout))
        check(f"{words}: one sentence: {done.stderr.decode()}", True, part in done.stderr.decode() and done.stderr.count(b"\n") <= 2)
    done = stats("--share=1", "-r", "cuda_gpu_trace", "-f", "csv", "run", JOB_COMPLETION_INDEX="0")
    check("a report that cannot be divided", (truth("-r", "cuda_gpu_trace", "-f", "csv"), True),
          (done.stdout, b"cuda_gpu_trace cannot be divided; one process computes it" in done.stderr))


def main():
    job_files("run")
    check_job()
    check_absent()
    check_again()
    check_killed()
    check_late()
    check_changed()
    check_by_hand()
    check_strange_files()
    check_refusals()
    check_relayed()
    check_launchers()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(status())
