/* Bookmarks and notes, in a file beside the report. Their content is the page's business. This code only ensures
 * that the file is always whole, small, and never overwrites somebody else's. */
#ifndef TACHO_SERVE_NOTES_H
#define TACHO_SERVE_NOTES_H

#include "base/error.h"
#include "base/text.h"

#define NOTES_MOST (1u << 20) /* bytes */

/* Reads the file; a file that does not exist is an empty list. */
int notes_read(const char *path, struct text *out, struct error *err);
/* Replaces the file in one step. ERR_BAD_ARGUMENT: the bytes are no notes; ERR_BAD_FORMAT: the existing file is no file
 * of notes. */
int notes_write(const char *path, const char *bytes, size_t length, struct error *err);

#endif
