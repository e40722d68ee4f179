/* Steps out of what a report has: the steps that PyTorch's profiler was told of, NVTX ranges and annotations by their
 * names, or the calls of one operator. */
#include "steps_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/model/operator_text.h"
#include "analyze/model/ranges.h"
#include "base/array.h"
#include "base/regex/regex.h"
#include "report/schema/torch_names.h"

enum { PROFILER_STEPS = 1, COUNTED_STEPS }; /* kinds of names, the better first; 0: no step */

enum { KNOWN_NAMES = 512 };
struct search {
    struct steps *steps;
    struct report *report;
    size_t capacity;
    const char *operator;  /* whose calls are looked for, or NULL */
    struct regex *pattern; /* owned; NULL: none */
    int kind;              /* of the names found so far */
    /* of names that were looked at: they come again and again */
    struct known {
        int64_t name;
        int verdict; /* and 1; 0: nothing is known */
    } known[KNOWN_NAMES];
};

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The digits at its end: where they begin. */
static size_t number_at(const char *name, size_t length)
{
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    return length;
}

/* "ProfilerStep#7"; "iteration 7", "Step_7", "iter7". */
static int kind_of(const char *name, size_t length)
{
    static const struct {
        const char *word;
        int kind;
    } words[] = {
        { TORCH_STEP, PROFILER_STEPS },
        { "iteration", COUNTED_STEPS },
        { "iter", COUNTED_STEPS },
        { "step", COUNTED_STEPS },
    };
    size_t digits = number_at(name, length), word = digits;

    if (digits == length || length - digits > TORCH_STEP_DIGITS)
        return 0;
    while (word > 0 && strchr(" _-:#=", name[word - 1]) && digits - word < 2)
        word--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t end = words[i].kind == PROFILER_STEPS ? digits : word;
        if (strlen(words[i].word) == end && strncasecmp(name, words[i].word, end) == 0)
            return words[i].kind;
    }
    return 0;
}

/* A name ends before what emit_nvtx adds: "iteration 7, op_id = 3". */
static int verdict(struct search *search, const char *name, size_t length)
{
    if (search->pattern)
        return regex_matches(search->pattern, name, length);
    length = operator_text(name, length).name_length;
    if (search->operator)
        return length == strlen(search->operator) && memcmp(name, search->operator, length) == 0;
    return kind_of(name, length);
}

/* ---- where they are -------------------------------------------------------------------------------------------- */

static int add_step(struct search *search, const struct step *step)
{
    struct steps *steps = search->steps;

    if (array_reserve(&steps->list, &search->capacity, steps->count + 1, sizeof *step) != 0)
        return ERR_NO_MEMORY;
    steps->list[steps->count] = *step;
    steps->list[steps->count++].is_chosen = 1;
    return 0;
}

static int kind_of_id(struct search *search, int64_t name)
{
    struct known *known = &search->known[(uint64_t)name % KNOWN_NAMES];

    if (known->name != name || !known->verdict) {
        size_t length;
        const char *bytes = report_string(search->report, name, &length);
        *known = (struct known){ name, verdict(search, bytes, length) + 1 };
    }
    return known->verdict - 1;
}

static int is_step(void *context, int64_t name)
{
    return name != NVTX_NO_NAME && kind_of_id(context, name) != 0;
}

/* A better kind of name than those so far makes them void. */
static int look_at(struct search *search, int64_t thread, int64_t start_ns, int64_t end_ns, int64_t name)
{
    int kind = kind_of_id(search, name);

    if (!kind || (search->kind && kind > search->kind))
        return 0;
    if (kind < search->kind)
        search->steps->count = 0;
    search->kind = kind;
    return add_step(search, &(struct step){ global_process(thread), start_ns, end_ns, .name = name });
}

static int look_at_ranges(struct search *search, struct error *err)
{
    const struct analysis_request everything = { 0 };
    struct ranges ranges = { 0 };
    struct filter filter;
    int code = filter_open(&filter, search->report, &everything, err);

    if (code == 0)
        code = ranges_read_named(&ranges, search->report, RANGE_PUSHPOP | RANGE_STARTEND | RANGE_CROSSING, &filter,
                                 &(struct range_names){ is_step, search }, err);
    filter_close(&filter);
    for (size_t i = 0; i < ranges.count && code == 0; i++) {
        const struct range *range = &ranges.list[i];
        if (look_at(search, range->thread, range->start_ns, range->end_ns, range->name) != 0)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
    }
    ranges_free(&ranges);
    return code;
}

/* Operators count only where an operator is asked for: their names are not the user's. */
static int is_looked_at(const struct search *search, const char *category)
{
    return strcmp(category, "user_annotation") == 0 || (search->operator&& strcmp(category, "cpu_op") == 0);
}

static int look_at_annotations(struct search *search, struct error *err)
{
    enum { START, END, THREAD, NAME, CATEGORY, COLUMNS };
    static const char *const names[COLUMNS] = { "start", "end", "globalTid", "nameId", "category" };
    struct report_columns columns = { 0 };
    int64_t category = -1;
    int code = columns_read(search->report, "TACHO_TORCH_OP", names, COLUMNS, &columns, err), is_wanted = 0;

    for (size_t row = 0; row < columns.rows && code == 0; row++) {
        if (columns.values[CATEGORY][row] != category) {
            category = columns.values[CATEGORY][row];
            is_wanted = is_looked_at(search, report_string(search->report, category, NULL));
        }
        if (!is_wanted || columns_is_null(&columns, END, row) || columns_is_null(&columns, THREAD, row))
            continue;
        if (look_at(search, columns.values[THREAD][row], columns.values[START][row], columns.values[END][row],
                    columns.values[NAME][row]) != 0)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
    }
    if (columns.values)
        report_columns_free(&columns);
    return code;
}

static int take_torch_steps(struct search *search, struct error *err)
{
    enum { START, END, THREAD, NUMBER, COLUMNS };
    static const char *const names[COLUMNS] = { "start", "end", "globalTid", "number" };
    struct report_columns columns = { 0 };
    int code = columns_read(search->report, "TACHO_TORCH_STEP", names, COLUMNS, &columns, err);

    for (size_t row = 0; row < columns.rows && code == 0; row++) {
        int64_t thread = columns_is_null(&columns, THREAD, row) ? 0 : columns.values[THREAD][row];
        if (add_step(search, &(struct step){ global_process(thread), columns.values[START][row],
                                             columns.values[END][row], columns.values[NUMBER][row], -1, 0 }) != 0)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
    }
    if (columns.values)
        report_columns_free(&columns);
    return code;
}

/* ---- what is asked for ----------------------------------------------------------------------------------------- */

static int open_search(struct search *search, const struct steps_request *request, struct error *err)
{
    struct error reason = { 0 };

    search->operator= request->operator;
    if (!request->range)
        return 0;
    if (request->operator)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "steps are made by ranges or by an operator: give --step-range or --step-op, not both");
    search->pattern = regex_compile(request->range, strlen(request->range), REGEX_BASIC | REGEX_IGNORE_CASE, &reason);
    return search->pattern
               ? 0
               : error_set(err, reason.code, "'%s' is no pattern of range names: %s", request->range, reason.text);
}

static int find_none(const struct steps_request *request, struct error *err)
{
    if (request->operator)
        return error_set(err, ERR_NO_DATA, "the report has no steps: there is no call of the operator '%s'",
                         request->operator);
    if (request->range)
        return error_set(err, ERR_NO_DATA, "the report has no steps: no range or annotation matches '%s'",
                         request->range);
    return error_set(err, ERR_NO_DATA,
                     "the report has no steps: there is no ProfilerStep of PyTorch and no range called 'iteration N' "
                     "or 'step N'; --step-range and --step-op make them of others");
}

/* Fills the list, in any order, and the source; ERR_NO_DATA, with a sentence, if there are none. */
static int find_steps(struct steps *steps, struct report *report, const struct steps_request *request,
                      struct error *err)
{
    struct search search = { .steps = steps, .report = report };
    int code = open_search(&search, request, err);

    if (code == 0 && !request->range && !request->operator)
        code = take_torch_steps(&search, err);
    if (code == 0 && !steps->count)
        code = look_at_ranges(&search, err);
    if (code == 0 && (search.kind || !steps->count)) /* both kinds of record may hold some */
        code = look_at_annotations(&search, err);
    regex_free(search.pattern);
    steps->source = request->operator              ? "steps by calls of the operator"
                    : request->range               ? "steps by ranges that match"
                    : search.kind == COUNTED_STEPS ? "steps by ranges 'iteration N' or 'step N'"
                                                   : "steps by ProfilerStep";
    return code == 0 && !steps->count ? find_none(request, err) : code;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* The number at the end of its name, or -1. */
static int64_t named_number(struct report *report, int64_t name)
{
    size_t length;
    const char *bytes = report_string(report, name, &length);
    length = operator_text(bytes, length).name_length;
    size_t at = number_at(bytes, length);

    return at == length || length - at > 17 ? -1 : strtoll(bytes + at, NULL, 10);
}

static int all_are_named(const struct steps *steps, struct report *report)
{
    for (size_t i = 0; i < steps->count; i++)
        if (named_number(report, steps->list[i].name) < 0)
            return 0;
    return 1;
}

static int64_t last_moment(struct report *report)
{
    static const char *const tables[] = { "TACHO_TORCH_OP", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME" };
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct report_table *table = report_table(report, tables[i]);
        if (table && table->rows && table->last_ns > last)
            last = table->last_ns;
    }
    return last;
}

/* A step of an operator goes on to the next call, the last one to the end of the capture. */
static void stretch(struct steps *steps, struct report *report)
{
    int64_t last = last_moment(report);

    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = &steps->list[i];
        int has_next = i + 1 < steps->count && step[1].process == step->process;
        int64_t end = has_next ? step[1].start_ns : last;
        step->end_ns = end > step->end_ns || has_next ? end : step->end_ns;
    }
}

/* Gives the steps, which are in order, their numbers. */
static void number_steps(struct steps *steps, struct report *report, const struct steps_request *request)
{
    if (!steps->count || steps->list[0].name < 0)
        return;
    int named = !request->operator&& all_are_named(steps, report);
    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = &steps->list[i];
        if (named)
            step->number = named_number(report, step->name);
        else
            step->number = i > 0 && step[-1].process == step->process ? step[-1].number + 1 : 0;
    }
    if (request->operator)
        stretch(steps, report);
}

int steps_read(struct steps *steps, struct report *report, const struct steps_request *request, struct error *err)
{
    *steps = (struct steps){ 0 };
    int code = find_steps(steps, report, request, err);

    if (code == 0)
        code = steps_arrange(steps, report, err);
    if (code == 0)
        number_steps(steps, report, request);
    else
        steps_free(steps);
    return code;
}
