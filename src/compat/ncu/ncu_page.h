/* The pages of counters of kernels: which is printed, and how. */
#ifndef TACHO_COMPAT_NCU_NCU_PAGE_H
#define TACHO_COMPAT_NCU_NCU_PAGE_H

#include "analyze/model/counters/kernel_counters.h"
#include "base/text.h"

struct ncu_asked;

enum ncu_page { NCU_PAGE_DETAILS, NCU_PAGE_RAW };
enum ncu_summary { NCU_SUMMARY_NONE, NCU_SUMMARY_PER_GPU, NCU_SUMMARY_PER_KERNEL, NCU_SUMMARY_PER_NVTX };

struct ncu_page_options {
    enum ncu_page page;
    enum ncu_summary summary;
    int base_units; /* 0: scaled to the size of the values (Kbyte, us) */
    int is_text;    /* tables for people, not CSV */
    const struct ncu_asked *asked;
};

/* Each adds the page of a report with counters. ERR_NO_MEMORY or 0; without err.
 *
 * ncu's CSV: raw page and details page, of all launches or of summaries. Names, the row of units and quoting are ncu's;
 * rows of rules are left out. */
int ncu_csv_add(struct text *out, const struct kernel_counters *counters, const struct ncu_page_options *options);
/* For people: a table for each section of a kernel, as ncu prints them without --csv. */
int ncu_text_add(struct text *out, const struct kernel_counters *counters, const struct ncu_page_options *options);

#endif
