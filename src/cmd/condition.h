/* A condition of --fail-if: "any total > +5%", "saving > 200us". The command defines the names. */
#ifndef TACHO_CMD_CONDITION_H
#define TACHO_CMD_CONDITION_H

#include "base/error.h"

struct condition {
    const char *text; /* as it was given */
    char name[64];    /* the figure: "total" */
    int any;          /* "any" stands before the name */
    char sign;        /* '>' or '<' */
    double bound;     /* in percent, in ns, or without a unit */
    int percent;
    int is_time;      /* the bound has a unit of time */
};

/* Parses a condition, which keeps the text. like: what the error names as examples, "'wall>+5%' or 'total>+5%'". */
int condition_parse(const char *text, const char *like, struct condition *out, struct error *err);

#endif
