/* The examinations that belong to no source. Each tries the thing itself where it can, rather than guess from settings;
 * nothing is left behind. */
#include "doctor_checks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/parallel.h"
#include "cgroup.h"
#include "collect/collect.h"
#include "system_file.h"

static void look_at_process_tree(struct doctor_finding *finding)
{
    struct error err = { 0 };

    if (!collect_agent_path(&err)) {
        finding->verdict = VERDICT_FAILS;
        text_addf(&finding->why, "Processes cannot be recorded: %s.", err.text);
        text_add(&finding->allow, "unpack the whole archive: bin/tacho looks for ../lib/tacho/libtacho-agent.so\nor "
                                  "name the agent: export TACHO_AGENT=/path/to/libtacho-agent.so\n");
        return;
    }
    text_add(&finding->why, "LD_PRELOAD loads the agent into the program and all processes that it starts. Static and "
                            "setuid programs run, but cannot load it.");
}

/* As the collector does it: a sealed, mapped memfd. */
static void look_at_shared_memory(struct doctor_finding *finding)
{
    enum { SIZE = 1 << 20 };
    int fd = memfd_create("tacho-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *map = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, SIZE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        munmap(map, SIZE);
        text_add(&finding->why, "Events are buffered in a memfd; the size of /dev/shm does not matter.");
    } else {
        finding->verdict = VERDICT_FAILS;
        text_addf(&finding->why, "memfd_create fails: %s. A seccomp profile may deny it.", strerror(errno));
        text_add(&finding->allow, "docker: --security-opt seccomp=unconfined\n"
                                  "Kubernetes: securityContext.seccompProfile.type: RuntimeDefault\n");
    }
    if (fd >= 0)
        close(fd);
}

static void look_at_clock(struct doctor_finding *finding)
{
    char source[64];

    system_file_read_line("", "/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                          sizeof source);
    if (clock_ticks_invariant()) {
#if defined(__x86_64__)
        text_add(&finding->why, "Timestamps come from the CPU's invariant TSC.");
#else
        text_add(&finding->why, "Timestamps come from the CPU's counter (CNTVCT).");
#endif
    } else {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->why, "The CPU's counter is not constant, so timestamps come from clock_gettime, which costs "
                                "some 20 ns more per event.");
    }
    if (*source)
        text_addf(&finding->why, " The kernel's clock source is %s.", source);
}

static void look_at_memory(struct doctor_finding *finding)
{
    enum { BUFFER_MIB = 256 };
    struct cgroup_limits limits = cgroup_read("");

    finding->verdict = VERDICT_NOTE;
    if (limits.memory_bytes < 0) {
        text_add(&finding->why, "No cgroup memory limit is set.");
    } else {
        text_add(&finding->why, "The container may use ");
        human_bytes(&finding->why, (uint64_t)limits.memory_bytes);
        if (limits.memory_used_bytes >= 0) {
            text_add(&finding->why, " and uses ");
            human_bytes(&finding->why, (uint64_t)limits.memory_used_bytes);
        }
        text_add(&finding->why, " of it. Events that are not yet written count towards it.");
    }
    text_addf(&finding->why,
              " The events of a process may take up to %d MiB (--buffer-limit); those of a quiet one take next to "
              "nothing.",
              BUFFER_MIB);
    if (limits.memory_bytes >= 0 && limits.memory_bytes < (int64_t)BUFFER_MIB * 4 << 20) {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->allow, "tacho profile --buffer-limit=32M …\n"
                                  "docker: --memory=4g\n"
                                  "Kubernetes: resources.limits.memory: 4Gi\n");
    }
}

static void look_at_processes(struct doctor_finding *finding)
{
    struct cgroup_limits limits = cgroup_read("");

    finding->verdict = VERDICT_NOTE;
    if (limits.pids < 0) {
        text_add(&finding->why, "No cgroup limit on processes and threads is set.");
        return;
    }
    text_addf(&finding->why, "The container may run %lld processes and threads, and runs %lld. Tacho adds a handful.",
              (long long)limits.pids, (long long)limits.pids_used);
    if (limits.pids - limits.pids_used < 32) {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->allow, "docker: --pids-limit=4096\nKubernetes: podPidsLimit of the kubelet\n");
    }
}

static void look_at_cores(struct doctor_finding *finding)
{
    struct cgroup_limits limits = cgroup_read("");
    int cores = parallel_cores();

    finding->verdict = VERDICT_NOTE;
    text_addf(&finding->why, "%d cores are available", cores);
    if (limits.cpus > 0)
        text_addf(&finding->why, ", with a quota of %.1f", limits.cpus);
    text_add(&finding->why, ".");
    if (cores < 2 || (limits.cpus > 0 && limits.cpus < 2)) {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->why, " The collector shares them with the program: at millions of events per second it may "
                                "fall behind, and events are dropped and counted.");
        text_add(&finding->allow, "docker: --cpus=2\nKubernetes: resources.limits.cpu: \"2\"\n");
    }
}

static void look_at_seccomp(struct doctor_finding *finding)
{
    char line[256];
    int mode = -1;
    FILE *status = fopen("/proc/self/status", "re");

    while (status && fgets(line, sizeof line, status))
        sscanf(line, "Seccomp: %d", &mode);
    if (status)
        fclose(status);
    finding->verdict = VERDICT_NOTE;
    if (mode == 2)
        text_add(&finding->why,
                 "A seccomp filter is active, as is usual in containers. The lines above show what it denies.");
    else
        text_add(&finding->why, mode == 0 ? "No seccomp filter is "
                                            "active."
                                          : "Cannot tell whether a seccomp filter is active.");
}

static void look_at_disk(struct doctor_finding *finding)
{
    struct statvfs disk;

    if (access(".", W_OK) != 0) {
        finding->verdict = VERDICT_PARTLY;
        text_addf(&finding->why, "Cannot write reports to the current directory: %s.", strerror(errno));
        text_add(&finding->allow, "tacho profile -o /tmp/report …\n");
        return;
    }
    text_add(&finding->why, "Reports can be written to the current directory");
    if (statvfs(".", &disk) == 0) {
        text_add(&finding->why, "; ");
        human_bytes(&finding->why, (uint64_t)disk.f_bavail * disk.f_frsize);
        text_add(&finding->why, " are free");
    }
    text_add(&finding->why, ".");
}

const struct doctor_examination doctor_program[] = {
    { "Process tree", look_at_process_tree },
    { 0 },
};

const struct doctor_examination doctor_machine[] = {
    { "Shared memory", look_at_shared_memory },
    { "Clock", look_at_clock },
    { "Output", look_at_disk },
    { "Cores", look_at_cores },
    { "Memory limit", look_at_memory },
    { "Process limit", look_at_processes },
    { "Seccomp", look_at_seccomp },
    { 0 },
};
