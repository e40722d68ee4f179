/* Starting the program: see launch.h.
 *
 * Between fork and exec only system calls are made: the writer's threads do not exist in the child, whatever locks they held. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector.h"
#include "program.h"

/* What the child needs, all made before the fork. */
struct recipe {
    const struct collector *collector;
    const char *path;
    char *const *argv, *const *environment;
    char **shell_argv; /* for a script without "#!", as execvp() has it; NULL: it is none */
    int tell;          /* CLOEXEC: closed by a successful exec, else it gets errno */
};

static int points_to(int descriptor, int standard)
{
    return descriptor < 0 || dup2(descriptor, standard) == standard;
}

static _Noreturn void become_program(const struct recipe *recipe)
{
    const struct collector *collector = recipe->collector;
    sigaction(SIGCHLD, &collector->old_child, NULL);
    sigaction(SIGPIPE, &collector->old_pipe, NULL);
    setrlimit(RLIMIT_NOFILE, &collector->old_files);
    if (points_to(collector->streams.out.descriptor, STDOUT_FILENO) && points_to(collector->streams.err.descriptor, STDERR_FILENO)) {
        sigprocmask(SIG_SETMASK, &collector->old_mask, NULL);
        execve(recipe->path, recipe->argv, recipe->environment);
        if (errno == ENOEXEC && recipe->shell_argv)
            execve(_PATH_BSHELL, recipe->shell_argv, recipe->environment);
    }
    int error = errno;
    ssize_t ignored = write(recipe->tell, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

/* sh PATH ARGUMENTS… */
static char **shell_arguments(const char *path, char *const *argv)
{
    size_t count = 0;
    while (argv[count])
        count++;
    char **result = calloc(count + 2, sizeof *result);
    if (!result)
        return NULL;
    result[0] = (char *)"sh";
    result[1] = (char *)path;
    for (size_t i = 1; i < count; i++)
        result[i + 1] = argv[i];
    return result;
}

/* errno of a failed exec, or 0 once the program runs. */
static int hear_exec(int descriptor)
{
    int error = 0;
    ssize_t got;
    do
        got = read(descriptor, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof error ? error : 0;
}

pid_t launch_program(struct collector *collector, const struct program *program, char *const *environment)
{
    int tell[2];
    struct recipe recipe = {
        .collector = collector, .path = program->path, .argv = collector->options->argv, .environment = environment,
        .shell_argv = program->is_script ? shell_arguments(program->path, collector->options->argv) : NULL,
    };
    if (program->is_script && !recipe.shell_argv)
        return -ENOMEM;
    if (pipe2(tell, O_CLOEXEC) != 0) {
        int error = errno;
        free(recipe.shell_argv);
        return -error;
    }
    recipe.tell = tell[1];
    pid_t pid = fork();
    if (pid == 0)
        become_program(&recipe);
    int error = errno;
    close(tell[1]);
    if (pid > 0 && (error = hear_exec(tell[0])) != 0)
        waitpid(pid, NULL, 0);
    close(tell[0]);
    free(recipe.shell_argv);
    return pid < 0 || error != 0 ? -error : pid;
}
