/* Records of MPI calls to rows. */
#ifndef TACHO_COLLECT_SOURCES_MPI_MPI_RECORDS_H
#define TACHO_COLLECT_SOURCES_MPI_MPI_RECORDS_H

#include "mpi_process.h"

/* Each returns 0, or -1 if the record is malformed. rows: the number of events that the record is. */
int mpi_record_call(struct mpi_process *process, int64_t global_tid, const struct wire_record *record, uint32_t words,
                    uint32_t *rows);
int mpi_record_communicator(struct mpi_process *process, const struct wire_record *record, uint32_t words);

/* What is known of addresses in a module that was loaded or unloaded. */
void mpi_forget_places(struct mpi_process *process, uint64_t first, uint64_t bytes);

/* A call that the process died in, or left by a jump: then its communicator, peer and bytes are not known. */
struct mpi_open {
    uint32_t function;
    int32_t peer; /* of a message, or root of a collective; WIRE_MPI_NO_RANK */
    uint64_t ticks, comm_handle, bytes;
};
void mpi_incomplete(struct mpi_process *process, int64_t global_tid, const struct mpi_open *open);
/* Writes the rows of requests that were never completed; frees all. */
void mpi_process_finish(struct mpi_process *process);

#endif
