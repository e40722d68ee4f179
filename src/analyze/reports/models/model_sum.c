/* openmp_sum, openacc_sum, ucx_sum and oshmem_sum: events of programming models by their names. */
#include "analyze/registry.h"
#include "analyze/reports/event_sum.h"

static const struct summary_shape events_shape = { "Count", { "Name" }, event_label_name, 0, NULL };
static const struct summary_shape calls_shape = { "Num Calls", { "Name" }, event_label_name, 0, NULL };

static const char *const openmp_tables[] = {
    "OPENMP_EVENT_KIND_THREAD",
    "OPENMP_EVENT_KIND_PARALLEL",
    "OPENMP_EVENT_KIND_SYNC_REGION_WAIT",
    "OPENMP_EVENT_KIND_SYNC_REGION",
    "OPENMP_EVENT_KIND_TASK",
    "OPENMP_EVENT_KIND_MASTER",
    "OPENMP_EVENT_KIND_REDUCTION",
    "OPENMP_EVENT_KIND_TASK_CREATE",
    "OPENMP_EVENT_KIND_TASK_SCHEDULE",
    "OPENMP_EVENT_KIND_CANCEL",
    "OPENMP_EVENT_KIND_MUTEX_WAIT",
    "OPENMP_EVENT_KIND_CRITICAL_SECTION",
    "OPENMP_EVENT_KIND_MUTEX_RELEASED",
    "OPENMP_EVENT_KIND_LOCK_INIT",
    "OPENMP_EVENT_KIND_LOCK_DESTROY",
    "OPENMP_EVENT_KIND_WORKSHARE",
    "OPENMP_EVENT_KIND_DISPATCH",
    "OPENMP_EVENT_KIND_FLUSH",
    NULL,
};
static int openmp_sum(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    struct event_source sources[COUNT_OF(openmp_tables) - 1] = { 0 };

    for (size_t i = 0; openmp_tables[i]; i++)
        sources[i] = (struct event_source){ .table = openmp_tables[i], .name = "nameId" };
    return event_sum(report, request,
                     &(struct event_summary){
                         .sources = sources, .source_count = COUNT_OF(sources), .shape = &events_shape },
                     out, err);
}

const struct analysis analysis_openmp_sum = {
    .name = "openmp_sum",
    .title = "OpenMP Summary",
    .help = "Time in OpenMP regions and tasks, by kind.",
    .needs = { { "OpenMP event data", openmp_tables } },
    .by_default = 7,
    .run = openmp_sum,
    .divides = &events_shape,
};

const struct analysis analysis_openacc_sum = {
    .name = "openacc_sum",
    .title = "OpenACC Summary",
    .help = "Time in OpenACC data transfers, launches and waits, by name.",
    .needs = { { "OpenACC event data", TABLES("CUPTI_ACTIVITY_KIND_OPENACC_DATA", "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH",
                                              "CUPTI_ACTIVITY_KIND_OPENACC_OTHER") } },
    .by_default = 19,
    EVENT_SUM(&events_shape, { .table = "CUPTI_ACTIVITY_KIND_OPENACC_DATA", .name = "nameId" },
              { .table = "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", .name = "nameId" },
              { .table = "CUPTI_ACTIVITY_KIND_OPENACC_OTHER", .name = "nameId" }),
};

const struct analysis analysis_ucx_sum = {
    .name = "ucx_sum",
    .title = "UCX Summary",
    .help = "Time in calls into UCX, by function.",
    .needs = { { "UCX event data", TABLES("UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS", "UCP_EVENTS") } },
    .overlap = "ucp_worker_progress contains the calls that callbacks make",
    EVENT_SUM(&calls_shape, { .table = "UCP_SUBMIT_EVENTS", .name = "textId", .named_only = 1 },
              { .table = "UCP_PROGRESS_EVENTS", .name = "textId", .named_only = 1 },
              { .table = "UCP_EVENTS", .name = "textId", .named_only = 1 }),
};

const struct analysis analysis_oshmem_sum = {
    .name = "oshmem_sum",
    .title = "OpenSHMEM Summary",
    .help = "Time in calls into OpenSHMEM, by function.",
    .needs = { { "OpenSHMEM event data", TABLES("TACHO_OSHMEM") } },
    EVENT_SUM(&calls_shape, { .table = "TACHO_OSHMEM", .name = "nameId" }),
};
