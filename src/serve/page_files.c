/* Loads the page's folder: plain files with known extensions. */
#include "page_files.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/hash.h"

#define FILE_MOST (64u << 20)

static const struct {
    const char *ending, *type;
} page_files_types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".wasm", "application/wasm" },
    { ".svg", "image/svg+xml" },
    { ".png", "image/png" },
};

static const char *page_files_type_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < COUNT_OF(page_files_types); i++)
        if (strcmp(dot, page_files_types[i].ending) == 0)
            return page_files_types[i].type;
    return NULL;
}

static int page_files_read_all(const char *path, struct page_file *file, struct error *err)
{
    struct stat status;
    FILE *stream = fopen(path, "rbe");
    int code = 0;

    if (!stream)
        return error_set_errno(err, "cannot read '%s'", path);
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_MOST) {
        code = error_set(err, ERR_BAD_FORMAT, "'%s' is not a file of the page", path);
        goto close_stream;
    }
    file->bytes = malloc((size_t)status.st_size + 1);
    if (!file->bytes && (code = error_no_memory(err)) != 0)
        goto close_stream;
    file->length = fread(file->bytes, 1, (size_t)status.st_size, stream);
close_stream:
    fclose(stream);
    return code;
}

static int page_files_add_file(struct page_files *page, const char *folder, const char *name, struct error *err)
{
    char path[4096];
    int code;

    if (array_reserve(&page->files, &page->room, page->count + 1, sizeof *page->files) != 0)
        return error_no_memory(err);
    struct page_file *file = &page->files[page->count];
    *file = (struct page_file){ .name = strdup(name), .type = page_files_type_of(name) };
    page->count++;
    if (!file->name)
        return error_no_memory(err);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return error_set(err, ERR_BAD_ARGUMENT, "the path of the timeline page is too long");
    if ((code = page_files_read_all(path, file, err)) != 0)
        return code;
    snprintf(file->tag, sizeof file->tag, "\"%016" PRIx64 "\"", hash_bytes(file->bytes, file->length));
    return 0;
}

int page_files_read(struct page_files *page, const char *folder, struct error *err)
{
    DIR *stream = opendir(folder);
    struct dirent *entry;
    int code = 0;

    if (!stream)
        return 0;
    while ((entry = readdir(stream)))
        if (page_files_type_of(entry->d_name) && (code = page_files_add_file(page, folder, entry->d_name, err)) != 0)
            goto close_stream;
close_stream:
    closedir(stream);
    return code;
}

void page_files_free(struct page_files *page)
{
    for (size_t i = 0; i < page->count; i++) {
        free(page->files[i].name);
        free(page->files[i].bytes);
        free(page->files[i].packed);
    }
    free(page->files);
    *page = (struct page_files){ 0 };
}

struct page_file *page_files_find(const struct page_files *page, const char *name)
{
    for (size_t i = 0; i < page->count; i++)
        if (strcmp(page->files[i].name, name) == 0)
            return &page->files[i];
    return NULL;
}
