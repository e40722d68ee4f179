/* What the caller, the stand-in for MPI and the recorder of tests/house/words_cross.sh agree on. */
#ifndef TACHO_TESTS_WORDS_CALLS_H
#define TACHO_TESTS_WORDS_CALLS_H

#include "../../../src/wire/wire_mpi.h"

enum { RESULT = 4711, STATUS_WORDS = 7 };

static inline uint32_t words_of(uint32_t number)
{
    static const uint8_t words[] = {
#define MPI_CALL(name, words, ...) words,
#include "../../../src/wire/mpi_calls.def"
#undef MPI_CALL
    };
    return words[number % MPI_FUNCTION_COUNT];
}

#endif
