/* StringIds of an export: ids of the report's pool are ids of the file, and only strings that a row refers to are
 * written. When the export appends to a file, it looks up the file's strings, and ours get ids after them. */
#include "sqlite_export.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"

#define LARGEST_ID (1 << 28) /* an id beyond, in a damaged file, points nowhere */

static int count_strings(sqlite3 *database, int64_t *largest)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, "SELECT max(id) FROM main.StringIds", -1, &statement, NULL);

    *largest = -1;
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *largest = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return code;
}

int sqlite_strings_begin(struct sqlite_export *export)
{
    int64_t largest;
    int code;

    if ((code = count_strings(export->database, &largest)) != SQLITE_OK)
        return code;
    code = sqlite3_prepare_v3(export->database, "INSERT INTO main.StringIds VALUES (?, ?)", -1,
                              SQLITE_PREPARE_PERSISTENT, &export->insert_string, NULL);
    if (code != SQLITE_OK || largest < 0)
        return code;
    export->next_string_id = largest + 1;
    code = sqlite3_exec(export->database,
                        "CREATE TABLE temp.known_strings (value TEXT PRIMARY KEY, id INTEGER) WITHOUT ROWID;"
                        "INSERT OR IGNORE INTO temp.known_strings SELECT value, id FROM main.StringIds",
                        NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return code;
    return sqlite3_prepare_v2(export->database, "SELECT id FROM temp.known_strings WHERE value = ?", -1,
                              &export->find_string, NULL);
}

static int write_string(struct sqlite_export *export, int64_t id, const char *bytes, size_t length)
{
    struct text clean = { 0 };

    sqlite3_bind_int64(export->insert_string, 1, id);
    if (utf8_valid_length(bytes, length) != length) {
        utf8_add(&clean, bytes, length);
        bytes = text_string(&clean);
        length = clean.length;
    }
    sqlite3_bind_text64(export->insert_string, 2, bytes, length, SQLITE_STATIC, SQLITE_UTF8);
    int step = text_failed(&clean) ? SQLITE_NOMEM : sqlite3_step(export->insert_string);
    sqlite3_reset(export->insert_string);
    text_free(&clean);
    return step == SQLITE_DONE ? SQLITE_OK : step;
}

/* The file's own id, or the next one. */
static int64_t file_id(struct sqlite_export *export, int64_t id)
{
    size_t length;
    const char *bytes = report_string(export->report, id, &length);
    int64_t found = -1;

    if (array_reserve_zeroed(&export->string_ids, &export->string_id_room, (size_t)id + 1, sizeof found) != 0)
        return -1;
    if (export->string_ids[id])
        return export->string_ids[id] - 1;
    sqlite3_bind_text64(export->find_string, 1, bytes, length, SQLITE_STATIC, SQLITE_UTF8);
    if (sqlite3_step(export->find_string) == SQLITE_ROW)
        found = sqlite3_column_int64(export->find_string, 0);
    sqlite3_reset(export->find_string);
    if (found < 0 && write_string(export, found = export->next_string_id++, bytes, length) != SQLITE_OK)
        return -1;
    export->string_ids[id] = found + 1;
    return found;
}

int64_t sqlite_want_string(struct sqlite_export *export, int64_t id)
{
    if (id < 0 || id > LARGEST_ID)
        id = 0;
    if (export->find_string)
        return file_id(export, id);
    if (array_reserve_zeroed(&export->string_seen, &export->string_words, (size_t)id / 64 + 1, sizeof(uint64_t)) != 0)
        return -1;
    export->string_seen[id / 64] |= UINT64_C(1) << (id % 64);
    return id;
}

int sqlite_strings_finish(struct sqlite_export *export)
{
    int code;

    for (size_t word = 0; word < export->string_words; word++)
        for (uint64_t left = export->string_seen[word]; left; left &= left - 1) {
            int64_t id = (int64_t)(word * 64) + __builtin_ctzll(left);
            size_t length;
            const char *bytes = report_string(export->report, id, &length);
            if ((code = write_string(export, id, bytes, length)) != SQLITE_OK)
                return code;
        }
    return SQLITE_OK;
}

void sqlite_strings_free(struct sqlite_export *export)
{
    sqlite3_finalize(export->insert_string);
    sqlite3_finalize(export->find_string);
    free(export->string_seen);
    free(export->string_ids);
}
