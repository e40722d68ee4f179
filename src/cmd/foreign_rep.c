/* Finds a readable file in place of one that only its own profiler reads, or has that profiler make one. */
#include "foreign_rep.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/newfile.h"
#include "import/import.h"
#include "report/reader/reader.h"

extern char **environ;

/* A profiler that reads its own format: the endings of its files, that of its export, and the command that makes one.
 */
static const struct foreign {
    const char *endings[3];
    const char *export_ending;
    const char *words[10]; /* the profiler first; OUTPUT and INPUT stand for the paths */
    const char *advice;    /* for a host that has the profiler */
    int takes_path;        /* --sqlite names the export */
    int prints;            /* the export is its stdout */
} foreigns[] = {
#define OUTPUT "OUTPUT"
#define INPUT "INPUT"
    { .endings = { ".nsys-rep", ".qdrep" },
      .export_ending = ".sqlite",
      .words = { "nsys", "export", "--type", "sqlite", "--force-overwrite", "true", "--output", OUTPUT, INPUT },
      .advice = "nsys export --type sqlite FILE",
      .takes_path = 1 },
    { .endings = { ".ncu-rep" },
      .export_ending = ".ncu.csv",
      .words = { "ncu", "--import", INPUT, "--page", "raw", "--csv", "--print-units", "base" },
      .advice = "ncu --import FILE --page raw --csv --print-units base > FILE.csv",
      .prints = 1 },
};

/* Whose file it is, and the length of its path without the ending; NULL if it has none of these endings. */
static const struct foreign *foreign_of(const char *path, size_t *stem)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < COUNT_OF(foreigns); i++)
        for (const char *const *ending = foreigns[i].endings; *ending; ending++) {
            *stem = length - strlen(*ending);
            if (length > strlen(*ending) && strcmp(path + *stem, *ending) == 0)
                return &foreigns[i];
        }
    return NULL;
}

static int use_if_there(struct text *out, const char *path, size_t stem, const char *ending)
{
    text_clear(out);
    text_add_bytes(out, path, stem);
    text_add(out, ending);
    return access(text_string(out), R_OK) == 0;
}

/* `print_to`: its stdout, if it prints. */
static int foreign_rep_spawn(const struct foreign *foreign, const char *path, const char *output, int print_to,
                             pid_t *pid)
{
    char *words[COUNT_OF(foreign->words) + 1] = { NULL };
    posix_spawn_file_actions_t actions;

    for (size_t i = 0; foreign->words[i]; i++) {
        const char *word = foreign->words[i];
        words[i] = (char *)(strcmp(word, OUTPUT) == 0 ? output : strcmp(word, INPUT) == 0 ? path : word);
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, foreign->prints ? print_to : STDERR_FILENO, STDOUT_FILENO);
    int failed = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* The profiler's own words go to stderr: they say why when it fails. */
static int run_foreign(const struct foreign *foreign, const char *path, const char *output, int print_to,
                       struct error *err)
{
    const char *tool = foreign->words[0];
    pid_t pid;
    int status;

    if (foreign_rep_spawn(foreign, path, output, print_to, &pid) != 0)
        return error_set(err, ERR_UNSUPPORTED,
                         "cannot read '%s': only %s reads its own format, and it is not installed here. Where it is, "
                         "run: %s",
                         path, tool, foreign->advice);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : error_set(err, ERR_BAD_FORMAT, "cannot export '%s' with %s: its message is above", path, tool);
}

/* The output gets its name once it is complete: later runs would take a part of it for the export. */
static int run_printing(const struct foreign *foreign, const char *path, const char *output, struct error *err)
{
    struct text part = { 0 };

    text_addf(&part, "%s.part", output);
    int file = newfile_open(text_string(&part), O_WRONLY | O_CLOEXEC, 0666, 1), code;
    if (file < 0) {
        code = error_set_errno(err, "cannot write '%s'", text_string(&part));
        goto free_name;
    }
    code = run_foreign(foreign, path, output, file, err);
    close(file);
    if (code != 0)
        goto remove_part;
    if (rename(text_string(&part), output) == 0)
        goto free_name;
    code = error_set_errno(err, "cannot write '%s'", output);
remove_part:
    unlink(text_string(&part));
free_name:
    text_free(&part);
    return code;
}

static int make_export(const struct foreign *foreign, const char *path, const char *output, struct error *err)
{
    if (foreign->prints)
        return run_printing(foreign, path, output, err);
    int code = run_foreign(foreign, path, output, -1, err);
    return code != 0 || access(output, R_OK) == 0
               ? code
               : error_set(err, ERR_BAD_FORMAT, "cannot export '%s' with %s: its message is above", path,
                           foreign->words[0]);
}

/* A path of no profiler: itself, or X.tacho for X. */
static int foreign_rep_find_own(const char *path, struct text *out)
{
    /* Beside X.tacho, X is often the program that was recorded. */
    if (!use_if_there(out, path, strlen(path), ".tacho") || report_recognise(path) || importer_for(path)) {
        text_clear(out);
        text_add(out, path); /* the code that opens it reports what is wrong with it */
    }
    return 0;
}

int foreign_rep_find(const char *path, const struct foreign_rep_settings *settings, struct text *out, struct error *err)
{
    static const struct foreign_rep_settings none;
    size_t stem;
    const struct foreign *foreign = foreign_of(path, &stem);

    if (!foreign)
        return foreign_rep_find_own(path, out);
    settings = settings ? settings : &none;
    const char *named = foreign->takes_path ? settings->sqlite : NULL;
    if (!settings->force_export) {
        if (named ? use_if_there(out, named, strlen(named), "")
                  : (!settings->is_import && use_if_there(out, path, stem, ".tacho")) ||
                        use_if_there(out, path, stem, foreign->export_ending))
            return 0;
    }
    if (access(path, F_OK) != 0)
        return error_set(err, ERR_NOT_FOUND, "cannot find '%s', nor '%.*s.tacho' or '%.*s%s'", path, (int)stem, path,
                         (int)stem, path, foreign->export_ending);
    if (access(path, R_OK) != 0)
        return error_set_errno(err, "cannot open '%s'", path);
    text_clear(out);
    if (named)
        text_add(out, named);
    else
        text_addf(out, "%.*s%s", (int)stem, path, foreign->export_ending);
    return text_failed(out) ? error_no_memory(err) : make_export(foreign, path, text_string(out), err);
}
