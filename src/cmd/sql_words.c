/* Collects words for completion. Names of tables and columns come from the text that .schema prints: a line for a table
 * begins with CREATE TABLE, a line for a column with four spaces. */
#include "sql_words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

static const char *const fixed[] = {
    ".help",  ".mode",  ".quit",    ".schema", ".tables", "AND",      "AS",    "ASC",   "BETWEEN",   "BY",
    "CASE",   "CAST",   "COALESCE", "COUNT",   "DESC",    "DISTINCT", "ELSE",  "END",   "EXISTS",    "FROM",
    "GROUP",  "HAVING", "IN",       "INNER",   "IS",      "JOIN",     "LEFT",  "LIKE",  "LIMIT",     "MAX",
    "MIN",    "NOT",    "NULL",     "OFFSET",  "ON",      "OR",       "ORDER", "OVER",  "PARTITION", "ROUND",
    "SELECT", "SUM",    "THEN",     "TOTAL",   "UNION",   "USING",    "WHEN",  "WHERE", "WITH",
};

struct word_list {
    const char **items;
    size_t count, room;
};

/* Room for the NULL at the end stays. */
static void sql_words_add(struct word_list *list, const char *word, size_t length)
{
    char *copy = length ? strndup(word, length) : NULL;

    if (!copy)
        return;
    if (array_reserve(&list->items, &list->room, list->count + 2, sizeof *list->items) != 0) {
        free(copy);
        return;
    }
    list->items[list->count++] = copy;
}

static void sql_words_add_schema(struct word_list *list, const char *schema)
{
    static const char table[] = "CREATE TABLE ", column[] = "    ";

    for (const char *line = schema; *line;) {
        const char *name = strncmp(line, table, strlen(table)) == 0     ? line + strlen(table)
                           : strncmp(line, column, strlen(column)) == 0 ? line + strlen(column)
                                                                        : NULL;
        if (name)
            sql_words_add(list, name, strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"));
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

static int by_alphabet(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcasecmp(*x, *y);
}

/* A name that many tables have, such as start, is kept once. */
static void keep_each_once(struct word_list *list)
{
    size_t kept = 0;

    qsort(list->items, list->count, sizeof *list->items, by_alphabet);
    for (size_t i = 0; i < list->count; i++)
        if (kept && strcasecmp(list->items[kept - 1], list->items[i]) == 0)
            free((char *)list->items[i]);
        else
            list->items[kept++] = list->items[i];
    list->count = kept;
}

void sql_words_find(struct line_words *words, const struct query *query)
{
    static const char *const none[] = { NULL };
    struct word_list list = { 0 };
    struct text schema = { 0 };
    struct error err;

    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        sql_words_add(&list, fixed[i], strlen(fixed[i]));
    query_schema(query, NULL, &schema, &err);
    sql_words_add_schema(&list, text_string(&schema));
    text_free(&schema);
    if (!list.count) {
        words->list = none;
        return;
    }
    keep_each_once(&list);
    list.items[list.count] = NULL;
    words->list = list.items;
}

void sql_words_free(struct line_words *words)
{
    if (!words->list || !words->list[0])
        return;
    for (const char *const *word = words->list; *word; word++)
        free((char *)*word);
    free((void *)words->list);
}
