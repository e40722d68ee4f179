/* What --set, --section and --metrics ask for, of what a report has. */
#ifndef TACHO_COMPAT_NCU_NCU_ASKED_H
#define TACHO_COMPAT_NCU_NCU_ASKED_H

#include "abi/counters/counter_sections.h"
#include "analyze/model/counters/kernel_counters.h"
#include "ncu_command.h"

struct ncu_asked {
    const struct ncu_settings *settings; /* NULL: nothing was asked for */
    unsigned char *by_name;              /* owned; of each metric: --metrics names it */
    int has_sections;                    /* of ncu's, that Tacho's report names as origins of metrics */
    unsigned set;                        /* bit of the smallest set that has all of them; 0: there is none */
};

/* Reads what was asked for: of an import, only if an option says so; of a program that was run, the default too. */
int ncu_asked_read(struct ncu_asked *asked, const struct ncu_settings *settings, const struct kernel_counters *counters,
                   struct error *err);
void ncu_asked_free(struct ncu_asked *asked); /* of {0} too */

int ncu_asked_section(const struct ncu_asked *asked, const struct counter_section *section);
int ncu_asked_metric(const struct ncu_asked *asked, size_t metric);
/* Whether a column of the raw page is printed: one of an import that is in none of the sections, and that no option
 * names, is not. */
int ncu_asked_column(const struct ncu_asked *asked, const struct kernel_counters *counters, size_t metric);

/* Drops the kernels of an import that the filters leave out. */
int ncu_choose_kernels(struct kernel_counters *counters, const struct ncu_settings *settings, struct error *err);

#endif
