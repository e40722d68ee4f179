/* libtacho-mpi.so: interposes the functions of mpi_calls.def, each under its name and its profiling name. The agent
 * records the outermost call of a thread, so a call through both counts once. */
#include "agent/stubs/words/stub_words.h"
#include "wire/wire_mpi.h"

const struct stub_function stub_functions[] = {
#define MPI_CALL(name, words, ...) { "MPI_" #name, 0, 0, words },
#include "wire/mpi_calls.def"
#undef MPI_CALL
#define MPI_CALL(name, words, ...) { "PMPI_" #name, 0, 0, words },
#include "wire/mpi_calls.def"
#undef MPI_CALL
};
#define COUNT COUNT_OF(stub_functions)
_Static_assert(COUNT == 2 * MPI_FUNCTION_COUNT, "the agent takes the number modulo MPI_FUNCTION_COUNT");

const uint8_t stub_stack_pairs[] = {
#define MPI_CALL(name, words, ...) STUB_STACK_PAIRS(words),
#include "wire/mpi_calls.def"
#undef MPI_CALL
#define MPI_CALL(name, words, ...) STUB_STACK_PAIRS(words), /* of PMPI_<name> */
#include "wire/mpi_calls.def"
#undef MPI_CALL
};
_Static_assert(sizeof stub_stack_pairs == COUNT, "each stub finds its own");

_Atomic(void *) stub_real[COUNT];
STUB_CHOICES(32, COUNT, 0);
const uint32_t stub_words_source = WIRE_SOURCE_MPI;

static const char *const mpi_object_files[][STUB_FILES] = { { "libmpi.so", "libmpich.so", "libmpi" } };
static const char *const mpi_object_signs[] = { "MPI_Comm_rank", NULL };
static const char *const mpi_object_vendors[] = { "libmpi", "libopen-", "libpmpi", "mca_", NULL };

/* No MPI is loaded, so the program has a weak reference, which would be NULL without the stubs. A program that asks
 * whether MPI is initialised learns that it is not; all else fails. */
static int mpi_object_fails(void)
{
    return 16; /* an error code in all MPIs */
}

static int says_no(int *flag)
{
    *flag = 0;
    return 0;
}

static void *mpi_object_missing(uint32_t number)
{
    uint32_t function = number % MPI_FUNCTION_COUNT;
    int asks = function == MPI_FUNCTION_Initialized || function == MPI_FUNCTION_Finalized;
    return asks ? (void *)(uintptr_t)says_no : (void *)(uintptr_t)mpi_object_fails;
}

const struct stub_object stub_object = {
    .count = COUNT,
    .is_hidden = 1,
    .files = mpi_object_files,
    .vendors = mpi_object_vendors,
    .missing = mpi_object_missing,
    .signs = mpi_object_signs,
};
