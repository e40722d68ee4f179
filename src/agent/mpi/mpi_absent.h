/* Functions of MPI that the library of the process lacks. */
#ifndef TACHO_AGENT_MPI_MPI_ABSENT_H
#define TACHO_AGENT_MPI_MPI_ABSENT_H

/* For the source's callbacks of these names. */
void mpi_object_loaded(const char *path);
void mpi_objects_changed(void);

#endif
