/* NCCL's profiler plugin interface as a source: its row. A plugin that the user has chosen keeps its place: NCCL loads
 * one only. */
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "collect/core/variables.h"
#include "nccl_choice.h"
#include "nccl_collect.h"
#include "wire/wire_nccl.h"

enum { NCCL_NAME_MAX = 254 }; /* NCCL cuts longer names of plugins off */

/* The path of our plugin, and why it cannot be used; "" if it can. */
static const char *find_plugin(struct text *path, const struct collect_options *options, const char *agent_path)
{
    text_addf(path, "%.*s" WIRE_NCCL_FILE, (int)path_folder_length(agent_path), agent_path);
    if (options->no_preload)
        return "--preload=no keeps the agent out of its reach";
    if (text_failed(path) || access(text_string(path), R_OK) != 0)
        return WIRE_NCCL_FILE " is not beside the agent; reinstall Tacho";
    return path->length > NCCL_NAME_MAX ? "the path of " WIRE_NCCL_FILE " is longer than NCCL takes" : "";
}

static void environment(struct variables *variables, const struct collect_options *options, const char *agent_path)
{
    struct text path = { 0 }, chosen = { 0 };
    if ((options->sources & WIRE_BIT(NCCL)) && !*find_plugin(&path, options, agent_path) &&
        !nccl_choice(&chosen, options))
        variables_set(variables, NCCL_PLUGIN_VARIABLE, text_string(&path));
    text_free(&chosen);
    text_free(&path);
}

static void check(struct collector *collector, const char *agent_path)
{
    const struct collect_options *options = collector->options;
    struct text path = { 0 }, chosen = { 0 };
    if (!(options->sources & WIRE_BIT(NCCL)))
        return;
    const char *obstacle = find_plugin(&path, options, agent_path);
    if (nccl_choice(&chosen, options)) {
        collector_warn(collector, 0,
                       "NCCL loads only one profiler plugin, and one is already set (%.400s). Unset it to use "
                       "--nccl-plugin.",
                       text_string(&chosen));
        machine_parameter(collector, "NCCL_PLUGIN", text_string(&chosen));
    } else if (*obstacle) {
        collector_warn(collector, 0, "--nccl-plugin has no effect: %s.", obstacle);
    } else {
        machine_parameter(collector, "NCCL_PLUGIN", options->nccl_level == WIRE_NCCL_PROXY ? "proxy" : "coll");
    }
    text_free(&chosen);
    text_free(&path);
}

static void arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_nccl(texts->arena)->level = collector->options->nccl_level;
}

static const struct collect_records records[] = {
    { WIRE_NCCL_COMM, WIRE_NCCL_COMM, nccl_comm },
    { WIRE_NCCL_START, WIRE_NCCL_START, nccl_start },
    { WIRE_NCCL_STOP, WIRE_NCCL_STOP, nccl_stop },
    { WIRE_NCCL_STATE, WIRE_NCCL_STATE, nccl_state },
    { 0 },
};

static const struct collect_table tables[] = {
    { TABLE_TACHO_NCCL_OP, "nccl", COLLECT_RECORDED_OF(NCCL) },
    { TABLE_TACHO_NCCL_PROXY, "nccl", COLLECT_RECORDED_OF(NCCL) },
    { 0 },
};

const struct collect_source collect_source_nccl = {
    .records = records,
    .tables = tables,
    .agent_file = WIRE_NCCL_FILE,
    .cost = { .recorded_reads = 2, .recorded_ns = 150, .counted_reads = 1, .counted_ns = 50 },
    .environment = environment,
    .check = check,
    .arena = arena,
    .process_end = nccl_process_end,
    .process_free = nccl_process_free,
};
