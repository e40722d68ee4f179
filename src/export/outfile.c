/* Writes a plain file with stdio, or a compressed one with zlib, in a thread of its own: the caller makes the next
 * bytes while the last ones are written. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Traces repeat the same names and numbers: higher levels take three times as long for a file that is a tenth smaller.
 */
#define GZIP_MODE "wb3"
#define GZIP_BUFFER (1u << 18)

struct outfile {
    FILE *file; /* NULL if gzip is used */
    gzFile gzip;
    char *path;
    pthread_t thread;
    int has_thread; /* else the caller writes */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock, except that the thread owns the bytes of `given` while there are any. */
    struct text given;
    int is_ending, failure; /* failure: an errno */
};

static void free_outfile(struct outfile *output)
{
    if (!output)
        return;
    pthread_mutex_destroy(&output->lock);
    pthread_cond_destroy(&output->changed);
    text_free(&output->given);
    free(output->path);
    free(output);
}

/* 0, or an errno. */
static int write_bytes(struct outfile *output, const struct text *text)
{
    for (size_t at = 0; at < text->length;) {
        size_t part = text->length - at < 1u << 30 ? text->length - at : 1u << 30;
        errno = EIO;
        int is_good = output->gzip ? gzwrite(output->gzip, text->bytes + at, (unsigned)part) == (int)part
                                   : fwrite(text->bytes + at, 1, part, output->file) == part;
        if (!is_good)
            return errno;
        at += part;
    }
    return 0;
}

static void *write_given(void *argument)
{
    struct outfile *output = argument;

    pthread_mutex_lock(&output->lock);
    for (;;) {
        while (!output->given.length && !output->is_ending)
            pthread_cond_wait(&output->changed, &output->lock);
        if (!output->given.length)
            break;
        pthread_mutex_unlock(&output->lock);
        int failure = write_bytes(output, &output->given);
        pthread_mutex_lock(&output->lock);
        output->failure = output->failure ? output->failure : failure;
        text_clear(&output->given);
        pthread_cond_signal(&output->changed);
    }
    pthread_mutex_unlock(&output->lock);
    return NULL;
}

int outfile_is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

int outfile_cannot_write(struct error *err, const char *path)
{
    if (outfile_is_stdout(path))
        return error_set_errno(err, "cannot write the output");
    return error_set_errno(err, "cannot write '%s'", path);
}

/* A descriptor that the caller closes, or -1. */
static int open_descriptor(const char *path)
{
    return outfile_is_stdout(path) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                   : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

FILE *outfile_open(const char *path)
{
    int descriptor = open_descriptor(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");

    if (descriptor >= 0 && !file)
        close(descriptor);
    return file;
}

static gzFile open_gzip(const char *path)
{
    int descriptor = open_descriptor(path);
    gzFile file = descriptor < 0 ? NULL : gzdopen(descriptor, GZIP_MODE);

    if (descriptor >= 0 && !file)
        close(descriptor);
    return file;
}

static int open_outfile(const char *path, int gzip, struct outfile **out, struct error *err)
{
    struct outfile *output = calloc(1, sizeof *output);
    int code;

    if (!output)
        return error_no_memory(err);
    pthread_mutex_init(&output->lock, NULL);
    pthread_cond_init(&output->changed, NULL);
    if (!(output->path = strdup(path)) && (code = error_no_memory(err)) != 0)
        goto free_output;
    if (gzip)
        output->gzip = open_gzip(path);
    else
        output->file = outfile_open(path);
    if (!output->file && !output->gzip) {
        code = outfile_cannot_write(err, path);
        goto free_output;
    }
    if (output->gzip)
        gzbuffer(output->gzip, GZIP_BUFFER);
    output->has_thread = pthread_create(&output->thread, NULL, write_given, output) == 0;
    *out = output;
    return 0;
free_output:
    free_outfile(output);
    return code;
}

/* Exchanges the text for the empty one of the thread, when it has written that. */
static int outfile_give(struct outfile *output, struct text *text)
{
    pthread_mutex_lock(&output->lock);
    while (output->given.length)
        pthread_cond_wait(&output->changed, &output->lock);
    int failure = output->failure;
    if (!failure) {
        struct text empty = output->given;
        output->given = *text;
        *text = empty;
        pthread_cond_signal(&output->changed);
    }
    pthread_mutex_unlock(&output->lock);
    return failure;
}

int outfile_put(struct outfile *output, struct text *text, size_t at_least, struct error *err)
{
    int failure;

    if (text->length < at_least)
        return 0;
    if (text_failed(text))
        return error_no_memory(err);
    if (!text->length)
        return 0;
    if (output->has_thread) {
        failure = outfile_give(output, text);
    } else {
        failure = write_bytes(output, text);
        text_clear(text);
    }
    errno = failure;
    return failure ? outfile_cannot_write(err, output->path) : 0;
}

/* Waits until all is written; 0, or an errno. */
static int outfile_end_thread(struct outfile *output)
{
    pthread_mutex_lock(&output->lock);
    output->is_ending = 1;
    pthread_cond_signal(&output->changed);
    pthread_mutex_unlock(&output->lock);
    pthread_join(output->thread, NULL);
    return output->failure;
}

/* Frees it in any case. */
static int close_outfile(struct outfile *output, struct error *err)
{
    int failure = output->has_thread ? outfile_end_thread(output) : 0;

    errno = EIO;
    int is_good = output->gzip ? gzclose(output->gzip) == Z_OK : fclose(output->file) == 0;
    failure = failure ? failure : is_good ? 0 : errno;
    errno = failure;
    int code = failure ? outfile_cannot_write(err, output->path) : 0;

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
