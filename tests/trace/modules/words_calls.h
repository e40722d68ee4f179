/* What the callers, the stand-ins and the recorder of tests/house/words_cross.sh agree on. WORDS_OSHMEM: the stubs are
 * those of OpenSHMEM instead of MPI's. */
#ifndef TACHO_TESTS_WORDS_CALLS_H
#define TACHO_TESTS_WORDS_CALLS_H

#include "../../../src/wire/wire_mpi.h"

enum { RESULT = 4711, STATUS_WORDS = 7 };

static inline uint32_t words_of(uint32_t number)
{
    static const uint8_t words[] = {
#define MPI_CALL(name, words, ...) words,
#define OSHMEM(name, words, ...) words,
#ifdef WORDS_OSHMEM
#include "../../../src/wire/oshmem_calls.def"
#else
#include "../../../src/wire/mpi_calls.def"
#endif
#undef MPI_CALL
#undef OSHMEM
    };
    return words[number % sizeof words];
}

#endif
