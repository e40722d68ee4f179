/* exec HOW PROGRAM…: starts a program in one of the ways there are, and ends with its status. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
#pragma weak execveat
extern int execveat(int, const char *, char *const *, char *const *, int);

static void become(const char *how, char **argv)
{
    int file = open(argv[0], O_RDONLY | O_CLOEXEC);

    if (strcmp(how, "execve") == 0 || strcmp(how, "vfork") == 0)
        execve(argv[0], argv, environ);
    else if (strcmp(how, "execvp") == 0)
        execvp(argv[0], argv);
    else if (strcmp(how, "execl") == 0)
        execl(argv[0], argv[0], argv[1], NULL);
    else if (strcmp(how, "execveat") == 0)
        execveat(AT_FDCWD, argv[0], argv, environ, 0);
    else if (strcmp(how, "fexecve") == 0)
        fexecve(file, argv, environ);
    _exit(127);
}

int main(int argc, char **argv)
{
    const char *how = argv[1];
    pid_t child = -1;
    int status = 0;

    if (strcmp(how, "posix_spawn") == 0)
        posix_spawn(&child, argv[2], NULL, NULL, argv + 2, environ);
    else if (strcmp(how, "posix_spawnp") == 0)
        posix_spawnp(&child, argv[2], NULL, NULL, argv + 2, environ);
    else if (strcmp(how, "system") == 0)
        return WEXITSTATUS(system(argv[2]));
    else if ((child = strcmp(how, "vfork") == 0 ? vfork() : fork()) == 0)
        become(how, argv + 2);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
