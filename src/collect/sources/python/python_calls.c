/* Python stacks of calls and samples: see python_calls.h. The program may have overwritten its records: every text is
 * checked. */
#include "python_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "python_names.h"
#include "python_site.h"
#include "wire/wire_python.h"

/* Stacks that are kept of a process. If it has more, all are dropped, and agents send again those that they use. */
#define NUMBERS_MAX (1u << 20)

/* The state of the capture. */
struct python_calls {
    struct intern texts; /* in the form of the records */
    int64_t *ids;        /* by text */
    size_t room;
    int64_t chains;      /* the last id of TACHO_PYTHON_CALLCHAINS */
};

static struct python_calls *calls_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_PYTHON];
}

/* The stack numbers of a process, and the id of each by its index. */
struct python_numbers {
    struct intern known;
    int64_t *ids;
    size_t room;
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

int64_t python_next_chain(struct collector *collector)
{
    return ++calls_of(collector)->chains;
}

void python_write_chain_row(struct collector *collector, const struct python_chain_row *from)
{
    struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, from->id);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol, from->symbol);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, from->module);
    ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, from->depth);
    if (from->line)
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, line, from->line);
    if (from->is_entry)
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, calledByC, 1);
    writer_append(collector->writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
}

/* The next part of the text, up to a separator or the end; *at moves past it. */
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

/* Writes "*12\t/a/b.py\tf", a line for each frame, as rows. */
static void python_calls_write_rows(struct collector *collector, int64_t id, const char *text, size_t length)
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

/* The id of a text's rows, which are written if the text is new; 0 if out of memory. */
static int64_t id_of_text(struct collector *collector, const char *text, size_t length)
{
    struct python_calls *calls = calls_of(collector);
    size_t before = calls->texts.count;
    int64_t place = intern_add(&calls->texts, text, length);
    if (place < 0 || array_reserve(&calls->ids, &calls->room, calls->texts.count, sizeof *calls->ids) != 0)
        return 0;
    if (calls->texts.count > before) {
        calls->ids[place] = ++calls->chains;
        python_calls_write_rows(collector, calls->ids[place], text, length);
    }
    return calls->ids[place];
}

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

static void python_calls_forget(struct python_numbers *numbers)
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
    struct python_numbers *numbers = process->state[COLLECT_SOURCE_PYTHON];
    if (!numbers && !(numbers = process->state[COLLECT_SOURCE_PYTHON] = calloc(1, sizeof *numbers)))
        return -1;
    if (numbers->known.count >= NUMBERS_MAX)
        python_calls_forget(numbers);
    int64_t id = length ? id_of_text(process->collector, text, length) : 0;
    int64_t place = id ? intern_add(&numbers->known, &record->body[0], sizeof record->body[0]) : -1;
    if (place < 0 || array_reserve(&numbers->ids, &numbers->room, numbers->known.count, sizeof *numbers->ids) != 0)
        return -1;
    numbers->ids[place] = id;
    return 0;
}

int64_t python_calls_find(const struct process *process, uint64_t number)
{
    const struct python_numbers *numbers = process->state[COLLECT_SOURCE_PYTHON];
    int64_t place = number && numbers ? intern_find(&numbers->known, &number, sizeof number) : -1;
    return place >= 0 && (size_t)place < numbers->room ? numbers->ids[place] : 0;
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

/* A lost record here is not a lost event: calls with that stack get no Python stack. */
static void python_calls_told(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    python_calls_record(origin->process, record, words);
}

static void python_calls_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    const struct collect_options *options = collector->options;
    int is_asked = options->python_backtrace || !options->python_is_automatic;
    wire_python(texts->arena)->flags = (options->python_backtrace ? WIRE_PYTHON_CALLS : 0u) |
                                       (options->python_blocks ? WIRE_PYTHON_BLOCKS : 0u) |
                                       (options->python_frequency ? WIRE_PYTHON_SAMPLES : 0u) |
                                       (is_asked ? 0u : WIRE_PYTHON_SILENT);
}

static void python_calls_free_process(struct process *process)
{
    if (process->state[COLLECT_SOURCE_PYTHON])
        python_calls_forget(process->state[COLLECT_SOURCE_PYTHON]);
    free(process->state[COLLECT_SOURCE_PYTHON]);
    process->state[COLLECT_SOURCE_PYTHON] = NULL;
}

static void free_calls(struct collector *collector)
{
    intern_free(&calls_of(collector)->texts);
    free(calls_of(collector)->ids);
}

static const struct collect_records python_calls_records[] = {
    { WIRE_PYTHON_STACK, WIRE_PYTHON_STACK, python_calls_told }, { 0 }
};

const struct collect_source collect_source_python = {
    .state_bytes = sizeof(struct python_calls),
    .records = python_calls_records,
    .environment = python_site_environment,
    .check = python_site_check,
    .free = free_calls,
    .arena = python_calls_arena,
    .process_end = python_calls_free_process,
    .process_free = python_calls_free_process,
};
