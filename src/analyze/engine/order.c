/* Rows that are nearly in order are sorted by insertion, all others by a radix sort: eleven bits a pass, only over the
 * bits in which the times differ. Threads are few, so rows are first distributed by thread, and then each thread's rows
 * are sorted by time. */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "keys.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

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

static void sort_digit(uint32_t *to, const uint32_t *from, size_t count, const int64_t *time, int64_t least, int shift)
{
    size_t places[DIGITS + 1] = { 0 };

    for (size_t i = 0; i < count; i++)
        places[(((uint64_t)time[from[i]] - (uint64_t)least) >> shift & (DIGITS - 1)) + 1]++;
    for (size_t i = 0; i < DIGITS; i++)
        places[i + 1] += places[i];
    for (size_t i = 0; i < count; i++)
        to[places[((uint64_t)time[from[i]] - (uint64_t)least) >> shift & (DIGITS - 1)]++] = from[i];
}

int order_by_time(uint32_t *order, size_t count, const int64_t *time)
{
    if (sort_by_insertion(order, count, time))
        return 0;
    uint32_t *other = malloc(count * sizeof *other);
    if (!other)
        return ERR_NO_MEMORY;
    int64_t least = time[order[0]], greatest = least;
    for (size_t i = 1; i < count; i++) {
        least = time[order[i]] < least ? time[order[i]] : least;
        greatest = time[order[i]] > greatest ? time[order[i]] : greatest;
    }
    uint64_t width = (uint64_t)greatest - (uint64_t)least;
    uint32_t *from = order, *to = other;
    for (int shift = 0; shift < 64 && width >> shift; shift += DIGIT_BITS) {
        sort_digit(to, from, count, time, least, shift);
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
    free(other);
    return 0;
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

    distribution->numbers = malloc((count + 1) * sizeof *distribution->numbers);
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

static int compare_threads(const void *a, const void *b, void *context)
{
    const struct keys *threads = context;
    int64_t x = *keys_get(threads, *(const uint32_t *)a), y = *keys_get(threads, *(const uint32_t *)b);

    return (x > y) - (x < y);
}

static int distribute(struct distribution *distribution, const uint32_t *order, size_t count)
{
    size_t threads = distribution->threads.count;

    distribution->by_id = malloc((threads + 1) * sizeof *distribution->by_id);
    distribution->next = calloc(threads + 1, sizeof *distribution->next);
    distribution->rows = malloc((count + 1) * sizeof *distribution->rows);
    if (!distribution->by_id || !distribution->next || !distribution->rows)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        distribution->next[distribution->numbers[i]]++;
    for (size_t i = 0; i < threads; i++)
        distribution->by_id[i] = (uint32_t)i;
    qsort_r(distribution->by_id, threads, sizeof *distribution->by_id, compare_threads, &distribution->threads);
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

int order_by_thread(uint32_t *order, size_t count, const int64_t *thread, const int64_t *time)
{
    struct distribution distribution = { .threads.width = 1 };
    int code;

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
