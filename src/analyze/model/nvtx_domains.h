/* Code that the NVTX reports share: domains by process, and the names that ranges are shown under. */
#ifndef TACHO_ANALYZE_MODEL_NVTX_DOMAINS_H
#define TACHO_ANALYZE_MODEL_NVTX_DOMAINS_H

#include "base/text.h"
#include "report/reader/reader.h"

/* The columns of NVTX_EVENTS that the reports read, in the order of their blocks. */
enum { NVTX_START, NVTX_END, NVTX_TYPE, NVTX_TEXT, NVTX_TEXT_ID, NVTX_THREAD, NVTX_DOMAIN, NVTX_COLUMNS };
extern const char *const nvtx_column_names[NVTX_COLUMNS];
void nvtx_columns(const struct report_table *table, int columns[NVTX_COLUMNS]);

enum { NVTX_NO_NAME = -1 }; /* for a range without a message and for the default domain */
static inline int64_t nvtx_name(const struct report_block *block, size_t row)
{
    if (!block_is_null(block, NVTX_TEXT, row))
        return block->values[NVTX_TEXT][row];
    return block_is_null(block, NVTX_TEXT_ID, row) ? NVTX_NO_NAME : block->values[NVTX_TEXT_ID][row];
}

/* Domain names. Ids are unique only within a process, so the key is the process and the id. */
struct nvtx_domain {
    int64_t process, id;
    int64_t start_ns;
    int64_t name;             /* in the string pool */
};
struct nvtx_domains {
    struct nvtx_domain *list; /* owned; sorted by nvtx_domains_sort() */
    size_t count, capacity;
};
/* Reads all domains of a report and sorts them. */
int nvtx_domains_read(struct nvtx_domains *domains, struct report *report, struct error *err);
/* For callers that scan the table anyway: adds the domain that a row creates, if it does. Call
 * nvtx_domains_sort() after the last row. */
int nvtx_domains_take(struct nvtx_domains *domains, const struct report_block *block, size_t row);
void nvtx_domains_sort(struct nvtx_domains *domains);
/* The name's string id, or NVTX_NO_NAME. Of several with the same id the first created counts. */
int64_t nvtx_domain_name(const struct nvtx_domains *domains, int64_t process, int64_t id);
void nvtx_domains_free(struct nvtx_domains *domains);

/* Makes out "domain:text", or ":text" in the default domain. */
void nvtx_label(struct text *out, struct report *report, int64_t domain_name, int64_t name);

#endif
