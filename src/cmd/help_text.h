/* The common part of the help text and the manual page of a command, both made from the table of commands. */
#ifndef TACHO_CMD_HELP_TEXT_H
#define TACHO_CMD_HELP_TEXT_H

#include "command.h"

/* Whether an option comes from nsys and has no effect: help lists these separately. */
int help_is_ignored(const struct option *option);
/* Whether an option is explained with the others: it has an effect and is no old spelling. */
int help_is_listed(const struct option *option);

/* Adds what follows the name of an option: "=true|false". Choices of more than `most` columns are left out, the value
 * has its name then; returns 1 if so. */
int help_add_value(struct text *out, const struct option *option, size_t most);
/* Adds the choices, with `between` between them. */
void help_add_choices(struct text *out, const struct option *option, const char *between);
/* Adds the sentence that explains the option, with the choices if they are not part of the value. */
void help_add_sentence(struct text *out, const struct option *option, int with_choices);

/* -h, --help, which every command has beside the rows of its table. */
extern const struct option help_option;

/* The exit statuses of a command, or of tacho (NULL). */
const struct entry *help_exits(const struct command *command);

#endif
