/* Shell completion: the parts that the scripts of all shells share. Each shell has a file that adds its script. */
#ifndef TACHO_CMD_HELP_COMPLETION_H
#define TACHO_CMD_HELP_COMPLETION_H

#include "cmd/command.h"

extern const struct command command_completion, command_help_row; /* whose operands are words */

/* Whether the value of an option is the name of a file or folder. */
int completion_takes_file(const struct option *option);
/* Whether it is a list with commas. */
int completion_takes_list(const struct option *option);
/* Whether it may stand in the next word. */
int completion_takes_next_word(const struct option *option);
/* The values that are known, NULL-terminated; NULL: none. */
const char *const *completion_values(const struct option *option);

/* Words that a command takes and that are no files, NULL-terminated; NULL: none. */
const char *const *completion_operands(const struct command *command);
/* Adds the endings of the files that a command reads, with `between` between them. */
void completion_add_endings(struct text *out, const struct command *command, const char *between);
/* Adds words with spaces between them. */
void completion_add_words(struct text *out, const char *const *words);

/* Adds the options of a command whose value may be the next word, a space before each. */
void completion_add_valued(struct text *out, const struct command *command);
/* Adds the first sentence of a text without its period, inside single quotes: with a backslash before each character
 * of `escaped`, and `quote` in place of a single quote. */
void completion_add_sentence(struct text *out, const char *text, const char *escaped, const char *quote);

void completion_bash(struct text *out);
void completion_zsh(struct text *out);
void completion_fish(struct text *out);

#endif
