/* Options of the command line as rows: the parser, the help text and the shell completion read the same table.
 *
 * It accepts --name value, --name=value, -n value, -nvalue and -n=value, as nsys does. */
#ifndef TACHO_CMD_OPTION_H
#define TACHO_CMD_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum option_kind {
    OPTION_FLAG,    /* int: 1 if given; takes no value */
    OPTION_BOOL,    /* int: true or false; 1 if given without a value */
    OPTION_TEXT,    /* const char * */
    OPTION_CHOICE,  /* const char *: one of choices */
    OPTION_LIST,    /* struct option_list: may be repeated */
    OPTION_CUSTOM,  /* take() parses the value */
    OPTION_IGNORED, /* known from nsys but ignored; takes a value, warns with `help` and continues */
};

struct option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* 0: none */
    enum option_kind kind;
    size_t offset;    /* offset of the field in the command's settings */
    /* The name of the value in help. "BOOL" in an ignored option: the value is optional. "[...]" in a text with
     * choices: the value may be omitted (and is then ""); as a separate argument it must be one of the choices. */
    const char *value;
    const char *help; /* one sentence; OPTION_IGNORED: why it has no effect */
    /* The choices of OPTION_CHOICE, and for completion those of any other option; NULL: none. */
    const char *const *words;            /* OPTION_WORDS() */
    const char *const *(*choices)(void); /* instead of `words`, if they come from a table: a NULL-terminated list */
    int (*take)(void *settings, const char *value, struct error *err);
    int hidden;                          /* an old spelling: not in help or completion */
};

#define OPTION_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

enum { OPTION_LIST_MAX = 64 };

struct option_list {
    const char *values[OPTION_LIST_MAX];
    size_t count;
};

struct option_parse {
    const struct option *options;
    void *settings;
    int stop_at_operand;   /* the first operand, a program, ends the options */
    const char **operands; /* filled; has room for argc pointers */
    size_t operand_count;
    int wants_help;        /* --help or -h was given */
    struct text warnings;  /* a line each */
};

/* Parses argv, except argv[0]. ERR_BAD_ARGUMENT names the option and, if it is unknown, the nearest known one. */
int options_parse(struct option_parse *parse, int argc, char **argv, struct error *err);

/* The option's choices as a NULL-terminated list; NULL: it has none. */
const char *const *option_choices(const struct option *option);

/* Parses true, false, yes, no, on, off, 1, 0. Returns 1 or 0; -1 for anything else. */
int option_bool(const char *value);

/* Parses a size such as 64M or 25MB; `thousand` is the value of K (1000 or 1024). Returns 0 for anything else. */
uint64_t option_size(const char *value, unsigned thousand);

/* Parses a whole number in decimal digits. Returns 0; -1 if it is none, or not one from least to most. */
int option_read_number(const char *value, uint64_t least, uint64_t most, uint64_t *number);

/* The number that is the value of an option. */
struct option_range {
    const char *name, *unit; /* "samples per second" */
    uint64_t least, most;
};

/* Parses it: 0, or an error that names the option and its range. *number is set in any case. */
int option_range_read(const struct option_range *range, const char *value, uint64_t *number, struct error *err);
/* The same for a range within 32 bits; *number is not set if there is an error. */
int option_range_read_small(const struct option_range *range, const char *value, uint32_t *number, struct error *err);

/* Parses a positive number of seconds, the value of --NAME: 0, or an error that names both. */
int option_seconds(const char *name, const char *value, double *seconds, struct error *err);

/* Splits a value at commas and skips empty parts (a trailing comma). A backslash keeps the next character as it is.
 * Returns a NULL-terminated list that one free() releases, or NULL if out of memory. */
char **option_split(const char *value, size_t *count);

#endif
