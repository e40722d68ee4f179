/* The list of exporters. Each file is written under another name and renamed when it is complete. */
#include "export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outfile.h"

const struct exporter *const exporters[] = {
#define EXPORTER(name) &export_##name,
#include "exporters.def"
#undef EXPORTER
    NULL,
};

const struct exporter *exporter_find(const char *name)
{
    for (const struct exporter *const *at = exporters; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

/* Removes a file, or a folder that contains only files with this ending. 0, or -1 with the reason in errno. */
static int remove_output(const char *path, const char *ending)
{
    struct stat status;
    struct dirent *entry;
    DIR *folder;
    int result = 0;

    if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return unlink(path);
    if (!(folder = opendir(path)))
        return -1;
    while ((entry = readdir(folder)) && result == 0) {
        const char *dot = strrchr(entry->d_name, '.');
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!dot || strcmp(dot + 1, ending) != 0) {
            errno = ENOTEMPTY;
            result = -1;
        } else
            result = unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    return result != 0 ? result : rmdir(path);
}

static int copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t moved = in < 0 || out < 0 ? -1 : 1;

    while (moved > 0)
        moved = sendfile(out, in, NULL, 1 << 24);
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) != 0)
        moved = -1;
    return moved == 0 ? 0 : -1;
}

/* rename() replaces a file, but not a folder. */
static int move_into_place(const char *unfinished, const char *path, const char *ending, int overwrite,
                           struct error *err)
{
    struct stat status;

    if (overwrite && lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && remove_output(path, ending) != 0)
        return error_set_errno(err, "cannot replace the directory '%s'", path);
    return rename(unfinished, path) == 0 ? 0 : error_set_errno(err, "cannot write '%s'", path);
}

/* Runs the exporter, on a copy of the existing file if it appends. An export contains the data of a report, command
 * lines among them, so only its owner may read it; a file that is appended to keeps its mode. */
static int write_unfinished(const struct exporter *exporter, struct report *report, const char *unfinished,
                            const char *path, const struct export_options *options, const struct stat *old,
                            struct error *err)
{
    int is_added_to = options->append && old, code;
    mode_t mask = umask(077);

    umask(mask | 077);
    if (is_added_to && copy_file(path, unfinished) != 0) {
        code = error_set_errno(err, "cannot copy '%s' to append to it", path);
        goto restore_mask;
    }
    if ((code = exporter->export_report(report, unfinished, options, err)) != 0)
        goto restore_mask;
    if (is_added_to && chmod(unfinished, old->st_mode & 0777) != 0)
        code = error_set_errno(err, "cannot write '%s'", path);
restore_mask:
    umask(mask);
    return code;
}

/* Lets an error name the file that was asked for in place of the unfinished one, and say what to do. */
static int export_explain(struct error *err, int code, const char *unfinished, const char *path)
{
    const char *advice = code == ERR_NO_SPACE ? "; free space, or write elsewhere with -o FILE" : "";

    if (!err)
        return code;
    struct error said = *err;
    const char *at = strstr(said.text, unfinished);
    if (!at)
        return error_set(err, code, "%s%s", said.text, advice);
    return error_set(err, code, "%.*s%s%s%s", (int)(at - said.text), said.text, path, at + strlen(unfinished), advice);
}

/* Exports are written in a folder that only we can enter, beside their final place, so that nobody can put a link in
 * the way. */
static int export_aside(const struct exporter *exporter, struct report *report, const char *path, int overwrite,
                        const struct export_options *options, const struct stat *old, struct error *err)
{
    const char *ending = exporter->folder ? exporter->folder : exporter->extension;
    char folder[4096], unfinished[4096 + 16];
    int code;

    if (snprintf(folder, sizeof folder, "%s.unfinished.XXXXXX", path) >= (int)sizeof folder)
        return error_set(err, ERR_BAD_ARGUMENT, "the output name is too long");
    if (!mkdtemp(folder))
        return error_set_errno(err, "cannot write '%s'", path);
    snprintf(unfinished, sizeof unfinished, "%s/export", folder);
    if ((code = write_unfinished(exporter, report, unfinished, path, options, old, err)) == 0)
        code = move_into_place(unfinished, path, ending, overwrite, err);
    if (code != 0) {
        code = export_explain(err, code, unfinished, path);
        remove_output(unfinished, ending);
    }
    rmdir(folder);
    return code;
}

int export_file(const struct exporter *exporter, struct report *report, const char *path, int overwrite,
                const struct export_options *options, struct error *err)
{
    static const struct export_options everything = { .lazy = 1 };
    struct stat status, itself;
    int there = stat(path, &status) == 0, taken = lstat(path, &itself) == 0;

    options = options ? options : &everything;
    if (options->append && !exporter->appends)
        return error_set(err, ERR_BAD_ARGUMENT, "--append works only with --type sqlite");
    if (options->gzip && !exporter->gzips)
        return error_set(err, ERR_BAD_ARGUMENT, "--gzip does not work with --type %s", exporter->name);
    if (options->max_bytes && !exporter->limits)
        return error_set(err, ERR_BAD_ARGUMENT, "--max-size works only with --type html and tacho");
    if (outfile_is_stdout(path) && exporter->needs_file)
        return error_set(err, ERR_BAD_ARGUMENT, "%s cannot be written to stdout: name a file with -o", exporter->name);
    if (outfile_is_stdout(path))
        return exporter->export_report(report, path, options, err);
    if (!overwrite && !options->append && taken)
        return error_set(err, ERR_EXISTS,
                         "'%s' exists already: choose another name, or overwrite it with -f "
                         "true",
                         path);
    if (there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) /* a device would be replaced by a file */
        return error_set(err, ERR_BAD_ARGUMENT, "cannot overwrite '%s': it is neither a file nor a directory", path);
    return export_aside(exporter, report, path, overwrite, options, there ? &status : NULL, err);
}
