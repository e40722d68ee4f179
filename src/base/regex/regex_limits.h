/* How an expression is to be read, and how large it may be: for the caller and for the parser. */
#ifndef TACHO_BASE_REGEX_REGEX_LIMITS_H
#define TACHO_BASE_REGEX_REGEX_LIMITS_H

enum regex_flag { REGEX_BASIC = 1, REGEX_IGNORE_CASE = 2 };

enum {
    REGEX_LONGEST = 4096,     /* bytes of an expression */
    REGEX_PARTS_MOST = 10000, /* characters, classes and operators, with each repetition of {m,n} written out */
    REGEX_GROUPS_MOST = 100,  /* open at the same time */
};

#endif
