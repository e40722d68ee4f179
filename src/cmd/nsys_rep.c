/* Finding what can be read in place of a .nsys-rep, or having it made. */
#include "nsys_rep.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "import/import.h"
#include "report/reader/reader.h"

extern char **environ;

/* The length without the ending of nsys's own reports, or 0 if it has none. */
static size_t stem_length(const char *path)
{
    static const char *const endings[] = { ".nsys-rep", ".qdrep" };
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            return length - ending;
    }
    return 0;
}

static int use_if_there(struct text *out, const char *path, size_t stem, const char *ending)
{
    text_clear(out);
    text_add_bytes(out, path, stem);
    text_add(out, ending);
    return access(text_string(out), R_OK) == 0;
}

/* nsys's own words go to stderr: they say why when it fails. */
static int run_nsys(const char *path, const char *sqlite, struct error *err)
{
    char *words[] = { "nsys", "export",   "--type",       "sqlite",     "--force-overwrite",
                      "true", "--output", (char *)sqlite, (char *)path, NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int failed = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return error_set(err, ERR_UNSUPPORTED,
                         "cannot read '%s': only nsys reads its own format, and it is not installed here. Where it is, "
                         "run: nsys export --type sqlite FILE",
                         path);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || access(sqlite, R_OK) != 0)
        return error_set(err, ERR_BAD_FORMAT, "cannot export '%s' with nsys: its message is above", path);
    return 0;
}

int nsys_rep_find(const char *path, const struct nsys_rep_settings *settings, struct text *out, struct error *err)
{
    static const struct nsys_rep_settings none;
    size_t stem = stem_length(path);

    settings = settings ? settings : &none;
    if (!stem) {
        /* Beside X.tacho, X is often the program that was recorded. */
        if (!use_if_there(out, path, strlen(path), ".tacho") || report_recognise(path) || importer_for(path)) {
            text_clear(out);
            text_add(out, path); /* what is wrong with it, whoever opens it will say */
        }
        return 0;
    }
    if (!settings->force_export) {
        if (settings->sqlite ? use_if_there(out, settings->sqlite, strlen(settings->sqlite), "")
                             : use_if_there(out, path, stem, ".tacho") || use_if_there(out, path, stem, ".sqlite"))
            return 0;
    }
    if (access(path, F_OK) != 0)
        return error_set(err, ERR_NOT_FOUND, "cannot find '%s', nor '%.*s.tacho' or '%.*s.sqlite'", path, (int)stem,
                         path, (int)stem, path);
    if (access(path, R_OK) != 0)
        return error_set_errno(err, "cannot open '%s'", path);
    text_clear(out);
    if (settings->sqlite)
        text_add(out, settings->sqlite);
    else
        text_addf(out, "%.*s.sqlite", (int)stem, path);
    return text_failed(out) ? error_set(err, ERR_NO_MEMORY, "out of memory") : run_nsys(path, text_string(out), err);
}
