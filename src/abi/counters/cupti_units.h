/* The units of CUPTI's metrics, as ncu spells them: percent is %, instruction/gpc_cycle is inst/cycle, sys_cycle/second
 * is hz. */
#ifndef TACHO_ABI_COUNTERS_CUPTI_UNITS_H
#define TACHO_ABI_COUNTERS_CUPTI_UNITS_H

#include <stddef.h>

/* Writes ncu's unit, "" for a plain number. Returns 1, or 0 if the table lacks a word: it then stays CUPTI's. */
int cupti_unit(const char *theirs, char *unit, size_t bytes);

#endif
