/* Calls the stand-in for MPI through the stubs, recorded and not; looks for functions that it lacks. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "words_calls.h"

int MPI_Finalize(void);
int MPI_Send(long, int, long, int, int, long);
int MPI_Recv(long, int, long, int, int, long, int *);
int MPI_Gatherv(long, int, long, long, long, long, long, int, long);
int MPI_Rget_accumulate(long, int, long, long, int, long, int, long, int, long, long, long, long);
int PMPI_Gatherv(long, int, long, long, long, long, long, int, long);
int PMPI_Rget_accumulate(long, int, long, long, int, long, int, long, int, long, long, long, long);
int MPI_Send_c(long, long, long, int, int, long) __attribute__((weak));
void words_record(int on);

static int complain(const char *what)
{
    puts(what);
    return 1;
}

static int call_all(void)
{
    int bad = 0, status = 0;
    for (int i = 0; i < 3; i++) {
        bad |= MPI_Finalize() != RESULT;
        bad |= MPI_Send(1, 2, 3, 4, 5, 6) != RESULT;
        bad |= MPI_Recv(1, 2, 3, 4, 5, 6, &status) != RESULT || status != 9;
        bad |= MPI_Recv(1, 2, 3, 4, 5, 6, NULL) != RESULT;
        bad |= MPI_Gatherv(1, 2, 3, 4, 5, 6, 7, 8, 9) != RESULT;
        bad |= MPI_Rget_accumulate(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) != RESULT;
        bad |= PMPI_Gatherv(1, 2, 3, 4, 5, 6, 7, 8, 9) != RESULT;
        bad |= PMPI_Rget_accumulate(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) != RESULT;
    }
    return bad ? complain("a call went wrong") : 0;
}

static int look_up(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*found)(long, int, long, int, int, long) = (int (*)(long, int, long, int, int, long))dlsym(library,
                                                                                                    "MPI_Send");
    int bad = 0;
    if (!found || found(1, 2, 3, 4, 5, 6) != RESULT)
        bad = complain("dlsym() with a handle does not find MPI_Send");
    found = (int (*)(long, int, long, int, int, long))dlsym(RTLD_DEFAULT, "MPI_Send");
    if (!found || found(1, 2, 3, 4, 5, 6) != RESULT)
        bad = complain("dlsym() does not find MPI_Send");
    dlerror();
    if (dlsym(RTLD_DEFAULT, "MPI_Bcast") || dlsym(library, "MPI_Bcast") || dlsym(RTLD_NEXT, "MPI_Bcast"))
        bad = complain("dlsym() finds MPI_Bcast, which the library lacks");
    const char *error = dlerror();
    if (!error || !strstr(error, "MPI_Bcast") || strstr(error, "tacho"))
        bad = complain(error ? error : "dlerror() says nothing");
    if (MPI_Send_c)
        bad = complain("the weak reference to MPI_Send_c is not NULL");
    return bad;
}

int main(int argc, char **argv)
{
    int bad = call_all() | look_up(argv[1]); /* 24 + 2 calls */
    words_record(0);
    bad |= call_all();
    puts(bad ? "bad" : "ok");
    return bad;
}
