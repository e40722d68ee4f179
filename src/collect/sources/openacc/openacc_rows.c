/* OpenACC events to rows: see openacc_rows.h. */
#include "openacc_rows.h"

#include <stdio.h>
#include <string.h>

#include "abi/models/openacc.h"
#include "base/array.h"
#include "base/path.h"
#include "collect/core/collector.h"
#include "collect/sources/stacks/stack_rows.h"
#include "wire/wire_openacc.h"

enum openacc_rows_table { NO_TABLE, DATA, LAUNCH, OTHER };

/* By enum openacc_event: its table, its number in ENUM_OPENACC_EVENT_KIND, and the begin of its name. */
static const struct {
    uint8_t table, kind;
    const char *name;
} events[OPENACC_EVENT_COUNT] = {
    [OPENACC_DEVICE_INIT] = { OTHER, 1, "Device Init" },
    [OPENACC_DEVICE_SHUTDOWN] = { OTHER, 2, "Device Shutdown" },
    [OPENACC_RUNTIME_SHUTDOWN] = { OTHER, 3, "Runtime Shutdown" },
    [OPENACC_CREATE] = { DATA, 13, "Create" },
    [OPENACC_DELETE] = { DATA, 14, "Delete" },
    [OPENACC_ALLOC] = { DATA, 15, "Alloc" },
    [OPENACC_FREE] = { DATA, 16, "Free" },
    [OPENACC_ENTER_DATA] = { OTHER, 11, "Enter Data" },
    [OPENACC_EXIT_DATA] = { OTHER, 12, "Exit Data" },
    [OPENACC_UPDATE] = { OTHER, 10, "Update" },
    [OPENACC_COMPUTE_CONSTRUCT] = { OTHER, 9, "Compute Construct" },
    [OPENACC_ENQUEUE_LAUNCH] = { LAUNCH, 4, "Enqueue Launch" },
    [OPENACC_ENQUEUE_UPLOAD] = { DATA, 5, "Enqueue Upload" },
    [OPENACC_ENQUEUE_DOWNLOAD] = { DATA, 6, "Enqueue Download" },
    [OPENACC_WAIT] = { OTHER, 7, "Wait" },
};
static const struct {
    uint8_t kind;
    const char *name;
} implicit_wait = { 8, "Implicit Wait" };

int openacc_is_event(uint32_t number)
{
    return number < OPENACC_EVENT_COUNT && events[number].table != NO_TABLE;
}

/* ---- The directive --------------------------------------------------------------------------------------------- */

/* Frames of these files and functions are the runtime's: a program may have it inside, linked statically. */
static const char *const runtime_files[] = { "libgomp", "libtacho-", "libacc", "libnvomp", "libgomp-plugin", NULL };
static const char *const runtime_functions[] = { "GOACC_", "goacc_", "GOMP_", "gomp_", "acc_", NULL };

static int begins_with_one(const char *text, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0)
            return 1;
    return 0;
}

static int is_runtime(const struct symbols_line *line)
{
    return begins_with_one(path_base_name(line->module), runtime_files) ||
           begins_with_one(line->name, runtime_functions);
}

/* The innermost line of the stack outside the runtime; NULL: it has no such line. */
static const struct symbols_line *find_directive(const struct symbols *symbols, uint32_t stack)
{
    while (stack != SYMBOLS_NO_STACK) {
        struct symbols_node node = symbols_stack(symbols, stack);
        struct symbols_frame frame = symbols_frame(symbols, node.frame);
        for (uint32_t i = 0; i < frame.line_count; i++) {
            const struct symbols_line *line = symbols_line(symbols, frame.first_line + i);
            if (!is_runtime(line))
                return line;
        }
        stack = node.caller;
    }
    return NULL;
}

static void openacc_rows_place(struct collector *collector, struct openacc_row *row)
{
    const struct symbols *symbols = stacks_symbols(collector);
    const struct symbols_line *line = symbols && row->stack ? find_directive(symbols, row->stack) : NULL;
    if (!line)
        return;
    if (!row->function && !(line->flags & SYMBOLS_UNRESOLVED))
        row->function = collector_string(collector, line->name);
    if (!row->line && line->file && line->line) {
        row->file = collector_string(collector, line->file);
        row->file_name = line->file;
        row->line = line->line;
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int64_t device_type(const struct openacc_row *row)
{
    if (!(row->flags & WIRE_OPENACC_OF_GCC))
        return row->device_type;
    switch (row->device_type) {
    case OPENACC_GCC_NOT_HOST: return OPENACC_NOT_HOST;
    case OPENACC_GCC_NVIDIA: return OPENACC_NVIDIA;
    case OPENACC_GCC_RADEON: return OPENACC_RADEON;
    default: return row->device_type;
    }
}

static int is_implicit_wait(const struct openacc_row *row)
{
    return row->number == OPENACC_WAIT && (row->flags & WIRE_OPENACC_IMPLICIT);
}

/* "Compute Construct@solver.c:42" */
static int64_t openacc_rows_name_of(struct collector *collector, const struct openacc_row *row)
{
    enum { NAME_BYTES = 512 };
    char name[NAME_BYTES];
    const char *event = is_implicit_wait(row) ? implicit_wait.name : events[row->number].name;
    if (!row->line || !row->file_name)
        return collector_string(collector, event);
    snprintf(name, sizeof name, "%s@%.256s:%u", event, path_base_name(row->file_name), row->line);
    return collector_string(collector, name);
}

#define SET_COMMON(table, to, from, name)                                                                              \
    do {                                                                                                               \
        ROW_SET(to, table, start, (from)->start_ns);                                                                   \
        ROW_SET(to, table, end, (from)->end_ns);                                                                       \
        ROW_SET(to, table, nameId, name);                                                                              \
        ROW_SET(to, table, globalTid, (from)->global_tid);                                                             \
        ROW_SET(to, table, eventKind, is_implicit_wait(from) ? implicit_wait.kind : events[(from)->number].kind);      \
        ROW_SET(to, table, DeviceType, device_type(from));                                                             \
        ROW_SET(to, table, lineNo, (from)->line);                                                                      \
        ROW_SET(to, table, cuDeviceId, device_type(from) == OPENACC_NVIDIA ? (from)->device_number : 0);               \
        ROW_SET(to, table, cuContextId, 0);                                                                            \
        ROW_SET(to, table, cuStreamId, 0);                                                                             \
        if ((from)->file)                                                                                              \
            ROW_SET(to, table, srcFile, (from)->file);                                                                 \
        if ((from)->function)                                                                                          \
            ROW_SET(to, table, funcName, (from)->function);                                                            \
        if ((from)->is_incomplete)                                                                                     \
            ROW_SET(to, table, incomplete, 1);                                                                         \
    } while (0)

static void write_data(struct writer *writer, const struct openacc_row *from, int64_t name)
{
    struct row_CUPTI_ACTIVITY_KIND_OPENACC_DATA row = { 0 };
    SET_COMMON(CUPTI_ACTIVITY_KIND_OPENACC_DATA, &row, from, name);
    if (from->flags & WIRE_OPENACC_HAS_SIZES)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_OPENACC_DATA, bytes, from->sizes[0]);
    if (from->object)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_OPENACC_DATA, varName, from->object);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_OPENACC_DATA, &row);
}

static void write_launch(struct writer *writer, const struct openacc_row *from, int64_t name)
{
    struct row_CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH row = { 0 };
    SET_COMMON(CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, &row, from, name);
    if (from->flags & WIRE_OPENACC_HAS_SIZES) {
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, numGangs, from->sizes[0]);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, numWorkers, from->sizes[1]);
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, vectorLength, from->sizes[2]);
    }
    if (from->object)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, kernelName, from->object);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, &row);
}

static void openacc_rows_write_other(struct writer *writer, const struct openacc_row *from, int64_t name)
{
    struct row_CUPTI_ACTIVITY_KIND_OPENACC_OTHER row = { 0 };
    SET_COMMON(CUPTI_ACTIVITY_KIND_OPENACC_OTHER, &row, from, name);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_OPENACC_OTHER, &row);
}

static void openacc_rows_write_row(struct collector *collector, const struct openacc_row *from)
{
    static void (*const writes[])(struct writer *, const struct openacc_row *, int64_t) = {
        [DATA] = write_data, [LAUNCH] = write_launch, [OTHER] = openacc_rows_write_other
    };
    struct openacc_row row = *from;
    openacc_rows_place(collector, &row);
    writes[events[row.number].table](collector->writer, &row, openacc_rows_name_of(collector, &row));
}

/* ---- Rows that wait -------------------------------------------------------------------------------------------- */

static int must_wait(struct collector *collector, const struct openacc_row *row)
{
    const struct symbols *symbols = stacks_symbols(collector);
    return row->stack != SYMBOLS_NO_STACK && symbols && !collector->options->no_names &&
           !symbols_is_named(symbols, row->stack);
}

void openacc_add(struct collector *collector, struct openacc_rows *rows, const struct openacc_row *row)
{
    if (must_wait(collector, row) &&
        array_reserve(&rows->waiting, &rows->room, rows->count + 1, sizeof *rows->waiting) == 0)
        rows->waiting[rows->count++] = *row;
    else
        openacc_rows_write_row(collector, row);
}

void openacc_write(struct collector *collector, struct openacc_rows *rows, int is_end)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (is_end || !must_wait(collector, &rows->waiting[i]))
            openacc_rows_write_row(collector, &rows->waiting[i]);
        else
            rows->waiting[kept++] = rows->waiting[i];
    rows->count = kept;
}
