/* Wraps the lines of the summary to the width of a terminal. */
#ifndef TACHO_CMD_SUMMARY_SUMMARY_WRAP_H
#define TACHO_CMD_SUMMARY_SUMMARY_WRAP_H

#include <stddef.h>

#include "base/text.h"

/* Adds the lines, wrapped at spaces to so many columns. The parts of a line that go on are indented. Lines with paths
 * and commands, which people copy, stay whole. columns 0: nothing is wrapped. */
void summary_wrap(struct text *out, const char *lines, size_t columns);

#endif
