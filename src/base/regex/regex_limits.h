/* The flags and limits of expressions, for callers and for the parser. */
#ifndef TACHO_BASE_REGEX_REGEX_LIMITS_H
#define TACHO_BASE_REGEX_REGEX_LIMITS_H

enum regex_flag { REGEX_BASIC = 1, REGEX_IGNORE_CASE = 2 };

enum {
    REGEX_LONGEST = 4096,     /* bytes of an expression */
    REGEX_PARTS_MOST = 10000, /* steps of the compiled program, in which {m,n} is written out */
    REGEX_GROUPS_MOST = 100,  /* nesting depth of groups */
};

#endif
