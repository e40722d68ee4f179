/* The constraints that a table offers to SQLite's planner: equality on integers and texts, and ranges of the first time
 * column. The plan travels to the cursor as a text: the columns in use, then the comparisons in the order of their
 * values. SQLite checks every row that it gets, so a plan may return too many rows but never too few. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query_table.h"

/* The operator as the plan spells it, or 0 if the plan cannot use it. */
static char operator_of(const struct query_table *table, const struct sqlite3_index_constraint *constraint)
{
    if (!constraint->usable || constraint->iColumn < 0)
        return 0;
    if (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ)
        return table->report_table->columns[constraint->iColumn].type == COLUMN_REAL ? 0 : '=';
    if (constraint->iColumn != table->time_column)
        return 0;
    switch (constraint->op) {
    case SQLITE_INDEX_CONSTRAINT_LT: return '<';
    case SQLITE_INDEX_CONSTRAINT_GT: return '>';
    case SQLITE_INDEX_CONSTRAINT_LE: return 'l';
    case SQLITE_INDEX_CONSTRAINT_GE: return 'g';
    default: return 0;
    }
}

/* Another collation (NOCASE) matches more texts than the one with these bytes. */
static int compares_bytes(const struct query_table *table, sqlite3_index_info *info, int i)
{
    int column = info->aConstraint[i].iColumn;

    return table->report_table->columns[column].type != COLUMN_TEXT ||
           strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

static void set_cost(const struct query_table *table, sqlite3_index_info *info, int equalities, int bounds)
{
    double rows = (double)table->report_table->rows + 1;

    info->estimatedCost = rows;
    if (table->is_strings && equalities) {
        info->estimatedCost = rows = 1;
    } else if (equalities) {
        rows = rows < 100 ? 1 + rows / 10 : 10;
        info->estimatedCost = 20 + rows;
    } else if (bounds) {
        rows /= bounds > 1 ? 8 : 3;
        info->estimatedCost = rows + 10;
    }
    info->estimatedRows = (sqlite3_int64)(rows + 1);
}

/* GROUP BY and DISTINCT only need equal values one after the other. Where no two strings are equal they always are, so
 * that a group by name needs no sorter for all the rows that have a name. */
static int is_grouped(const struct query_table *table, sqlite3_index_info *info)
{
    enum { FOR_GROUP_BY = 1, FOR_DISTINCT = 2 };
    int need = sqlite3_vtab_distinct(info);

    return table->is_strings && info->nOrderBy == 1 && info->aOrderBy[0].iColumn >= 0 &&
           (need == FOR_GROUP_BY || need == FOR_DISTINCT) && report_strings_differ(table->tables->report);
}

int query_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct query_table *table = (const struct query_table *)base;
    sqlite3_str *text = sqlite3_str_new(NULL);
    int wants = 0, equalities = 0, bounds = 0;

    for (size_t i = 0; i < table->report_table->column_count; i++)
        if (info->colUsed >> (i < 63 ? i : 63) & 1)
            sqlite3_str_appendf(text, "%d ", (int)i);
    sqlite3_str_appendchar(text, 1, '|');
    for (int i = 0; i < info->nConstraint && wants < MOST_TESTS; i++) {
        char op = operator_of(table, &info->aConstraint[i]);
        if (!op || !compares_bytes(table, info, i))
            continue;
        sqlite3_str_appendf(text, "%d%c", info->aConstraint[i].iColumn, op);
        info->aConstraintUsage[i].argvIndex = ++wants;
        equalities += op == '=';
        bounds += op != '=';
    }
    set_cost(table, info, equalities, bounds);
    info->orderByConsumed = is_grouped(table, info);
    info->idxStr = sqlite3_str_finish(text);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* The column gets a slot if it has none yet. */
static void want_column(struct query_plan *plan, int column)
{
    if (plan->slot[column] >= 0)
        return;
    plan->slot[column] = (int)plan->column_count;
    plan->columns[plan->column_count++] = column;
}

void query_plan_parse(struct query_plan *plan, const char *text)
{
    char *at = (char *)text;

    plan->text = text;
    plan->column_count = plan->want_count = 0;
    for (size_t i = 0; i < MOST_COLUMNS; i++)
        plan->slot[i] = -1;
    while (*at && *at != '|') {
        want_column(plan, (int)strtol(at, &at, 10));
        at += *at == ' ';
    }
    for (at += *at == '|'; *at; at++) {
        int column = (int)strtol(at, &at, 10);
        want_column(plan, column);
        plan->wants[plan->want_count].column = column;
        plan->wants[plan->want_count++].op = *at;
    }
}
