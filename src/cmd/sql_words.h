/* The words that the prompt of `tacho sql` completes: commands, SQL, and the tables and columns of the report. */
#ifndef TACHO_CMD_SQL_WORDS_H
#define TACHO_CMD_SQL_WORDS_H

#include "cmd/prompt/line_edit.h"
#include "query/query.h"

/* Each word once, in the order of the alphabet. Fewer words when memory is short. */
void sql_words_find(struct line_words *words, const struct query *query);
void sql_words_free(struct line_words *words);

#endif
