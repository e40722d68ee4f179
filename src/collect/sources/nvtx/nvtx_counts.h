/* What NVTX counts of a process. */
#ifndef TACHO_COLLECT_SOURCES_NVTX_NVTX_COUNTS_H
#define TACHO_COLLECT_SOURCES_NVTX_NVTX_COUNTS_H

#include <stdint.h>

struct nvtx_counts {
    uint64_t recorded;                           /* events that have their row; a range counts once */
    uint64_t end_lost;                           /* ranges that were dropped because their end never
                                                  * arrived (the buffer was full) */
    uint64_t damaged;                            /* records that make no sense: the program has overwritten them */
    uint64_t library_recorded, library_end_lost; /* of these, what counts for the libraries: nvtx_library.h */
};

#endif
