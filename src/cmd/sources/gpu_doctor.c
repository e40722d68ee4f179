/* NVML and GPM are tried through tacho-gpu, which reads them once. Of counters only the right to them is looked at: to
 * sample them could disturb another profiler. */
#include "gpu_doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/gpu/gpu_probe.h"

enum { CAPABILITY_SYS_ADMIN = 21 };

static int has_driver(void)
{
    return getenv("TACHO_NVML") || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static void note_no_driver(struct finding *finding)
{
    finding->verdict = VERDICT_NOTE;
    text_add(&finding->why, "There is no NVIDIA driver on this machine.");
}

/* The first sentence that says why there is nothing. */
static void add_refusal(struct finding *finding, const struct gpu_probe *probe)
{
    const char *text = text_string(&probe->refusals);

    text_add_bytes(&finding->why, text, strcspn(text, "\n"));
}

static void look_at_nvml(struct finding *finding)
{
    struct gpu_probe probe;

    if (!has_driver()) {
        note_no_driver(finding);
        return;
    }
    gpu_probe_ask(&probe, gpu_metrics_of_set(GPU_SET_BASIC));
    if (probe.count) {
        text_addf(&finding->why, "%zu GPU%s (%s%s): power, clocks, temperature, memory and utilization are recorded.",
                  probe.count, probe.count == 1 ? "" : "s", probe.devices[0].name, probe.count == 1 ? "" : ", …");
    } else {
        finding->verdict = VERDICT_FAILS;
        add_refusal(finding, &probe);
        text_add(&finding->allow, "docker: --gpus all; if an image sets NVIDIA_DRIVER_CAPABILITIES, it must include "
                                  "utility\n");
    }
    gpu_probe_free(&probe);
}

static void look_at_gpm(struct finding *finding)
{
    struct gpu_probe probe;
    size_t works = 0;

    if (!has_driver()) {
        note_no_driver(finding);
        return;
    }
    gpu_probe_ask(&probe, gpu_metrics_of_origin(GPU_ORIGIN_GPM));
    for (size_t i = 0; i < probe.count; i++)
        works += probe.has_values[i] != 0;
    if (works) {
        finding->verdict = works < probe.count ? VERDICT_PARTLY : VERDICT_WORKS;
        text_addf(&finding->why,
                  "%zu of %zu GPUs: SM, tensor core, DRAM and link activity are recorded with --gpu-metrics-devices.",
                  works, probe.count);
    } else {
        finding->verdict = VERDICT_NOTE;
        add_refusal(finding, &probe);
        text_add(&finding->why, " NVML is recorded without it.");
    }
    gpu_probe_free(&probe);
}

static int is_restricted(const char *root)
{
    struct text path = { 0 };
    char line[256];
    int restricted = -1;

    text_addf(&path, "%s/proc/driver/nvidia/params", root);
    FILE *params = fopen(text_string(&path), "re");
    text_free(&path);
    while (params && fgets(line, sizeof line, params))
        sscanf(line, "RmProfilingAdminOnly: %d", &restricted);
    if (params)
        fclose(params);
    return restricted;
}

void gpu_doctor_look_at_rights(const char *root, int is_privileged, struct finding *finding)
{
    int restricted = is_restricted(root);

    if (restricted < 0) {
        finding->verdict = VERDICT_NOTE;
        text_add(&finding->why, "There is no NVIDIA driver on this machine.");
    } else if (restricted == 0 || is_privileged) {
        finding->verdict = VERDICT_WORKS;
        text_addf(&finding->why, "The driver permits hardware counters for %s.",
                  restricted ? "administrators, and you are one" : "every user");
    } else {
        finding->verdict = VERDICT_FAILS;
        text_add(&finding->why, "The driver permits hardware counters for administrators only (RmProfilingAdminOnly: 1 "
                                "in /proc/driver/nvidia/params). GPM and NVML are recorded instead.");
        text_add(&finding->allow, "for every user: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
                                  "/etc/modprobe.d/nvidia.conf, and a restart\n"
                                  "in a container: --cap-add=SYS_ADMIN\n"
                                  "or run tacho as root\n");
    }
}

static int is_privileged(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    unsigned long long effective = 0;
    char line[256];

    while (status && fgets(line, sizeof line, status))
        sscanf(line, "CapEff: %llx", &effective);
    if (status)
        fclose(status);
    return effective >> CAPABILITY_SYS_ADMIN & 1;
}

static void look_at_rights(struct finding *finding)
{
    gpu_doctor_look_at_rights("", is_privileged(), finding);
}

const struct doctor_examination gpu_examinations[] = {
    { "NVML", look_at_nvml },
    { "GPM", look_at_gpm },
    { "GPU counters", look_at_rights },
    { 0 },
};
