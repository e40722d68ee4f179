/* Domains and names of NVTX ranges. */
#include "nvtx.h"

#include <stdlib.h>

void nvtx_columns(const struct report_table *table, int columns[NVTX_COLUMNS])
{
    static const char *const names[NVTX_COLUMNS] = {
        [NVTX_START] = "start", [NVTX_END] = "end", [NVTX_TYPE] = "eventType", [NVTX_TEXT] = "text",
        [NVTX_TEXT_ID] = "textId", [NVTX_THREAD] = "globalTid", [NVTX_DOMAIN] = "domainId",
    };

    for (int i = 0; i < NVTX_COLUMNS; i++)
        columns[i] = report_column(table, names[i]);
}

int nvtx_domains_add(struct nvtx_domains *domains, const struct nvtx_domain *domain)
{
    if (domains->count == domains->capacity) {
        size_t capacity = domains->capacity ? domains->capacity * 2 : 16;
        struct nvtx_domain *list = realloc(domains->list, capacity * sizeof *list);
        if (!list)
            return ERR_NO_MEMORY;
        domains->list = list;
        domains->capacity = capacity;
    }
    domains->list[domains->count++] = *domain;
    return 0;
}

static int compare_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_domains(const void *a, const void *b)
{
    const struct nvtx_domain *x = a, *y = b;
    int order = compare_number(x->process, y->process);

    if (!order)
        order = compare_number(x->id, y->id);
    if (!order)
        order = compare_number(x->start_ns, y->start_ns);
    return order ? order : compare_number(x->name, y->name);
}

void nvtx_domains_sort(struct nvtx_domains *domains)
{
    if (domains->count)
        qsort(domains->list, domains->count, sizeof *domains->list, compare_domains);
}

int64_t nvtx_domain_name(const struct nvtx_domains *domains, int64_t process, int64_t id)
{
    size_t low = 0, high = domains->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct nvtx_domain *at = &domains->list[middle];
        if (at->process < process || (at->process == process && at->id < id))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < domains->count && domains->list[low].process == process && domains->list[low].id == id)
        return domains->list[low].name;
    return NVTX_NO_NAME;
}

void nvtx_domains_free(struct nvtx_domains *domains)
{
    free(domains->list);
    *domains = (struct nvtx_domains){0};
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
