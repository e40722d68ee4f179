/* Domains and names of NVTX ranges. */
#include "nvtx_domains.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"

const char *const nvtx_column_names[NVTX_COLUMNS] = {
    [NVTX_START] = "start",    [NVTX_END] = "end",          [NVTX_TYPE] = "eventType",  [NVTX_TEXT] = "text",
    [NVTX_TEXT_ID] = "textId", [NVTX_THREAD] = "globalTid", [NVTX_DOMAIN] = "domainId",
};

void nvtx_columns(const struct report_table *table, int columns[NVTX_COLUMNS])
{
    for (int i = 0; i < NVTX_COLUMNS; i++)
        columns[i] = report_column(table, nvtx_column_names[i]);
}

int nvtx_domains_take(struct nvtx_domains *domains, const struct report_block *block, size_t row)
{
    if (block->values[NVTX_TYPE][row] != EVENT_NVTX_DOMAIN_CREATE || block_is_null(block, NVTX_DOMAIN, row))
        return 0;
    return ARRAY_PUSH(domains->list, domains->capacity, domains->count,
                      (struct nvtx_domain){ global_process(block->values[NVTX_THREAD][row]),
                                            block->values[NVTX_DOMAIN][row], block->values[NVTX_START][row],
                                            nvtx_name(block, row) });
}

static int nvtx_domains_visit(void *context, int worker, const struct report_block *block)
{
    for (size_t row = 0; row < block->rows; row++)
        if (nvtx_domains_take(context, block, row) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* Scans one chunk after another, since all of them add to one list. */
int nvtx_domains_read(struct nvtx_domains *domains, struct report *report, struct error *err)
{
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    int columns[NVTX_COLUMNS], code;

    *domains = (struct nvtx_domains){ 0 };
    if (!table || !table->rows)
        return 0;
    nvtx_columns(table, columns);
    columns[NVTX_END] = -1; /* not needed */
    for (size_t i = 0; i < report_chunk_count(table); i++) {
        struct report_chunk chunk = report_chunk_at(table, i);
        code = report_scan_rows(report, table, columns, NVTX_COLUMNS, chunk.first_row, chunk.rows, nvtx_domains_visit,
                                domains, err);
        if (code == ERR_NO_MEMORY)
            return error_short_memory(err, "for the domains");
        if (code != 0)
            return code;
    }
    nvtx_domains_sort(domains);
    return 0;
}

static int compare_domains(const void *a, const void *b)
{
    const struct nvtx_domain *x = a, *y = b;
    int order = COMPARE(x->process, y->process) ?: COMPARE(x->id, y->id);

    return order ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x->name, y->name);
}

void nvtx_domains_sort(struct nvtx_domains *domains)
{
    if (domains->count)
        qsort(domains->list, domains->count, sizeof *domains->list, compare_domains);
}

int64_t nvtx_domain_name(const struct nvtx_domains *domains, int64_t process, int64_t id)
{
    size_t first = BISECT(0, domains->count, i,
                          domains->list[i].process < process ||
                              (domains->list[i].process == process && domains->list[i].id < id));

    if (first < domains->count && domains->list[first].process == process && domains->list[first].id == id)
        return domains->list[first].name;
    return NVTX_NO_NAME;
}

void nvtx_domains_free(struct nvtx_domains *domains)
{
    free(domains->list);
    *domains = (struct nvtx_domains){ 0 };
}

void nvtx_label(struct text *out, struct report *report, int64_t domain_name, int64_t name)
{
    size_t domain_length = 0, name_length = 0;
    const char *domain = domain_name == NVTX_NO_NAME ? "" : report_string(report, domain_name, &domain_length);
    const char *text = name == NVTX_NO_NAME ? "" : report_string(report, name, &name_length);

    text_clear(out);
    text_add_bytes(out, domain, domain_length);
    text_add_char(out, ':');
    text_add_bytes(out, text, name_length);
}
