/* NVTX: which domains are recorded, and what a capture range of NVTX needs. */
#include <limits.h>
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/profile/profile_settings.h"
#include "cmd/summary/source_summary.h"

static int take_domains(struct profile_settings *settings, const char *value, const char *const **field,
                        struct error *err)
{
    char **names = profile_own(settings, option_split(value, NULL));

    *field = (const char *const *)names;
    return names ? 0 : error_no_memory(err);
}

static int take_include(void *settings, const char *value, struct error *err)
{
    return take_domains(settings, value, &((struct profile_settings *)settings)->collect.nvtx_domain_include, err);
}

static int take_exclude(void *settings, const char *value, struct error *err)
{
    return take_domains(settings, value, &((struct profile_settings *)settings)->collect.nvtx_domain_exclude, err);
}

/* all of them and the report's path fit into the settings that agents get (WIRE_TEXT_BYTES) */
#define LONGEST_NAMES 28000
_Static_assert(LONGEST_NAMES + PATH_MAX + 64 < WIRE_TEXT_BYTES, "no name is cut or left out");

static size_t names_length(const struct collect_options *collect)
{
    const char *const *lists[] = { collect->nvtx_domain_include, collect->nvtx_domain_exclude };
    size_t length = 0;

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const char *const *name = lists[i]; name && *name; name++)
            length += strlen(*name) + 1;
    length += collect->range_text ? strlen(collect->range_text) : 0;
    return length + (collect->range_domain ? strlen(collect->range_domain) : 0);
}

static int nvtx_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    if (collect->range == COLLECT_RANGE_NVTX && !(collect->sources & WIRE_BIT(NVTX)))
        return error_set(err, ERR_BAD_ARGUMENT, "--capture-range=nvtx needs NVTX: add nvtx to --trace");
    if (collect->range == COLLECT_RANGE_NVTX && !collect->range_text)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--capture-range=nvtx needs the name of a range: add "
                         "--nvtx-capture=NAME");
    if (collect->nvtx_domain_include && collect->nvtx_domain_exclude)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--nvtx-domain-include and --nvtx-domain-exclude cannot be used together");
    if (names_length(collect) > LONGEST_NAMES)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "too many NVTX names: the names of domains and ranges take more than "
                         "%d bytes",
                         LONGEST_NAMES);
    return 0;
}

/* clang-format off */
static const struct option nvtx_source_options[] = {
    { .name = "nvtx-domain-include", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_include,
      .help = "Record only these NVTX domains; 'default' is the default domain. Default: all domains." },
    { .name = "nvtx-domain-exclude", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_exclude,
      .help = "Record all NVTX domains except these." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace nvtx_source_traces[] = { { .name = "nvtx", .by_default = BY_DEFAULT }, { 0 } };

static void nvtx_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why,
                 "Marks and ranges arrive through NVTX_INJECTION64_PATH; the program needs no NVIDIA package.");
}

static const struct doctor_examination nvtx_source_examinations[] = { { "NVTX", nvtx_source_look }, { 0 } };

static const struct cmd_source_table nvtx_source_tables[] = {
    { "nvtx", "NVTX_EVENTS" },
    { 0 },
};

static const struct source_summary nvtx_source_summary = { .analysis = "nvtx_sum", .heading = "NVTX ranges" };

const struct cmd_source cmd_source_nvtx = {
    .events = WIRE_BIT(NVTX),
    .traces = nvtx_source_traces,
    .options = nvtx_source_options,
    .finish = nvtx_source_finish,
    .examinations = nvtx_source_examinations,
    .tables = nvtx_source_tables,
    .summary = &nvtx_source_summary,
};
