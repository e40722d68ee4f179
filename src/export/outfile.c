/* Writes a plain file, or one of zlib's. */
#include "outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Names and numbers that repeat all the time: higher levels take three times as long for a tenth less. */
#define GZIP_MODE "wb3"
#define GZIP_BUFFER (1u << 18)

struct outfile {
    FILE *file; /* or */
    gzFile gzip;
    char *path;
};

int outfile_open(const char *path, int gzip, struct outfile **out, struct error *err)
{
    struct outfile *output = calloc(1, sizeof *output);

    if (!output || !(output->path = strdup(path))) {
        free(output);
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    }
    if (gzip)
        output->gzip = gzopen(path, GZIP_MODE);
    else
        output->file = fopen(path, "wbe");
    if (!output->file && !output->gzip) {
        int code = error_set_errno(err, "cannot write '%s'", path);
        free(output->path);
        free(output);
        return code;
    }
    if (output->gzip)
        gzbuffer(output->gzip, GZIP_BUFFER);
    *out = output;
    return 0;
}

int outfile_put(struct outfile *output, struct text *text, size_t at_least, struct error *err)
{
    if (text->length < at_least)
        return 0;
    if (text_failed(text))
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    for (size_t at = 0; at < text->length;) {
        size_t part = text->length - at < 1u << 30 ? text->length - at : 1u << 30;
        errno = EIO;
        int is_good = output->gzip ? gzwrite(output->gzip, text->bytes + at, (unsigned)part) == (int)part
                                   : fwrite(text->bytes + at, 1, part, output->file) == part;
        if (!is_good)
            return error_set_errno(err, "cannot write '%s'", output->path);
        at += part;
    }
    text_clear(text);
    return 0;
}

int outfile_close(struct outfile *output, struct error *err)
{
    errno = EIO;
    int is_good = output->gzip ? gzclose(output->gzip) == Z_OK : fclose(output->file) == 0;
    int code = is_good ? 0 : error_set_errno(err, "cannot write '%s'", output->path);

    free(output->path);
    free(output);
    return code;
}
