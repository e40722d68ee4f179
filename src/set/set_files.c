/* Finds the files that operands mean. A folder is not searched in depth: its subfolders are other runs. */
#include "set_files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/text.h"
#include "set.h"

/* Endings of the files that are read from a folder; a file that a pattern or an operand names is read whatever its name
 * is. A trace of PyTorch ends in .json too, but so do many other files. */
static const char *const endings[] = { ".tacho", ".nsys-rep", ".qdrep", ".pt.trace.json", ".pt.trace.json.gz" };
/* The export of an .nsys-rep lies beside it and is the same report again. */
static const char export_ending[] = ".sqlite", *const exported[] = { ".nsys-rep", ".qdrep", ".tacho" };

static int set_files_is_folder(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

static int set_files_exists(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0;
}

int set_is_meant(const char *operand)
{
    return set_files_is_folder(operand) || (strpbrk(operand, "*?[") && !set_files_exists(operand));
}

static int has_report_ending(const char *folder, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (text_ends_with(name, endings[i]))
            return 1;
    if (!text_ends_with(name, export_ending))
        return 0;
    for (size_t i = 0; i < COUNT_OF(exported); i++) {
        struct text other = { 0 };
        text_addf(&other, "%s/%.*s%s", folder, (int)(strlen(name) - strlen(export_ending)), name, exported[i]);
        int is_copy = set_files_exists(text_string(&other));
        text_free(&other);
        if (is_copy)
            return 0;
    }
    return 1;
}

int set_takes(const char *operand, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct text folder = { 0 };
    struct stat one, other;

    if (!set_files_is_folder(operand))
        return set_is_meant(operand) && fnmatch(operand, path, FNM_PATHNAME | FNM_PERIOD) == 0;
    text_add_bytes(&folder, slash ? path : "./", slash ? (size_t)(slash - path + 1) : 2);
    int is_inside = stat(operand, &one) == 0 && stat(text_string(&folder), &other) == 0 && one.st_dev == other.st_dev &&
                    one.st_ino == other.st_ino;
    text_free(&folder);
    return is_inside && name[0] != '.' && has_report_ending(operand, name);
}

static int set_files_add(struct set_files *files, const char *path)
{
    char *copy;

    for (size_t i = 0; i < files->count && files->count < 1000; i++) /* named twice by the user */
        if (strcmp(files->paths[i], path) == 0)
            return 0;
    if (array_reserve(&files->paths, &files->capacity, files->count + 1, sizeof *files->paths) != 0 ||
        !(copy = strdup(path)))
        return ERR_NO_MEMORY;
    files->paths[files->count++] = copy;
    return 0;
}

static int set_files_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int set_files_add_entry(struct set_files *files, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    struct text path = { 0 };
    int code = 0;

    text_addf(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name);
    if (text_failed(&path))
        code = ERR_NO_MEMORY;
    else if (has_report_ending(folder, name))
        code = set_files_add(files, text_string(&path));
    text_free(&path);
    return code;
}

static int set_files_add_entries(struct set_files *files, const char *folder, DIR *entries)
{
    int code;

    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.' && (code = set_files_add_entry(files, folder, entry->d_name)) != 0)
            return code;
    return 0;
}

/* The first folder in it, in the order of names, that has reports; 0: none. */
static int find_inner(struct text *out, const char *folder)
{
    enum { MOST_TRIED = 100 };
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), found = 0;

    for (int i = 0; i < count && i < MOST_TRIED && !found; i++) {
        struct set_files inner = { 0 };
        DIR *list = NULL;
        text_clear(out);
        text_addf(out, "%s%s%s", folder, text_ends_with(folder, "/") ? "" : "/", entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && set_files_is_folder(text_string(out)))
            list = opendir(text_string(out));
        if (list && set_files_add_entries(&inner, text_string(out), list) == 0 && inner.count)
            found = i + 1;
        if (list)
            closedir(list);
        set_files_free(&inner);
    }
    text_clear(out);
    if (found)
        text_addf(out, "%s%s%s/", folder, text_ends_with(folder, "/") ? "" : "/", entries[found - 1]->d_name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
    return found;
}

static int refuse_folder(const char *folder, struct error *err)
{
    struct text inner = { 0 };
    int has_inner = find_inner(&inner, folder);

    error_set(err, ERR_NOT_FOUND, "there are no reports in the folder '%s'%s%s%s", folder,
              has_inner ? "; there are in '" : "", text_string(&inner), has_inner ? "'" : "");
    text_free(&inner);
    return ERR_NOT_FOUND;
}

static int set_files_add_folder(struct set_files *files, const char *folder, struct error *err)
{
    DIR *entries = opendir(folder);
    size_t first = files->count;

    if (!entries)
        return error_set_errno(err, "cannot read the folder '%s'", folder);
    int code = set_files_add_entries(files, folder, entries);
    closedir(entries);
    if (code != 0)
        return error_no_memory(err);
    if (files->count == first)
        return refuse_folder(folder, err);
    qsort(files->paths + first, files->count - first, sizeof *files->paths, set_files_by_name);
    return 0;
}

static int set_files_add_matches(struct set_files *files, const glob_t *found)
{
    int code;

    for (size_t i = 0; i < found->gl_pathc; i++)
        if (!set_files_is_folder(found->gl_pathv[i]) && (code = set_files_add(files, found->gl_pathv[i])) != 0)
            return code;
    return 0;
}

static int add_pattern(struct set_files *files, const char *pattern, struct error *err)
{
    glob_t found;
    size_t first = files->count;

    if (glob(pattern, 0, NULL, &found) != 0)
        return error_set(err, ERR_NOT_FOUND, "no file matches '%s'", pattern);
    int code = set_files_add_matches(files, &found);
    globfree(&found);
    if (code != 0)
        return error_no_memory(err);
    if (files->count == first)
        return error_set(err, ERR_NOT_FOUND, "only folders match '%s'", pattern);
    return 0;
}

static int add_operand(struct set_files *files, const char *operand, struct error *err)
{
    if (set_files_is_folder(operand))
        return set_files_add_folder(files, operand, err);
    if (set_is_meant(operand))
        return add_pattern(files, operand, err);
    return set_files_add(files, operand) != 0 ? error_no_memory(err) : 0;
}

int set_files_find(struct set_files *files, const char *const *operands, size_t count, struct error *err)
{
    int code;

    for (size_t i = 0; i < count; i++)
        if ((code = add_operand(files, operands[i], err)) != 0)
            return code;
    if (files->count > REPORT_MOST_PARTS)
        return error_set(err, ERR_UNSUPPORTED,
                         "%zu reports are too many to read as one: the most is %d; name some of them with a pattern, "
                         "'run/rank000*'",
                         files->count, REPORT_MOST_PARTS);
    return 0;
}

void set_files_free(struct set_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct set_files){ 0 };
}
