/* The reports of a set: rank, host, contents and clock of each. */
#ifndef TACHO_CMD_INFO_INFO_SET_H
#define TACHO_CMD_INFO_INFO_SET_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

/* Whether the report is several files, or a folder: a single file that is divided by ranks is none. */
int info_is_set(const struct report *report, const char *path);

/* Adds the ranks of a report of the set: "3", "0-7,12"; nothing if they are unknown. */
struct report_part;
void info_add_ranks(struct text *out, const struct report_part *about);

/* The state of the file of one report: complete, unfinished or damaged. */
const char *info_part_state(struct report *part);

/* The ranks of the job that no report of the set is of, as "1-3"; nothing if there are none. *world_size: all of them.
 */
int info_add_missing(struct text *out, struct report *set, int64_t *world_size, struct error *err);

int info_add_set(struct text *out, struct report *set, struct error *err);
/* The reports that a merged one was made of; nothing of another. */
int info_add_merged(struct text *out, struct report *report, struct error *err);

#endif
