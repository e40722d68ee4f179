/* Sentences on problems of a set as a whole. */
#ifndef TACHO_SET_SET_NOTES_H
#define TACHO_SET_SET_NOTES_H

#include "base/text.h"
#include "set_member.h"

/* Adds a line, after the name of the file that it is about (NULL: none). `notes` may be NULL. */
void set_note(struct text *notes, const char *path, const char *sentence);

/* Ranks that are missing (unless reports were left out) or there twice, and reports of several jobs. */
void set_notes_add(struct text *notes, const struct set_member *members, size_t count, size_t left_out);

#endif
