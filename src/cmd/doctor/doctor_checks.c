/* The examinations that are of no source. Each tries the thing itself where it can, rather than guess from
 * settings; nothing is left behind. */
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

static void look_at_process_tree(struct finding *finding)
{
    struct error err = { 0 };

    if (!collect_agent_path(&err)) {
        finding->verdict = VERDICT_FAILS;
        text_addf(&finding->why, "It cannot be followed: %s.", err.text);
        text_add(&finding->allow, "unpack the whole archive: bin/tacho looks for ../lib/tacho/libtacho-agent.so\n"
                                  "or name it: export TACHO_AGENT=/path/to/libtacho-agent.so\n");
        return;
    }
    text_add(&finding->why, "Programs and all that they start are followed through LD_PRELOAD. Statically linked and "
                            "setuid programs run but are not seen inside.");
}

/* As the collector does it: a sealed, mapped memfd. */
static void look_at_shared_memory(struct finding *finding)
{
    enum { SIZE = 1 << 20 };
    int fd = memfd_create("tacho-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *map = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, SIZE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) {
        munmap(map, SIZE);
        text_add(&finding->why, "Events travel through memfd. /dev/shm is not used, so its size does not matter.");
    } else {
        finding->verdict = VERDICT_FAILS;
        text_addf(&finding->why, "memfd_create does not work here: %s. A seccomp profile may forbid it.",
                  strerror(errno));
        text_add(&finding->allow, "docker: --security-opt seccomp=unconfined\n"
                                  "Kubernetes: securityContext.seccompProfile.type: RuntimeDefault\n");
    }
    if (fd >= 0)
        close(fd);
}

static void look_at_clock(struct finding *finding)
{
    char source[64];

    system_file_read_line("", "/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                          sizeof source);
    if (clock_ticks_invariant()) {
#if defined(__x86_64__)
        text_add(&finding->why, "The CPU's counter (invariant TSC) is read directly.");
#else
        text_add(&finding->why, "The CPU's counter (CNTVCT) is read directly.");
#endif
    } else {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->why, "The CPU's counter does not run evenly, so clock_gettime is used: right, but each "
                                "event costs some 20 ns more.");
    }
    if (*source)
        text_addf(&finding->why, " The kernel's own clock is %s.", source);
}

static void look_at_memory(struct finding *finding)
{
    enum { BUFFER_MIB = 256 };
    struct cgroup_limits limits = cgroup_read("");

    finding->verdict = VERDICT_NOTE;
    if (limits.memory_bytes < 0) {
        text_add(&finding->why, "No limit of a container is set.");
    } else {
        text_add(&finding->why, "The container may use ");
        human_bytes(&finding->why, (uint64_t)limits.memory_bytes);
        if (limits.memory_used_bytes >= 0) {
            text_add(&finding->why, " and uses ");
            human_bytes(&finding->why, (uint64_t)limits.memory_used_bytes);
        }
        text_add(&finding->why, " of it. What is recorded counts until it is written.");
    }
    text_addf(&finding->why,
              " A process may hold up to %d MiB of events (--buffer-limit), a quiet one holds next to nothing.",
              BUFFER_MIB);
    if (limits.memory_bytes >= 0 && limits.memory_bytes < (int64_t)BUFFER_MIB * 4 << 20) {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->allow, "tacho profile --buffer-limit=32M …\n"
                                  "docker: --memory=4g\n"
                                  "Kubernetes: resources.limits.memory: 4Gi\n");
    }
}

static void look_at_processes(struct finding *finding)
{
    struct cgroup_limits limits = cgroup_read("");

    finding->verdict = VERDICT_NOTE;
    if (limits.pids < 0) {
        text_add(&finding->why, "The number of processes and threads is not limited by a container.");
        return;
    }
    text_addf(&finding->why, "The container may have %lld processes and threads, and has %lld. Tacho adds a handful.",
              (long long)limits.pids, (long long)limits.pids_used);
    if (limits.pids - limits.pids_used < 32) {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->allow, "docker: --pids-limit=4096\nKubernetes: podPidsLimit of the kubelet\n");
    }
}

static void look_at_cores(struct finding *finding)
{
    struct cgroup_limits limits = cgroup_read("");
    int cores = parallel_cores();

    finding->verdict = VERDICT_NOTE;
    text_addf(&finding->why, "%d cores may be used", cores);
    if (limits.cpus > 0)
        text_addf(&finding->why, ", with a quota of %.1f", limits.cpus);
    text_add(&finding->why, ".");
    if (cores < 2 || (limits.cpus > 0 && limits.cpus < 2)) {
        finding->verdict = VERDICT_PARTLY;
        text_add(&finding->why, " The collector shares them with the program: at millions of events a second some may "
                                "be dropped, and are counted.");
        text_add(&finding->allow, "docker: --cpus=2\nKubernetes: resources.limits.cpu: \"2\"\n");
    }
}

static void look_at_seccomp(struct finding *finding)
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
                 "A filter is active, as is usual in containers. What it forbids shows in the lines above.");
    else
        text_add(&finding->why, mode == 0 ? "No filter is active." : "It is not known whether a filter is active.");
}

static void look_at_disk(struct finding *finding)
{
    struct statvfs disk;

    if (access(".", W_OK) != 0) {
        finding->verdict = VERDICT_PARTLY;
        text_addf(&finding->why, "Reports cannot be written to this folder: %s.", strerror(errno));
        text_add(&finding->allow, "tacho profile -o /tmp/report …\n");
        return;
    }
    text_add(&finding->why, "Reports can be written to this folder");
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
