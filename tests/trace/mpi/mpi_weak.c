/* A module that refers to functions which an MPI may lack, and looks whether they are there, as mpi4py does. */
#pragma weak MPI_Send_c
#pragma weak MPI_Session_init
#pragma weak MPI_Send
#pragma weak MPI_Never_heard_of

int MPI_Send_c(void);
int MPI_Session_init(void);
int MPI_Send(void);
int MPI_Never_heard_of(void);
int what_is_there(void);

int what_is_there(void)
{
    return (MPI_Send_c ? 1 : 0) | (MPI_Session_init ? 2 : 0) | (MPI_Send ? 4 : 0) | (MPI_Never_heard_of ? 8 : 0);
}
