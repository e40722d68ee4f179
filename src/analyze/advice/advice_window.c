/* The part of a long capture that the adviser reads: see adviser.h. */
#include <stdlib.h>
#include <string.h>

#include "advice_probes.h"
#include "base/array.h"
#include "base/human.h"
#include "base/saturating.h"
#include "report/reader/unite.h"
#include "report/reader/window.h"

/* A capture of MOST_EVENTS is read whole: that takes half a second, also if nothing repeats in it (bench/tables.py). A
 * window has as many, and LEAST_STEPS steps at least, if those have no more than MOST_OF_FEW. It is the most typical of
 * PLACES windows. */
enum { MOST_EVENTS = 100000, LEAST_STEPS = 8, MOST_OF_FEW = 800000, PLACES = 31 };

/* With more rows in the tables that steps are found in, a few parts of the capture are searched for steps. */
enum { MOST_SEARCHED = 1000000 };

/* Work begins up to a queue of launches after its call: 1,024 of them, each with its call and, it may be, another. */
enum { EVENTS_AHEAD = 4 * 1024 };

/* As little of the work may have the id of another call: records of CUPTI are wrong at times. */
enum { EARLY_OF = 10 };

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

/* Of the steps after the warm-up, which may be most of them; IN_FULL: of those that were recorded in full. */
static int median_length(const struct step *list, size_t count, int in_full, int64_t *out)
{
    int64_t *lengths = array_alloc(count + 1, sizeof *lengths);
    size_t kept = 0;

    if (!lengths)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (!list[i].is_warm_up && (!in_full || list[i].is_chosen))
            lengths[kept++] = length_of(&list[i]);
    if (kept)
        qsort(lengths, kept, sizeof *lengths, array_by_int64);
    *out = kept ? lengths[kept / 2] : 0;
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

/* The same in a capture that records few steps in full (windows of operators, --cost-limit): `wanted` of these in a
 * row. `count` if nowhere are so many. */
static size_t most_typical_in_full(const struct step *list, size_t count, size_t wanted, int64_t median_ns)
{
    double least = 0;
    size_t best = count, run = 0;

    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        run = list[i].is_chosen ? run + 1 : 0;
        for (size_t k = 0; run >= wanted && k < wanted; k++)
            sum += (double)length_of(&list[i - k]) - (double)median_ns;
        sum = sum < 0 ? -sum : sum;
        if (run >= wanted && (best == count || sum < least)) {
            least = sum;
            best = i + 1 - wanted;
        }
    }
    return best;
}

static int is_seldom_in_full(const struct step *list, size_t count)
{
    size_t in_full = 0;

    for (size_t i = 0; i < count; i++)
        in_full += (size_t)list[i].is_chosen;
    return in_full < count / 2;
}

/* The steps of the run, those of the leading process: more than were recorded, if some were only timed. */
static size_t steps_in_run(const struct steps *steps)
{
    const struct step_process *own = leading_process(steps);
    int64_t numbered = saturating_subtract(steps->list[own->first + own->count - 1].number,
                                           steps->list[own->first].number);

    return numbered >= (int64_t)own->count ? (size_t)numbered + 1 : own->count;
}

enum { NO_WINDOW = 1 }; /* no code of an error: all is read */

/* How many steps a window has. Steps of very many events are fewer; 0: not even one can be read. */
static size_t steps_wanted(size_t count, uint64_t events)
{
    double of_step = (double)events / (double)count;
    size_t wanted = (size_t)(MOST_EVENTS / of_step), most = (size_t)(MOST_OF_FEW / of_step);

    if (wanted >= LEAST_STEPS)
        return wanted;
    return most < LEAST_STEPS ? most : LEAST_STEPS;
}

/* One step more on either side: what a step begins with was launched in the one before it, and its work may end in the
 * next. ERR_NO_DATA: no step can be read as a whole. */
static int window_of_steps(const struct steps *steps, uint64_t events, struct report_span *span)
{
    const struct step_process *own = leading_process(steps);
    const struct step *list = &steps->list[own->first];
    size_t wanted = steps_wanted(own->count, events);
    int64_t median_ns;

    if (!wanted)
        return ERR_NO_DATA;
    if (wanted + 2 >= own->count)
        return events <= MOST_OF_FEW ? NO_WINDOW : ERR_NO_DATA;
    int in_full = is_seldom_in_full(list, own->count);
    size_t first = own->count;
    if (median_length(list, own->count, in_full, &median_ns) != 0)
        return ERR_NO_MEMORY;
    if (in_full) {
        size_t fewer = wanted < LEAST_STEPS ? wanted : LEAST_STEPS;
        first = most_typical_in_full(list, own->count, fewer, median_ns);
        wanted = first < own->count ? fewer : wanted;
    }
    if (first == own->count)
        first = most_typical(list, own->count, wanted, median_ns);
    if (first + wanted >= own->count) /* the last step may have been cut */
        first = own->count - wanted - 1;
    *span = (struct report_span){ list[first ? first - 1 : 0].start_ns, list[first + wanted].end_ns };
    return 0;
}

/* ---- the window ------------------------------------------------------------------------------------------------ */

int adviser_is_long(struct report *report)
{
    return !report_part_count(report) && advice_window_count_events(report) > MOST_EVENTS;
}

/* Nobody has chosen a part, and it would take long to read the whole. */
static int is_wanted(struct report *report, const struct analysis_request *request)
{
    if (request->span || request->is_whole || (request->filter && (request->filter->only || request->filter->steps)))
        return 0;
    return adviser_is_long(report);
}

/* Whether it takes little time to find all steps: the agent has timed them, the program names them, or there are few
 * rows to search. */
static int is_searched(struct report *report)
{
    static const char *const of_steps[] = { "TACHO_STEP_TIME", "TACHO_TORCH_STEP" };
    static const char *const searched[] = { "TACHO_TORCH_OP", "NVTX_EVENTS" };
    uint64_t rows = advice_window_count_events(report);

    for (size_t i = 0; i < COUNT_OF(of_steps); i++) {
        const struct report_table *table = report_table(report, of_steps[i]);
        if (table && table->rows)
            return 1;
    }
    for (size_t i = 0; i < COUNT_OF(searched); i++) {
        const struct report_table *table = report_table(report, searched[i]);
        rows += table ? table->rows : 0;
    }
    return rows <= MOST_SEARCHED;
}

static int middle_window(struct adviser *adviser, uint64_t events, struct report_span *span, struct error *err)
{
    int code = advice_middle_of_work(adviser->whole, MOST_EVENTS / (double)events, span);

    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the advice") : code == ERR_NO_DATA ? NO_WINDOW : code;
}

static int read_window_of_steps(struct adviser *adviser, const struct analysis_request *request, uint64_t events,
                                struct report_span *span, struct error *err)
{
    int code = adviser_read_steps(adviser, request, err);
    const struct steps *steps = adviser->steps;

    if (code != 0)
        return code;
    if (!steps->count)
        return middle_window(adviser, events, span, err);
    for (size_t i = 0; i < steps->count; i++)
        adviser->steady_steps += !steps->list[i].is_warm_up;
    adviser->steps_of_run = steps_in_run(steps);
    if ((code = window_of_steps(steps, events, span)) == ERR_NO_DATA)
        return middle_window(adviser, events, span, err);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the advice") : code;
}

static int probe_window(struct adviser *adviser, uint64_t events, struct report_span *span, struct error *err)
{
    struct advice_probe probe;
    int code = advice_probe(&probe, adviser->whole, MOST_EVENTS / (2 * (double)events), err);

    adviser->steps = &adviser->own_steps;
    adviser->own_steps = probe.steps;
    if (code != 0)
        return code;
    if (!probe.steps.count)
        return middle_window(adviser, events, span, err);
    *span = probe.span;
    adviser->steps_of_run = adviser->steady_steps = probe.steps_of_run;
    return 0;
}

/* How long after a window work may begin that was launched in it. A program that is ahead of its GPU launches work that
 * begins several steps later: without it, the last steps would end with their launches. */
static int64_t time_ahead(const struct adviser *adviser, uint64_t events)
{
    const struct step_process *own = leading_process(adviser->steps);
    const struct report_span *span = &adviser->window_span;

    if (!own || !own->count)
        return 0;
    double step_ns = (double)saturating_duration(span->from_ns, span->to_ns) / (double)own->count;
    double steps = EVENTS_AHEAD / ((double)events / (double)adviser->steps_of_run);
    return saturating_from_double(step_ns * (steps > 1 ? steps : 1));
}

int adviser_open_window(struct adviser *adviser, const struct analysis_request *request, struct error *err)
{
    struct report_span span;
    uint64_t events = advice_window_count_events(adviser->whole);
    int code;

    if (!is_wanted(adviser->whole, request))
        return 0;
    code = is_searched(adviser->whole) ? read_window_of_steps(adviser, request, events, &span, err)
                                       : probe_window(adviser, events, &span, err);
    if (code != 0)
        return code == NO_WINDOW ? 0 : code;
    adviser->window_span = span;
    steps_keep(&adviser->own_steps, &span);
    const struct report_late work = { advice_work_tables, saturating_add(span.to_ns, time_ahead(adviser, events)) };
    if ((code = report_open_window(adviser->whole, &span, &work, &adviser->window, err)) != 0)
        return code;
    adviser->report = adviser->window;
    return 0;
}

/* ---- in words -------------------------------------------------------------------------------------------------- */

/* "steps 950 to 1,050 of 2,000": those of a window, from the one with the first number that counts. */
static void add_numbers(struct text *out, const struct adviser *adviser)
{
    const struct steps *steps = adviser->steps;
    size_t first = steps->count > 1;

    while (first + 1 < steps->count && steps->list[first].is_warm_up)
        first++;
    text_add(out, "steps ");
    human_count(out, (uint64_t)steps->list[first].number);
    text_add(out, " to ");
    human_count(out, (uint64_t)steps->list[steps->count - 1].number);
    text_add(out, " of ");
    human_count(out, adviser->steps_of_run);
}

void adviser_add_window(struct text *out, const struct adviser *adviser)
{
    text_add(out, " in ");
    if (adviser->steps->count)
        add_numbers(out, adviser);
    else
        text_add(out, "the middle of the GPU's work");
}

/* ", after 30 that took 3.00 s": a warm-up that took longer than all that counts must not be passed over. */
static void add_long_warm_up(struct text *out, const struct steps *steps)
{
    int64_t sums_ns[2] = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        int64_t *sum_ns = &sums_ns[!!step->is_warm_up];
        *sum_ns = saturating_add(*sum_ns, step->is_chosen ? saturating_duration(step->start_ns, step->end_ns) : 0);
        count += step->is_chosen && step->is_warm_up;
    }
    if (!count || sums_ns[1] <= sums_ns[0])
        return;
    text_add(out, ", after ");
    human_count(out, count);
    text_add(out, " that took ");
    human_time(out, sums_ns[1]);
}

void adviser_add_steps(struct text *out, const struct adviser *adviser)
{
    static const char many[] = "steps ";
    const char *source = adviser->steps->source;

    if (adviser->window && adviser->steps->count) {
        text_add(out, "from ");
        add_numbers(out, adviser);
        text_addf(out, " %s", strncmp(source, many, strlen(many)) ? source : source + strlen(many));
        return;
    }
    text_add(out, "over ");
    human_count(out, adviser->step_count);
    if (adviser->step_count == 1 && strncmp(source, many, strlen(many)) == 0)
        text_addf(out, " step %s", source + strlen(many));
    else
        text_addf(out, " %s", source);
    add_long_warm_up(out, adviser->steps);
}

void adviser_add_clocks(struct text *out, const struct adviser *adviser)
{
    const struct replay_events *events = &adviser->replay.events;

    if ((uint64_t)events->early_count * EARLY_OF < events->work_count || !events->early_count)
        return;
    human_count(out, events->early_count);
    text_add(out, " of ");
    human_count(out, events->work_count);
    text_add(out, " kernels, copies and fills begin before the calls that launched them, by up to ");
    human_time(out, events->early_ns);
    text_add(out, ": the GPU's clock is off, and savings are wrong");
}

int adviser_note_table(const struct adviser *adviser, struct table *table)
{
    struct text note = { 0 };

    adviser_add_clocks(&note, adviser);
    text_add(&note, note.length ? "." : "");
    if (adviser->window) {
        text_add(&note, note.length ? " Replayed " : "Replayed ");
        if (adviser->steps->count)
            adviser_add_steps(&note, adviser);
        else
            text_add(&note, "in the middle of the GPU's work");
        text_add(&note, "; tacho analyze --all-steps replays all.");
    }
    int code = text_failed(&note) ? ERR_NO_MEMORY : note.length ? table_set_note(table, text_string(&note)) : 0;
    text_free(&note);
    return code;
}
