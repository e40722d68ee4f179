/* The shapes of all MPI functions: see mpi_shape.h. */
#include "mpi_shape.h"

const struct mpi_shape mpi_shapes[MPI_FUNCTION_COUNT] = {
#define MPI_CALL(name, words, table_id, action_id, ...)                                                              \
    { .table = MPI_TABLE_##table_id, .action = MPI_DOES_##action_id, __VA_ARGS__ },
#include "wire/mpi_calls.def"
#undef MPI_CALL
};
