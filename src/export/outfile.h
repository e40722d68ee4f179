/* A file that is written once, from beginning to end, optionally compressed with gzip. */
#ifndef TACHO_EXPORT_OUTFILE_H
#define TACHO_EXPORT_OUTFILE_H

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"

struct outfile;

/* Whether a path stands for stdout: "-". */
int outfile_is_stdout(const char *path);
/* Opens a file, or a duplicate of stdout, to be written from its beginning to its end. NULL: errno says why. */
FILE *outfile_open(const char *path);
/* "cannot write 'PATH': …", with the reason from errno. Returns its code. */
int outfile_cannot_write(struct error *err, const char *path);

/* Opens the file, calls write() to fill it with outfile_put(), and closes it. */
int outfile_write(const char *path, int gzip, int (*write)(void *context, struct outfile *output, struct error *err),
                  void *context, struct error *err);
/* Takes the bytes of the text and leaves it empty, if it has at least `at_least` of them: small writes would cost a
 * call each. They are written while the caller goes on, and a failure is returned by a later call, or by
 * outfile_write(). */
int outfile_put(struct outfile *output, struct text *text, size_t at_least, struct error *err);

#endif
