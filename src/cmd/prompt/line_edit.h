/* A line that is being typed: keys go in, the line changes. Knows nothing of a terminal, so that tests can type.
 *
 *     arrows, Home, End, Ctrl-A/E/B/F    move            Ctrl-U/K, Ctrl-W, Alt-D   delete to the start/end, a word
 *     Alt-B/F, Ctrl-Left/Right           move by words   Ctrl-Y                    insert what was deleted last
 *     Up/Down, Ctrl-P/N                  history         Backspace, Delete         delete a character
 *     Ctrl-R                             search in it    Tab                       complete the word
 */
#ifndef TACHO_CMD_PROMPT_LINE_EDIT_H
#define TACHO_CMD_PROMPT_LINE_EDIT_H

#include "base/text.h"
#include "history.h"

/* The action of the caller for a key. */
enum line_event {
    LINE_NOTHING, /* part of a sequence: wait for more */
    LINE_CHANGED, /* draw the line again */
    LINE_DONE,    /* Enter */
    LINE_CANCEL,  /* Ctrl-C: the line is thrown away */
    LINE_END,     /* Ctrl-D on an empty line */
    LINE_SUSPEND, /* Ctrl-Z */
    LINE_CLEAR,   /* Ctrl-L: clear the screen, then draw */
    LINE_LIST,    /* several completions: line_edit.found lists them; then draw */
};

/* Words that Tab completes. */
struct line_words {
    const char *const *list; /* ends with NULL */
};

struct line_edit {
    struct text line;               /* UTF-8 */
    size_t at;                      /* the cursor, a byte of the line */
    const struct history *history;
    size_t recalled;                /* the line of the history that is shown; history->count: none */
    struct text typed;              /* the line before the history was recalled */
    struct text deleted;            /* what Ctrl-Y inserts */
    struct text pattern;            /* search pattern */
    int is_searching;
    int is_pasting;                 /* between the marks of a terminal's bracketed paste: a tab is white space */
    struct text found;              /* completions, one a line */
    const struct line_words *words; /* NULL: none */
    char sequence[16];              /* an escape sequence or a character that is not complete yet */
    size_t sequence_length;
};

void line_edit_begin(struct line_edit *edit, const struct history *history, const struct line_words *words);
enum line_event line_edit_key(struct line_edit *edit, unsigned char byte);
void line_edit_free(struct line_edit *edit);

#endif
