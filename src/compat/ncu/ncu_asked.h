/* The sections and metrics of a report that --set, --section and --metrics ask for. */
#ifndef TACHO_COMPAT_NCU_NCU_ASKED_H
#define TACHO_COMPAT_NCU_NCU_ASKED_H

#include "abi/counters/counter_sections.h"
#include "analyze/model/counters/kernel_counters.h"
#include "ncu_command.h"

struct ncu_asked {
    const struct ncu_settings *settings; /* NULL: nothing was asked for */
    unsigned char *by_name;              /* owned; by metric: whether --metrics names it */
    int has_sections;                    /* Tacho's report names ncu's sections as origins of metrics */
    unsigned set;                        /* bit of the smallest set that has all of them; 0: there is none */
};

/* Reads the options. Without any, an import has no selection; a program that was run has the default one. */
int ncu_asked_read(struct ncu_asked *asked, const struct ncu_settings *settings, const struct kernel_counters *counters,
                   struct error *err);
void ncu_asked_free(struct ncu_asked *asked); /* {0} is fine */

int ncu_asked_section(const struct ncu_asked *asked, const struct counter_section *section);
int ncu_asked_metric(const struct ncu_asked *asked, size_t metric);
/* Whether a column of the raw page is printed: not one of an import that is in no section and that no option names. */
int ncu_asked_column(const struct ncu_asked *asked, const struct kernel_counters *counters, size_t metric);

/* Drops the kernels of an import that the filters leave out. */
int ncu_choose_kernels(struct kernel_counters *counters, const struct ncu_settings *settings, struct error *err);

#endif
