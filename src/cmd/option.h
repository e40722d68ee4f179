/* Options of the command line, as rows: the parser, the help text and the shell completion all read the same table.
 *
 * Accepted are --name value, --name=value, -n value, -nvalue and -n=value, as nsys has them. */
#ifndef TACHO_CMD_OPTION_H
#define TACHO_CMD_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum option_kind {
    OPTION_FLAG,    /* int: 1 when given; takes no value */
    OPTION_BOOL,    /* int: true or false; 1 when given bare */
    OPTION_TEXT,    /* const char * */
    OPTION_CHOICE,  /* const char *: one of choices */
    OPTION_LIST,    /* struct option_list: may be given again and again */
    OPTION_CUSTOM,  /* take() does it */
    OPTION_IGNORED, /* known from nsys but not honoured; takes a value, warns with `help` and goes on */
};

struct option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* 0: none */
    enum option_kind kind;
    size_t offset;    /* of the field in the command's settings */
    /* what help calls the value; "BOOL" of an ignored one: it may stand alone; "[…]" of a text with choices: it may be
     * left out (and is then ""); apart from the option it is one of them */
    const char *value;
    const char *help; /* one sentence; OPTION_IGNORED: why it does nothing */
    /* NULL-terminated; for OPTION_CHOICE, and for completion of any other; may be NULL */
    const char *const *(*choices)(void);
    int (*take)(void *settings, const char *value, struct error *err);
    int hidden; /* an old spelling: not in help or completion */
};

enum { OPTION_LIST_MAX = 64 };

struct option_list {
    const char *values[OPTION_LIST_MAX];
    size_t count;
};

struct option_parse {
    const struct option *options;
    void *settings;
    int stop_at_operand;   /* the first operand ends the options: it is a program */
    const char **operands; /* filled: room for argc of them */
    size_t operand_count;
    int wants_help;        /* --help or -h was given */
    struct text warnings;  /* a line each */
};

/* ERR_BAD_ARGUMENT names the option and, for one that is not known, the nearest that is. argv[0] is not looked at. */
int options_parse(struct option_parse *parse, int argc, char **argv, struct error *err);

/* true, false, yes, no, on, off, 1, 0: 1 or 0; -1 for anything else. */
int option_bool(const char *value);

/* A size such as 64M or 25MB, where a K is so many (1000, 1024); 0 for anything else. */
uint64_t option_size(const char *value, unsigned thousand);

/* Splits at commas; empty parts (a trailing comma) are left out. A backslash keeps the next character as it is. The
 * parts are allocated: a NULL-terminated list to be freed with one free(), or NULL when memory is short. */
char **option_split(const char *value, size_t *count);

/* Of a NULL-terminated list the name that is closest in spelling, or NULL if none is close. */
const char *nearest_name(const char *name, const char *const *names);
/* Insertions, deletions, changes and swaps of neighbours that lead from one to the other. */
size_t edit_distance(const char *a, const char *b);

#endif
