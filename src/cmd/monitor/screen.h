/* A terminal as a screen that is drawn again and again: only lines that changed are written, so nothing flickers. The
 * terminal is put back however the program ends, except by SIGKILL. */
#ifndef TACHO_CMD_MONITOR_SCREEN_H
#define TACHO_CMD_MONITOR_SCREEN_H

#include <stddef.h>

#include "base/text.h"

struct screen {
    size_t rows, columns;
    struct text *shown; /* the text of each row; owned */
    size_t shown_count;
};

/* Whether stdin and stdout are a terminal that can be drawn on. */
int screen_is_possible(void);

/* Takes the terminal: keys come one by one, and the shell's text stays as it was. 0, or -1. */
int screen_begin(struct screen *screen);
void screen_end(struct screen *screen);

/* Asks for the size and draws everything again; the other one only if the size is a new one. */
void screen_measure(struct screen *screen);
void screen_measure_changed(struct screen *screen);

/* Shows lines, each ended by a line feed, from the first row on. */
void screen_show(struct screen *screen, const struct text *lines);

/* Stops this program as Ctrl-Z does, with the terminal put back meanwhile. */
void screen_suspend(struct screen *screen);

/* A key that was pressed; 0: none is waiting; SCREEN_CLOSED: the terminal is gone. */
enum screen_key {
    SCREEN_UP = 256,
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_CLOSED
};
int screen_key(void);

#endif
