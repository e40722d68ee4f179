/* Finds rows of a table by a number in them, without an index of every row.
 *
 * The first request for a table computes the least and the greatest key of each chunk, in one pass. Ids rise as a
 * capture goes on, so few chunks can hold a key, and only those are decoded. A table whose keys are in no order costs
 * time, never a wrong answer. */
#ifndef TACHO_VIEW_ANSWER_KEY_RANGES_H
#define TACHO_VIEW_ANSWER_KEY_RANGES_H

#include <pthread.h>

#include "report/reader/reader.h"

#define KEY_RANGES_NO_KEY INT64_MIN
enum { KEY_RANGES_MOST_COLUMNS = 16 };

/* Must be static for key_ranges_find(), which caches its results by the address. */
struct key_ranges_kind {
    const char *table;
    const char *columns[KEY_RANGES_MOST_COLUMNS]; /* the columns of blocks, in this order; then NULL */
    /* The key of a row, or KEY_RANGES_NO_KEY; NULL: it is the first column. Called from any worker. */
    int64_t (*key)(struct report *report, const struct report_block *block, size_t row);
};

struct key_ranges {
    pthread_mutex_t lock;        /* guards the list: events and advice are answered side by side */
    struct key_ranges_map *list; /* owned */
    size_t count, room;
};
void key_ranges_init(struct key_ranges *ranges);
void key_ranges_free(struct key_ranges *ranges);

/* Calls visit for each row whose key is one of these (in ascending order, each once), in the order of the rows. A
 * missing table has no rows. A visit ends the search with KEY_RANGES_ENOUGH (the search returns 0) or with an ERR_
 * code. */
enum { KEY_RANGES_ENOUGH = 1 };
typedef int key_ranges_visit(void *context, const struct report_block *block, size_t row);
int key_ranges_find(struct key_ranges *ranges, struct report *report, const struct key_ranges_kind *kind,
                    const int64_t *keys, size_t key_count, key_ranges_visit *visit, void *context, struct error *err);

/* Calls visit for one row of the table; does not call it if the row does not exist or is damaged. */
int key_ranges_row(struct report *report, const struct key_ranges_kind *kind, uint64_t table_row,
                   key_ranges_visit *visit, void *context, struct error *err);

/* The value of a column in a visit, or the fallback for NULL. */
static inline int64_t block_value(const struct report_block *block, size_t column, size_t row, int64_t fallback)
{
    return block_is_null(block, column, row) ? fallback : block->values[column][row];
}

#endif
