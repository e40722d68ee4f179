/* Counts the samples at each line of a function: see annotate_lines.h. */
#include "annotate_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/stacks/stacks.h"
#include "base/array.h"
#include "report/reader/unite.h"

/* Functions of the wanted name, each of one file. */
enum { FUNCTION_SYMBOL, FUNCTION_FILE, FUNCTION_PARTS };
enum { LINE_FUNCTION, LINE_LINE, LINE_PARTS };

struct annotate_counts {
    int64_t self, total;
    int64_t last; /* the number of the last sample that counts, from 1 */
};

struct annotate_search {
    struct stacks stacks;
    const char *name;
    unsigned char *is_wanted;              /* owned; by frame */
    struct keys functions, lines;
    struct annotate_counts *counts, *sums; /* owned; by line, by function */
    size_t counts_room, sums_room;
};

static void annotate_search_free(struct annotate_search *search)
{
    stacks_free(&search->stacks);
    keys_free(&search->functions);
    keys_free(&search->lines);
    free(search->is_wanted);
    free(search->counts);
    free(search->sums);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The end of a name without what stands in brackets there: "ns::solve<int>(int) const" ends with "ns::solve". */
static size_t annotate_cut_brackets(const char *name, size_t length, char open, char close)
{
    size_t end = length;
    int depth = 0;

    if (!end || name[end - 1] != close)
        return length;
    while (end > 0) {
        end--;
        depth += name[end] == close ? 1 : name[end] == open ? -1 : 0;
        if (!depth)
            return end;
    }
    return length;
}

/* Whether the compiler has added it: "solve.cold.3", "solve.part.0"; not "Cache.cold_start". */
static int annotate_ends_there(const char *rest, const char *added)
{
    size_t length = strlen(added);

    return added[length - 1] == ' ' ||
           (added[length - 1] == '.' ? *rest >= '0' && *rest <= '9' : !*rest || *rest == '.' || *rest == ' ');
}

/* Without what the compiler adds: "solve.constprop.0", "solve [clone .cold]", "solve() const". */
static size_t annotate_base_length(const char *symbol)
{
    static const char *const added[] = { " [clone ", ".constprop.", ".part.", ".isra.", ".cold" };
    static const char is_const[] = " const";
    size_t length = strlen(symbol);

    for (size_t i = 0; i < COUNT_OF(added); i++) {
        const char *found = strstr(symbol, added[i]);
        if (found && (size_t)(found - symbol) < length && annotate_ends_there(found + strlen(added[i]), added[i]))
            length = (size_t)(found - symbol);
    }
    if (length > strlen(is_const) && memcmp(symbol + length - strlen(is_const), is_const, strlen(is_const)) == 0)
        length -= strlen(is_const);
    return annotate_cut_brackets(symbol, annotate_cut_brackets(symbol, length, '(', ')'), '<', '>');
}

/* "solve" is the last part of "ns::solve(int)", of "(anonymous namespace)::solve(int)" and of "Solver.solve". */
int annotate_is_named(const char *name, const char *symbol)
{
    size_t length = annotate_base_length(symbol), wanted = strlen(name);

    if (strcmp(symbol, name) == 0)
        return 1;
    if (length < wanted || memcmp(symbol + length - wanted, name, wanted) != 0)
        return 0;
    return length == wanted || strchr(":. ", symbol[length - wanted - 1]);
}

static int annotate_find_frames(struct annotate_search *search)
{
    const struct keys *frames = &search->stacks.frames;

    search->is_wanted = calloc(frames->count + 1, 1);
    if (!search->is_wanted)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < frames->count; i++) {
        const int64_t *key = stack_frame(&search->stacks, i);
        if ((key[FRAME_KIND] == FRAME_NATIVE || key[FRAME_KIND] == FRAME_PYTHON) && key[FRAME_SYMBOL] != FRAME_NO_NAME)
            search->is_wanted[i] = (unsigned char)annotate_is_named(search->name,
                                                                    report_string(search->stacks.report,
                                                                                  key[FRAME_SYMBOL], NULL));
    }
    return 0;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static int annotate_count(struct annotate_search *search, uint32_t frame, int is_self, int64_t sample)
{
    const int64_t *key = stack_frame(&search->stacks, frame);
    int64_t file = key[FRAME_KIND] == FRAME_PYTHON && key[FRAME_SOURCE] == FRAME_NO_NAME ? key[FRAME_MODULE]
                                                                                         : key[FRAME_SOURCE];
    uint32_t function = keys_add(&search->functions, (const int64_t[]){ key[FRAME_SYMBOL], file });
    uint32_t line = function == NO_KEY ? NO_KEY
                                       : keys_add(&search->lines, (const int64_t[]){ function, key[FRAME_LINE] });

    if (line == NO_KEY ||
        array_reserve_zeroed(&search->counts, &search->counts_room, line + 1u, sizeof *search->counts) != 0 ||
        array_reserve_zeroed(&search->sums, &search->sums_room, function + 1u, sizeof *search->sums) != 0)
        return ERR_NO_MEMORY;
    if (search->sums[function].last == sample)
        return 0;
    search->sums[function].last = sample;
    search->counts[line].total++;
    search->counts[line].self += is_self;
    search->sums[function].total++;
    search->sums[function].self += is_self;
    return 0;
}

/* A function that calls itself counts once, where it is innermost. */
static int annotate_count_sample(struct annotate_search *search, uint32_t stack, int64_t sample)
{
    int is_self = 1;

    for (; stack != STACK_EMPTY; stack = stack_parent(&search->stacks, stack), is_self = 0) {
        uint32_t frame = stack_innermost(&search->stacks, stack);
        if (search->is_wanted[frame] && annotate_count(search, frame, is_self, sample) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int annotate_count_samples(struct annotate_search *search, int64_t *samples)
{
    if (annotate_find_frames(search) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < search->stacks.sample_count; i++) {
        const struct stack_sample *sample = &search->stacks.samples[i];
        if (sample->is_waiting)
            continue;
        ++*samples;
        if (annotate_count_sample(search, sample->stack, *samples) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- the lines --------------------------------------------------------------------------------------------------- */

static int annotate_by_line(const void *a, const void *b)
{
    const struct annotate_line *x = a, *y = b;

    return COMPARE(x->line, y->line);
}

static const char *annotate_string(const struct annotate_search *search, int64_t string)
{
    return string == FRAME_NO_NAME ? "" : report_string(search->stacks.report, string, NULL);
}

/* Lines of the function with most samples. */
static int annotate_take(struct annotate_lines *lines, const struct annotate_search *search)
{
    uint32_t most = 0;

    for (uint32_t i = 1; i < search->functions.count; i++)
        if (search->sums[i].total > search->sums[most].total)
            most = i;
    lines->list = array_alloc(search->lines.count + 1, sizeof *lines->list);
    if (!lines->list)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < search->lines.count; i++) {
        const int64_t *key = keys_get(&search->lines, i);
        if (key[LINE_FUNCTION] == most)
            lines->list[lines->count++] = (struct annotate_line){ key[LINE_LINE], search->counts[i].self,
                                                                  search->counts[i].total };
    }
    qsort(lines->list, lines->count, sizeof *lines->list, annotate_by_line);
    const int64_t *function = keys_get(&search->functions, most);
    lines->function = annotate_string(search, function[FUNCTION_SYMBOL]);
    lines->file = annotate_string(search, function[FUNCTION_FILE]);
    lines->self = search->sums[most].self;
    lines->total = search->sums[most].total;
    lines->others = search->functions.count - 1;
    return 0;
}

static int annotate_lines_of(struct annotate_lines *lines, struct report *report, enum stack_source source,
                             const char *name, struct error *err)
{
    static const struct filter all;
    struct annotate_search search = { .name = name, .functions.width = FUNCTION_PARTS, .lines.width = LINE_PARTS };
    int code;

    if ((code = stacks_open(&search.stacks, report, err)) != 0 ||
        (code = stacks_read_samples(&search.stacks, source, STACKS_WITH_LINES, &all, err)) != 0)
        goto free_search;
    if (annotate_count_samples(&search, &lines->samples) != 0 ||
        (search.functions.count && annotate_take(lines, &search) != 0))
        code = error_short_memory(err, "for the lines");
free_search:
    annotate_search_free(&search);
    return code;
}

int annotate_lines_read(struct annotate_lines *lines, struct report *report, const char *name, struct error *err)
{
    static const enum stack_source sources[] = { STACKS_PYTHON, STACKS_CPU };
    int64_t samples = 0;
    int code;

    *lines = (struct annotate_lines){ 0 };
    for (size_t i = 0; i < COUNT_OF(sources) && !lines->count; i++) {
        lines->samples = 0;
        if ((code = annotate_lines_of(lines, report, sources[i], name, err)) != 0)
            return code;
        samples += lines->samples;
    }
    if (lines->count)
        return 0;
    annotate_lines_free(lines);
    return samples ? error_set(err, ERR_NO_DATA,
                               "no sample is in a function '%s'; 'tacho stats -r cpu_sample_sum' and "
                               "'-r python_sample_sum' have the functions that are known",
                               name)
                   : error_set(err, ERR_NO_DATA, "the report has no samples of a CPU or of Python");
}

void annotate_lines_free(struct annotate_lines *lines)
{
    free(lines->list);
    *lines = (struct annotate_lines){ 0 };
}
