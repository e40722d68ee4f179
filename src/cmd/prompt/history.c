/* Keeps lines in memory and in a file. The file is cut to the newest lines when it has twice as many as are kept. */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"

/* Creates the folders of a path, private to the user. Fails quietly: so will the file. */
static void make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* NULL: no folder is known for it. */
static char *find_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct text path = { 0 };
    size_t base;

    if (state && state[0] == '/')
        text_add(&path, state);
    else if (home && home[0] == '/')
        text_addf(&path, "%s/.local/state", home);
    else
        return NULL;
    base = state && state[0] == '/' ? path.length : strlen(home) + 1;
    text_addf(&path, "/tacho/%s_history", name);
    char *made = text_take(&path);
    if (made)
        make_folders(made, base);
    return made;
}

static void forget_oldest(struct history *history)
{
    free(history->lines[0]);
    memmove(history->lines, history->lines + 1, --history->count * sizeof *history->lines);
}

/* Returns whether the line was added. */
static int history_keep(struct history *history, const char *line)
{
    if (!*line || (history->count && strcmp(history->lines[history->count - 1], line) == 0))
        return 0;
    if (array_reserve(&history->lines, &history->room, history->count + 1, sizeof *history->lines) != 0)
        return 0;
    char *copy = strdup(line);
    if (!copy)
        return 0;
    history->lines[history->count++] = copy;
    if (history->count > HISTORY_LINES)
        forget_oldest(history);
    return 1;
}

/* Opens the file if it is one: a pipe or a device in its place would hold the prompt up. */
static FILE *history_open_file(const char *path, int flags, const char *mode)
{
    int file = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
    struct stat status;

    if (file < 0)
        return NULL;
    FILE *opened = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(file, mode) : NULL;
    if (!opened)
        close(file);
    return opened;
}

/* Returns the number of lines in the file. */
static size_t history_read_lines(struct history *history, FILE *file)
{
    char *line = NULL;
    size_t room = 0, count = 0;

    while (getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        history_keep(history, line);
        count++;
    }
    free(line);
    return count;
}

/* Replaces the file by one with the lines that are kept. */
static void history_write_all(const struct history *history)
{
    struct text path = { 0 };

    text_addf(&path, "%s.%d", history->path, (int)getpid());
    int file = open(text_string(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (!out)
        goto free_path;
    for (size_t i = 0; i < history->count; i++)
        fprintf(out, "%s\n", history->lines[i]);
    if (fclose(out) != 0 || rename(text_string(&path), history->path) != 0)
        unlink(text_string(&path));
free_path:
    text_free(&path);
}

void history_open(struct history *history, const char *name)
{
    *history = (struct history){ .path = find_path(name) };
    FILE *file = history->path ? history_open_file(history->path, O_RDONLY, "r") : NULL;

    if (!file)
        return;
    size_t count = history_read_lines(history, file);
    fclose(file);
    if (count > 2 * HISTORY_LINES)
        history_write_all(history);
}

void history_add(struct history *history, const char *line)
{
    if (!history_keep(history, line) || !history->path)
        return;
    FILE *file = history_open_file(history->path, O_WRONLY | O_APPEND | O_CREAT, "a");
    if (!file)
        return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

void history_close(struct history *history)
{
    for (size_t i = 0; i < history->count; i++)
        free(history->lines[i]);
    free(history->lines);
    free(history->path);
    *history = (struct history){ 0 };
}
