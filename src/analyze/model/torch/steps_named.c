/* Steps that the program names: the steps of PyTorch's profiler, NVTX ranges and annotations by their names, or the
 * calls of one operator. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "abi/step_names.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/ranges.h"
#include "base/regex/regex.h"
#include "report/schema/torch_names.h"
#include "steps_read_state.h"

enum { PROFILER_STEPS = 1, COUNTED_STEPS }; /* kinds of names, the better first; 0: no step */

enum { KNOWN_NAMES = 512 };
struct steps_named_search {
    struct steps_search *found;
    struct steps *steps;
    struct report *report;
    const char *op;        /* each call of it begins a step, or NULL */
    struct regex *pattern; /* owned; NULL: none */
    int kind;              /* of the names found so far */
    /* a cache, since the same names come again and again */
    struct known {
        int64_t name;
        int kind_plus_1; /* 0: not known */
    } known[KNOWN_NAMES];
};

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* "ProfilerStep#7"; "iteration 7", "Step_7", "iter7". */
static int steps_named_kind_of(const char *name, size_t length)
{
    size_t digits = step_name_without_number(name, length), word = digits;

    if (digits == length || length - digits > TORCH_STEP_DIGITS)
        return 0;
    if (digits == TORCH_STEP_LENGTH && strncasecmp(name, TORCH_STEP, digits) == 0)
        return PROFILER_STEPS;
    while (word > 0 && strchr(STEP_NAME_SEPARATORS, name[word - 1]) && digits - word < 2)
        word--;
    return step_name_is_word(name, word) ? COUNTED_STEPS : 0;
}

/* The kind of a name under this search; 0: no step. A name ends before the additions of emit_nvtx: "iteration 7,
 * op_id = 3". */
static int steps_named_find_kind(struct steps_named_search *search, const char *name, size_t length)
{
    if (search->pattern)
        return regex_matches(search->pattern, name, length);
    length = operator_name_length(name, length);
    if (search->op)
        return length == strlen(search->op) && memcmp(name, search->op, length) == 0;
    return steps_named_kind_of(name, length);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static int kind_of_id(struct steps_named_search *search, int64_t name)
{
    struct known *known = &search->known[(uint64_t)name % KNOWN_NAMES];

    if (known->name != name || !known->kind_plus_1) {
        size_t length;
        const char *bytes = report_string(search->report, name, &length);
        *known = (struct known){ name, steps_named_find_kind(search, bytes, length) + 1 };
    }
    return known->kind_plus_1 - 1;
}

static int steps_named_is_step(void *context, int64_t name)
{
    return name != NVTX_NO_NAME && kind_of_id(context, name) != 0;
}

/* Adds a range or annotation if it is a step. A better kind of name replaces the steps found so far. */
static int steps_named_add_named(struct steps_named_search *search, int64_t thread, int64_t start_ns, int64_t end_ns,
                                 int64_t name, struct error *err)
{
    int kind = kind_of_id(search, name);

    if (!kind || (search->kind && kind > search->kind))
        return 0;
    if (kind < search->kind)
        search->steps->count = 0;
    search->kind = kind;
    return steps_add(search->found, &(struct step){ global_process(thread), start_ns, end_ns, .name = name }, err);
}

static int steps_named_read_ranges(struct steps_named_search *search, struct error *err)
{
    const struct filter everything = { 0 };
    struct ranges ranges;
    int code;

    if ((code = ranges_read_named(&ranges, search->report, RANGE_PUSHPOP | RANGE_STARTEND | RANGE_CROSSING, &everything,
                                  &(struct range_names){ steps_named_is_step, search }, err)) != 0)
        return code;
    for (size_t i = 0; i < ranges.count; i++) {
        const struct range *range = &ranges.list[i];
        if ((code = steps_named_add_named(search, range->thread, range->start_ns, range->end_ns, range->name, err)) !=
            0)
            goto free_ranges;
    }
free_ranges:
    ranges_free(&ranges);
    return code;
}

/* Operators count only if the request names one, since the user did not choose their names. */
static int may_be_step(const struct steps_named_search *search, const char *category)
{
    return strcmp(category, "user_annotation") == 0 || (search->op && strcmp(category, "cpu_op") == 0);
}

static int read_annotations(struct steps_named_search *search, struct error *err)
{
    enum { START, END, THREAD, NAME, CATEGORY };
    static const char *const names[] = {
        [START] = "start", [END] = "end", [THREAD] = "globalTid", [NAME] = "nameId", [CATEGORY] = "category", NULL
    };
    struct row_cursor rows;
    int64_t category = -1;
    int code, is_wanted = 0;

    if ((code = row_cursor_open(&rows, search->report, "TACHO_TORCH_OP", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_int(&rows, CATEGORY) != category) {
            category = row_int(&rows, CATEGORY);
            is_wanted = may_be_step(search, report_string(search->report, category, NULL));
        }
        if (!is_wanted || row_is_null(&rows, END) || row_is_null(&rows, THREAD))
            continue;
        if ((code = steps_named_add_named(search, row_int(&rows, THREAD), row_int(&rows, START), row_int(&rows, END),
                                          row_int(&rows, NAME), err)) != 0)
            goto close_rows;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int read_torch_steps(struct steps_named_search *search, struct error *err)
{
    enum { START, END, THREAD, NUMBER };
    static const char *const names[] = {
        [START] = "start", [END] = "end", [THREAD] = "globalTid", [NUMBER] = "number", NULL
    };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, search->report, "TACHO_TORCH_STEP", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct step step = {
            .process = global_process(row_int_or(&rows, THREAD, 0)),
            .start_ns = row_int(&rows, START),
            .end_ns = row_int(&rows, END),
            .number = row_int(&rows, NUMBER),
            .name = STEP_OF_PROFILER,
        };
        if ((code = steps_add(search->found, &step, err)) != 0)
            goto close_rows;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* ---- the request ----------------------------------------------------------------------------------------------- */

static int open_search(struct steps_named_search *search, const struct steps_request *request, struct error *err)
{
    struct error reason = { 0 };

    search->op = request->op;
    if (!request->range)
        return 0;
    if (request->op)
        return error_set(err, ERR_BAD_ARGUMENT, "--step-range and --step-op cannot be used together");
    search->pattern = regex_compile(request->range, strlen(request->range), REGEX_BASIC | REGEX_IGNORE_CASE, &reason);
    if (!search->pattern)
        return error_set(err, reason.code, "invalid pattern '%s' for --step-range: %s", request->range, reason.text);
    return 0;
}

/* Searches the tables in the order that steps_request gives. Both ranges and annotations may hold named steps. */
static int search_tables(struct steps_named_search *search, const struct steps_request *request, struct error *err)
{
    const struct steps *steps = search->steps;
    int code;

    if (!request->range && !request->op && (code = read_torch_steps(search, err)) != 0)
        return code;
    if (!steps->count && (code = steps_named_read_ranges(search, err)) != 0)
        return code;
    if ((search->kind || !steps->count) && (code = read_annotations(search, err)) != 0)
        return code;
    return 0;
}

int steps_find_named(struct steps_search *found, struct error *err)
{
    const struct steps_request *request = found->request;
    struct steps_named_search search = { .found = found, .steps = found->steps, .report = found->report };
    int code;

    if ((code = open_search(&search, request, err)) != 0)
        return code;
    code = search_tables(&search, request, err);
    regex_free(search.pattern);
    found->steps->are_ranges = !request->op;
    snprintf(found->steps->source, sizeof found->steps->source, "steps by %s",
             request->op                    ? "calls of the operator"
             : request->range               ? "ranges that match"
             : search.kind == COUNTED_STEPS ? "ranges 'iteration N' or 'step N'"
                                            : "ProfilerStep");
    return code;
}
