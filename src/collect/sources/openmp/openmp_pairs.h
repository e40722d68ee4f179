/* Pairs begins and ends of OpenMP's constructs in each thread. */
#ifndef TACHO_COLLECT_SOURCES_OPENMP_OPENMP_PAIRS_H
#define TACHO_COLLECT_SOURCES_OPENMP_OPENMP_PAIRS_H

#include "openmp_rows.h"

/* Handlers of records. */
void openmp_read_begin(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);
void openmp_read_end(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);
void openmp_read_point(const struct collect_origin *origin, const struct wire_record *record, uint32_t words);

/* Writes the constructs of a thread that are still open. end_ns: the last moment seen of the thread. */
void openmp_cut(const struct collect_origin *origin, int64_t end_ns);

void openmp_forget_thread(struct process_reader *reader);
void openmp_forget_process(struct process *process);

#endif
