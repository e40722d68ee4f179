/* The schema as data, generated from schema.def. */
#include "schema.h"

#include <string.h>

#include "base/array.h"

#define IS_NOT_NULL .not_null = 1
#define IS_NULLABLE .not_null = 0
#define IS_KEY .not_null = 1, .key = 1
#define IS_EXTRA .extra = 1

#define TABLE(name, note) static const struct schema_column columns_of_##name[] = {
#define COLUMN_AS(table, field, text, column_type, null, words) \
    { .name = text, .type = COLUMN_##column_type, IS_##null, .note = words },
#define COLUMN(table, name, type, null, note) COLUMN_AS(table, name, #name, type, null, note)
#define TABLE_END(name) };
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

const struct schema_table schema_tables[TABLE_COUNT] = {
#define TABLE(name, note) {#name, note, columns_of_##name, COUNT_OF(columns_of_##name)},
#define COLUMN(table, name, type, null, note)
#define TABLE_END(name)
#include "schema.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
};

int schema_find(const char *name)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        if (!strcmp(schema_tables[i].name, name))
            return i;
    return -1;
}

const char *schema_last_row_key(const char *name)
{
    /* The kernel reuses thread ids within one capture, so a thread is identified by its id and its start. */
    static const struct {
        const char *table, *key;
    } keys[] = {
        { "TACHO_PROCESS", "globalPid, image" },
        { "TACHO_THREAD", "globalTid, start" },
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].table, name) == 0)
            return keys[i].key;
    return NULL;
}

int schema_is_kept_whole(const char *name)
{
    static const char *const tables[] = {
        "TACHO_PROCESS",
        "TACHO_THREAD",
        "TACHO_CLOCK",
        "TACHO_RANGE",
        "TACHO_SAMPLING",
        "TACHO_CUPTI",
        "TACHO_MODULE",
        "TACHO_RESOURCE",
        /* sums over time need all rows */
        "DIAGNOSTIC_EVENT",
        "TACHO_TORCH_STEP",
        "TACHO_STEP_TIME",
        "TACHO_OVERVIEW",
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        "CUDA_GPU_MEMORY_POOL_EVENTS",
    };

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (strcmp(tables[i], name) == 0)
            return 1;
    return 0;
}

static const struct schema_column *schema_find_column(const char *table, const char *column)
{
    int id = schema_find(table);

    for (size_t i = 0; id >= 0 && i < schema_tables[id].column_count; i++)
        if (strcmp(schema_tables[id].columns[i].name, column) == 0)
            return &schema_tables[id].columns[i];
    return NULL;
}

/* Copies what stands before a character: the length with it, 0 if it is not there or the word does not fit. */
static size_t schema_take_word(const char *text, char end, char word[64])
{
    const char *found = strchr(text, end);
    size_t length = found ? (size_t)(found - text) : 64;

    if (length >= 64)
        return 0;
    memcpy(word, text, length);
    word[length] = 0;
    return length + 1;
}

/* What "REFERENCES table(column)" names; 0 if the note has none. */
static int reference_of(const char *note, char table[64], char column[64])
{
    static const char word[] = "REFERENCES ";
    const char *at = note + strlen(word);
    size_t length;

    if (strncmp(note, word, strlen(word)) != 0 || !(length = schema_take_word(at, '(', table)))
        return 0;
    return schema_take_word(at + length, ')', column) != 0;
}

static int is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return 1;
    return 0;
}

static int schema_is_time(const char *note)
{
    static const char *const whole[] = { "Start, ns.", "End, ns.", "Start of the phase.", "End of the phase.", NULL };

    return is_one_of(note, whole) || (strncmp(note, "When ", 5) == 0 && strstr(note, ", ns") != NULL);
}

/* By name and note; MEANING_VALUE if they do not say. */
static enum column_meaning own_meaning(const struct schema_column *column)
{
    static const char *const devices[] = { "deviceId", "srcDeviceId", "dstDeviceId", "cuDeviceId", "gpuId",
                                           "gpu",      "cudaId",      "cuDevice",    NULL };
    static const char *const keys[] = { "id", "genericEventId", NULL };

    if (schema_is_time(column->note))
        return MEANING_TIME;
    if (strstr(column->name, "lobalTid") || strstr(column->name, "lobalPid") ||
        strncmp(column->note, "Packed global id", 16) == 0)
        return strcmp(column->name, "typeId") == 0 ? MEANING_GPU_TYPE : MEANING_GLOBAL_ID;
    if (is_one_of(column->name, devices) || strcmp(column->note, "Number of the GPU.") == 0)
        return MEANING_DEVICE;
    if ((column->key && is_one_of(column->name, keys)) || strcmp(column->note, "Key.") == 0)
        return MEANING_KEY;
    return MEANING_VALUE;
}

enum column_meaning schema_meaning(const char *table, const char *column)
{
    char next_table[64], next_column[64];
    const struct schema_column *at = schema_find_column(table, column);

    for (int steps = 0; at && steps < 4; steps++) {
        if (at->type != COLUMN_INT)
            return MEANING_VALUE;
        if (!reference_of(at->note, next_table, next_column))
            return own_meaning(at);
        if (strncmp(next_table, "ENUM_", 5) == 0)
            return MEANING_VALUE;
        at = schema_find_column(next_table, next_column);
    }
    return MEANING_VALUE;
}
