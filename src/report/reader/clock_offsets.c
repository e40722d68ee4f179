/* TACHO_CLOCK_OFFSET of a set: a row for each stretch of the clock map of each part. Nothing is stored: the rows are
 * made when they are read. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"
#include "report/schema/schema.h"

static const struct schema_table *schema(void)
{
    return &schema_tables[TABLE_TACHO_CLOCK_OFFSET];
}

/* A merged report has the offsets of those that it was made of. */
static int is_merged(const struct report *set)
{
    const struct report_table *own = set->part_count == 1 ? report_table(set->parts->report, schema()->name) : NULL;

    return own && own->rows;
}

int clock_offsets_add_columns(struct report *set)
{
    set->offset_table = set_add_table(set, schema()->name);
    if (!set->offset_table)
        return ERR_NO_MEMORY;
    for (size_t c = 0; c < schema()->column_count; c++)
        if (set_add_column(set->offset_table, schema()->columns[c].name, schema()->columns[c].type) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* A part whose times are the set's is one stretch, too. */
static size_t stretches(const struct reader_part *part)
{
    return part->public.knot_count ? part->public.knot_count : 1;
}

/* A chunk a part, so that a row is found without a search. */
int clock_offsets_add_rows(struct report *set)
{
    struct reader_table *table = set->offset_table;

    if (is_merged(set))
        return 0;
    if (array_reserve(&table->chunks, &table->chunk_capacity, table->chunk_count + set->part_count,
                      sizeof *table->chunks) != 0)
        return ERR_NO_MEMORY;
    for (size_t p = 0; p < set->part_count; p++) {
        size_t rows = stretches(&set->parts[p]);
        rows = rows < CHUNK_MAX_ROWS ? rows : CHUNK_MAX_ROWS;
        table->chunks[table->chunk_count++] = (struct reader_chunk){
            .rows = (uint32_t)rows,
            .first = (int64_t)p, /* the part */
            .last = (int64_t)p,
            .first_row = table->public.rows,
            .is_of_offsets = 1,
        };
        table->public.rows += rows;
    }
    return 0;
}

static int64_t clock_offsets_bits_of(double real)
{
    union {
        double real;
        int64_t bits;
    } value = { .real = real };

    return value.bits;
}

/* Sets the value of a column; returns 0 if it is NULL. */
static int clock_offsets_find_value(const struct reader_part *part, size_t stretch, const char *column, int64_t *value)
{
    static const struct report_knot nothing;
    const struct report_part *about = &part->public;
    const struct report_knot *knot = about->knot_count ? &about->knots[stretch] : &nothing;
    const struct {
        const char *name;
        int64_t value;
        int is_known;
    } known[] = {
        { "file", part->name_id, 1 },
        { "host", part->host_id, part->host_id != 0 },
        { "rank", about->rank, about->rank >= 0 },
        { "system", about->system, about->system >= 0 },
        { "method", part->clock_id, 1 },
        { "stretch", (int64_t)stretch, 1 },
        { "ownNs", knot->at, 1 },
        { "offsetNs", knot->offset, 1 },
        { "driftPpm", clock_offsets_bits_of(knot->rate * 1e6), 1 },
        { "errorNs", about->clock_error_ns, about->clock_error_ns >= 0 },
    };

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, column) == 0) {
            *value = known[i].value;
            return known[i].is_known;
        }
    return 0;
}

void clock_offsets_decode(const struct report *set, const struct reader_chunk *chunk, const char *column,
                          int64_t *values, uint64_t *nulls, int *has_nulls)
{
    *has_nulls = 0;
    for (size_t r = 0; r < chunk->rows; r++) {
        uint64_t bit = UINT64_C(1) << (r % 64);
        if (clock_offsets_find_value(&set->parts[chunk->first], r, column, &values[r])) {
            nulls[r / 64] &= ~bit;
        } else {
            values[r] = 0;
            *has_nulls = 1;
        }
    }
}
