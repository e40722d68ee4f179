/* Runs a program and keeps the CPU time of it and of the children that it waited for, in microseconds:
 *
 *     measured FILE PROGRAM [ARGUMENT…]
 *
 * Under a profiler this is what the profiler costs inside the program, without what it does beside it. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage used;
    int status;
    if (argc < 3)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 2;
    FILE *out = fopen(argv[1], "w");
    if (!out)
        return 2;
    fprintf(out, "%ld\n",
            (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
