/* Distinguishes rules without data: see rule_state.h. The sources of a capture, and data that the same option records,
 * show what it recorded. */
#include "rule_state.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/path.h"
#include "base/text.h"

/* Whether text contains a word of a list with commas. */
static int has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return 1;
    return 0;
}

/* Calls `is` with a text column of each row, up to the first that is so. A table that cannot be read has none. */
static int any_row(struct report *report, const char *table, const char *column, int (*is)(const char *text))
{
    const char *const names[] = { column, NULL };
    struct row_cursor rows;
    struct error err;
    int found = 0;

    if (row_cursor_open(&rows, report, table, names, &err) != 0)
        return 0;
    while (!found && row_cursor_next(&rows))
        found = !row_is_null(&rows, 0) && is(report_string(report, row_int(&rows, 0), NULL));
    row_cursor_close(&rows);
    return found;
}

static int rule_state_is_python(const char *path)
{
    const char *name = path_base_name(path);

    return text_begins_with(name, "python") || text_begins_with(name, "libpython");
}

static int runs_python(struct report *report)
{
    return any_row(report, "TACHO_PROCESS", "exe", rule_state_is_python) ||
           any_row(report, "TACHO_MODULE", "pathId", rule_state_is_python) ||
           any_row(report, "PROCESSES", "name", rule_state_is_python);
}

/* The agent notes the version of PyTorch where it observes it. Files of other profilers do not have it. */
static int is_torch_version(const char *text)
{
    return strcmp(text, "tacho.torchVersion") == 0;
}

static int is_collections_parameter(const char *text)
{
    return strcmp(text, "PYTHON_COLLECTIONS") == 0;
}

static int is_torch_library(const char *path)
{
    return text_begins_with(path_base_name(path), "libtorch");
}

static int loads_torch(struct report *report)
{
    return any_row(report, "TACHO_TORCH_METADATA", "name", is_torch_version) ||
           any_row(report, "TACHO_MODULE", "pathId", is_torch_library);
}

/* A report without modules, such as an import, does not say what the program loaded. */
static int may_use_torch(struct report *report)
{
    return !report_rows(report, "TACHO_MODULE") || report_rows(report, "TACHO_TORCH_OP") || loads_torch(report);
}

/* Whether the capture recorded CUDA; an import does not say so. */
static int traced_cuda(struct report *report)
{
    enum { NAME, VALUE };
    static const char *const names[] = { [NAME] = "name", [VALUE] = "value", NULL };
    struct row_cursor rows;
    struct error err;
    int found = 0;

    if (row_cursor_open(&rows, report, "META_DATA_CAPTURE", names, &err) != 0)
        return 0;
    while (!found && row_cursor_next(&rows))
        found = !row_is_null(&rows, NAME) && !row_is_null(&rows, VALUE) &&
                strcmp(report_string(report, row_int(&rows, NAME), NULL), "SOURCES") == 0 &&
                has_word(report_string(report, row_int(&rows, VALUE), NULL), "cuda");
    row_cursor_close(&rows);
    return found;
}

/* Whether the sampler of Python stacks looked for collections: a report without any then had none that it saw. */
static int watched_collections(struct report *report)
{
    return any_row(report, "META_DATA_CAPTURE", "name", is_collections_parameter);
}

/* The driver, or the runtime that opens it. */
static int is_cuda_library(const char *path)
{
    static const char *const starts[] = { "libcuda.so", "libcudart.so", NULL };

    return text_begins_with_one(path_base_name(path), starts);
}

/* A program that uses CUDA has rows in TACHO_CUPTI, also if CUPTI could not trace it. If CUDA was not traced, the
 * libraries that the program loaded say so. */
static int may_use_cuda(struct report *report)
{
    if (report_rows(report, "TACHO_CUPTI"))
        return 1;
    return !traced_cuda(report) &&
           (!report_rows(report, "TACHO_MODULE") || any_row(report, "TACHO_MODULE", "pathId", is_cuda_library));
}

static int is_mpi(const char *model)
{
    return strcmp(model, "MPI") == 0;
}

/* Each rank of a recorded MPI job has rows in MPI_RANKS; a process that loads MPI has one in TACHO_MODEL. */
static int uses_mpi(struct report *report)
{
    return report_rows(report, "MPI_RANKS") || any_row(report, "TACHO_MODEL", "model", is_mpi);
}

/* The same of regions of OpenMP. */
static int is_openmp_program(struct report *report)
{
    return report_rows(report, "OPENMP_EVENT_KIND_PARALLEL") > 0;
}

/* Options that record what only some programs have. */
static const struct {
    const char *option;
    int (*applies)(struct report *report);
} rule_state_kinds[] = {
    { "--trace=cuda", may_use_cuda },          { "--trace=mpi", uses_mpi },
    { "--trace=openmp", is_openmp_program },   { "--gpu-metrics-devices=all", may_use_cuda },
    { "--python-sampling=true", runs_python }, { "--python-events=true", loads_torch },
};

/* Data that a report says it would have, if there were any. */
static const struct {
    const char *option;
    int (*was_recorded)(struct report *report);
} rule_state_said[] = {
    { "--python-events=true", watched_collections },
};

/* Work on GPUs, copies among it, was launched by calls: without any, they were not recorded. */
static int is_of_calls(const struct analysis_need *missing)
{
    return strcmp(missing->tables[0], "CUPTI_ACTIVITY_KIND_RUNTIME") == 0;
}

/* Whether the report has a table of the rule that the option records. */
static int rule_state_has_recorded(const struct analysis *rule, struct report *report, const char *option)
{
    for (const struct analysis_need *need = rule->needs; need->data; need++)
        for (const char *const *table = need->tables; *table; table++) {
            const char *other = analysis_table_option(*table);
            if (other && strcmp(other, option) == 0 && report_rows(report, *table))
                return 1;
        }
    for (size_t i = 0; i < COUNT_OF(rule_state_said); i++)
        if (strcmp(option, rule_state_said[i].option) == 0 && rule_state_said[i].was_recorded(report))
            return 1;
    return 0;
}

/* What the data of the report says. */
static enum rule_state rule_state_of_data(const struct analysis *rule, struct report *report)
{
    const struct analysis_need *missing = analysis_missing(rule, report);
    const char *option = missing ? analysis_need_option(missing) : NULL;

    if (!missing)
        return RULE_READY;
    if (!missing->tables[0]) /* data that Linux does not have */
        return RULE_FOREIGN;
    if (option && !is_of_calls(missing) && rule_state_has_recorded(rule, report, option))
        return RULE_CLEAR;
    for (size_t i = 0; option && i < COUNT_OF(rule_state_kinds); i++)
        if (strcmp(option, rule_state_kinds[i].option) == 0 && !rule_state_kinds[i].applies(report))
            return RULE_FOREIGN;
    return RULE_UNCHECKED;
}

enum rule_state rule_state(const struct analysis *rule, struct report *report)
{
    enum rule_state state = rule_state_of_data(rule, report);
    int is_of_torch = rule->rule && rule->rule->is_of_torch;

    return state != RULE_FOREIGN && is_of_torch && !may_use_torch(report) ? RULE_FOREIGN : state;
}
