/* The rows of ncu's details page for one kernel: what each section shows, and in which order. */
#ifndef TACHO_COMPAT_NCU_NCU_DETAILS_H
#define TACHO_COMPAT_NCU_NCU_DETAILS_H

#include "ncu_asked.h"

struct ncu_detail {
    const char *section, *label;
    const struct counter_value *value;
};

struct ncu_details {
    struct ncu_detail *rows; /* owned */
    size_t count, room;
};

/* Fills in the rows of a kernel; the ones before are dropped. ERR_NO_MEMORY or 0. */
int ncu_details_read(struct ncu_details *details, const struct kernel_counters *counters,
                     const struct counted_kernel *kernel, const struct ncu_asked *asked);
/* The same with all metrics by their names, in no section: those of the raw page. */
int ncu_details_read_all(struct ncu_details *details, const struct kernel_counters *counters,
                         const struct counted_kernel *kernel, const struct ncu_asked *asked);
/* By the titles of sections, as in summaries. */
void ncu_details_sort(struct ncu_details *details);
void ncu_details_free(struct ncu_details *details);

#endif
