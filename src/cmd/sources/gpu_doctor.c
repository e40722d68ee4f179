/* All sources are tried by tacho-gpu in one run: it loads libraries that may crash or hang, and doctor must not. */
#include "gpu_doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/gpu/gpu_probe.h"

enum { CAPABILITY_SYS_ADMIN = 21 };

static void note_no_driver(struct doctor_finding *finding)
{
    finding->verdict = VERDICT_NOTE;
    text_add(&finding->why, "There is no NVIDIA driver on this machine.");
}

/* The result of tacho-gpu, which the first check runs. */
static const struct gpu_probe *trials(void)
{
    static struct gpu_probe probe;
    static int is_asked;

    if (!is_asked++)
        gpu_probe_try(&probe);
    return &probe;
}

static const struct {
    enum finding_verdict verdict; /* where it works on no GPU */
    const char *records;
} gpu_doctor_sources[GPU_TRIALS] = {
    [GPU_TRIAL_NVML] = { VERDICT_FAILS, "power, clocks, temperature, memory and utilization are recorded" },
    [GPU_TRIAL_GPM] = { VERDICT_NOTE, "SM, tensor core, DRAM and link activity are recorded with "
                                      "--gpu-metrics-devices" },
    [GPU_TRIAL_SAMPLING] = { VERDICT_FAILS, "counters are sampled over time with --gpu-metrics-devices" },
    [GPU_TRIAL_RANGES] = { VERDICT_FAILS, "counters of kernels are recorded with --gpu-counters" },
};

static void add_instead(struct doctor_finding *finding, const struct gpu_probe *probe, enum gpu_trial_source source)
{
    int has_nvml = source != GPU_TRIAL_NVML && probe->sources[GPU_TRIAL_NVML].works;
    int has_gpm = source == GPU_TRIAL_SAMPLING && probe->sources[GPU_TRIAL_GPM].works;

    if (source != GPU_TRIAL_RANGES && has_nvml)
        text_addf(&finding->why, " %s recorded %s.", has_gpm ? "GPM and NVML are" : "NVML is",
                  source == GPU_TRIAL_GPM ? "without it" : "instead");
}

/* Returns whether it works on a GPU. */
static int gpu_doctor_look_at(struct doctor_finding *finding, enum gpu_trial_source source)
{
    if (!gpu_probe_has_driver()) {
        note_no_driver(finding);
        return 0;
    }
    const struct gpu_probe *probe = trials();
    const struct gpu_probe_source *tried = &probe->sources[source];
    finding->verdict = !tried->works     ? gpu_doctor_sources[source].verdict
                       : tried->refusals ? VERDICT_PARTLY
                                         : VERDICT_WORKS;
    if (tried->works)
        text_addf(&finding->why, "%zu of %zu GPU%s (%s%s): %s.%s", tried->works, probe->count,
                  probe->count == 1 ? "" : "s", probe->devices[0].name, probe->count == 1 ? "" : ", …",
                  gpu_doctor_sources[source].records, tried->refusals ? " " : "");
    if (tried->refusals) {
        text_add_bytes(&finding->why, tried->refusal.bytes, tried->refusal.length);
        if (tried->refusals > 1)
            text_addf(&finding->why, " %zu GPUs are refused in all.", tried->refusals);
        text_add(&finding->allow, gpu_refusal_allow(tried->why));
        add_instead(finding, probe, source);
    }
    return tried->works != 0;
}

static void look_at_nvml(struct doctor_finding *finding)
{
    gpu_doctor_look_at(finding, GPU_TRIAL_NVML);
}

static void look_at_gpm(struct doctor_finding *finding)
{
    gpu_doctor_look_at(finding, GPU_TRIAL_GPM);
}

static void look_at_sampling(struct doctor_finding *finding)
{
    gpu_doctor_look_at(finding, GPU_TRIAL_SAMPLING);
}

/* ---- Rights of the program --------------------------------------------------------------------------------------- */

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

void gpu_doctor_look_at_rights(const char *root, int is_privileged, struct doctor_finding *finding)
{
    int restricted = is_restricted(root);

    if (restricted < 0)
        text_add(&finding->why, "The driver does not say who may use them.");
    else if (restricted == 0 || is_privileged)
        text_addf(&finding->why, "The driver permits hardware counters for %s.",
                  restricted ? "administrators, and you are one" : "every user");
    else {
        finding->verdict = VERDICT_FAILS;
        text_add(&finding->why, "The driver permits hardware counters for administrators only (RmProfilingAdminOnly: 1 "
                                "in /proc/driver/nvidia/params).");
        text_add(&finding->allow, gpu_refusal_allow(GPU_REFUSAL_COUNTERS_FOR_ADMINS));
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

/* Kernels are counted in the program itself: whatever tacho-gpu may do, the program needs the right. */
static void look_at_ranges(struct doctor_finding *finding)
{
    if (!gpu_doctor_look_at(finding, GPU_TRIAL_RANGES))
        return;
    text_add_char(&finding->why, ' ');
    gpu_doctor_look_at_rights("", is_privileged(), finding);
}

const struct doctor_examination gpu_examinations[] = {
    { "NVML", look_at_nvml },
    { "GPM", look_at_gpm },
    { "GPU counters", look_at_sampling },
    { "GPU kernels", look_at_ranges },
    { 0 },
};
