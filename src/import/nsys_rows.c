/* Reads the rows of one table of a SQLite file as row structs into the writer.
 *
 * Rows are read in pieces of consecutive rowids. A large table has several readers, each with its own connection.
 * The pieces come back in order, and only the calling thread uses the writer. A value of a wrong type is converted
 * if that loses nothing; else it is NULL and counted. */
#include "nsys.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/parallel.h"
#include "import.h"

#define PIECE_ROWS 16384
#define READERS_MAX 4
#define PIECES (READERS_MAX + 2)
#define ALONE_ROWS (4 * PIECE_ROWS) /* a smaller table is not worth a thread */

struct nsys_rows_piece {
    int64_t first, last; /* rowids */
    uint64_t *rows;      /* owned; PIECE_ROWS rows as in schema.h; a text is its offset in texts */
    size_t count;
    char *texts;         /* owned; each a size_t, then the bytes */
    size_t text_bytes, text_capacity;
    uint64_t wrong_type[64], no_string[64];
    int step; /* the last result of sqlite3_step(): SQLITE_DONE, SQLITE_ROW (the piece is full) or an error */
    int no_memory;
    char message[200];
};

/* ---- values ---------------------------------------------------------------------------------------------------- */

static size_t keep_text(struct nsys_rows_piece *piece, const void *bytes, size_t length)
{
    size_t at = piece->text_bytes, needed = at + sizeof length + length;

    if (array_reserve(&piece->texts, &piece->text_capacity, needed, 1) != 0) {
        piece->no_memory = 1;
        return 0;
    }
    memcpy(piece->texts + at, &length, sizeof length);
    if (length)
        memcpy(piece->texts + at + sizeof length, bytes, length);
    piece->text_bytes = needed;
    return at;
}

/* Whether a value of another type equals an integer. */
static int as_integer(sqlite3_stmt *statement, int column, int type, int64_t *out)
{
    if (type == SQLITE_INTEGER) {
        *out = sqlite3_column_int64(statement, column);
        return 1;
    }
    if (type == SQLITE_FLOAT) {
        double real = sqlite3_column_double(statement, column);
        if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0) || real != floor(real))
            return 0;
        *out = (int64_t)real;
        return 1;
    }
    if (type != SQLITE_TEXT)
        return 0;
    const char *text = (const char *)sqlite3_column_text(statement, column);
    char *end;
    errno = 0;
    *out = text ? strtoll(text, &end, 10) : 0;
    return text && *text && *end == '\0' && errno == 0;
}

static int as_real(sqlite3_stmt *statement, int column, int type, int64_t *out)
{
    union {
        double real;
        int64_t bits;
    } value;

    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        value.real = sqlite3_column_double(statement, column);
    else if (type == SQLITE_TEXT) {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        char *end;
        value.real = text ? strtod(text, &end) : 0;
        if (!text || !*text || *end)
            return 0;
    } else
        return 0;
    *out = value.bits;
    return 1;
}

/* Converts one value to the eight bytes that it has in a row; 0: it is NULL there. */
static int nsys_rows_take_value(const struct nsys *import, const struct nsys_plan *plan, struct nsys_rows_piece *piece,
                                sqlite3_stmt *statement, int column, int64_t *out)
{
    int type = sqlite3_column_type(statement, column), taken;

    if (type == SQLITE_NULL)
        return 0;
    switch (plan->types[column]) {
    case COLUMN_TEXT: {
        const void *bytes = sqlite3_column_blob(statement, column); /* first: this call makes text of a number */
        *out = (int64_t)keep_text(piece, bytes, (size_t)sqlite3_column_bytes(statement, column));
        return 1;
    }
    case COLUMN_REAL: taken = as_real(statement, column, type, out); break;
    case COLUMN_STRING:
        taken = as_integer(statement, column, type, out);
        if (taken && (*out = nsys_map_string(&import->strings, *out)) < 0) {
            piece->no_string[column]++;
            return 0;
        }
        break;
    default: taken = as_integer(statement, column, type, out); break;
    }
    if (!taken)
        piece->wrong_type[column]++;
    return taken;
}

/* Reads rows until the piece is full or the statement has no more. */
static void nsys_rows_fill(const struct nsys *import, const struct nsys_plan *plan, struct nsys_rows_piece *piece,
                           sqlite3_stmt *statement)
{
    size_t width = schema_tables[plan->id].column_count + 1;

    piece->count = 0;
    piece->text_bytes = 0;
    piece->step = SQLITE_ROW;
    while (piece->count < PIECE_ROWS && (piece->step = sqlite3_step(statement)) == SQLITE_ROW) {
        uint64_t *row = piece->rows + piece->count++ * width;
        row[0] = 0;
        for (int c = 0; c < plan->count; c++) {
            int64_t value;
            if (nsys_rows_take_value(import, plan, piece, statement, c, &value)) {
                row[1 + plan->order[c]] = (uint64_t)value;
                row[0] |= UINT64_C(1) << plan->order[c];
            }
        }
    }
    if (piece->step != SQLITE_ROW && piece->step != SQLITE_DONE)
        nsys_words(piece->message, sizeof piece->message, sqlite3_db_handle(statement));
}

/* ---- into the writer ------------------------------------------------------------------------------------------- */

static void intern_texts(struct nsys *import, const struct nsys_plan *plan, struct nsys_rows_piece *piece, size_t width)
{
    for (int c = 0; c < plan->count; c++) {
        if (plan->types[c] != COLUMN_TEXT)
            continue;
        int at = plan->order[c];
        for (size_t r = 0; r < piece->count; r++) {
            uint64_t *row = piece->rows + r * width;
            size_t length;
            if (!(row[0] >> at & 1))
                continue;
            memcpy(&length, piece->texts + row[1 + at], sizeof length);
            row[1 + at] = (uint64_t)writer_string(import->writer, piece->texts + row[1 + at] + sizeof length, length);
        }
    }
}

static void nsys_rows_put(struct nsys *import, const struct nsys_plan *plan, struct nsys_rows_piece *piece)
{
    size_t width = schema_tables[plan->id].column_count + 1;

    if (plan->text_count && !piece->no_memory)
        intern_texts(import, plan, piece, width);
    for (size_t done = 0; done < piece->count;) {
        size_t count = piece->count - done;
        void *room = writer_reserve(import->writer, plan->id, &count);
        memcpy(room, piece->rows + done * width, count * width * sizeof *piece->rows);
        writer_commit(import->writer, plan->id, count);
        done += count;
    }
    import->rows += piece->count;
}

/* ---- one reader, or several ------------------------------------------------------------------------------------ */

struct nsys_rows_reading {
    const struct nsys *import;
    const struct nsys_plan *plan;
    struct nsys_rows_piece pieces[PIECES];
    int64_t first, last;     /* rowids of the table */
    uint64_t piece_count;
    pthread_mutex_t lock;    /* guards the fields below */
    pthread_cond_t changed;
    uint64_t taken, written; /* pieces handed to readers; pieces written, whose memory can be used again */
    unsigned char ready[PIECES];
    int stop;
};

static int nsys_rows_prepare(sqlite3 *database, const struct nsys_plan *plan, int ranged, sqlite3_stmt **out)
{
    char *sql = sqlite3_mprintf("%s%s", plan->sql, ranged ? " WHERE rowid BETWEEN ? AND ?" : "");
    int code = sql ? sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) : SQLITE_NOMEM;

    sqlite3_free(sql);
    return code;
}

struct nsys_rows_reader {
    struct nsys_rows_reading *reading;
    sqlite3 *database;
    sqlite3_stmt *statement;
    pthread_t thread;
};

static void read_range(const struct nsys_rows_reader *reader, struct nsys_rows_piece *piece)
{
    sqlite3_bind_int64(reader->statement, 1, piece->first);
    sqlite3_bind_int64(reader->statement, 2, piece->last);
    nsys_rows_fill(reader->reading->import, reader->reading->plan, piece, reader->statement);
    sqlite3_reset(reader->statement);
}

static void *nsys_rows_read_pieces(void *argument)
{
    const struct nsys_rows_reader *reader = argument;
    struct nsys_rows_reading *reading = reader->reading;

    pthread_mutex_lock(&reading->lock);
    for (;;) {
        while (!reading->stop && reading->taken < reading->piece_count && reading->taken >= reading->written + PIECES)
            pthread_cond_wait(&reading->changed, &reading->lock);
        if (reading->stop || reading->taken == reading->piece_count)
            break;
        uint64_t number = reading->taken++;
        struct nsys_rows_piece *piece = &reading->pieces[number % PIECES];
        piece->first = reading->first + (int64_t)(number * PIECE_ROWS);
        piece->last = number + 1 == reading->piece_count ? reading->last : piece->first + PIECE_ROWS - 1;
        pthread_mutex_unlock(&reading->lock);
        read_range(reader, piece);
        pthread_mutex_lock(&reading->lock);
        reading->ready[number % PIECES] = 1;
        pthread_cond_broadcast(&reading->changed);
    }
    pthread_mutex_unlock(&reading->lock);
    return NULL;
}

/* Waits for each piece in turn and writes it. */
static void write_in_order(struct nsys *import, struct nsys_rows_reading *reading)
{
    for (uint64_t number = 0; number < reading->piece_count; number++) {
        struct nsys_rows_piece *piece = &reading->pieces[number % PIECES];
        pthread_mutex_lock(&reading->lock);
        while (!reading->ready[number % PIECES])
            pthread_cond_wait(&reading->changed, &reading->lock);
        reading->ready[number % PIECES] = 0;
        pthread_mutex_unlock(&reading->lock);
        nsys_rows_put(import, reading->plan, piece);
        pthread_mutex_lock(&reading->lock);
        reading->written = number + 1;
        reading->stop |= piece->no_memory;
        pthread_cond_broadcast(&reading->changed);
        pthread_mutex_unlock(&reading->lock);
        if (piece->no_memory)
            return;
    }
}

static int start_reader(struct nsys_rows_reader *reader, struct nsys_rows_reading *reading)
{
    *reader = (struct nsys_rows_reader){ .reading = reading };
    if (nsys_open(reading->import, &reader->database) == SQLITE_OK &&
        nsys_rows_prepare(reader->database, reading->plan, 1, &reader->statement) == SQLITE_OK &&
        pthread_create(&reader->thread, NULL, nsys_rows_read_pieces, reader) == 0)
        return 1;
    sqlite3_finalize(reader->statement);
    sqlite3_close(reader->database);
    return 0;
}

/* Returns the number of readers: as many as could be started, up to the number of cores. */
static int read_together(struct nsys *import, struct nsys_rows_reading *reading)
{
    struct nsys_rows_reader readers[READERS_MAX];
    int cores = parallel_cores(), wanted = cores < READERS_MAX ? cores : READERS_MAX, started = 0;

    while (started < wanted && start_reader(&readers[started], reading))
        started++;
    if (started)
        write_in_order(import, reading);
    for (int i = 0; i < started; i++) {
        pthread_join(readers[i].thread, NULL);
        sqlite3_finalize(readers[i].statement);
        sqlite3_close(readers[i].database);
    }
    return started;
}

static void read_alone(struct nsys *import, struct nsys_rows_reading *reading)
{
    struct nsys_rows_piece *piece = &reading->pieces[0];
    sqlite3_stmt *statement = NULL;
    uint64_t rows = 0;

    if (nsys_rows_prepare(import->database, reading->plan, 0, &statement) != SQLITE_OK) {
        nsys_note_damage(import, reading->plan->table, import->database);
        return;
    }
    do {
        nsys_rows_fill(import, reading->plan, piece, statement);
        nsys_rows_put(import, reading->plan, piece);
        rows += piece->count;
        if (rows > import->file_bytes) { /* a tree whose branches meet again */
            snprintf(piece->message, sizeof piece->message, "a table claims more rows than the file has bytes");
            break;
        }
    } while (piece->step == SQLITE_ROW && !piece->no_memory);
    sqlite3_finalize(statement);
}

/* Whether the table has consecutive rowids, as tables filled in one go have; then it can be cut into pieces. */
static int find_rowids(const struct nsys *import, struct nsys_rows_reading *reading)
{
    char *sql = sqlite3_mprintf("SELECT (SELECT min(rowid) FROM \"%w\"), (SELECT max(rowid) FROM \"%w\")",
                                reading->plan->table, reading->plan->table);
    sqlite3_stmt *statement = NULL;
    int found = 0;

    if (sql && sqlite3_prepare_v2(import->database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER) {
        reading->first = sqlite3_column_int64(statement, 0);
        reading->last = sqlite3_column_int64(statement, 1);
        uint64_t span = (uint64_t)reading->last - (uint64_t)reading->first;
        found = reading->last >= reading->first && span >= ALONE_ROWS && span < import->file_bytes / 4;
        reading->piece_count = span / PIECE_ROWS + 1;
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return found;
}

/* Notes the losses that the pieces counted. */
static void note_losses(struct nsys *import, const struct nsys_rows_reading *reading, size_t pieces)
{
    const struct nsys_plan *plan = reading->plan;

    for (int c = 0; c < plan->count; c++) {
        uint64_t wrong = 0, nowhere = 0;
        for (size_t p = 0; p < pieces; p++) {
            wrong += reading->pieces[p].wrong_type[c];
            nowhere += reading->pieces[p].no_string[c];
        }
        const char *name = schema_tables[plan->id].columns[plan->order[c]].name;
        if (wrong)
            import_note(import->writer, plan->table, name, "wrong-type", (int64_t)wrong);
        if (nowhere)
            import_note(import->writer, plan->table, name, "no-such-string", (int64_t)nowhere);
    }
    for (size_t p = 0; p < pieces; p++)
        if (reading->pieces[p].message[0]) {
            if (!import->damaged)
                snprintf(import->damage, sizeof import->damage, "%s", reading->pieces[p].message);
            import->damaged = 1;
            import_note(import->writer, plan->table, NULL, "damaged", -1);
            break;
        }
}

int nsys_read_rows(struct nsys *import, const struct nsys_plan *plan, struct error *err)
{
    struct nsys_rows_reading *reading = calloc(1, sizeof *reading);
    size_t width = schema_tables[plan->id].column_count + 1;
    int no_memory = 0;

    if (!reading)
        return error_set(err, ERR_NO_MEMORY, "not enough memory to read '%s'", import->path);
    reading->import = import;
    reading->plan = plan;
    pthread_mutex_init(&reading->lock, NULL);
    pthread_cond_init(&reading->changed, NULL);
    size_t pieces = parallel_cores() > 1 && !plan->own_rowid && find_rowids(import, reading) ? PIECES : 1;
    for (size_t p = 0; p < pieces; p++)
        no_memory |= (reading->pieces[p].rows = malloc(PIECE_ROWS * width * sizeof(uint64_t))) == NULL;
    if (!no_memory && (pieces == 1 || !read_together(import, reading)))
        read_alone(import, reading);
    note_losses(import, reading, pieces);
    for (size_t p = 0; p < pieces; p++) {
        no_memory |= reading->pieces[p].no_memory;
        free(reading->pieces[p].rows);
        free(reading->pieces[p].texts);
    }
    pthread_cond_destroy(&reading->changed);
    pthread_mutex_destroy(&reading->lock);
    free(reading);
    return no_memory ? error_set(err, ERR_NO_MEMORY, "not enough memory to read '%s'", import->path) : 0;
}
