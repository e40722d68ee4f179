/* The counts of NVTX in one process. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_COUNTS_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_COUNTS_H

#include <stdint.h>

struct nvtx_counts {
    uint64_t recorded; /* events that have their row; a range counts once */
    /* Ranges that were dropped because their end never arrived (the buffer was full). */
    uint64_t end_lost;
    uint64_t damaged; /* invalid records: the program has overwritten them */
    /* The part of these that counts for the libraries: nvtx_library.h. */
    uint64_t library_recorded, library_end_lost;
};

#endif
