/* StringIds of an nsys export: adds the strings to the report's pool and maps their ids to the pool's. */
#include "nsys.h"

#include <stdlib.h>

#include "base/array.h"

/* An array for ids up to here, whatever the largest id claims to be; pages that nothing is written to cost nothing. */
#define DENSE_IDS (INT64_C(1) << 24)

static int nsys_strings_compare_pairs(const void *a, const void *b)
{
    const struct nsys_string_pair *x = a, *y = b;

    return COMPARE(x->theirs, y->theirs);
}

int64_t nsys_map_string(const struct nsys_string_map *map, int64_t theirs)
{
    if (theirs >= 0 && (uint64_t)theirs < map->dense_count)
        return map->dense[theirs] - 1;
    if (map->other_count == 0)
        return -1;
    const struct nsys_string_pair key = { theirs, 0 };
    const struct nsys_string_pair *found = bsearch(&key, map->others, map->other_count, sizeof key,
                                                   nsys_strings_compare_pairs);
    return found ? found->ours : -1;
}

static int64_t largest_id(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    int64_t largest = -1;

    if (sqlite3_prepare_v2(database, "SELECT max(id) FROM StringIds", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        largest = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return largest;
}

static int nsys_strings_add(struct nsys_string_map *map, int64_t theirs, int64_t ours)
{
    if (theirs >= 0 && (uint64_t)theirs < map->dense_count) {
        map->dense[theirs] = ours + 1;
        return 0;
    }
    return ARRAY_PUSH(map->others, map->other_capacity, map->other_count, (struct nsys_string_pair){ theirs, ours });
}

/* 0 or ERR_NO_MEMORY. A table that cannot be read to its end is noted; it cannot have more rows than the file has
 * bytes. */
static int nsys_strings_add_all(struct nsys *import)
{
    sqlite3_stmt *statement = NULL;
    uint64_t seen = 0;
    int step = SQLITE_ROW, code = 0;

    if (sqlite3_prepare_v2(import->database, "SELECT id, value FROM StringIds", -1, &statement, NULL) != SQLITE_OK) {
        nsys_note_damage(import, "StringIds", import->database);
        return 0;
    }
    while (seen++ <= import->file_bytes && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *bytes = sqlite3_column_blob(statement, 1);
        size_t length = (size_t)sqlite3_column_bytes(statement, 1);
        int64_t ours = writer_string(import->writer, bytes ? bytes : "", length);
        if ((code = nsys_strings_add(&import->strings, sqlite3_column_int64(statement, 0), ours)) != 0)
            goto finalize;
    }
    if (step != SQLITE_DONE)
        nsys_note_damage(import, "StringIds", import->database);
finalize:
    sqlite3_finalize(statement);
    return code;
}

int nsys_read_strings(struct nsys *import, struct error *err)
{
    struct nsys_string_map *map = &import->strings;
    int64_t largest = largest_id(import->database);

    if (largest >= 0) {
        map->dense_count = (size_t)(largest < DENSE_IDS ? largest + 1 : DENSE_IDS);
        map->dense = calloc(map->dense_count, sizeof *map->dense);
    }
    if ((largest >= 0 && !map->dense) || nsys_strings_add_all(import) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the strings of '%s'", import->path);
    if (map->other_count)
        qsort(map->others, map->other_count, sizeof *map->others, nsys_strings_compare_pairs);
    return 0;
}

void nsys_strings_free(struct nsys_string_map *map)
{
    free(map->dense);
    free(map->others);
}
