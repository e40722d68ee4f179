/* Makes rows of the records of NCCL's profiler plugin interface (wire_nccl.h), for one process. */
#ifndef TACHO_COLLECT_SOURCES_NCCL_NCCL_RECORDS_H
#define TACHO_COLLECT_SOURCES_NCCL_NCCL_RECORDS_H

#include "collect/core/collect_source.h"

struct nccl_process;

/* Begins and ends of an event come from different threads, whose records are read in any order: the row is written once
 * both are known. The functions count into the process's counts of the source. */
void nccl_comm(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);
void nccl_start(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);
void nccl_stop(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);
void nccl_state(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);

/* Writes the events that have no end, and frees the state. */
void nccl_process_end(struct process *process);
void nccl_process_free(struct process *process);

/* The most events without an end, or ends without an event, that are kept of a process. */
enum { NCCL_OPEN_MAX = 65536 };

#endif
