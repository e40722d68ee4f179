/* Writes a plain file with stdio, or a compressed one with zlib. */
#include "outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Traces repeat the same names and numbers: higher levels take three times as long for a file that is a tenth smaller.
 */
#define GZIP_MODE "wb3"
#define GZIP_BUFFER (1u << 18)

struct outfile {
    FILE *file; /* or */
    gzFile gzip;
    char *path;
};

static void free_outfile(struct outfile *output)
{
    if (output)
        free(output->path);
    free(output);
}

static int open_outfile(const char *path, int gzip, struct outfile **out, struct error *err)
{
    struct outfile *output = calloc(1, sizeof *output);
    int code;

    if (!output || !(output->path = strdup(path))) {
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
        goto free_output;
    }
    if (gzip)
        output->gzip = gzopen(path, GZIP_MODE);
    else
        output->file = fopen(path, "wbe");
    if (!output->file && !output->gzip) {
        code = error_set_errno(err, "cannot write '%s'", path);
        goto free_output;
    }
    if (output->gzip)
        gzbuffer(output->gzip, GZIP_BUFFER);
    *out = output;
    return 0;
free_output:
    free_outfile(output);
    return code;
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

/* Frees it in any case. */
static int close_outfile(struct outfile *output, struct error *err)
{
    errno = EIO;
    int is_good = output->gzip ? gzclose(output->gzip) == Z_OK : fclose(output->file) == 0;
    int code = is_good ? 0 : error_set_errno(err, "cannot write '%s'", output->path);

    free_outfile(output);
    return code;
}

int outfile_write(const char *path, int gzip, int (*write)(void *context, struct outfile *output, struct error *err),
                  void *context, struct error *err)
{
    struct outfile *output = NULL;
    int code;

    if ((code = open_outfile(path, gzip, &output, err)) != 0)
        return code;
    if ((code = write(context, output, err)) != 0) {
        close_outfile(output, NULL);
        return code;
    }
    return close_outfile(output, err);
}
