/* Names by which programs were started: see started_names.h. The first argument of the command line is what the caller
 * of exec chose; it counts only where it leads to the same file. */
#include "started_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/path.h"
#include "collect/core/procfs.h"

/* In the process's root directory. */
static int is_file_of(pid_t pid, const char *path)
{
    char link[64], place[4096];
    struct stat own, other;

    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    return snprintf(place, sizeof place, "/proc/%d/root%s", (int)pid, path) < (int)sizeof place &&
           stat(link, &own) == 0 && stat(place, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

/* The folder that the process is in, with a slash. */
static void add_working_folder(struct text *path, pid_t pid)
{
    char link[64], target[4096];

    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    ssize_t length = readlink(link, target, sizeof target);
    text_add_bytes(path, target, length > 0 ? (size_t)length : 0);
    text_add_char(path, '/');
}

/* A path as it was given; a name alone stands beside the file. */
static void started_names_add_path(struct text *path, pid_t pid, const char *given, const char *file)
{
    if (!strchr(given, '/'))
        text_add_bytes(path, file, path_folder_length(file));
    else if (*given != '/')
        add_working_folder(path, pid);
    while (given[0] == '.' && given[1] == '/')
        given += 2;
    text_add(path, given);
}

/* The path by which the process was started, if it is another name of the file. */
static int started_names_look(struct text *started, pid_t pid, const char *file)
{
    struct text argument = { 0 };
    int is_found = procfs_first_argument(pid, &argument) == 0;
    const char *given = text_string(&argument), *name = path_base_name(given);

    is_found = is_found && *name && !strstr(path_base_name(file), name);
    if (is_found)
        started_names_add_path(started, pid, given, file);
    is_found = is_found && is_file_of(pid, text_string(started));
    text_free(&argument);
    return is_found;
}

static struct started_name *started_names_find_file(const struct started_names *names, const char *file)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].file, file) == 0)
            return &names->list[i];
    return NULL;
}

/* `started` may be the file itself. Without memory the file keeps its name. */
static void started_names_add(struct started_names *names, const char *file, const char *started)
{
    struct started_name *known = started_names_find_file(names, file);

    if (known) {
        if (known->started && strcmp(known->started, started) != 0) {
            free(known->started);
            known->started = NULL;
        }
        return;
    }
    struct started_name name = { strdup(file), strdup(started) };
    if (!name.file || !name.started || ARRAY_PUSH(names->list, names->room, names->count, name) != 0) {
        free(name.file);
        free(name.started);
    }
}

void started_names_find(struct started_names *names, pid_t pid, struct text *path)
{
    struct text started = { 0 };
    int is_other = started_names_look(&started, pid, text_string(path)) && !text_failed(&started);

    started_names_add(names, text_string(path), is_other ? text_string(&started) : text_string(path));
    if (is_other) {
        text_clear(path);
        text_add(path, text_string(&started));
    }
    text_free(&started);
}

const char *started_names_of(const struct started_names *names, const char *file)
{
    const struct started_name *known = started_names_find_file(names, file);

    return known && known->started ? known->started : file;
}

void started_names_free(struct started_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->list[i].file);
        free(names->list[i].started);
    }
    free(names->list);
    *names = (struct started_names){ 0 };
}
