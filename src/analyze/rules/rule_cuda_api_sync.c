/* The rule cuda_api_sync: calls that wait for the GPU. */
#include <string.h>
#include <strings.h>

#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "rule.h"

static int cuda_api_sync_waits(const char *call)
{
    return strncasecmp(call, "cudaDeviceSynchronize", 21) == 0 || strncasecmp(call, "cudaStreamSynchronize", 21) == 0;
}

enum { DURATION, START, PID, TID, NAME, CELLS };

static int cuda_api_sync_add_row(struct table *table, const struct calls *calls, size_t call, const char *name)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[DURATION], saturating_duration(calls->start[call], calls->end[call]));
    cell_set_int(&row[START], calls->start[call]);
    cell_set_int(&row[PID], global_pid_number(calls->thread[call]));
    cell_set_int(&row[TID], global_tid_number(calls->thread[call]));
    return cell_set_text(table, &row[NAME], name, strlen(name));
}

static int cuda_api_sync_add_waits(struct table *table, const struct calls *calls, struct report *report,
                                   const struct rule *rule)
{
    const struct filter filter = { .span = &rule->span, .only = rule->only };
    int64_t last_name = -1;
    int last_waits = 0;

    for (size_t call = 0; call < calls->count; call++) {
        if (!filter_thread(&filter, calls->thread[call], calls->start[call], calls->end[call]))
            continue;
        if (calls->name[call] != last_name) {
            last_name = calls->name[call];
            last_waits = cuda_api_sync_waits(report_string(report, last_name, NULL));
        }
        if (last_waits && cuda_api_sync_add_row(table, calls, call, report_string(report, last_name, NULL)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int cuda_api_sync(struct report *report, const struct analysis_request *request, struct table **out,
                         struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Duration", CELL_INT, UNIT_NS, 0 }, { "Start", CELL_INT, UNIT_TIME, 0 },     { "PID", CELL_INT, UNIT_ID, 0 },
        { "TID", CELL_INT, UNIT_ID, 0 },      { "API Name", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct rule rule;
    struct calls calls = { 0 };
    struct table *table = NULL;
    int code;

    if ((code = rule_open(&rule, report, request, err)) != 0)
        return code;
    if ((code = calls_read(&calls, report, err)) != 0)
        goto free_calls;
    table = table_new(columns, CELLS);
    code = table ? cuda_api_sync_add_waits(table, &calls, report, &rule) : ERR_NO_MEMORY;
free_calls:
    calls_free(&calls);
    return rule_finish(&rule, table, code, BY(DOWN(0), 1), out, err);
}

static void cuda_api_sync_say(struct text *out, const struct table *table, size_t row)
{
    const struct table_cell *cells = table_row(table, row);

    text_add(out, "A call waits for the GPU: ");
    text_add_bytes(out, cells[NAME].text.bytes, call_name_length(cells[NAME].text.bytes, cells[NAME].text.length));
    text_add(out, " took ");
    human_time(out, cells[DURATION].integer);
}

const struct analysis rule_cuda_api_sync = {
    .name = "cuda_api_sync",
    .title = "CUDA Synchronization APIs",
    .usage = RULE_OPTIONS "[:process=<pid>][:thread=<tid>]",
    .help = "Calls of cudaDeviceSynchronize and cudaStreamSynchronize, which block the host until the GPU is done. A "
            "wait while the GPU has work costs nothing; what waits cost, the rule result_waits tells.",
    .needs = { { "CUDA trace data", gpu_call_tables } },
    .run = cuda_api_sync,
    .rule = ANALYSIS_RULE(
            .advice =
                "A blocked thread launches nothing, and the GPU may run out of work. Synchronize later, or on less: "
                "wait for an event instead of the device, or let one stream wait for another "
                "(cudaStreamWaitEvent). In PyTorch, avoid .item(), .cpu() and printing tensors inside the loop.",
            .finding = cuda_api_sync_say, .praise = "No call blocked the host for a device or a stream.",
            .is_listing = 1),
};
