/* OpenMP programs that end, fork, nest, or unload code in unusual ways; the first argument says which. */
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double sink;

static int fork_after_a_region(void)
{
    int status = 1;
#pragma omp parallel num_threads(2)
    sink += 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
#pragma omp parallel num_threads(1)
        sink += 2;
        _exit(sink > 0 ? 7 : 8);
    }
    waitpid(child, &status, 0);
#pragma omp parallel num_threads(2)
    sink += 3;
    return WEXITSTATUS(status) == 7 ? 0 : 1;
}

static int nested(void)
{
    int count = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
    count++;
    return count == 4 ? 0 : 1;
}

static int exit_inside(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp master
        exit(5);
    }
    return 0;
}

/* A library with a region of its own, and with its own dependence on the runtime. */
static int unload(char **paths)
{
    for (; *paths; paths++) {
        void *library = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = library ? (int (*)(void))dlsym(library, "run_a_region") : NULL;
        if (!run || run() != 2)
            return 1;
        printf("at %ld\n", (long)run);
        dlclose(library);
    }
    return 0;
}

static void *count_in_a_region(void *count)
{
#pragma omp parallel num_threads(2)
#pragma omp critical
    ++*(int *)count;
    return NULL;
}

/* The thread that begins the runtime ends before others use it. */
static int in_threads(void)
{
    int count = 0;
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, count_in_a_region, &count) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return count == 20 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (strcmp(argv[1], "threads") == 0)
        return in_threads();
    omp_set_dynamic(0);
    if (strcmp(argv[1], "fork") == 0)
        return fork_after_a_region();
    if (strcmp(argv[1], "nested") == 0)
        return nested();
    if (strcmp(argv[1], "exit") == 0)
        return exit_inside();
    return unload(argv + 2);
}
