/* The part of a long capture that the adviser reads: see adviser.h. */
#include <stdlib.h>
#include <string.h>

#include "adviser.h"
#include "base/array.h"
#include "base/human.h"
#include "base/saturating.h"
#include "report/reader/unite.h"
#include "report/reader/window.h"

/* A capture of MOST_EVENTS is read whole: that takes half a second, also if nothing repeats in it (bench/tables.py). A
 * window has as many, and LEAST_STEPS steps at least. It is the most typical of PLACES windows. */
enum { MOST_EVENTS = 100000, LEAST_STEPS = 8, PLACES = 31, BINS = 1 << 16 };

static uint64_t advice_window_count_events(struct report *report)
{
    const char *const *const lists[] = { advice_call_tables, advice_work_tables };
    uint64_t events = 0;

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const char *const *name = lists[i]; *name; name++) {
            const struct report_table *table = report_table(report, *name);
            events += table ? table->rows : 0;
        }
    return events;
}

/* ---- of steps -------------------------------------------------------------------------------------------------- */

static int64_t length_of(const struct step *step)
{
    return saturating_duration(step->start_ns, step->end_ns);
}

/* The process with most steps. */
static const struct step_process *leading_process(const struct steps *steps)
{
    const struct step_process *leading = NULL;

    for (size_t i = 0; i < steps->process_count; i++)
        if (!leading || steps->processes[i].count > leading->count)
            leading = &steps->processes[i];
    return leading;
}

static int median_length(const struct step *list, size_t count, int64_t *out)
{
    int64_t *lengths = array_alloc(count + 1, sizeof *lengths);

    if (!lengths)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        lengths[i] = length_of(&list[i]);
    qsort(lengths, count, sizeof *lengths, array_by_int64);
    *out = lengths[count / 2];
    free(lengths);
    return 0;
}

/* The first of `wanted` steps whose mean is nearest to the median of all. */
static size_t most_typical(const struct step *list, size_t count, size_t wanted, int64_t median_ns)
{
    double least = 0;
    size_t best = 0;

    for (size_t place = 0; place < PLACES; place++) {
        size_t first = (count - wanted) * (place + 1) / (PLACES + 1);
        double sum = 0;
        for (size_t i = 0; i < wanted; i++)
            sum += (double)length_of(&list[first + i]) - (double)median_ns;
        sum = sum < 0 ? -sum : sum;
        if (place == 0 || sum < least) {
            least = sum;
            best = first;
        }
    }
    return best;
}

/* One step more on either side: what a step begins with was launched in the one before it, and its work may end in the
 * next. -1: all steps are wanted. */
static int window_of_steps(const struct steps *steps, uint64_t events, struct report_span *span)
{
    const struct step_process *own = leading_process(steps);
    const struct step *list = &steps->list[own->first];
    size_t wanted = (size_t)((double)own->count * MOST_EVENTS / (double)events);
    int64_t median_ns;

    wanted = wanted > LEAST_STEPS ? wanted : LEAST_STEPS;
    if (wanted + 2 >= own->count)
        return -1;
    if (median_length(list, own->count, &median_ns) != 0)
        return ERR_NO_MEMORY;
    size_t first = most_typical(list, own->count, wanted, median_ns);
    *span = (struct report_span){ list[first ? first - 1 : 0].start_ns, list[first + wanted].end_ns };
    return 0;
}

/* ---- of a capture without steps -------------------------------------------------------------------------------- */

/* Spreads the rows of a chunk over its span. */
static void spread(double *bins, const struct report_span *whole, const struct report_chunk *chunk)
{
    double width = ((double)whole->to_ns - (double)whole->from_ns + 1) / BINS,
           from = ((double)chunk->first_ns - (double)whole->from_ns) / width,
           to = ((double)chunk->last_ns - (double)whole->from_ns) / width;
    int first = (int)from, last = (int)to;

    for (int bin = first; bin <= last && bin < BINS; bin++)
        bins[bin] += (double)chunk->rows / (last - first + 1);
}

/* The middle of the work on GPUs: programs begin with what is not typical of them. */
static int window_of_work(struct report *report, uint64_t events, struct report_span *span)
{
    double *bins = calloc(BINS, sizeof *bins), total = 0, sum = 0, share = MOST_EVENTS / (double)events;
    struct report_span whole = { INT64_MAX, INT64_MIN };

    if (!bins)
        return ERR_NO_MEMORY;
    for (const char *const *name = advice_work_tables; *name; name++) {
        const struct report_table *table = report_table(report, *name);
        if (!table || table->first_ns > table->last_ns)
            continue;
        whole.from_ns = table->first_ns < whole.from_ns ? table->first_ns : whole.from_ns;
        whole.to_ns = table->last_ns > whole.to_ns ? table->last_ns : whole.to_ns;
    }
    for (const char *const *name = advice_work_tables; *name && whole.from_ns < whole.to_ns; name++) {
        const struct report_table *table = report_table(report, *name);
        for (size_t i = 0; table && i < report_chunk_count(table); i++) {
            struct report_chunk chunk = report_chunk_at(table, i);
            if (chunk.first_ns > chunk.last_ns)
                continue;
            spread(bins, &whole, &chunk);
            total += (double)chunk.rows;
        }
    }
    int first = 0, end = 0;
    for (int bin = 0; bin < BINS; bin++) {
        sum += bins[bin];
        first += sum <= total * (1 - share) / 2;
        end += sum <= total * (1 + share) / 2;
    }
    free(bins);
    if (total == 0)
        return -1;
    double width = ((double)whole.to_ns - (double)whole.from_ns + 1) / BINS;
    *span = (struct report_span){ whole.from_ns + (int64_t)(first * width),
                                  whole.from_ns + (int64_t)((end + 1) * width) };
    return 0;
}

/* ---- the window ------------------------------------------------------------------------------------------------ */

/* Nobody has chosen a part, and it would take long to read the whole. */
static int is_wanted(struct report *report, const struct analysis_request *request, uint64_t *events)
{
    if (request->span || request->is_whole || (request->filter && (request->filter->only || request->filter->steps)) ||
        report_part_count(report))
        return 0;
    return (*events = advice_window_count_events(report)) > MOST_EVENTS;
}

int adviser_open_window(struct adviser *adviser, const struct analysis_request *request, struct error *err)
{
    struct report_span span;
    uint64_t events;
    int code;

    if (!is_wanted(adviser->whole, request, &events))
        return 0;
    if ((code = adviser_read_steps(adviser, request, err)) != 0)
        return code;
    code = adviser->steps->count ? window_of_steps(adviser->steps, events, &span)
                                 : window_of_work(adviser->whole, events, &span);
    if (code == ERR_NO_MEMORY)
        return error_short_memory(err, "for the advice");
    if (code != 0)
        return 0;
    if ((code = report_open_window(adviser->whole, &span, &adviser->window, err)) != 0)
        return code;
    adviser->report = adviser->window;
    adviser->steps_of_run = adviser->steps->count;
    for (size_t i = 0; i < adviser->steps->count; i++)
        adviser->steady_steps += !adviser->steps->list[i].is_warm_up;
    steps_keep(&adviser->own_steps, &span);
    return 0;
}

/* ---- in words -------------------------------------------------------------------------------------------------- */

/* "steps 950 to 1,050 of 2,000 by calls of Optimizer.step": the steps of a window, from the one with the first number
 * that counts. */
static void add_numbers(struct text *out, const struct adviser *adviser, const char *source)
{
    const struct steps *steps = adviser->steps;

    text_add(out, "over steps ");
    human_count(out, (uint64_t)steps->list[steps->count > 1].number);
    text_add(out, " to ");
    human_count(out, (uint64_t)steps->list[steps->count - 1].number);
    text_add(out, " of ");
    human_count(out, adviser->steps_of_run);
    text_addf(out, " %s", source);
}

void adviser_add_steps(struct text *out, const struct adviser *adviser)
{
    static const char many[] = "steps ";
    const char *source = adviser->steps->source;

    if (adviser->window && adviser->steps->count) {
        add_numbers(out, adviser, strncmp(source, many, strlen(many)) ? source : source + strlen(many));
        return;
    }
    text_add(out, "over ");
    human_count(out, adviser->step_count);
    if (adviser->step_count == 1 && strncmp(source, many, strlen(many)) == 0)
        text_addf(out, " step %s", source + strlen(many));
    else
        text_addf(out, " %s", source);
}

int adviser_note_window(const struct adviser *adviser, struct table *table)
{
    struct text note = { 0 };

    if (!adviser->window)
        return 0;
    text_add(&note, "Replayed ");
    if (adviser->steps->count)
        adviser_add_steps(&note, adviser);
    else
        text_add(&note, "in the middle of the GPU's work");
    text_add(&note, "; tacho analyze --all-steps replays all.");
    int code = text_failed(&note) ? ERR_NO_MEMORY : table_set_note(table, text_string(&note));
    text_free(&note);
    return code;
}
