/* One line of a frame of a call chain, in the columns that all tables of call chains share. Each source writes the
 * chains of its events into a table of its own: chain_row of struct collect_source. */
#ifndef TACHO_COLLECT_CORE_CHAIN_ROW_H
#define TACHO_COLLECT_CORE_CHAIN_ROW_H

#include "report/writer/writer.h"
#include "symbols/symbols.h"

/* Ids in the writer's string pool for one line of a frame; symbol 0: not looked up yet. */
struct chain_line_ids {
    int64_t symbol, module, file;
};

struct chain_row {
    int64_t id;
    uint32_t depth;
    struct symbols_frame frame;
    const struct symbols_line *line;
    const struct chain_line_ids *ids;
};

#define CHAIN_ROW_SET(table, row, from)                                                                                \
    do {                                                                                                               \
        ROW_SET(row, table, id, (from)->id);                                                                           \
        ROW_SET(row, table, symbol, (from)->ids->symbol);                                                              \
        ROW_SET(row, table, module, (from)->ids->module);                                                              \
        ROW_SET(row, table, originalIP, (int64_t)(from)->frame.address);                                               \
        ROW_SET(row, table, stackDepth, (from)->depth);                                                                \
        if ((from)->line->flags & SYMBOLS_UNRESOLVED)                                                                  \
            ROW_SET(row, table, unresolved, 1);                                                                        \
        if ((from)->line->flags & SYMBOLS_INLINED)                                                                     \
            ROW_SET(row, table, inlined, 1);                                                                           \
        if ((from)->ids->file)                                                                                         \
            ROW_SET(row, table, sourceFile, (from)->ids->file);                                                        \
        if ((from)->line->line)                                                                                        \
            ROW_SET(row, table, sourceLine, (from)->line->line);                                                       \
    } while (0)
/* For tables that also record how the frame was unwound. */
#define CHAIN_ROW_SET_METHOD(table, row, from)                                                                         \
    do {                                                                                                               \
        if ((from)->frame.is_kernel)                                                                                   \
            ROW_SET(row, table, kernelMode, 1);                                                                        \
        ROW_SET(row, table, unwindMethod, (from)->frame.method);                                                       \
    } while (0)

#endif
