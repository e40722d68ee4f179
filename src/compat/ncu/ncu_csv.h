/* ncu's CSV of counters of kernels: raw page and details page, of all launches or of summaries. Names, the row of units
 * and quoting are ncu's; rows of rules are left out. */
#ifndef TACHO_COMPAT_NCU_NCU_CSV_H
#define TACHO_COMPAT_NCU_NCU_CSV_H

#include "analyze/model/counters/kernel_counters.h"
#include "base/text.h"
#include "ncu_page.h"

/* Adds the table of a report with counters. ERR_NO_MEMORY or 0; without err. */
int ncu_csv_add(struct text *out, const struct kernel_counters *counters, const struct ncu_page_options *options);

#endif
