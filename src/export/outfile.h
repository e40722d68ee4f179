/* A file that is written once, from beginning to end, optionally compressed with gzip. */
#ifndef TACHO_EXPORT_OUTFILE_H
#define TACHO_EXPORT_OUTFILE_H

#include "base/error.h"
#include "base/text.h"

struct outfile;

int outfile_open(const char *path, int gzip, struct outfile **out, struct error *err);
/* Writes the text and empties it, once it is worth writing: at least that many bytes. */
int outfile_put(struct outfile *output, struct text *text, size_t at_least, struct error *err);
/* Frees it in any case. */
int outfile_close(struct outfile *output, struct error *err);

#endif
