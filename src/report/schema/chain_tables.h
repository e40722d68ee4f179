/* Call chains: the rows that have one, and the tables of their frames (one row per frame, innermost first).
 *
 * Code that follows a row to its stack, or that keeps only the stacks in use, iterates over these tables. So a new
 * table with call chains is one more row. */
#ifndef TACHO_REPORT_SCHEMA_CHAIN_TABLES_H
#define TACHO_REPORT_SCHEMA_CHAIN_TABLES_H

#include <stddef.h>

enum chain_table {
    CHAINS_CUDA,
    CHAINS_OSRT,
    CHAINS_SYSCALL,
    CHAINS_SAMPLING,
    CHAINS_PYTHON,
    CHAINS_OPENMP,
    CHAINS_MPI,
    CHAINS_HEAP,
    CHAIN_TABLES
};
extern const char *const chain_tables[CHAIN_TABLES]; /* their names */

/* The table of this name, or -1. */
int chain_table_find(const char *name);

/* The columns of a frame, by name. Python frames have their file where native frames have their module. */
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

/* Rows that have a call chain, and the column with its id. A row has at most one stack of each kind, and may have
 * chains that only name something. */
struct chain_user {
    const char *table, *column;
    enum chain_table chains;
    int is_name; /* the chain is no stack: its one frame names what the row is about */
};
enum { CHAIN_USERS = 28 };
extern const struct chain_user chain_users[CHAIN_USERS];

#endif
