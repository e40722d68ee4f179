/* Values of a part become values of its set. A damaged part holds any 64 bits, so nothing here may overflow. */
#include "base/saturating.h"
#include "reader_state.h"
#include "report/schema/schema.h"

#define KEY_SHIFT 40    /* a part's own keys lie below */
#define SYSTEM_SHIFT 48 /* of packed ids */

/* ---- times ----------------------------------------------------------------------------------------------------- */

static const struct report_knot *knot_of(const struct report_part *part, int64_t time)
{
    return &part->knots[BISECT(1, part->knot_count, i, part->knots[i].at <= time) - 1];
}

int64_t report_part_time(const struct report_part *part, int64_t time)
{
    if (!part->knot_count)
        return time;
    const struct report_knot *knot = knot_of(part, time);
    int64_t moved = saturating_add(time, knot->offset);
    if (knot->rate == 0)
        return moved;
    return saturating_add(moved, saturating_from_double(knot->rate * (double)saturating_subtract(time, knot->at)));
}

int64_t report_part_offset(const struct report_part *part)
{
    return part->knot_count ? part->knots->offset : 0;
}

double report_part_drift(const struct report_part *part)
{
    const struct report_knot *first = part->knots, *last = part->knots + part->knot_count;

    if (!part->knot_count)
        return 0;
    last--;
    if (last->at <= first->at)
        return first->rate * 1e6;
    return (double)saturating_subtract(last->offset, first->offset) / (double)saturating_subtract(last->at, first->at) *
           1e6;
}

static void map_times(const struct report_part *part, int64_t *values, size_t rows)
{
    if (part->knot_count == 1 && part->knots->rate == 0)
        for (size_t r = 0; r < rows; r++)
            values[r] = saturating_add(values[r], part->knots->offset);
    else if (part->knot_count)
        for (size_t r = 0; r < rows; r++)
            values[r] = report_part_time(part, values[r]);
}

/* ---- ids ------------------------------------------------------------------------------------------------------- */

/* Rows in sequence mostly refer to strings of the same chunk. */
static void map_strings(const struct reader_part *part, int64_t *values, size_t rows)
{
    const struct reader_string_chunk *chunk = NULL;
    const uint32_t *ids = NULL;

    for (size_t r = 0; r < rows; r++) {
        int64_t id = values[r];
        if (!chunk || id < chunk->first || id > chunk->last) {
            chunk = reader_string_chunk(part->report, id);
            ids = chunk ? part->string_ids[chunk - part->report->string_chunks] : NULL;
        }
        values[r] = ids ? (int64_t)ids[id - chunk->first] : 0;
    }
}

static void map_global_ids(const struct report_part *part, int64_t *values, size_t rows)
{
    const int64_t system = (int64_t)((uint64_t)part->system << SYSTEM_SHIFT), below = (INT64_C(1) << SYSTEM_SHIFT) - 1;

    for (size_t r = 0; r < rows && part->system >= 0; r++)
        values[r] = (values[r] & below) | system;
}

/* GPU numbers repeat after 256; the system id distinguishes them. */
static void map_gpu_types(const struct report_part *part, int64_t *values, size_t rows)
{
    map_global_ids(part, values, rows);
    for (size_t r = 0; r < rows; r++)
        values[r] = (values[r] & ~INT64_C(255)) | ((values[r] + (part->first_device & 255)) & 255);
}

/* Negative numbers stand for none. */
static void part_map_add_offset(int64_t offset, int64_t *values, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        values[r] = values[r] < 0 ? values[r] : saturating_add(values[r], offset);
}

static void map_numbers(const struct reader_part *part, enum column_meaning meaning, int64_t *values, size_t rows)
{
    if (meaning == MEANING_TIME)
        map_times(&part->public, values, rows);
    else if (meaning == MEANING_GLOBAL_ID)
        map_global_ids(&part->public, values, rows);
    else if (meaning == MEANING_GPU_TYPE)
        map_gpu_types(&part->public, values, rows);
    else if (meaning == MEANING_KEY && part->number)
        part_map_add_offset((int64_t)(part->number << KEY_SHIFT), values, rows);
    else if (meaning == MEANING_DEVICE && part->public.first_device)
        part_map_add_offset(part->public.first_device, values, rows);
}

void part_map_column(const struct reader_part_table *table, int column, enum column_type type, int64_t *values,
                     size_t rows)
{
    const struct reader_part *part = table->part;

    switch (type) {
    case COLUMN_TIME: map_times(&part->public, values, rows); break;
    case COLUMN_TEXT:
    case COLUMN_STRING: map_strings(part, values, rows); break;
    case COLUMN_INT: map_numbers(part, table->meanings[column], values, rows); break;
    case COLUMN_REAL: break;
    }
}

/* The caller has made the column all NULL. */
void part_fill_column(const struct reader_part *part, int what, int64_t *values, int *has_nulls, size_t rows)
{
    int64_t value = what == PART_RANK ? part->public.rank : part->host_id;

    if (what == PART_RANK ? value < 0 : !value)
        return;
    *has_nulls = 0;
    for (size_t r = 0; r < rows; r++)
        values[r] = value;
}
