/* Finds the rhythm of marks: see outer_steps.h.
 *
 * Intervals are long that take more than a threshold; the distance between most long ones is the number of marks.
 * Thresholds are tried from just above a short interval on, each twice the last, because nobody knows how much a round
 * has beside its updates. */
#include "outer_steps.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"

/* A rhythm has LEAST_WHOLE whole rounds of at most MOST_MARKS marks, and most intervals are part of one. If each
 * interval was a short one, a round of up to FEW_MARKS would take at most FEW_PERCENT of its time, and one of more
 * marks MANY_PERCENT: the more marks there are, the more a long interval looks like a validation. Long intervals have
 * at least MORE_PERCENT of the work of short ones. */
enum {
    LEAST_WHOLE = 3,
    MOST_MARKS = 1024,
    FEW_MARKS = 8,
    FEW_PERCENT = 75,
    MANY_PERCENT = 50,
    MORE_PERCENT = 150,
    THRESHOLDS = 16,
};

/* Intervals, while a threshold is tried. */
struct outer_steps_rhythm {
    const int64_t *lengths_ns;
    size_t count;
    int64_t short_ns, threshold_ns;
    uint32_t *distances; /* owned; by number of marks: how many long intervals are so far apart */
    int64_t *rounds_ns;  /* owned; scratch */
    size_t marks, whole;
};

/* A round begins with a long interval after a short one. */
static int outer_steps_begins(const struct outer_steps_rhythm *rhythm, size_t at)
{
    return rhythm->lengths_ns[at] > rhythm->threshold_ns && (!at || rhythm->lengths_ns[at - 1] <= rhythm->threshold_ns);
}

static size_t outer_steps_next(const struct outer_steps_rhythm *rhythm, size_t at)
{
    while (at < rhythm->count && !outer_steps_begins(rhythm, at))
        at++;
    return at;
}

/* Whether the intervals from `at` on, where a round begins, are a whole one. The last may be cut. */
static int outer_steps_is_whole(const struct outer_steps_rhythm *rhythm, size_t at, size_t next)
{
    return next == rhythm->count ? next - at >= rhythm->marks : next - at == rhythm->marks;
}

static size_t usual_distance(struct outer_steps_rhythm *rhythm)
{
    size_t usual = 0;

    for (size_t i = 0; i <= MOST_MARKS; i++)
        rhythm->distances[i] = 0;
    for (size_t at = outer_steps_next(rhythm, 0), next; at < rhythm->count; at = next) {
        next = outer_steps_next(rhythm, at + 1);
        if (next < rhythm->count && next - at <= MOST_MARKS)
            rhythm->distances[next - at]++;
    }
    for (size_t i = 2; i <= MOST_MARKS; i++)
        usual = rhythm->distances[i] > rhythm->distances[usual] ? i : usual;
    return usual;
}

/* Whether rounds take much longer than as many short intervals. */
static int takes_longer(struct outer_steps_rhythm *rhythm)
{
    size_t count = 0;

    for (size_t at = outer_steps_next(rhythm, 0), next; at < rhythm->count; at = next) {
        int64_t sum_ns = 0;
        next = outer_steps_next(rhythm, at + 1);
        for (size_t i = at; i < at + rhythm->marks && outer_steps_is_whole(rhythm, at, next); i++)
            sum_ns = saturating_add(sum_ns, rhythm->lengths_ns[i]);
        if (outer_steps_is_whole(rhythm, at, next))
            rhythm->rounds_ns[count++] = sum_ns;
    }
    rhythm->whole = count;
    if (count < LEAST_WHOLE)
        return 0;
    qsort(rhythm->rounds_ns, count, sizeof *rhythm->rounds_ns, array_by_int64);
    int percent = rhythm->marks <= FEW_MARKS ? FEW_PERCENT : MANY_PERCENT;
    return (double)rhythm->short_ns * (double)rhythm->marks <=
           (double)rhythm->rounds_ns[count / 2] * (double)percent / 100;
}

/* Most intervals, but for those at the ends, which may be cut. */
static int covers_most(const struct outer_steps_rhythm *rhythm)
{
    return 3 * rhythm->whole * rhythm->marks + 2 * rhythm->marks >= 2 * rhythm->count;
}

static int try_threshold(struct outer_steps_rhythm *rhythm)
{
    rhythm->marks = usual_distance(rhythm);
    return rhythm->marks >= 2 && takes_longer(rhythm) && covers_most(rhythm);
}

static int outer_steps_add(struct outer_steps *out, size_t first, size_t end, int is_whole)
{
    return first == end ? 0 : ARRAY_PUSH(out->list, out->room, out->count, (struct outer_step){ first, end, is_whole });
}

static int outer_steps_split(struct outer_steps *out, const struct outer_steps_rhythm *rhythm)
{
    size_t reached = 0;

    for (size_t at = outer_steps_next(rhythm, 0), next; at < rhythm->count; at = next) {
        next = outer_steps_next(rhythm, at + 1);
        if (!outer_steps_is_whole(rhythm, at, next))
            continue;
        if (outer_steps_add(out, reached, at, 0) != 0 || outer_steps_add(out, at, at + rhythm->marks, 1) != 0)
            return ERR_NO_MEMORY;
        reached = at + rhythm->marks;
    }
    return outer_steps_add(out, reached, rhythm->count, 0);
}

/* Sets the length that three of four intervals exceed; 0 if even as many of these are most of the time. */
static void find_short(struct outer_steps_rhythm *rhythm)
{
    double sum = 0;

    for (size_t i = 0; i < rhythm->count; i++) {
        rhythm->rounds_ns[i] = rhythm->lengths_ns[i];
        sum += (double)rhythm->lengths_ns[i];
    }
    qsort(rhythm->rounds_ns, rhythm->count, sizeof *rhythm->rounds_ns, array_by_int64);
    rhythm->short_ns = rhythm->rounds_ns[rhythm->count / 4];
    if ((double)rhythm->short_ns * (double)rhythm->count > sum * FEW_PERCENT / 100)
        rhythm->short_ns = 0;
}

/* Leaves the threshold with which most intervals are in whole rounds. */
static void find_rhythm(struct outer_steps_rhythm *rhythm)
{
    int64_t best_ns = 0, threshold_ns = saturating_add(rhythm->short_ns, rhythm->short_ns / 2);
    size_t most = 0;

    for (int i = 0; i < THRESHOLDS; i++, threshold_ns = saturating_multiply(threshold_ns, 2)) {
        rhythm->threshold_ns = threshold_ns;
        if (!try_threshold(rhythm) || rhythm->whole * rhythm->marks <= most)
            continue;
        most = rhythm->whole * rhythm->marks;
        best_ns = threshold_ns;
    }
    rhythm->threshold_ns = best_ns;
    rhythm->marks = most ? usual_distance(rhythm) : 1;
}

int outer_steps_find(struct outer_steps *out, const int64_t *lengths_ns, size_t count)
{
    struct outer_steps_rhythm rhythm = { .lengths_ns = lengths_ns, .count = count, .marks = 1 };
    int code = 0;

    *out = (struct outer_steps){ .marks = 1 };
    if (count < 2 * LEAST_WHOLE)
        return 0;
    rhythm.distances = array_alloc(MOST_MARKS + 1, sizeof *rhythm.distances);
    rhythm.rounds_ns = array_alloc(count, sizeof *rhythm.rounds_ns);
    if (!rhythm.distances || !rhythm.rounds_ns) {
        code = ERR_NO_MEMORY;
        goto free_rhythm;
    }
    find_short(&rhythm);
    if (rhythm.short_ns > 0)
        find_rhythm(&rhythm);
    out->marks = rhythm.marks;
    if (out->marks > 1)
        code = outer_steps_split(out, &rhythm);
free_rhythm:
    free(rhythm.distances);
    free(rhythm.rounds_ns);
    return code;
}

void outer_steps_free(struct outer_steps *outer)
{
    free(outer->list);
    *outer = (struct outer_steps){ .marks = 1 };
}

int outer_steps_do_more(const struct outer_steps *outer, struct outer_work work)
{
    return (double)work.in_long * (double)(outer->marks - 1) * 100 > (double)work.in_short * MORE_PERCENT;
}
