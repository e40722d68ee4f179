#include "monitor_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json_write.h"

void monitor_table_add(struct monitor_table *table, const struct monitor_column *column)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i] == column)
            return;
    if (table->count < MONITOR_COLUMNS_MOST)
        table->columns[table->count++] = column;
}

const char *monitor_table_select(struct monitor_table *table, const struct monitor_column *columns, size_t count,
                                 const char *letters)
{
    for (; *letters; letters++) {
        int is_known = 0;
        for (size_t i = 0; i < count; i++)
            if (columns[i].letter == *letters) {
                monitor_table_add(table, &columns[i]);
                is_known = 1;
            }
        if (!is_known)
            return letters;
    }
    return NULL;
}

/* ---- columns and csv ------------------------------------------------------------------------------------------- */

/* The first part of a line. In columns a date takes 12 characters and a time 13; a GPU's number stands in 3 after a
 * time, and else in 4. */
static void monitor_table_add_start(struct text *out, const struct monitor_table *table, char mark, const char *date,
                                    const char *time, const char *gpu)
{
    text_add_char(out, mark);
    if (table->is_csv) {
        text_addf(out, "%s%s%s%s%s", table->has_date ? date : "", table->has_date ? ", " : "",
                  table->has_time ? time : "", table->has_time ? ", " : "", gpu);
        return;
    }
    if (table->has_date)
        text_addf(out, "%-12s", date);
    if (table->has_time)
        text_addf(out, "%-13s", time);
    text_addf(out, table->has_time ? "%3s " : "%4s ", gpu);
}

static void add_heading_line(struct text *out, const struct monitor_table *table, const char *date, const char *time,
                             const char *gpu, const char *(*word_of)(const struct monitor_column *column))
{
    monitor_table_add_start(out, table, '#', date, time, gpu);
    for (size_t i = 0; i < table->count; i++) {
        const struct monitor_column *column = table->columns[i];
        if (table->is_csv)
            text_addf(out, ", %s", word_of(column));
        else if (column->width < 0)
            text_addf(out, "   %s ", word_of(column));
        else
            text_addf(out, "%*s ", column->heading_width, word_of(column));
    }
    text_add_char(out, '\n');
}

static const char *monitor_table_name_of(const struct monitor_column *column)
{
    return column->name;
}

static const char *monitor_table_unit_of(const struct monitor_column *column)
{
    return column->unit;
}

static void monitor_table_add_heading(struct text *out, struct monitor_table *table)
{
    if (table->has_heading && (!table->lines_per_heading || table->lines < table->lines_per_heading))
        return;
    if (!table->without_names)
        add_heading_line(out, table, "Date", "Time", "gpu", monitor_table_name_of);
    if (!table->without_units)
        add_heading_line(out, table, "YYYYMMDD", "HH:MM:SS", "Idx", monitor_table_unit_of);
    table->has_heading = 1;
    table->lines = 0;
}

/* Whole units, cut as NVML's integers are; a value that was scaled to base units and back may lack the last bit. */
static void monitor_table_add_cell(struct text *out, const struct monitor_table *table,
                                   const struct monitor_column *column, const struct monitor_cell *cell)
{
    char word[64] = "-";

    if (cell->text)
        snprintf(word, sizeof word, "%s", cell->text);
    else if (!isnan(cell->value))
        snprintf(word, sizeof word, "%.0f", floor(cell->value / column->scale + 1e-6));
    if (table->is_csv)
        text_addf(out, ", %s", word);
    else if (column->width < 0)
        text_addf(out, "   %-*.*s", -column->width, -column->width, word);
    else
        text_addf(out, "%*s ", column->width, word);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static void add_json_line(struct text *out, const struct monitor_table *table, const struct gpu_device *gpu,
                          int64_t utc_ns, const struct monitor_cell *cells)
{
    char date[32];
    struct tm utc;

    gmtime_r(&(time_t){ utc_ns / 1000000000 }, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    text_addf(out, "{\"time\": \"%s.%06dZ\"", date, (int)(utc_ns % 1000000000 / 1000));
    json_addf(out, ", 'gpu': %u, 'uuid': %s", gpu->device, gpu->uuid);
    for (size_t i = 0; i < table->count; i++)
        if (cells[i].text)
            json_addf(out, ", %s: %s", table->columns[i]->name, cells[i].text);
        else
            json_addf(out, ", %s: %g", table->columns[i]->name, cells[i].value);
    text_add(out, "}\n");
}

void monitor_table_line(struct text *out, struct monitor_table *table, const struct gpu_device *gpu, int64_t utc_ns,
                        const struct monitor_cell *cells)
{
    char date[16], time[16], number[16];
    struct tm local;

    if (table->is_json) {
        add_json_line(out, table, gpu, utc_ns, cells);
        return;
    }
    localtime_r(&(time_t){ utc_ns / 1000000000 }, &local);
    strftime(date, sizeof date, "%Y%m%d", &local);
    strftime(time, sizeof time, "%H:%M:%S", &local);
    snprintf(number, sizeof number, "%u", gpu->device);
    monitor_table_add_heading(out, table);
    monitor_table_add_start(out, table, ' ', date, time, number);
    for (size_t i = 0; i < table->count; i++)
        monitor_table_add_cell(out, table, table->columns[i], &cells[i]);
    text_add_char(out, '\n');
    table->lines++;
}
