/* The Python check of `tacho doctor`: whether another process can be read. */
#include "python_doctor.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/doctor/system_file.h"

/* Reads a word out of a child, as Python's stacks are read: 0, or errno. */
static int read_child(void)
{
    uint64_t word = UINT64_C(0x7461636f686f7921), found = 0;
    struct iovec here = { &found, sizeof found }, there = { &word, sizeof word };
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    if (child < 0)
        return errno;
    int error = process_vm_readv(child, &here, 1, &there, 1, 0) < 0 ? errno : found == word ? 0 : EIO;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return error;
}

static void python_doctor_look(struct doctor_finding *finding)
{
    char scope[32];
    int error = read_child();

    finding->verdict = error ? VERDICT_FAILS : VERDICT_WORKS;
    if (!error) {
        text_add(&finding->why, "--python-sampling can read the call stacks of CPython 3.9 to 3.14.");
        return;
    }
    system_file_read_line("", "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    text_addf(&finding->why,
              "--python-sampling cannot read the call stacks of Python programs: process_vm_readv of a child: %s; "
              "ptrace_scope is %s.",
              strerror(error), *scope ? scope : "not set");
    text_add(&finding->allow, "on the machine: sudo sysctl kernel.yama.ptrace_scope=1\ndocker: --cap-add=SYS_PTRACE\n"
                              "Kubernetes: securityContext.capabilities.add: [\"SYS_PTRACE\"]\n");
}

const struct doctor_examination python_examinations[] = { { "Python", python_doctor_look }, { 0 } };
