/* Python stacks of calls and samples: see python_calls.h. The program may have written over its
 * side: every text is checked. */
#include "python_calls.h"

#include <stdlib.h>
#include <string.h>

#include "collect/core/collector.h"
#include "python_collect.h"
#include "python_names.h"

#define NUMBERS_MAX (1u << 20) /* of a process: beyond, all are forgotten, and told again by those who use them */

/* Numbers of a process; the id of each by its place. */
struct python_numbers {
    struct intern known;
    int64_t *ids;
    size_t room;
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

/* The next piece of the text, up to this character or the end; *at goes behind it. */
static struct intern_string next_piece(const char **at, const char *end, char separator)
{
    const char *found = memchr(*at, separator, (size_t)(end - *at));
    struct intern_string piece = { *at, (size_t)((found ? found : end) - *at) };
    *at = found ? found + 1 : end;
    return piece;
}

static int64_t line_number(struct intern_string digits)
{
    int64_t line = 0;
    for (size_t i = 0; i < digits.length && digits.bytes[i] >= '0' && digits.bytes[i] <= '9' && line < INT32_MAX; i++)
        line = 10 * line + (digits.bytes[i] - '0');
    return line;
}

/* "*12\t/a/b.py\tf", a line for each frame. */
static void write_rows(struct collector *collector, int64_t id, const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    for (uint32_t depth = 0; at < end; depth++) {
        struct intern_string frame = next_piece(&at, end, '\n');
        const char *part = frame.bytes, *behind = frame.bytes + frame.length;
        int is_entry = frame.length > 0 && *part == '*';
        part += is_entry;
        int64_t line = line_number(next_piece(&part, behind, '\t'));
        struct intern_string file = next_piece(&part, behind, '\t'), name = next_piece(&part, behind, '\t');
        struct python_chain_row row = {
            .id = id,
            .depth = depth,
            .line = line,
            .is_entry = is_entry,
            .module = writer_string(collector->writer, file.bytes, file.length),
            .symbol = writer_string(collector->writer, name.bytes, name.length),
        };
        python_write_chain_row(collector, &row);
    }
}

/* The rows of a text; 0 when memory is short. */
static int64_t id_of_text(struct collector *collector, const char *text, size_t length)
{
    struct python_calls *calls = &collector->python_calls;
    size_t before = calls->texts.count;
    int64_t place = intern_add(&calls->texts, text, length);
    if (place < 0 || python_make_room(&calls->ids, &calls->room, calls->texts.count, sizeof *calls->ids) != 0)
        return 0;
    if (calls->texts.count > before) {
        calls->ids[place] = ++collector->python_chains;
        write_rows(collector, calls->ids[place], text, length);
    }
    return calls->ids[place];
}

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

static void forget(struct python_numbers *numbers)
{
    intern_free(&numbers->known);
    free(numbers->ids);
    *numbers = (struct python_numbers){ 0 };
}

int python_calls_record(struct process *process, const struct wire_record *record, uint32_t words)
{
    if (words <= WIRE_HEAD_WORDS + 1)
        return -1;
    const char *text = (const char *)(record->body + 1);
    size_t length = strnlen(text, (size_t)(words - WIRE_HEAD_WORDS - 1) * 8);
    if (!process->python && !(process->python = calloc(1, sizeof *process->python)))
        return -1;
    struct python_numbers *numbers = process->python;
    if (numbers->known.count >= NUMBERS_MAX)
        forget(numbers);
    int64_t id = length ? id_of_text(process->collector, text, length) : 0;
    int64_t place = id ? intern_add(&numbers->known, &record->body[0], sizeof record->body[0]) : -1;
    if (place < 0 || python_make_room(&numbers->ids, &numbers->room, numbers->known.count, sizeof *numbers->ids) != 0)
        return -1;
    numbers->ids[place] = id;
    return 0;
}

int64_t python_calls_find(const struct process *process, uint64_t number)
{
    int64_t place = number && process->python ? intern_find(&process->python->known, &number, sizeof number) : -1;
    return place >= 0 && (size_t)place < process->python->room ? process->python->ids[place] : 0;
}

void python_calls_process_ends(struct process *process)
{
    if (process->python)
        forget(process->python);
    free(process->python);
    process->python = NULL;
}

void python_calls_free(struct collector *collector)
{
    intern_free(&collector->python_calls.texts);
    free(collector->python_calls.ids);
}
