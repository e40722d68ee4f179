/* What is nearly in order is put right by insertion. All else is a radix sort: eleven bits a pass, only over the bits
 * in which the times differ. Threads are few: rows are dealt out to them, and each thread is sorted for itself. */
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "keys.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* Moves rows that are a little late to their places, which is all there is to do where several streams are written as
 * their work ends. Gives up, with the rows in some order, when that would take longer than sorting them. */
static int settle(uint32_t *order, size_t count, const int64_t *time)
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
    if (settle(order, count, time))
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

struct dealing {
    struct keys threads;
    uint32_t *numbers; /* of a row's thread, in the order in which threads were met */
    uint32_t *by_id;   /* thread numbers, by the threads' ids */
    size_t *next;      /* where a thread's next row goes; in the end, where its rows end */
    uint32_t *dealt;
};

static int number_threads(struct dealing *dealing, const uint32_t *order, size_t count, const int64_t *thread)
{
    uint32_t last = NO_KEY;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || thread[order[i]] != thread[order[i - 1]])
            last = keys_add(&dealing->threads, &thread[order[i]]);
        if (last == NO_KEY)
            return ERR_NO_MEMORY;
        dealing->numbers[i] = last;
    }
    return 0;
}

static int compare_threads(const void *a, const void *b, void *context)
{
    const struct keys *threads = context;
    int64_t x = *keys_get(threads, *(const uint32_t *)a), y = *keys_get(threads, *(const uint32_t *)b);

    return (x > y) - (x < y);
}

static int deal(struct dealing *dealing, const uint32_t *order, size_t count)
{
    size_t threads = dealing->threads.count;

    dealing->by_id = malloc((threads + 1) * sizeof *dealing->by_id);
    dealing->next = calloc(threads + 1, sizeof *dealing->next);
    if (!dealing->by_id || !dealing->next)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        dealing->next[dealing->numbers[i]]++;
    for (size_t i = 0; i < threads; i++)
        dealing->by_id[i] = (uint32_t)i;
    qsort_r(dealing->by_id, threads, sizeof *dealing->by_id, compare_threads, &dealing->threads);
    for (size_t i = 0, first = 0; i < threads; i++) {
        size_t rows = dealing->next[dealing->by_id[i]];
        dealing->next[dealing->by_id[i]] = first;
        first += rows;
    }
    for (size_t i = 0; i < count; i++)
        dealing->dealt[dealing->next[dealing->numbers[i]]++] = order[i];
    return 0;
}

int order_by_thread(uint32_t *order, size_t count, const int64_t *thread, const int64_t *time)
{
    struct dealing dealing = { .threads.width = 1 };

    dealing.numbers = malloc((count + 1) * sizeof *dealing.numbers);
    dealing.dealt = malloc((count + 1) * sizeof *dealing.dealt);
    int code = dealing.numbers && dealing.dealt ? number_threads(&dealing, order, count, thread) : ERR_NO_MEMORY;
    if (code == 0)
        code = deal(&dealing, order, count);
    for (size_t i = 0, first = 0; i < dealing.threads.count && code == 0; i++) {
        size_t end = dealing.next[dealing.by_id[i]];
        code = order_by_time(dealing.dealt + first, end - first, time);
        first = end;
    }
    if (code == 0)
        memcpy(order, dealing.dealt, count * sizeof *order);
    free(dealing.numbers);
    free(dealing.by_id);
    free(dealing.next);
    free(dealing.dealt);
    keys_free(&dealing.threads);
    return code;
}
