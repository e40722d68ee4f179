/* A plugin that uses the MPI it is linked with, alone in its world, and the program that loads several of them
 * (-DLOADER), each for itself. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef LOADER
int main(int argc, char **argv)
{
    typedef void step_function(int step);
    step_function *steps[8];

    for (int i = 1; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        steps[i] = plugin ? (step_function *)dlsym(plugin, "step") : NULL;
        if (!steps[i]) {
            puts(dlerror());
            return 1;
        }
        steps[i](0);
    }
    for (int step = 1; step <= 3; step++)
        for (int i = 1; i < argc; i++)
            steps[i](step);
    return 0;
}
#else
#include <mpi.h>

void step(int step)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, rank = -1, got = 0;

    if (step == 0) {
        MPI_Init(NULL, NULL);
        MPI_Get_library_version(version, &length);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        printf("%.9s, rank %d\n", version, rank);
    } else if (step == 3) {
        MPI_Finalize();
    } else {
        MPI_Sendrecv(&step, 1, MPI_INT, 0, step, &got, 1, MPI_INT, 0, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d\n", got);
    }
}
#endif
