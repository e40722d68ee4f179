/* A program with MPI, of one rank that was started without a launcher. */
#include "guest.h"

#include <dlfcn.h>
#include <mpi.h>

static void say_messages(void)
{
    int sent = 42, received = 0, flag = -1, count = -1;
    MPI_Request requests[2];
    MPI_Status status;
    errno = 3;
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    say("received %d from %d, tag %d, %d of them; requests %s", received, status.MPI_SOURCE, status.MPI_TAG, count,
        requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL ? "done" : "left");
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &status);
    say("another message %d", flag);
}

/* Calls that fail return their error; a handler of the program runs once. */
static void say_errors(void)
{
    int class = 0, value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_SELF), &class);
    say("send to nobody: %s", class == MPI_ERR_RANK ? "MPI_ERR_RANK" : "another error");
    say("MPI_No_such_function %s", dlsym(RTLD_DEFAULT, "MPI_No_such_function") ? "is there" : "is not there");
}

static int child_of_a_rank(void)
{
    return 4;
}

PROGRAM(mpi_alone)
{
    int rank = -1, size = -1, given = 0;
    int thread = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    say("MPI_Init_thread %d, rank %d of %d, funneled %d", thread, rank, size, given >= MPI_THREAD_FUNNELED);
    say_messages();
    say_errors();
    in_child("child", child_of_a_rank);
    say("MPI_Finalize %d", MPI_Finalize());
    return 0;
}

PROGRAM(mpi_never_finalized)
{
    MPI_Init(NULL, NULL);
    return 5;
}
