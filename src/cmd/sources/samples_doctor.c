/* The CPU sampling check of `tacho doctor`: whether perf events are available, and how to get more of them. */
#include "samples_doctor.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/system_file.h"
#include "collect/sources/perf/perf_events.h"

/* How to enable the kernel's perf events, and more of them. */
static void allow_perf(struct doctor_finding *finding, int level, int is_level)
{
    if (!is_level)
        text_addf(&finding->allow, "on the machine: sudo sysctl kernel.perf_event_paranoid=%d\n", level);
    text_add(&finding->allow,
             "docker: --cap-add=PERFMON (kernels before 5.8: --cap-add=SYS_ADMIN), and a seccomp profile that allows "
             "perf_event_open\nKubernetes: securityContext.capabilities.add: [\"PERFMON\"], and such a "
             "seccompProfile\n");
}

static void explain_refusal(struct doctor_finding *finding, int error)
{
    char paranoid[32];

    system_file_read_line("", "/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid);
    finding->verdict = VERDICT_PARTLY;
    text_add(&finding->why, "Timers in the program's threads take the samples instead: a few hundred per second, user "
                            "space only, and context switches only as totals. ");
    if (!*paranoid) {
        text_add(&finding->why, "This kernel does not support perf events.");
        return;
    }
    text_addf(&finding->why,
              "The kernel denies perf events: %s (perf_event_paranoid is "
              "%s%s).",
              strerror(error), paranoid,
              atoi(paranoid) <= 2 ? "; a seccomp filter or another restriction of the container denies them" : "");
    allow_perf(finding, 2, atoi(paranoid) <= 2);
}

static void samples_doctor_look(struct doctor_finding *finding)
{
    struct collect_cpu_probe probe = collect_cpu_probe();

    if (probe.error) {
        explain_refusal(finding, probe.error);
        return;
    }
    text_addf(&finding->why, "perf events work: samples (%s)", probe.event);
    text_add(&finding->why, probe.kernel ? ", with kernel frames" : ", user space only");
    text_add(&finding->why, probe.switches ? ", and context switches." : ".");
    text_add(&finding->why, probe.system_wide ? " System-wide sampling works too (-s system-wide)." : "");
    text_add(&finding->why, probe.branches ? " Last branch records work too (-b lbr)." : "");
    if (!probe.kernel) {
        finding->verdict = VERDICT_PARTLY;
        allow_perf(finding, 1, 0);
    }
}

const struct doctor_examination samples_examinations[] = { { "CPU sampling", samples_doctor_look }, { 0 } };
