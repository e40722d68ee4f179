/* Rows of TACHO_PYTHON_EVENT: collections of Python's garbage collector, and compilations of torch.compile. The program
 * may have overwritten its records: fields may be missing and have any text. */
#include "torch_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/core/clock_map.h"
#include "wire/wire_torch.h"

struct field {
    const char *bytes;
    size_t length;
};

static const char *const python_events_kinds[] = {
#define KIND_NAME(id, name) name,
    WIRE_PYTHON_EVENTS(KIND_NAME)
#undef KIND_NAME
};

/* The next field of the text; *at moves past it. An empty one if there is none. */
static struct field next_field(const char **at, const char *end)
{
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    struct field field = { *at, (size_t)((tab ? tab : end) - *at) };
    *at = tab ? tab + 1 : end;
    return field;
}

/* Digits up to the end of the field; at most INT32_MAX. */
static int64_t python_events_number_of(struct field field)
{
    int64_t number = 0;
    for (size_t i = 0; i < field.length && field.bytes[i] >= '0' && field.bytes[i] <= '9' && number < INT32_MAX; i++)
        number = 10 * number + (field.bytes[i] - '0');
    return number < INT32_MAX ? number : INT32_MAX;
}

static int64_t pooled(const struct torch_setup *setup, struct field field)
{
    return writer_string(setup->writer, field.bytes, field.length);
}

/* Sets the fields of a collection, and returns what its name ends with. */
static struct field take_collection(struct row_TACHO_PYTHON_EVENT *row, const char *at, const char *end)
{
    struct field generation = next_field(&at, end);
    ROW_SET(row, TACHO_PYTHON_EVENT, generation, python_events_number_of(generation));
    ROW_SET(row, TACHO_PYTHON_EVENT, collected, python_events_number_of(next_field(&at, end)));
    ROW_SET(row, TACHO_PYTHON_EVENT, uncollectable, python_events_number_of(next_field(&at, end)));
    return generation;
}

static struct field take_compilation(const struct torch_setup *setup, struct row_TACHO_PYTHON_EVENT *row,
                                     const char *at, const char *end)
{
    struct field function = next_field(&at, end), file = next_field(&at, end), line = next_field(&at, end),
                 reason = { at, (size_t)(end - at) };
    if (function.length)
        ROW_SET(row, TACHO_PYTHON_EVENT, symbol, pooled(setup, function));
    if (file.length)
        ROW_SET(row, TACHO_PYTHON_EVENT, module, pooled(setup, file));
    if (python_events_number_of(line))
        ROW_SET(row, TACHO_PYTHON_EVENT, line, python_events_number_of(line));
    if (reason.length)
        ROW_SET(row, TACHO_PYTHON_EVENT, reasonId, pooled(setup, reason));
    return function;
}

int python_event_row(const struct torch_setup *setup, int64_t global_tid, const struct wire_record *record,
                     uint32_t words)
{
    const char *at = (const char *)(record->body + 1),
               *end = at + strnlen(at, (size_t)(words - WIRE_HEAD_WORDS - 1) * 8);
    struct row_TACHO_PYTHON_EVENT row = { 0 };
    struct text name = { 0 };
    if (record->a >= WIRE_PYTHON_EVENT_COUNT)
        return -1;
    int is_collection = record->a == WIRE_PYTHON_COLLECTION;
    int64_t end_ns = clock_map_time(setup->clock, record->ticks);
    int64_t start_ns = clock_map_time(setup->clock, record->body[0]);
    struct field last = is_collection ? take_collection(&row, at, end) : take_compilation(setup, &row, at, end);
    text_addf(&name, "%s%s%.*s", python_events_kinds[record->a],
              is_collection ? " generation "
              : last.length ? " "
                            : "",
              (int)last.length, last.bytes);
    ROW_SET(&row, TACHO_PYTHON_EVENT, start, start_ns < end_ns ? start_ns : end_ns);
    ROW_SET(&row, TACHO_PYTHON_EVENT, end, end_ns);
    ROW_SET(&row, TACHO_PYTHON_EVENT, globalTid, global_tid);
    ROW_SET(&row, TACHO_PYTHON_EVENT, kind,
            writer_string(setup->writer, python_events_kinds[record->a], strlen(python_events_kinds[record->a])));
    ROW_SET(&row, TACHO_PYTHON_EVENT, nameId,
            writer_string(setup->writer, text_string(&name), strlen(text_string(&name))));
    writer_append(setup->writer, TABLE_TACHO_PYTHON_EVENT, &row);
    text_free(&name);
    return 0;
}
