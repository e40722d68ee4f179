/* Fields of an event. The kind of a column and the names of its values come from the schema and its notes. */
#include "event_fields.h"

#include <stdlib.h>
#include <string.h>

#include "abi/cuda_errors.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/names/operator_text.h"
#include "base/json_write.h"
#include "base/text.h"
#include "report/schema/enums.h"
#include "report/schema/schema.h"

enum { LONGEST_TEXT = 1 << 16, LONGEST_ENUM = 80 };

enum field_kind { FIELD_TIME, FIELD_DURATION, FIELD_BYTES, FIELD_INT, FIELD_REAL, FIELD_TEXT, FIELD_ID };
static const char *const event_fields_kind_names[] = { "time", "duration", "bytes", "int", "real", "text", "id" };

struct writing {
    struct view *view;
    struct text *out;
    const struct report_table *table;
    const struct schema_table *known; /* NULL: a table that the schema does not have */
    uint64_t row;
};

void event_fields_add_int(struct text *out, int64_t value)
{
    if (value <= VIEW_LAST_TIME && value >= -VIEW_LAST_TIME)
        json_add_int(out, value);
    else
        text_addf(out, "\"%lld\"", (long long)value);
}

void event_fields_add_time(const struct view *view, struct text *out, int64_t time_ns)
{
    int64_t time;

    if (__builtin_sub_overflow(time_ns, view->origin_ns, &time))
        time = time_ns < 0 ? INT64_MIN : INT64_MAX;
    event_fields_add_int(out, time);
}

/* ---- kinds of columns ------------------------------------------------------------------------------------------ */

static const char *event_fields_note_of(const struct schema_table *known, const char *column)
{
    for (size_t i = 0; known && i < known->column_count; i++)
        if (strcmp(known->columns[i].name, column) == 0)
            return known->columns[i].note;
    return "";
}

static int is_global_id(const char *column)
{
    static const char *const names[] = { "globalTid", "globalPid", "endGlobalTid", "lockHolder", "parentGlobalPid" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(column, names[i]) == 0)
            return 1;
    return 0;
}

static enum field_kind event_fields_kind_of(const struct report_column *column, const char *note)
{
    switch (column->type) {
    case COLUMN_TIME: return FIELD_TIME;
    case COLUMN_REAL: return FIELD_REAL;
    case COLUMN_TEXT:
    case COLUMN_STRING: return FIELD_TEXT;
    default: break;
    }
    if (strncmp(note, "When", 4) == 0 && strstr(note, ", ns"))
        return FIELD_TIME;
    if (strstr(note, "ytes"))
        return FIELD_BYTES;
    if (strstr(note, ", ns"))
        return FIELD_DURATION;
    return text_ends_with(column->name, "Id") || text_ends_with(column->name, "id") || is_global_id(column->name) ||
                   strstr(note, "ddress")
               ? FIELD_ID
               : FIELD_INT;
}

/* ---- names of values ------------------------------------------------------------------------------------------- */

/* A value of an imported file that our enums do not have. */
static int add_imported_label(struct writing *writing, const char *enum_name, int64_t value)
{
    enum { NAME, ID, LABEL, COLUMNS };
    static const char *const names[COLUMNS] = { "enumName", "id", "label" };
    struct report_columns rows = { 0 };
    struct error err;
    int found = 0;

    if (columns_read(writing->view->report, "TACHO_ENUM", names, COLUMNS, &rows, &err) != 0)
        return 0;
    for (size_t row = 0; row < rows.rows && !found; row++) {
        size_t length;
        if (rows.values[ID][row] != value || columns_is_null(&rows, LABEL, row) ||
            strcmp(report_string(writing->view->report, rows.values[NAME][row], NULL), enum_name) != 0)
            continue;
        const char *label = report_string(writing->view->report, rows.values[LABEL][row], &length);
        json_add_text(writing->out, label, length);
        found = 1;
    }
    if (rows.values)
        report_columns_free(&rows);
    return found;
}

static int add_enum_label(struct writing *writing, const char *note, int64_t value)
{
    static const char mark[] = "REFERENCES ENUM_";
    const char *at = strstr(note, mark), *end = at ? strchr(at, '(') : NULL;
    char name[LONGEST_ENUM];

    if (!end || (size_t)(end - at) >= sizeof name)
        return 0;
    at += strlen("REFERENCES ");
    memcpy(name, at, (size_t)(end - at));
    name[end - at] = 0;
    const struct schema_enum *list = schema_enum_find(name);
    const struct schema_enum_value *known = list ? schema_enum_value(list, value) : NULL;
    if (!known)
        return add_imported_label(writing, name, value);
    json_add_text(writing->out, known->label, strlen(known->label));
    return 1;
}

static void event_fields_add_label(struct writing *writing, const char *column, const char *note, int64_t value)
{
    if (add_enum_label(writing, note, value))
        return;
    if (strcmp(column, "returnValue") == 0 && strncmp(writing->table->name, "CUPTI_", 6) == 0)
        text_addf(writing->out, "\"%s\"", cuda_error_name(value));
    else if (!is_global_id(column))
        text_add(writing->out, "\"\"");
    else if (global_tid_number(value))
        text_addf(writing->out, "\"process %lld, thread %lld\"", (long long)global_pid_number(value),
                  (long long)global_tid_number(value));
    else
        text_addf(writing->out, "\"process %lld\"", (long long)global_pid_number(value));
}

/* ---- fields ---------------------------------------------------------------------------------------------------- */

static void event_fields_add_value(struct writing *writing, enum field_kind kind, const struct report_block *block,
                                   size_t column, size_t row)
{
    int64_t value = block->values[column][row];

    if (kind == FIELD_TEXT) {
        size_t length;
        const char *text = report_string(writing->view->report, value, &length);
        json_add_text(writing->out, text, length < LONGEST_TEXT ? length : LONGEST_TEXT);
    } else if (kind == FIELD_REAL)
        json_add_real(writing->out, block_real(block, column, row));
    else if (kind == FIELD_TIME)
        event_fields_add_time(writing->view, writing->out, value);
    else
        event_fields_add_int(writing->out, value);
}

/* The values that emit_nvtx appends to an operator's name, as separate fields. */
static void add_operator_fields(struct writing *writing, const char *text, size_t length)
{
    static const struct {
        const char *mark, *name;
        enum field_kind kind;
    } parts[] = {
        { ", seq = ", "seq", FIELD_ID },
        { ", op_id = ", "op_id", FIELD_ID },
        { ", sizes = ", "sizes", FIELD_TEXT },
        { ", input_op_ids = ", "input_op_ids", FIELD_TEXT },
    };
    enum { PARTS = COUNT_OF(parts) };
    const char *end = text + length;

    if (operator_name_length(text, length) == length)
        return;
    for (size_t i = 0; i < PARTS; i++) {
        const char *at = memmem(text, (size_t)(end - text), parts[i].mark, strlen(parts[i].mark)), *stop = end;
        if (!at)
            continue;
        at += strlen(parts[i].mark);
        for (size_t next = 0; next < PARTS; next++) {
            const char *other = memmem(at, (size_t)(stop - at), parts[next].mark, strlen(parts[next].mark));
            stop = other ? other : stop;
        }
        json_addf(writing->out, "{'name':%s,'label':'','value':%.*s,'kind':%s}", parts[i].name, (int)(stop - at), at,
                  event_fields_kind_names[parts[i].kind]);
    }
}

static int write_fields(void *context, int worker, const struct report_block *block)
{
    struct writing *writing = context;

    if (writing->row < block->first_row || writing->row - block->first_row >= block->rows)
        return 0;
    size_t row = (size_t)(writing->row - block->first_row);
    for (size_t i = 0; i < writing->table->column_count; i++) {
        const struct report_column *column = &writing->table->columns[i];
        if (block_is_null(block, i, row))
            continue;
        const char *note = event_fields_note_of(writing->known, column->name);
        enum field_kind kind = event_fields_kind_of(column, note);
        json_addf(writing->out, "{'name':%s,'label':", column->name);
        if (kind == FIELD_INT || kind == FIELD_ID)
            event_fields_add_label(writing, column->name, note, block->values[i][row]);
        else
            text_add(writing->out, "\"\"");
        json_addf(writing->out, "'value':");
        event_fields_add_value(writing, kind, block, i, row);
        json_addf(writing->out, "'kind':%s}", event_fields_kind_names[kind]);
        if (kind == FIELD_TEXT && strcmp(writing->table->name, "NVTX_EVENTS") == 0) {
            size_t length;
            const char *text = report_string(writing->view->report, block->values[i][row], &length);
            add_operator_fields(writing, text, length < LONGEST_TEXT ? length : LONGEST_TEXT);
        }
    }
    return 0;
}

int event_fields_add(struct view *view, struct text *out, const char *name, uint64_t table_row, struct error *err)
{
    const struct report_table *table = report_table(view->report, name);
    int id = schema_find(name);
    struct writing writing = { view, out, table, id < 0 ? NULL : &schema_tables[id], table_row };

    if (!table || table_row >= table->rows)
        return 0;
    int *columns = malloc((table->column_count + 1) * sizeof *columns);
    if (!columns)
        return error_no_memory(err);
    for (size_t i = 0; i < table->column_count; i++)
        columns[i] = (int)i;
    int code = report_scan_rows(view->report, table, columns, table->column_count, table_row, 1, write_fields, &writing,
                                err);
    free(columns);
    return code;
}
