/* Headers: which column of a table of ncu is which. Versions differ in their columns, so all are found by name. */
#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "base/array.h"
#include "ncu.h"
#include "report/counters/counter_units.h"

/* Columns that are dropped have no number: the texts of rules are not ours to keep. */
static const struct {
    const char *name;
    enum ncu_column column;
} known[] = {
    { "ID", NCU_ID },
    { "Process ID", NCU_PROCESS },
    { "Process Name", NCU_PROCESS_NAME },
    { "Host Name", NCU_HOST },
    { "Kernel Name", NCU_KERNEL },
    { "Context", NCU_CONTEXT },
    { "Stream", NCU_STREAM },
    { "Block Size", NCU_BLOCK },
    { "Grid Size", NCU_GRID },
    { "Device", NCU_DEVICE },
    { "CC", NCU_CAPABILITY },
    { "Invocations", NCU_INVOCATIONS },
    { "Section Name", NCU_SECTION },
    { "Metric Name", NCU_METRIC },
    { "Metric Unit", NCU_UNIT },
    { "Metric Value", NCU_VALUE },
    { "Average", NCU_VALUE },
    { "Minimum", NCU_MINIMUM },
    { "Maximum", NCU_MAXIMUM },
    { "Kernel Time", NCU_COLUMNS },
    { "Rule Name", NCU_COLUMNS },
    { "Rule Type", NCU_COLUMNS },
    { "Rule Description", NCU_COLUMNS },
    { "Estimated Speedup Type", NCU_COLUMNS },
    { "Estimated Speedup", NCU_COLUMNS },
};
#define KNOWN COUNT_OF(known)

/* The place in `known`, or KNOWN. */
static size_t find_known(struct json_slice name)
{
    size_t i = 0;

    while (i < KNOWN && !json_slice_is(name, known[i].name))
        i++;
    return i;
}

/* "Range:PL_Type:…", "thread Domain:Push/Pop_Range:PL_Type:…", "Domain" */
static int has_ranges(struct json_slice name)
{
    return memmem(name.bytes, name.length, "Range:", strlen("Range:")) || json_slice_is(name, "Domain");
}

int ncu_is_header(const struct ncu_record *record)
{
    int has_kernel = 0, has_other = 0;

    for (size_t i = 0; i < record->count; i++) {
        struct json_slice name = ncu_field(record, i);
        has_kernel |= json_slice_is(name, "Kernel Name");
        has_other |= json_slice_is(name, "ID") || json_slice_is(name, "Process ID") ||
                     json_slice_is(name, "Metric Name");
    }
    return has_kernel && has_other;
}

static int ncu_columns_add_column(struct ncu *import, size_t column, double factor, int64_t id)
{
    struct ncu_header *header = &import->header;

    return ARRAY_PUSH(header->metrics, header->metric_room, header->metric_count,
                      (struct ncu_metric){ column, id, factor });
}

/* The record becomes the names of the header; its memory takes the place of the old ones. */
static void keep_names(struct ncu *import)
{
    struct ncu_record names = import->header.names;

    import->header.names = import->record;
    import->record = names;
}

int ncu_take_header(struct ncu *import)
{
    struct ncu_header *header = &import->header;
    const struct ncu_record *names = &header->names;

    keep_names(import);
    for (size_t i = 0; i < NCU_COLUMNS; i++)
        header->at[i] = NCU_NO_COLUMN;
    header->count = names->count;
    header->metric_count = 0;
    text_clear(&import->last_key);
    for (size_t i = 0; i < names->count; i++) {
        size_t at = find_known(ncu_field(names, i));
        if (at < KNOWN && known[at].column < NCU_COLUMNS && header->at[known[at].column] == NCU_NO_COLUMN)
            header->at[known[at].column] = i;
    }
    header->is_raw = header->at[NCU_METRIC] == NCU_NO_COLUMN;
    header->wants_units = header->is_raw;
    for (size_t i = 0; i < names->count; i++) {
        struct json_slice name = ncu_field(names, i);
        int is_known = find_known(name) < KNOWN || !name.length, ranges = has_ranges(name);
        if (ranges && ncu_columns_add_column(import, i, 1, -1) != 0)
            return ERR_NO_MEMORY;
        import->unknown_columns += !is_known && !ranges && !header->is_raw;
    }
    return 0;
}

int ncu_take_units(struct ncu *import)
{
    struct ncu_header *header = &import->header;
    const struct ncu_record *names = &header->names, none = { 0 };
    int is_units = ncu_field(&import->record, header->at[NCU_KERNEL]).length == 0;
    const struct ncu_record *units = is_units ? &import->record : &none;

    header->wants_units = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct json_slice name = ncu_field(names, i);
        double factor;
        if (!name.length || find_known(name) < KNOWN || has_ranges(name))
            continue;
        int64_t id = ncu_metric(import, name, ncu_field(units, i), (struct json_slice){ "", 0 }, &factor);
        if (id < 0 || ncu_columns_add_column(import, i, factor, id) != 0)
            break; /* the scratch text remembers that memory was short */
    }
    return is_units;
}

static void write_metric(struct ncu *import, int64_t id, struct json_slice name, struct json_slice section)
{
    struct row_TACHO_METRICS row = { 0 };

    ROW_SET(&row, TACHO_METRICS, id, id);
    ROW_SET(&row, TACHO_METRICS, name, writer_string(import->writer, name.bytes, name.length));
    if (import->unit.length)
        ROW_SET(&row, TACHO_METRICS, unit,
                writer_string(import->writer, text_string(&import->unit), import->unit.length));
    if (section.length)
        ROW_SET(&row, TACHO_METRICS, section, writer_string(import->writer, section.bytes, section.length));
    writer_append(import->writer, TABLE_TACHO_METRICS, &row);
}

int64_t ncu_metric(struct ncu *import, struct json_slice name, struct json_slice unit, struct json_slice section,
                   double *factor)
{
    size_t before = import->metrics.count;

    text_clear(&import->unit);
    *factor = counter_unit_base(&import->unit, unit.bytes, unit.length);
    if (section.length) { /* a label of the details page */
        text_clear(&import->scratch);
        text_add_bytes(&import->scratch, name.bytes, name.length);
        const struct section_metric *row = counter_shown_find(text_string(&import->scratch),
                                                              text_string(&import->unit));
        if (row && !strchr(row->names, '|')) /* which of several it is depends on the chip */
            name = (struct json_slice){ row->names, strlen(row->names) };
    }
    text_clear(&import->scratch);
    text_add_bytes(&import->scratch, name.bytes, name.length);
    text_addf(&import->scratch, "\n%s\n", text_string(&import->unit));
    text_add_bytes(&import->scratch, section.bytes, section.length);
    int64_t id = text_failed(&import->scratch)
                     ? -1
                     : intern_add(&import->metrics, text_string(&import->scratch), import->scratch.length);
    if (id < 0)
        import->scratch.failed = 1;
    else if ((size_t)id == before)
        write_metric(import, id, name, section);
    return id;
}
