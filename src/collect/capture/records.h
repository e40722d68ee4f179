/* Handlers of the records that processes write about themselves: threads, exec, exit, children, modules, the
 * capture. */
#ifndef TACHO_COLLECT_CAPTURE_RECORDS_H
#define TACHO_COLLECT_CAPTURE_RECORDS_H

#include "collect/core/collect_source.h"

extern const struct collect_records records_of_processes[];

#endif
