/* ncu's CSV of counters of kernels: raw page and details page, of all launches or of summaries. Names, the row of units
 * and quoting are ncu's; rows of rules are left out. */
#ifndef TACHO_CMD_NCU_NCU_CSV_H
#define TACHO_CMD_NCU_NCU_CSV_H

#include "analyze/model/counters/kernel_counters.h"
#include "base/text.h"

enum ncu_page { NCU_PAGE_DETAILS, NCU_PAGE_RAW };
enum ncu_summary { NCU_SUMMARY_NONE, NCU_SUMMARY_PER_GPU, NCU_SUMMARY_PER_KERNEL, NCU_SUMMARY_PER_NVTX };

struct ncu_csv_options {
    enum ncu_page page;
    enum ncu_summary summary;
    int base_units; /* 0: scaled to the size of the values (Kbyte, us) */
};

/* Adds the table of a report with counters. ERR_NO_MEMORY or 0; without err. */
int ncu_csv_add(struct text *out, const struct kernel_counters *counters, const struct ncu_csv_options *options);

#endif
