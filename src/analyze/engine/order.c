/* Rows that consist of a few runs in order are sorted by merging those, and rows that are nearly in order by insertion.
 * All others are merged if they have some long runs, and else sorted by radix: eleven bits a pass, only over the bits
 * in which the times differ. Threads are few, so rows are first distributed by thread, and then each thread's rows are
 * sorted by time. */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "keys.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
/* Up to FEW_RUNS runs are merged at once, since a table appended to another one takes insertion to its limit. Otherwise
 * rows of up to MOST_RUNS runs are merged. */
enum {
    FEW_RUNS = 16,
    MOST_RUNS = 1024,
};

/* Moves rows that are a little late to their places. This is enough for tables that several streams write as their work
 * ends. Gives up, with the rows in some order, when it would take longer than a radix sort. */
static int sort_by_insertion(uint32_t *order, size_t count, const int64_t *time)
{
    size_t moves_left = 4 * count;

    for (size_t i = 1; i < count; i++) {
        uint32_t row = order[i];
        size_t at = i;
        for (; at > 0 && time[order[at - 1]] > time[row]; at--)
            order[at] = order[at - 1];
        order[at] = row;
        if (i - at > moves_left)
            return 0;
        moves_left -= i - at;
    }
    return 1;
}

/* The end of the run that begins at `first`. */
static size_t end_of_run(const uint32_t *order, size_t first, size_t count, const int64_t *time)
{
    while (++first < count && time[order[first - 1]] <= time[order[first]])
        ;
    return first;
}

static void merge_two(uint32_t *to, const uint32_t *a, const uint32_t *a_end, const uint32_t *b, const uint32_t *b_end,
                      const int64_t *time)
{
    while (a < a_end && b < b_end)
        *to++ = time[*b] < time[*a] ? *b++ : *a++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *to);
}

/* Merges neighbouring runs until one is left; run i lies between ends[i] and ends[i + 1]. Either array may hold the
 * result: it is returned. */
static uint32_t *merge_runs(uint32_t *from, uint32_t *to, size_t *ends, size_t runs, const int64_t *time)
{
    while (runs > 1) {
        size_t merged = 0;
        for (size_t i = 0; i < runs; i += 2, merged++) {
            size_t middle = ends[i + 1], end = i + 1 < runs ? ends[i + 2] : middle;
            merge_two(to + ends[i], from + ends[i], from + middle, from + middle, from + end, time);
            ends[merged + 1] = end;
        }
        runs = merged;
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* A row with its time, which sorting carries along: looking it up in each pass would wait for memory. */
struct timed_row {
    uint64_t time; /* since the first */
    uint32_t row;
};

static void sort_digit(struct timed_row *to, const struct timed_row *from, size_t count, int shift)
{
    size_t places[DIGITS + 1] = { 0 };

    for (size_t i = 0; i < count; i++)
        places[(from[i].time >> shift & (DIGITS - 1)) + 1]++;
    for (size_t i = 0; i < DIGITS; i++)
        places[i + 1] += places[i];
    for (size_t i = 0; i < count; i++)
        to[places[from[i].time >> shift & (DIGITS - 1)]++] = from[i];
}

static int sort_by_radix(uint32_t *order, size_t count, const int64_t *time)
{
    struct timed_row *rows = array_alloc(2 * count, sizeof *rows), *from = rows, *to = rows + count;
    int64_t least = time[order[0]];
    uint64_t differing = 0;

    if (!rows)
        return ERR_NO_MEMORY;
    for (size_t i = 1; i < count; i++)
        least = time[order[i]] < least ? time[order[i]] : least;
    for (size_t i = 0; i < count; i++) {
        from[i] = (struct timed_row){ (uint64_t)time[order[i]] - (uint64_t)least, order[i] };
        differing |= from[i].time;
    }
    for (int shift = 0; shift < 64 && differing >> shift; shift += DIGIT_BITS) {
        sort_digit(to, from, count, shift);
        struct timed_row *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = from[i].row;
    free(rows);
    return 0;
}

/* Leaves the rows as they are if there are more runs. ERR_NO_MEMORY or 0. */
static int sort_by_merging(uint32_t *order, size_t count, const int64_t *time, size_t most_runs, int *is_sorted)
{
    size_t ends[MOST_RUNS + 1], runs = 0;

    ends[0] = 0;
    for (; ends[runs] < count && runs < most_runs; runs++)
        ends[runs + 1] = end_of_run(order, ends[runs], count, time);
    *is_sorted = ends[runs] == count;
    if (!*is_sorted || runs < 2)
        return 0;
    uint32_t *other = array_alloc(count, sizeof *other);
    if (!other)
        return ERR_NO_MEMORY;
    const uint32_t *sorted = merge_runs(order, other, ends, runs, time);
    if (sorted != order)
        memcpy(order, sorted, count * sizeof *order);
    free(other);
    return 0;
}

int order_by_time(uint32_t *order, size_t count, const int64_t *time)
{
    int is_sorted, code = sort_by_merging(order, count, time, FEW_RUNS, &is_sorted);

    if (code != 0 || is_sorted || sort_by_insertion(order, count, time))
        return code;
    code = sort_by_merging(order, count, time, MOST_RUNS, &is_sorted);
    return code != 0 || is_sorted ? code : sort_by_radix(order, count, time);
}

/* Distributes rows by thread. */
struct distribution {
    struct keys threads;
    uint32_t *numbers; /* of each row's thread, in the order in which threads were met */
    uint32_t *by_id;   /* thread numbers, sorted by the threads' ids */
    size_t *next;      /* place of a thread's next row; after distribute(), the end of its rows */
    uint32_t *rows;    /* thread after thread */
};

static int number_threads(struct distribution *distribution, const uint32_t *order, size_t count, const int64_t *thread)
{
    uint32_t last = NO_KEY;

    distribution->numbers = array_alloc(count + 1, sizeof *distribution->numbers);
    if (!distribution->numbers)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || thread[order[i]] != thread[order[i - 1]])
            last = keys_add(&distribution->threads, &thread[order[i]]);
        if (last == NO_KEY)
            return ERR_NO_MEMORY;
        distribution->numbers[i] = last;
    }
    return 0;
}

static int row_order_compare_threads(const void *a, const void *b, void *context)
{
    const struct keys *threads = context;
    int64_t x = *keys_get(threads, *(const uint32_t *)a), y = *keys_get(threads, *(const uint32_t *)b);

    return COMPARE(x, y);
}

static int distribute(struct distribution *distribution, const uint32_t *order, size_t count)
{
    size_t threads = distribution->threads.count;

    distribution->by_id = malloc((threads + 1) * sizeof *distribution->by_id);
    distribution->next = calloc(threads + 1, sizeof *distribution->next);
    distribution->rows = array_alloc(count + 1, sizeof *distribution->rows);
    if (!distribution->by_id || !distribution->next || !distribution->rows)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        distribution->next[distribution->numbers[i]]++;
    for (size_t i = 0; i < threads; i++)
        distribution->by_id[i] = (uint32_t)i;
    qsort_r(distribution->by_id, threads, sizeof *distribution->by_id, row_order_compare_threads,
            &distribution->threads);
    for (size_t i = 0, first = 0; i < threads; i++) {
        size_t rows = distribution->next[distribution->by_id[i]];
        distribution->next[distribution->by_id[i]] = first;
        first += rows;
    }
    for (size_t i = 0; i < count; i++)
        distribution->rows[distribution->next[distribution->numbers[i]]++] = order[i];
    return 0;
}

static int sort_threads(const struct distribution *distribution, const int64_t *time)
{
    for (size_t i = 0, first = 0; i < distribution->threads.count; i++) {
        size_t end = distribution->next[distribution->by_id[i]];
        if (order_by_time(distribution->rows + first, end - first, time) != 0)
            return ERR_NO_MEMORY;
        first = end;
    }
    return 0;
}

static int is_in_order(const uint32_t *order, size_t count, const int64_t *thread, const int64_t *time)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t row = order[i], before = order[i - 1];
        if (thread[before] > thread[row] || (thread[before] == thread[row] && time[before] > time[row]))
            return 0;
    }
    return 1;
}

int order_by_thread(uint32_t *order, size_t count, const int64_t *thread, const int64_t *time)
{
    struct distribution distribution = { .threads.width = 1 };
    int code;

    if (is_in_order(order, count, thread, time))
        return 0;
    if ((code = number_threads(&distribution, order, count, thread)) != 0 ||
        (code = distribute(&distribution, order, count)) != 0 || (code = sort_threads(&distribution, time)) != 0)
        goto done;
    memcpy(order, distribution.rows, count * sizeof *order);
done:
    free(distribution.numbers);
    free(distribution.by_id);
    free(distribution.next);
    free(distribution.rows);
    keys_free(&distribution.threads);
    return code;
}
