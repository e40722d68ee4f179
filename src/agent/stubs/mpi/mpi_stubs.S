/* Stubs for MPI_<name> of all functions in mpi_calls.def, then for PMPI_<name>: Fortran's bindings and tools call
 * either. */
#define STUB_HIDDEN
#include "agent/stubs/stub_rows.h"

.hidden stub_words_enter
STUB_ROWS_BEGIN
#define MPI_CALL(name, ...) STUB_ROW(MPI_##name, stub_words_enter)
#include "wire/mpi_calls.def"
#undef MPI_CALL
#define MPI_CALL(name, ...) STUB_ROW(PMPI_##name, stub_words_enter)
#include "wire/mpi_calls.def"
STUB_ROWS_END
