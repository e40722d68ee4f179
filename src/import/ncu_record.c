/* Records of CSV (RFC 4180) in text that has other lines too: those of ncu, and output of the program. */
#include "ncu.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Names of kernels may have a few newlines. A quote without an end, in a line of the program, must not eat the rest. */
enum { MOST_LINES = 16 };

enum { STEP_DONE, STEP_MORE, STEP_BROKEN };

struct ncu_record_place {
    const char *at, *end;
    int whole; /* nothing follows the end */
};

static int ncu_record_add_field(struct ncu_record *record, size_t first)
{
    return ARRAY_PUSH(record->fields, record->room, record->count,
                      (struct ncu_field){ first, record->bytes.length - first });
}

/* Reads the bytes between two quotes, from after the first. */
static int read_quoted(struct ncu_record *record, struct ncu_record_place *place)
{
    for (;;) {
        const char *quote = memchr(place->at, '"', (size_t)(place->end - place->at));
        const char *stop = quote ? quote : place->end;
        for (const char *at = place->at; (at = memchr(at, '\n', (size_t)(stop - at))); at++)
            record->lines++;
        if (record->lines > MOST_LINES)
            return STEP_BROKEN;
        if (!quote)
            return place->whole ? STEP_BROKEN : STEP_MORE;
        if (quote + 1 == place->end && !place->whole)
            return STEP_MORE;
        text_add_bytes(&record->bytes, place->at, (size_t)(quote - place->at));
        place->at = quote + 1;
        if (place->at == place->end || *place->at != '"')
            return STEP_DONE;
        text_add_char(&record->bytes, '"');
        place->at++;
    }
}

/* After the second quote, only blanks may precede the comma or the end of the line. */
static int read_end(struct ncu_record_place *place)
{
    while (place->at < place->end && (*place->at == ' ' || *place->at == '\r'))
        place->at++;
    if (place->at == place->end)
        return place->whole ? STEP_DONE : STEP_MORE;
    return *place->at == ',' || *place->at == '\n' ? STEP_DONE : STEP_BROKEN;
}

/* Reads up to a comma or the end of the line. */
static int read_plain(struct ncu_record *record, struct ncu_record_place *place)
{
    const char *stop = place->at;

    while (stop < place->end && *stop != ',' && *stop != '\n')
        stop++;
    if (stop == place->end && !place->whole)
        return STEP_MORE;
    text_add_bytes(&record->bytes, place->at, (size_t)(stop - place->at));
    place->at = stop;
    return STEP_DONE;
}

static int ncu_record_read_field(struct ncu_record *record, struct ncu_record_place *place)
{
    const char *quote = place->at;

    while (quote < place->end && *quote == ' ')
        quote++;
    if (quote == place->end && !place->whole)
        return STEP_MORE;
    if (quote == place->end || *quote != '"')
        return read_plain(record, place);
    place->at = quote + 1;
    int step = read_quoted(record, place);
    return step == STEP_DONE ? read_end(place) : step;
}

/* One record, with the end of its line. STEP_ or ERR_NO_MEMORY. */
static int read_fields(struct ncu_record *record, struct ncu_record_place *place)
{
    for (;;) {
        size_t first = record->bytes.length;
        int step = ncu_record_read_field(record, place);
        if (step != STEP_DONE)
            return step;
        if (ncu_record_add_field(record, first) != 0 || text_failed(&record->bytes))
            return ERR_NO_MEMORY;
        if (place->at == place->end || *place->at++ == '\n')
            return STEP_DONE;
    }
}

/* A line that is no record becomes one of a single field, which no header has. */
static int ncu_record_take_line(struct ncu_record *record, struct ncu_record_place *place)
{
    const char *newline = memchr(place->at, '\n', (size_t)(place->end - place->at));

    text_clear(&record->bytes);
    record->count = 0;
    record->lines = 1;
    record->is_cut = !newline;
    place->at = newline ? newline + 1 : place->end;
    return ncu_record_add_field(record, 0) != 0 ? ERR_NO_MEMORY : STEP_DONE;
}

static int ncu_record_read_record(struct ncu_record *record, struct ncu_record_place *place)
{
    const char *start = place->at;

    text_clear(&record->bytes);
    record->count = 0;
    record->lines = 1;
    record->is_cut = 0;
    int step = read_fields(record, place);
    if (step == STEP_BROKEN) {
        place->at = start;
        return ncu_record_take_line(record, place);
    }
    return step;
}

static int is_of_ncu(const struct ncu_record_place *place)
{
    return place->end - place->at >= 2 && memcmp(place->at, "==", 2) == 0;
}

/* Skips lines that are no records. STEP_DONE where a record begins, or the file ends. */
static int skip_lines(struct ncu_record_place *place)
{
    for (;;) {
        while (place->at < place->end && (*place->at == '\n' || *place->at == '\r'))
            place->at++;
        if (place->end - place->at < 2 && !place->whole)
            return STEP_MORE;
        if (!is_of_ncu(place))
            return STEP_DONE;
        const char *newline = memchr(place->at, '\n', (size_t)(place->end - place->at));
        if (!newline && !place->whole)
            return STEP_MORE;
        place->at = newline ? newline + 1 : place->end;
    }
}

int ncu_record_read(struct ncu_record *record, struct import_window *window, struct error *err)
{
    for (;;) {
        struct ncu_record_place place = { window->bytes + window->at, window->bytes + window->length, window->whole };
        int step = skip_lines(&place), code;
        window->at = (size_t)(place.at - window->bytes);
        if (step == STEP_DONE && place.at == place.end && place.whole)
            return 0;
        if (step == STEP_DONE)
            step = ncu_record_read_record(record, &place);
        if (step == ERR_NO_MEMORY)
            return error_no_memory(err);
        if (step == STEP_DONE) {
            const char *newline = memchr(window->bytes + window->at, '\n',
                                         (size_t)(place.at - window->bytes) - window->at);
            record->second_line = newline ? (size_t)(newline + 1 - window->bytes) : window->length;
            window->at = (size_t)(place.at - window->bytes);
            return 1;
        }
        if ((code = import_window_more(window, err)) == ERR_NO_SPACE)
            code = error_set(err, ERR_BAD_FORMAT, "a line of the file is too long for a table of ncu");
        if (code != 0)
            return code;
    }
}

void ncu_record_free(struct ncu_record *record)
{
    text_free(&record->bytes);
    free(record->fields);
    *record = (struct ncu_record){ 0 };
}

struct json_slice ncu_field(const struct ncu_record *record, size_t index)
{
    struct json_slice slice = { "", 0 };

    if (index >= record->count)
        return slice;
    slice.bytes = text_string(&record->bytes) + record->fields[index].first;
    slice.length = record->fields[index].length;
    while (slice.length && strchr(" \t\r\n", slice.bytes[0])) {
        slice.bytes++;
        slice.length--;
    }
    while (slice.length && strchr(" \t\r\n", slice.bytes[slice.length - 1]))
        slice.length--;
    return slice;
}
