/* Steps by what repeats: the rounds of the loop in the calls of each process. A step begins with the call of its first
 * launch and ends where the next one begins. */
#include <stdio.h>

#include "analyze/model/steps/turns.h"
#include "steps_read_state.h"

/* The contents to compare, one after the other, if nothing repeats in search->sequences. */
static const int contents_tried[] = {
    0,
    SEQUENCE_GRIDS | SEQUENCE_ONE_THREAD,
    SEQUENCE_GRIDS | SEQUENCE_RANGES,
    SEQUENCE_GRIDS | SEQUENCE_PAUSES,
};

/* How much work of each kind a usual step has. */
struct round {
    size_t kinds[SEQUENCE_KINDS];
};

static struct round count_round(const struct gpu_sequences *sequences, const struct gpu_sequence *of,
                                const struct period *period)
{
    struct round round = { 0 };

    for (size_t i = 0; i < period->length; i++)
        round.kinds[gpu_sequence_kind(sequences, of->symbols[period->sample + i])]++;
    return round;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void name_source(struct steps *steps, const struct round *round)
{
    size_t kernels = round->kinds[SEQUENCE_KERNEL], graphs = round->kinds[SEQUENCE_GRAPH];
    size_t room = sizeof steps->source;

    if (kernels && graphs)
        snprintf(steps->source, room, "steps by a sequence of %zu kernel%s and %zu graph%s that repeats", kernels,
                 plural(kernels), graphs, plural(graphs));
    else if (graphs == 1)
        snprintf(steps->source, room, "steps by launches of a graph");
    else
        snprintf(steps->source, room, "steps by a sequence of %zu %s%s that repeats", kernels + graphs,
                 kernels ? "kernel" : "graph", plural(kernels + graphs));
}

static int steps_looped_add_steps(struct steps_search *search, const struct gpu_sequence *of,
                                  const struct period *period, struct error *err)
{
    int code;

    for (size_t i = 0; i < period->count; i++) {
        const struct period_step *at = &period->steps[i];
        int is_followed = i + 1 < period->count && at[1].first == at->end;
        struct step step = {
            .process = of->process,
            .start_ns = of->start_ns[at->first],
            .end_ns = is_followed ? of->start_ns[at->end] : of->end_ns[at->end - 1],
            .name = STEP_WITHOUT_NAME,
        };
        if ((code = steps_add(search, &step, err)) != 0)
            return code;
    }
    return 0;
}

typedef int finder(struct period *period, const struct sequence *sequence);

/* Adds the steps of a process, if something repeats in its sequence. The greatest loop names the source. */
static int find_loop(struct steps_search *search, const struct gpu_sequences *sequences, const struct gpu_sequence *of,
                     finder *find, uint64_t *greatest, struct error *err)
{
    struct period period;
    int code = 0;

    if (find(&period, &of->sequence) != 0 && (code = error_short_memory(err, "for the steps")) != 0)
        goto free_period;
    uint64_t places = (uint64_t)period.count * period.length;
    if (period.count < 2)
        goto free_period;
    if (places > *greatest) {
        struct round round = count_round(sequences, of, &period);
        *greatest = places;
        if (find == turns_find)
            snprintf(search->steps->source, sizeof search->steps->source, "steps by kernels that come once in each");
        else
            name_source(search->steps, &round);
    }
    code = steps_looped_add_steps(search, of, &period, err);
free_period:
    period_free(&period);
    return code;
}

static int find_loops(struct steps_search *search, const struct gpu_sequences *sequences, finder *find,
                      struct error *err)
{
    uint64_t greatest = 0;
    int code;

    for (size_t i = 0; i < sequences->count; i++)
        if ((code = find_loop(search, sequences, &sequences->list[i], find, &greatest, err)) != 0)
            return code;
    return 0;
}

static int find_loops_of(struct steps_search *search, int contents, finder *find, struct error *err)
{
    struct gpu_sequences sequences;
    int code = gpu_sequences_make(&sequences, search->launches, contents, err);

    if (code != 0)
        return code;
    code = find_loops(search, &sequences, find, err);
    gpu_sequences_free(&sequences);
    return code;
}

int steps_find_looped(struct steps_search *search, struct error *err)
{
    int code = find_loops(search, &search->sequences, period_find, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(contents_tried) && !search->steps->count; i++)
        if (gpu_launches_differ(search->launches, contents_tried[i]) &&
            (code = find_loops_of(search, contents_tried[i], period_find, err)) != 0)
            return code;
    return 0;
}

int steps_find_in_turn(struct steps_search *search, struct error *err)
{
    return find_loops_of(search, 0, turns_find, err);
}
