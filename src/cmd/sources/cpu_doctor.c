/* What `tacho doctor` says about CPU sampling: whether perf events can be had, and how to get more of them. */
#include "cpu_doctor.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/system_file.h"
#include "collect/collect.h"

/* How the kernel's perf events could be had, and more of them. */
static void allow_perf(struct finding *finding, int level, int is_level)
{
    if (!is_level)
        text_addf(&finding->allow, "on the machine: sudo sysctl kernel.perf_event_paranoid=%d\n", level);
    text_add(&finding->allow,
             "docker: --cap-add=PERFMON (with kernels before 5.8 --cap-add=SYS_ADMIN), and a seccomp profile that "
             "allows perf_event_open\n"
             "Kubernetes: securityContext.capabilities.add: [\"PERFMON\"], and such a seccompProfile\n");
}

static void explain_refusal(struct finding *finding, int error)
{
    char paranoid[32];

    system_file_read_line("", "/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid);
    finding->verdict = VERDICT_PARTLY;
    text_add(&finding->why, "Samples are taken by timers in the program's threads, some hundred a second, without the "
                            "kernel's part; of context switches there are sums alone. ");
    if (!*paranoid) {
        text_add(&finding->why, "This kernel has no perf events.");
        return;
    }
    text_addf(&finding->why, "Perf events are refused: %s (perf_event_paranoid is %s%s).", strerror(error), paranoid,
              atoi(paranoid) <= 2 ? "; what refuses them is a seccomp filter or another guard of the container" : "");
    allow_perf(finding, 2, atoi(paranoid) <= 2);
}

static void look(struct finding *finding)
{
    struct collect_cpu_probe probe = collect_cpu_probe();

    if (probe.error) {
        explain_refusal(finding, probe.error);
        return;
    }
    text_addf(&finding->why, "Samples come from the kernel's perf events (%s)", probe.event);
    text_add(&finding->why, probe.kernel ? ", with what the kernel does for the program" : ", of user space alone");
    text_add(&finding->why, probe.switches ? "; context switches too." : ".");
    text_add(&finding->why, probe.system_wide ? " The whole machine may be sampled (-s system-wide)." : "");
    text_add(&finding->why, probe.branches ? " The CPU's own record of calls may be used (-b lbr)." : "");
    if (!probe.kernel) {
        finding->verdict = VERDICT_PARTLY;
        allow_perf(finding, 1, 0);
    }
}

const struct doctor_examination cpu_examinations[] = { { "CPU sampling", look }, { 0 } };
