/* Reads a source file: see annotate_source.h. */
#include "annotate_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"

enum { MOST_BYTES = 64 << 20 };

void annotate_source_close(struct annotate_source *source)
{
    text_free(&source->text);
    text_free(&source->path);
    free(source->lines);
    *source = (struct annotate_source){ 0 };
}

/* 1: the text has it. What is not a plain file, or much too long for a source, is not there. */
static int annotate_source_read(struct annotate_source *source, const char *path)
{
    struct stat facts;

    text_clear(&source->text);
    text_clear(&source->path);
    text_add(&source->path, path);
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= MOST_BYTES &&
           text_add_file(&source->text, path) == 0;
}

/* FOLDER/a/b/c.py, FOLDER/b/c.py, FOLDER/c.py. */
static int annotate_source_search(struct annotate_source *source, const char *file, const char *folder)
{
    struct text path = { 0 };
    int found = 0;

    while (!found && *file) {
        file += strspn(file, "/");
        text_clear(&path);
        text_addf(&path, "%s/%s", folder, file);
        found = annotate_source_read(source, text_string(&path));
        file += strcspn(file, "/");
    }
    text_free(&path);
    return found;
}

int annotate_source_open(struct annotate_source *source, const char *file, const char *folder)
{
    size_t room = 0;

    if (!*file || !((folder && annotate_source_search(source, file, folder)) || annotate_source_read(source, file)))
        return 0;
    if (text_failed(&source->text))
        return ERR_NO_MEMORY;
    const char *at = text_string(&source->text), *end = at + source->text.length;
    while (at < end) {
        if (array_reserve(&source->lines, &room, (size_t)source->count + 1, sizeof *source->lines) != 0)
            return ERR_NO_MEMORY;
        source->lines[source->count++] = at;
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed ? feed + 1 : end;
    }
    return 0;
}

const char *annotate_source_line(const struct annotate_source *source, int64_t line, size_t *length)
{
    *length = 0;
    if (line < 1 || line > source->count)
        return "";
    const char *at = source->lines[line - 1], *end = text_string(&source->text) + source->text.length,
               *feed = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((feed ? feed : end) - at);
    if (*length && at[*length - 1] == '\r')
        --*length;
    return at;
}
