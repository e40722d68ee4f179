/* Finds out which stored results count, has the others made, and merges them; see stored_partials.h. */
#include "stored_partials.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "report/reader/partial_chunks.h"
#include "report/reader/unite.h"

/* ---- making ---------------------------------------------------------------------------------------------------- */

static uint64_t stored_partials_add_word(uint64_t hash, const char *word)
{
    return hash_bytes_seeded(word ? word : "", word ? strlen(word) + 1 : 0, hash);
}

uint64_t stored_partial_key(const struct analysis *analysis, const struct analysis_request *request)
{
    uint64_t hash = stored_partials_add_word(stored_partials_add_word(STORED_PARTIALS_VERSION, TACHO_VERSION),
                                             analysis->name);

    for (size_t i = 0; i < request->option_count; i++)
        if (strcmp(request->options[i].name, "rows") != 0)
            hash = stored_partials_add_word(stored_partials_add_word(hash, request->options[i].name),
                                            request->options[i].value);
    return hash;
}

int stored_partial_make(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                        struct text *out, struct error *err)
{
    int is_bound = 0;
    const struct analysis_share share = { report, out, &is_bound };
    struct analysis_request own = *request;
    struct table *table = NULL;
    int code;

    own.share = &share;
    if ((code = analysis_run(analysis, report, &own, &table, err)) != 0)
        return code;
    table_delete(table);
    return is_bound ? error_set(err, ERR_NO_DATA, "the result depends on other reports") : 0;
}

/* ---- which count ----------------------------------------------------------------------------------------------- */

enum part_state { PART_IS_READ, PART_IS_STORED, PART_HAS_NOTHING };

struct stored_partials_member {
    const struct report_part *about;
    size_t number;
};

struct gathering {
    const struct analysis *analysis;
    struct report *set;
    uint64_t key;
    size_t count;
    struct stored_partials_member *members; /* by system and rank */
    enum part_state *states;                /* by part, as the rest */
    struct report_partial *stored;
    struct analysis_partial *partials;      /* one more than parts: that of those that are read */
};

static int by_system(const void *a, const void *b)
{
    const struct report_part *x = ((const struct stored_partials_member *)a)->about,
                             *y = ((const struct stored_partials_member *)b)->about;

    return COMPARE(x->system, y->system) ?: COMPARE(x->rank, y->rank);
}

/* Reports that may be of the same process are read: ids of one can name what is in the other. For a host's reports
 * without a rank that is not known. */
static void stored_partials_tell_apart(struct gathering *gathering)
{
    struct stored_partials_member *members = gathering->members;
    size_t count = gathering->count;

    for (size_t i = 0; i < count; i++)
        members[i] = (struct stored_partials_member){ report_part_at(gathering->set, i), i };
    qsort(members, count, sizeof *members, by_system);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && members[end].about->system == members[first].about->system; end++)
            ;
        for (size_t i = first; i < end; i++) {
            int64_t rank = members[i].about->rank;
            int is_double = (i > first && members[i - 1].about->rank == rank) ||
                            (i + 1 < end && members[i + 1].about->rank == rank);
            if (end - first == 1 || (members[first].about->rank >= 0 && !is_double))
                gathering->states[members[i].number] = PART_IS_STORED;
        }
    }
}

static int keeps_durations(const struct report_part *about)
{
    return about->knot_count == 0 || (about->knot_count == 1 && about->knots->rate == 0);
}

static void look_at_part(struct gathering *gathering, size_t number)
{
    struct report *part = report_part_report(gathering->set, number);
    const struct report_part *about = report_part_at(gathering->set, number);
    enum part_state *state = &gathering->states[number];

    if (analysis_missing(gathering->analysis, part))
        *state = PART_HAS_NOTHING;
    else if (about->kept_ranks || !keeps_durations(about) || !report_has_partial(part, gathering->key))
        *state = PART_IS_READ;
}

/* ---- gathering ------------------------------------------------------------------------------------------------- */

static void read_stored(void *argument, int worker, size_t number)
{
    struct gathering *gathering = argument;
    struct report_partial *stored = &gathering->stored[number];

    (void)worker;
    if (gathering->states[number] != PART_IS_STORED)
        return;
    if (report_read_partial(report_part_report(gathering->set, number), gathering->key, stored) != 0)
        gathering->states[number] = PART_IS_READ;
    else
        gathering->partials[number] = (struct analysis_partial){ (const char *)stored->bytes, stored->length };
}

/* One result of all parts whose rows are read. */
static int stored_partials_read_rows(struct gathering *gathering, const struct analysis_request *request,
                                     struct text *partial, struct error *err)
{
    struct report_choice *choices = calloc(gathering->count + 1, sizeof *choices);
    const struct analysis_share share = { gathering->set, partial, NULL };
    struct analysis_request own = *request;
    struct report *chosen = NULL;
    struct table *table = NULL;
    size_t count = 0;
    int code = 0;

    if (!choices)
        return error_no_memory(err);
    for (size_t i = 0; i < gathering->count; i++)
        if (gathering->states[i] == PART_IS_READ)
            choices[count++].part = i;
    if (!count)
        goto free_choices;
    if ((code = report_choose(gathering->set, choices, count, &chosen, err)) != 0)
        goto free_choices;
    own.share = &share;
    code = analysis_run(gathering->analysis, chosen, &own, &table, err);
    table_delete(table);
    report_close(chosen);
    if (code == ERR_NO_DATA) /* none of their ranks that are asked for has any */
        code = 0;
    gathering->partials[gathering->count] = (struct analysis_partial){ text_string(partial), partial->length };
free_choices:
    free(choices);
    return code;
}

static int stored_partials_gather(struct gathering *gathering, const struct analysis_request *request,
                                  struct table **out, struct error *err)
{
    struct text partial = { 0 };
    size_t stored = 0;
    int code;

    stored_partials_tell_apart(gathering);
    for (size_t i = 0; i < gathering->count; i++)
        look_at_part(gathering, i);
    report_parallel_for(gathering->set, gathering->count, read_stored, gathering);
    for (size_t i = 0; i < gathering->count; i++)
        stored += gathering->states[i] == PART_IS_STORED;
    if (!stored)
        return error_set(err, ERR_NOT_FOUND, "no report has a result");
    if ((code = stored_partials_read_rows(gathering, request, &partial, err)) != 0)
        goto free_partial;
    code = analysis_merge(gathering->analysis, gathering->set, request, gathering->partials, gathering->count + 1, out,
                          err);
    if (code == ERR_CORRUPT)
        code = ERR_NOT_FOUND;
free_partial:
    text_free(&partial);
    return code;
}

int stored_partials_run(const struct analysis *analysis, struct report *set, const struct analysis_request *request,
                        struct table **out, struct error *err)
{
    struct gathering gathering = { .analysis = analysis, .set = set, .count = report_part_count(set) };
    int code = ERR_NOT_FOUND;

    if (!analysis->divides || !gathering.count || request->share || request->span || request->filter)
        return code;
    gathering.key = stored_partial_key(analysis, request);
    gathering.members = calloc(gathering.count, sizeof *gathering.members);
    gathering.states = calloc(gathering.count, sizeof *gathering.states);
    gathering.stored = calloc(gathering.count, sizeof *gathering.stored);
    gathering.partials = calloc(gathering.count + 1, sizeof *gathering.partials);
    if (!gathering.members || !gathering.states || !gathering.stored || !gathering.partials)
        code = error_no_memory(err);
    else
        code = stored_partials_gather(&gathering, request, out, err);
    for (size_t i = 0; gathering.stored && i < gathering.count; i++)
        free(gathering.stored[i].memory);
    free(gathering.members);
    free(gathering.states);
    free(gathering.stored);
    free(gathering.partials);
    return code;
}
