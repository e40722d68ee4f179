/* The rows of MPI's tables. */
#ifndef TACHO_COLLECT_SOURCES_MPI_MPI_ROWS_H
#define TACHO_COLLECT_SOURCES_MPI_MPI_ROWS_H

#include "mpi_process.h"

extern const uint8_t mpi_tables[MPI_FUNCTION_COUNT]; /* enum mpi_table */

int64_t mpi_name_id(struct mpi_process *process, uint32_t function);

void mpi_write_p2p(struct mpi_process *process, const struct mpi_message *call, const struct mpi_message *received);
void mpi_write_collective(struct mpi_process *process, const struct mpi_message *call);
/* handle 0: none, or several */
void mpi_write_start_wait(struct mpi_process *process, const struct mpi_message *call, uint64_t handle);
/* bytes WIRE_MPI_NO_SIZE: it moves none */
void mpi_write_other(struct mpi_process *process, const struct mpi_message *call);
/* Writes a row of TACHO_MPI_MESSAGE, or keeps the message until its communicator is known. */
void mpi_write_message(struct mpi_process *process, const struct mpi_message *message);
void mpi_write_waiting(struct mpi_process *process, int is_last);
void mpi_write_communicator(struct mpi_process *process, const struct mpi_communicator *communicator);

#endif
