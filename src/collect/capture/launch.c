/* Launches the program: see launch.h. Between fork and exec the child makes only system calls. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "collect/process/program_file.h"
#include "shutdown.h"

/* Everything that the child needs, prepared before the fork. */
struct recipe {
    const struct collector *collector;
    const char *path;
    char *const *argv, *const *environment;
    char **shell_argv; /* for a script without "#!", as execvp() does it; NULL: it is none */
    /* Pipes with CLOEXEC. A byte from `wait` lets the child continue. A successful exec closes `tell`, else it gets
     * errno. */
    int wait, tell;
};

static int points_to(int descriptor, int standard)
{
    return descriptor < 0 || dup2(descriptor, standard) == standard;
}

static _Noreturn void become_program(const struct recipe *recipe)
{
    const struct collector *collector = recipe->collector;
    const struct capture *capture = capture_of(collector);
    char byte;
    if (read(recipe->wait, &byte, 1) != 1) /* cancelled, or the collector is gone */
        _exit(127);
    shutdown_give_back(collector);
    if (points_to(capture->streams.out.descriptor, STDOUT_FILENO) &&
        points_to(capture->streams.err.descriptor, STDERR_FILENO)) {
        sigprocmask(SIG_SETMASK, &capture->old_mask, NULL);
        execve(recipe->path, recipe->argv, recipe->environment);
        if (errno == ENOEXEC && recipe->shell_argv)
            execve(_PATH_BSHELL, recipe->shell_argv, recipe->environment);
    }
    int error = errno;
    ssize_t ignored = write(recipe->tell, &error, sizeof error);
    (void)ignored;
    _exit(127);
}

/* Builds: sh PATH ARGUMENTS... */
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

int launch_prepare(struct launch *launch, struct collector *collector, const struct program_file *program,
                   char *const *environment)
{
    int go[2], tell[2];
    struct recipe recipe = {
        .collector = collector,
        .path = program->path,
        .argv = collector->options->argv,
        .environment = environment,
        .shell_argv = program->is_script ? shell_arguments(program->path, collector->options->argv) : NULL,
    };
    if (program->is_script && !recipe.shell_argv)
        return -ENOMEM;
    int error = 0;
    if (pipe2(go, O_CLOEXEC) != 0) {
        error = errno;
        goto no_go;
    }
    if (pipe2(tell, O_CLOEXEC) != 0) {
        error = errno;
        goto no_tell;
    }
    launch->pid = fork();
    if (launch->pid == 0) {
        close(go[1]); /* so that the read below returns if the collector dies */
        recipe.wait = go[0];
        recipe.tell = tell[1];
        become_program(&recipe);
    }
    if (launch->pid < 0) {
        error = errno;
        goto no_fork;
    }
    launch->go = go[1];
    launch->tell = tell[0];
    close(go[0]);
    close(tell[1]);
    free(recipe.shell_argv);
    return 0;
no_fork:
    close(tell[0]);
    close(tell[1]);
no_tell:
    close(go[0]);
    close(go[1]);
no_go:
    free(recipe.shell_argv);
    return -error;
}

int launch_go(struct launch *launch)
{
    int error = 0;
    ssize_t got = write(launch->go, "", 1);
    close(launch->go);
    do
        got = read(launch->tell, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    close(launch->tell);
    if (got != (ssize_t)sizeof error) /* closed by exec: the program runs */
        return 0;
    waitpid(launch->pid, NULL, 0);
    return -error;
}

void launch_cancel(struct launch *launch)
{
    close(launch->go);
    close(launch->tell);
    waitpid(launch->pid, NULL, 0);
}
