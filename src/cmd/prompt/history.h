/* Lines that were typed at a prompt, also in earlier sessions.
 *
 * They are in $XDG_STATE_HOME/tacho/NAME_history, or ~/.local/state/tacho/NAME_history, which only its owner can read.
 * Each line is appended at once, so that sessions at the same time keep each other's. A file that cannot be read or
 * written is no error: the history then lasts as long as the session. */
#ifndef TACHO_CMD_PROMPT_HISTORY_H
#define TACHO_CMD_PROMPT_HISTORY_H

#include <stddef.h>

enum { HISTORY_LINES = 1000 };

struct history {
    char **lines; /* the oldest first; owned */
    size_t count, room;
    char *path;   /* owned; NULL: no file */
};

void history_open(struct history *history, const char *name);
/* Adds a line, unless it is empty or equal to the last one. */
void history_add(struct history *history, const char *line);
void history_close(struct history *history);

#endif
