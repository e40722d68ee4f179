/* Runs python/tacho/_measure.py. Its input and output are files without names: neither side waits for the other. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/install_paths.h"
#include "measure.h"

extern char **environ;

static int measure_program_start(char **words, FILE *input, FILE *output, int *status)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
    int failed = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return failed;
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        continue;
    return 0;
}

static void measure_program_read_all(FILE *file, struct text *out)
{
    char part[4096];
    size_t length;

    rewind(file);
    while ((length = fread(part, 1, sizeof part, file)) > 0)
        text_add_bytes(out, part, length);
}

/* Reports the message of a program that failed, or its exit status. */
static int measure_program_refuse(const char *program, const struct text *said, int status, struct error *err)
{
    const char *line = text_string(said);

    if (text_begins_with(line, "! "))
        return error_set(err, ERR_UNSUPPORTED, "--measure: %.*s", (int)strcspn(line + 2, "\n"), line + 2);
    return error_set(err, ERR_UNSUPPORTED, "--measure: %s ended with status %d, see its message above", program,
                     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int measure_run(const struct measure_settings *settings, const struct text *lines, struct text *out, struct error *err)
{
    FILE *input = tmpfile(), *output = tmpfile();
    char *words[] = { (char *)settings->python, (char *)install_measure_program(), NULL };
    int code = 0, status = 0, failed;

    if (!input || !output || fwrite(lines->bytes, 1, lines->length, input) != lines->length || fflush(input) != 0) {
        code = error_set_errno(err, "--measure: cannot write a temporary file");
        goto close_files;
    }
    rewind(input);
    if ((failed = measure_program_start(words, input, output, &status)) != 0) {
        code = error_set(err, ERR_NOT_FOUND,
                         "--measure: cannot run '%s': %s. Name a Python that has torch with --python", settings->python,
                         strerror(failed));
        goto close_files;
    }
    measure_program_read_all(output, out);
    if (status != 0)
        code = measure_program_refuse(settings->python, out, status, err);
close_files:
    if (input)
        fclose(input);
    if (output)
        fclose(output);
    return code;
}
