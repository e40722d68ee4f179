/* advice_sum: the changes to make first. A late rank of a job, then causes that a replay judged, by the time they save;
 * then the other rules with findings, by their impact. */
#include "advice_sum.h"

#include "analyze/engine/cell_text.h"
#include "analyze/findings/findings.h"

enum { IMPACT, SAVES, FROM, TO, CONFIDENCE, FOUND, RULE, FINDING, WHERE, ADVICE, CELLS };

static int advice_sum_add_row(struct table *table, const struct finding *finding)
{
    const struct advice_cause *cause = finding->cause;
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], finding->impact_ns);
    cell_set_int(&row[FOUND], finding->count);
    if (cause && cause->confidence != ADVICE_TRY) {
        cell_set_int(&row[SAVES], cause->estimate_ns);
        cell_set_int(&row[FROM], cause->range.low_ns);
        cell_set_int(&row[TO], cause->range.high_ns);
    }
    if (cause && cell_set_string(table, &row[CONFIDENCE], advice_confidence_names[cause->confidence]) != 0)
        return ERR_NO_MEMORY;
    if ((cause || finding->where.length) && cell_set_built(table, &row[WHERE], &finding->where) != 0)
        return ERR_NO_MEMORY;
    if (cell_set_built(table, &row[FINDING], &finding->what) != 0 ||
        cell_set_string(table, &row[RULE], finding->rule->name) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[ADVICE], finding->advice);
}

static int advice_sum_fill_table(struct table *table, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (advice_sum_add_row(table, &findings->list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

int advice_sum_table(const struct findings *findings, struct table **out, struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },
        [SAVES] = { "Saves per Step", CELL_INT, UNIT_NS, 0 },
        [FROM] = { "From", CELL_INT, UNIT_NS, 0 },
        [TO] = { "To", CELL_INT, UNIT_NS, 0 },
        [CONFIDENCE] = { "Confidence", CELL_TEXT, UNIT_NONE, 0 },
        [FOUND] = { "Found", CELL_INT, UNIT_NONE, 0 },
        [RULE] = { "Rule", CELL_TEXT, UNIT_NONE, 0 },
        [FINDING] = { "Finding", CELL_TEXT, UNIT_NONE, 0 },
        [WHERE] = { "Where", CELL_TEXT, UNIT_NONE, 0 },
        [ADVICE] = { "Advice", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);

    return table_hand_over(table, table ? advice_sum_fill_table(table, findings) : ERR_NO_MEMORY, out, err);
}

/* The table, with a note about the window that the findings are from. */
static int advice_sum_with_note(const struct adviser *adviser, const struct findings *findings, struct table **out,
                                struct error *err)
{
    int code = advice_sum_table(findings, out, err);

    if (code != 0 || adviser_note_table(adviser, *out) == 0)
        return code;
    table_delete(*out);
    *out = NULL;
    return error_no_memory(err);
}

int advice_sum_of(struct adviser *adviser, const struct analysis_request *request, struct table **out,
                  struct error *err)
{
    struct findings findings = { 0 };
    int code = findings_read(&findings, adviser, &(struct findings_request){ .part = request }, err);

    if (code != 0)
        goto free_findings;
    code = advice_sum_with_note(adviser, &findings, out, err);
free_findings:
    findings_free(&findings);
    return code;
}

static int advice_sum(struct report *report, const struct analysis_request *request, struct table **out,
                      struct error *err)
{
    struct findings_share own, *share;
    int code = findings_get(&share, &own, report, request, err);

    if (code != 0)
        goto free_own;
    code = advice_sum_with_note(&share->adviser, &share->findings, out, err);
free_own:
    findings_share_free(&own);
    return code;
}

static const char *const advice_tables[] = {
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "OSRT_API",
    "SCHED_EVENTS",
    "TACHO_THREAD_SCHED",
    "TACHO_PYTHON_SAMPLE",
    "TACHO_PROCESS",
    "MPI_COLLECTIVES_EVENTS",
    NULL,
};
const struct analysis analysis_advice_sum = {
    .name = "advice_sum",
    .title = "Advice by Impact",
    .help = "What to change first: in a job, a rank that all others wait for; then causes that a replay of the run "
            "judged: Saves per Step is what a step would take less after the change, and From and To the range in "
            "which that lies in eight of ten cases. Rows of other rules follow, with a sentence about the largest "
            "finding of each; Impact is the wall time in which at least one thread waited, at most the length of the "
            "capture. Rows can overlap. A cause outside of the program comes last, unless it took half of the "
            "capture.",
    .needs = { { "data that a rule needs", advice_tables } },
    .overlap = "findings overlap",
    .run = advice_sum,
};
