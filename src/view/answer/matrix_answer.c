/* The request matrix: how many messages and bytes each rank sent to each other, as a square of cells. In large jobs,
 * several ranks share a row and a column. */
#include <stdlib.h>

#include "analyze/engine/analysis.h"
#include "analyze/engine/event_columns.h"
#include "analyze/registry.h"
#include "answers.h"
#include "base/json_write.h"
#include "base/number.h"
#include "row_answers.h"

enum { USUAL_CELLS = 128, MOST_CELLS = 256 };

struct square {
    int64_t row, column, side; /* the first rank that sends, the first that receives, and how many of each */
    int64_t cells, group;      /* on each side; ranks in a row or column */
    struct sent {
        int64_t messages, bytes, pairs;
    } *sent, all, unknown;     /* owned, by row and column; the sum of the square; messages without a known rank */
};

static void matrix_answer_count(struct sent *sent, int64_t messages, int64_t bytes)
{
    sent->messages = saturating_add(sent->messages, messages);
    sent->bytes = saturating_add(sent->bytes, bytes);
    sent->pairs++;
}

static int64_t int_or(const struct table_cell *cell, int64_t otherwise)
{
    return cell->kind == CELL_INT ? cell->integer : otherwise;
}

/* Without arguments, the smallest square with all ranks that sent or received. */
static int read_square(const struct arguments *arguments, const struct number_span *ranks, struct square *out,
                       struct error *err)
{
    int code;

    *out = (struct square){ ranks->first, ranks->first, .side = ranks->last - ranks->first + 1, .cells = USUAL_CELLS };
    if ((code = argument_int(arguments, "row", 0, INT32_MAX, &out->row, err)) != 0 ||
        (code = argument_int(arguments, "column", 0, INT32_MAX, &out->column, err)) != 0 ||
        (code = argument_int(arguments, "side", 1, INT32_MAX, &out->side, err)) != 0 ||
        (code = argument_int(arguments, "cells", 1, MOST_CELLS, &out->cells, err)) != 0)
        return code;
    out->group = (out->side + out->cells - 1) / out->cells;
    out->cells = (out->side + out->group - 1) / out->group;
    out->sent = calloc((size_t)(out->cells * out->cells), sizeof *out->sent);
    return out->sent ? 0 : error_no_memory(err);
}

struct columns {
    size_t rank, peer, messages, bytes;
};

/* The lowest and the highest rank. */
static struct number_span matrix_answer_find_ranks(const struct table *table, const struct columns *at)
{
    struct number_span ranks = { INT32_MAX, -1 };

    for (size_t r = 0; r < table_row_count(table); r++) {
        const struct table_cell *cells = table_row(table, r);
        const int64_t ends[] = { int_or(&cells[at->rank], -1), int_or(&cells[at->peer], -1) };
        for (size_t e = 0; e < 2; e++) {
            if (ends[e] < 0 || ends[e] >= INT32_MAX)
                continue;
            ranks.first = ends[e] < ranks.first ? ends[e] : ranks.first;
            ranks.last = ends[e] > ranks.last ? ends[e] : ranks.last;
        }
    }
    return ranks.last < 0 ? (struct number_span){ 0, 0 } : ranks;
}

static void matrix_answer_fill(struct square *square, const struct table *table, const struct columns *at)
{
    for (size_t r = 0; r < table_row_count(table); r++) {
        const struct table_cell *cells = table_row(table, r);
        int64_t rank = int_or(&cells[at->rank], -1), peer = int_or(&cells[at->peer], -1);
        int64_t messages = int_or(&cells[at->messages], 0), bytes = int_or(&cells[at->bytes], 0);
        if (rank < 0 || peer < 0) {
            matrix_answer_count(&square->unknown, messages, bytes);
            continue;
        }
        rank -= square->row;
        peer -= square->column;
        if (rank < 0 || rank >= square->side || peer < 0 || peer >= square->side)
            continue;
        matrix_answer_count(&square->sent[rank / square->group * square->cells + peer / square->group], messages,
                            bytes);
        matrix_answer_count(&square->all, messages, bytes);
    }
}

static void add_sent(struct text *out, const char *name, const struct sent *sent)
{
    json_addf(out, "%s:{'messages':%jd,'bytes':%jd,'pairs':%jd}", name, sent->messages, sent->bytes, sent->pairs);
}

static void add_square(struct text *out, const struct square *square, int64_t ranks)
{
    json_addf(out, "{'ranks':%jd,'row':%jd,'column':%jd,'side':%jd,'group':%jd", ranks, square->row, square->column,
              square->side, square->group);
    add_sent(out, "all", &square->all);
    add_sent(out, "unknown", &square->unknown);
    json_addf(out, "'cells':[");
    for (int64_t i = 0; i < square->cells * square->cells; i++) {
        const struct sent *sent = &square->sent[i];
        if (sent->pairs)
            json_addf(out, "[%jd,%jd,%jd,%jd]", i / square->cells, i % square->cells, sent->messages, sent->bytes);
    }
    text_add(out, "]}");
}

int view_matrix(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    const struct analysis *analysis = analysis_find("mpi_comm_matrix");
    struct report_span span;
    struct square square;
    struct table *table;
    int code;

    if ((code = view_argument_span(view, arguments, &span, err)) != 0)
        return code;
    int is_all = span.from_ns == INT64_MIN && span.to_ns == INT64_MAX;
    const struct analysis_request request = { .span = is_all ? NULL : &span };
    if ((code = analysis_run(analysis, view->report, &request, &table, err)) != 0)
        return code;
    const struct columns at = { table_find_column(table, "Rank"), table_find_column(table, "PeerRank"),
                                table_find_column(table, "Messages"), table_find_column(table, "Total") };
    struct number_span ranks = matrix_answer_find_ranks(table, &at);
    if ((code = read_square(arguments, &ranks, &square, err)) != 0)
        goto delete_table;
    matrix_answer_fill(&square, table, &at);
    add_square(out, &square, ranks.last + 1);
    free(square.sent);
delete_table:
    table_delete(table);
    return code;
}
