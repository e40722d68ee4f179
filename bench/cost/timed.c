/* Runs a program and writes how long it took: timed FILE PROGRAM ARGUMENT... The line has the wall time and the CPU
 * time of the program and of all its children that it waited for, in seconds. bench/cost/cpu_programs.py starts it bare
 * and under `tacho profile`, so that what Tacho's own processes use is not in it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status = 0;
    if (argc < 3)
        return 2;
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        return 2;
    double wall = now() - start;
    FILE *file = fopen(argv[1], "w");
    if (!file)
        return 2;
    fprintf(file, "%.6f %.6f\n", wall, seconds(used.ru_utime) + seconds(used.ru_stime));
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
