/* Counters of kernels for people: a table for each section of a kernel, as ncu prints them without --csv. */
#ifndef TACHO_COMPAT_NCU_NCU_TEXT_H
#define TACHO_COMPAT_NCU_NCU_TEXT_H

#include "analyze/model/counters/kernel_counters.h"
#include "base/text.h"
#include "ncu_page.h"

/* Adds the page; counters of a summary are already summarized. ERR_NO_MEMORY or 0. */
int ncu_text_add(struct text *out, const struct kernel_counters *counters, const struct ncu_page_options *options);

#endif
