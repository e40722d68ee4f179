/* A prompt on a terminal: lines with editing, history and completion. Where the terminal cannot move its cursor
 * (TERM=dumb), or when input is no terminal, lines are read as they come. */
#ifndef TACHO_CMD_PROMPT_PROMPT_H
#define TACHO_CMD_PROMPT_PROMPT_H

#include "line_edit.h"

struct prompt;

/* name: of the history's file. words must stay valid. NULL when memory is short. */
struct prompt *prompt_open(const char *name, const struct line_words *words);
/* Whether there is somebody to talk to: input and output are a terminal. */
int prompt_is_terminal(const struct prompt *prompt);
/* Shows the text and reads a line, without the line feed; valid until the next call. NULL: the end of the input. An
 * interrupted line (Ctrl-C) sets *cancelled and is empty. */
const char *prompt_read(struct prompt *prompt, const char *shown, int *cancelled);
void prompt_close(struct prompt *prompt);

#endif
