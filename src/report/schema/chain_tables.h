/* Call chains: which rows have one, and the tables that hold their frames, a row each, innermost first.
 *
 * Code that follows a row to its stack (or keeps only the stacks in use) reads these tables, so that a new table
 * with call chains is one more row. */
#ifndef TACHO_REPORT_SCHEMA_CHAIN_TABLES_H
#define TACHO_REPORT_SCHEMA_CHAIN_TABLES_H

#include <stddef.h>

enum chain_table { CHAINS_CUDA, CHAINS_OSRT, CHAINS_SYSCALL, CHAINS_SAMPLING, CHAINS_PYTHON, CHAIN_TABLES };
extern const char *const chain_tables[CHAIN_TABLES]; /* their names */

/* The table of this name, or -1. */
int chain_table_find(const char *name);

/* The columns of a frame, by name. Python's frames have their file where others have their module. */
enum {
    CHAIN_ID,
    CHAIN_DEPTH,
    CHAIN_SYMBOL,
    CHAIN_MODULE,
    CHAIN_KERNEL,
    CHAIN_UNRESOLVED,
    CHAIN_SOURCE,
    CHAIN_LINE,
    CHAIN_ENTRY,
    CHAIN_COLUMNS
};
#define CHAIN_NATIVE_COLUMNS \
    { "id", "stackDepth", "symbol", "module", "kernelMode", "unresolved", "sourceFile", "sourceLine", "calledByC" }
#define CHAIN_PYTHON_COLUMNS \
    { "id", "stackDepth", "symbol", "module", "kernelMode", "unresolved", "module", "line", "calledByC" }

/* Rows that have a call chain: the column that holds its id. A table has one of each kind of chain at most. */
struct chain_user {
    const char *table, *column;
    enum chain_table chains;
};
enum { CHAIN_USERS = 8 };
extern const struct chain_user chain_users[CHAIN_USERS];

#endif
