/* The writer; see writer.h. How a row gets into the file:
 *
 *   owner     appends to the table's batch; a full batch becomes a job at the tail of the queue, after a job for the
 *             strings that were interned since the last one
 *   workers   claim jobs from the head on and encode them
 *   drain     whoever finishes the job at the head writes it, and all finished ones after it: jobs leave in the order
 *             in which they came, so strings are in the file before the rows that refer to them
 *
 * `lock` guards the queue. `draining` makes writing exclusive without holding the lock over a write; what only the
 * drainer touches (file, stuck) needs no other guard. While the queue is empty the owner may touch it too.
 *
 * When strings do not fit on the disk they are kept (`stuck`) and tried again before every later chunk. So are rows of
 * small tables (`held`): they are what explains the rest, and the close has room in reserve for them. All other rows
 * are counted as lost until those fit. */
#include "writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/parallel.h"
#include "chunkfile.h"
#include "report/format/encode.h"
#include "string_pool.h"

#define PENDING_STRING_BYTES ((size_t)1 << 20)
#define STRING_MEMORY ((size_t)64 << 20) /* of each of the two generations */
#define SMALL_TABLE_ROWS 4096
#define LAST_WORDS_BYTES ((uint64_t)128 << 10)
#define MAX_WORKERS 16
#define DEFAULT_WORKERS 4                /* they encode faster than one thread can append */

struct writer_job {
    struct writer_job *next;
    enum table_id table;
    size_t count;
    uint64_t *rows;                /* a batch */
    struct intern_string *strings; /* or strings, if rows is NULL */
    int64_t first_id;
    int small;                     /* the table has few rows so far: a full disk must not lose them */
    int done;
    int encode_code;               /* of encoding: 0 or an ERR_ code */
    int held;                      /* it did not fit, and waits for writer_close() */
    struct encoded_chunk encoded;
};

/* A free buffer of CHUNK_MAX_ROWS row structs; its first word links to the next. */
struct spare {
    struct spare *next;
};

struct writer_batch {
    uint64_t *rows; /* NULL until the first row */
    size_t count;
    struct spare *spares;
};

struct writer {
    struct chunkfile file;
    int level;
    struct writer_batch batches[TABLE_COUNT];
    uint64_t appended[TABLE_COUNT];
    _Atomic uint64_t lost[TABLE_COUNT];
    uint64_t nowhere[65];    /* the target of rows if there is no memory for a batch */
    struct string_pool strings;
    size_t string_memory, pending_string_bytes;
    struct encoder *encoder; /* the owner's */

    pthread_mutex_t lock;
    pthread_cond_t work, space;
    pthread_t threads[MAX_WORKERS];
    int workers, threads_started, threads_tried, quit;
    struct writer_job *head, **tail, *unclaimed;
    size_t in_flight;
    int draining;

    struct encoded_chunk *stuck;
    size_t stuck_count, stuck_room;
    struct writer_job *held, **held_tail;
};

/* ---- the file: only the drainer, or the owner while nothing is in flight --------------------------------------- */

/* Writes strings that did not fit before; 0 if none are left. */
static int put_stuck(struct writer *writer, uint64_t keep)
{
    if (!writer->stuck_count)
        return 0;
    size_t written = 0;
    while (written < writer->stuck_count && !chunkfile_put(&writer->file, &writer->stuck[written], keep))
        free(writer->stuck[written++].bytes);
    writer->stuck_count -= written;
    memmove(writer->stuck, writer->stuck + written, writer->stuck_count * sizeof *writer->stuck);
    return writer->stuck_count ? ERR_NO_SPACE : 0;
}

static int keep_stuck(struct writer *writer, struct encoded_chunk *encoded)
{
    if (ARRAY_PUSH(writer->stuck, writer->stuck_room, writer->stuck_count, *encoded) != 0)
        return ERR_NO_MEMORY;
    encoded->bytes = NULL;
    return 0;
}

static void writer_lose(struct writer *writer, enum table_id table, size_t count)
{
    atomic_fetch_add_explicit(&writer->lost[table], count, memory_order_relaxed);
}

static void free_job(struct writer_job *job)
{
    free(job->encoded.bytes);
    free(job->strings);
    free(job->rows);
    free(job);
}

/* Writes rows of small tables that did not fit before; 0 if none are left. */
static int put_held(struct writer *writer, uint64_t keep)
{
    while (writer->held) {
        struct writer_job *job = writer->held;
        int code = chunkfile_put(&writer->file, &job->encoded, keep);
        if (code != 0)
            return code;
        writer->held = job->next;
        free_job(job);
    }
    writer->held_tail = &writer->held;
    return 0;
}

static int put_job(struct writer *writer, const struct writer_job *job)
{
    int code;
    if (job->encode_code)
        return job->encode_code;
    if ((code = put_stuck(writer, OUTPUT_RESERVE)) != 0)
        return code;
    if (job->rows && (code = put_held(writer, OUTPUT_RESERVE)) != 0)
        return code;
    return chunkfile_put(&writer->file, &job->encoded, OUTPUT_RESERVE);
}

static void write_job(struct writer *writer, struct writer_job *job)
{
    int is_written = put_job(writer, job) == 0;
    job->held = !is_written && job->small && !job->encode_code;
    if (job->held)
        return;
    if (!is_written && (job->rows || job->encode_code || keep_stuck(writer, &job->encoded)))
        writer_lose(writer, job->table, job->count);
    free(job->encoded.bytes);
    job->encoded.bytes = NULL;
}

/* ---- the queue ------------------------------------------------------------------------------------------------- */

static void encode_job(struct encoder *encoder, struct writer_job *job)
{
    if (!encoder)
        job->encode_code = ERR_NO_MEMORY;
    else if (job->rows)
        job->encode_code = encode_rows(encoder, job->table, job->rows, job->count, &job->encoded);
    else
        job->encode_code = encode_strings(encoder, job->first_id, job->strings, job->count, &job->encoded);
}

/* Releases a job, whether or not it was written. */
static void writer_release(struct writer *writer, struct writer_job *job)
{
    if (job->held) {
        uint64_t *rows = realloc(job->rows, job->count * (schema_tables[job->table].column_count + 1) * 8);
        job->rows = rows ? rows : job->rows;
        job->next = NULL;
        *writer->held_tail = job;
        writer->held_tail = &job->next;
        return;
    }
    if (job->rows) {
        struct spare *spare = (struct spare *)job->rows;
        spare->next = writer->batches[job->table].spares;
        writer->batches[job->table].spares = spare;
        job->rows = NULL;
    }
    free_job(job);
}

/* Call it with the lock held; it releases the lock while it writes. */
static void drain(struct writer *writer)
{
    if (writer->draining)
        return;
    writer->draining = 1;
    while (writer->head && writer->head->done) {
        struct writer_job *job = writer->head;
        pthread_mutex_unlock(&writer->lock);
        write_job(writer, job);
        pthread_mutex_lock(&writer->lock);
        writer->head = job->next;
        if (!writer->head)
            writer->tail = &writer->head;
        writer_release(writer, job);
        writer->in_flight--;
        pthread_cond_broadcast(&writer->space);
    }
    writer->draining = 0;
    pthread_cond_broadcast(&writer->space);
}

static struct writer_job *writer_claim(struct writer *writer)
{
    struct writer_job *job = writer->unclaimed;
    if (job)
        writer->unclaimed = job->next;
    return job;
}

static void *worker_main(void *argument)
{
    struct writer *writer = argument;
    struct encoder *encoder = encoder_new(writer->level);
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        struct writer_job *job = writer_claim(writer);
        if (!job && writer->quit)
            break;
        if (!job) {
            pthread_cond_wait(&writer->work, &writer->lock);
            continue;
        }
        pthread_mutex_unlock(&writer->lock);
        encode_job(encoder, job);
        pthread_mutex_lock(&writer->lock);
        job->done = 1;
        drain(writer);
    }
    pthread_mutex_unlock(&writer->lock);
    encoder_delete(encoder);
    return NULL;
}

/* Starts the workers with the first job, so that a writer may be opened before its process forks. */
static void start_threads(struct writer *writer)
{
    writer->threads_tried = 1;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (writer->threads_started < writer->workers &&
           !pthread_create(&writer->threads[writer->threads_started], NULL, worker_main, writer))
        writer->threads_started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Queues the job and takes ownership. Waits while the workers are far behind, which bounds memory. */
static void submit(struct writer *writer, struct writer_job *job)
{
    if (!writer->threads_tried)
        start_threads(writer);
    size_t most = (size_t)writer->workers + 2;
    pthread_mutex_lock(&writer->lock);
    while (writer->in_flight >= most)
        pthread_cond_wait(&writer->space, &writer->lock);
    *writer->tail = job;
    writer->tail = &job->next;
    if (!writer->unclaimed)
        writer->unclaimed = job;
    writer->in_flight++;
    if (!writer->threads_started) {
        writer_claim(writer);
        encode_job(writer->encoder, job);
        job->done = 1;
        drain(writer);
    } else
        pthread_cond_signal(&writer->work);
    pthread_mutex_unlock(&writer->lock);
}

static void wait_idle(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->in_flight || writer->draining)
        pthread_cond_wait(&writer->space, &writer->lock);
    pthread_mutex_unlock(&writer->lock);
}

/* ---- the owner's side ------------------------------------------------------------------------------------------ */

static void submit_strings(struct writer *writer)
{
    size_t count;
    while ((count = string_pool_pending(&writer->strings)) > 0) {
        count = count < CHUNK_MAX_ROWS ? count : CHUNK_MAX_ROWS;
        struct writer_job *job = calloc(1, sizeof *job);
        struct intern_string *strings = malloc(count * sizeof *strings);
        if (!job || !strings) {
            free(job);
            free(strings);
            return; /* retried with the next batch */
        }
        int64_t first = string_pool_take(&writer->strings, strings, count);
        *job = (struct writer_job){ .table = TABLE_StringIds, .count = count, .strings = strings, .first_id = first };
        writer->appended[TABLE_StringIds] += count;
        submit(writer, job);
    }
    writer->pending_string_bytes = 0;
}

static void submit_batch(struct writer *writer, enum table_id table)
{
    struct writer_batch *batch = &writer->batches[table];
    if (!batch->count)
        return;
    submit_strings(writer);
    struct writer_job *job = calloc(1, sizeof *job);
    if (!job || string_pool_pending(&writer->strings)) {
        writer_lose(writer, table, batch->count);
        free(job);
    } else {
        *job = (struct writer_job){
            .table = table,
            .count = batch->count,
            .rows = batch->rows,
            .small = writer->appended[table] <= SMALL_TABLE_ROWS,
        };
        submit(writer, job);
        batch->rows = NULL;
    }
    batch->count = 0;
}

/* Ensures that the batch has room for a row; 0 if out of memory. */
static int writer_make_room(struct writer *writer, enum table_id table)
{
    struct writer_batch *batch = &writer->batches[table];
    if (batch->count == CHUNK_MAX_ROWS)
        submit_batch(writer, table);
    if (batch->rows)
        return 1;
    pthread_mutex_lock(&writer->lock);
    struct spare *spare = batch->spares;
    if (spare)
        batch->spares = spare->next;
    pthread_mutex_unlock(&writer->lock);
    size_t size = CHUNK_MAX_ROWS * (schema_tables[table].column_count + 1) * 8;
    batch->rows = spare ? (uint64_t *)spare : malloc(size);
    return batch->rows != NULL;
}

void *writer_reserve(struct writer *writer, enum table_id table, size_t *count)
{
    if (!writer_make_room(writer, table)) {
        *count = 1;
        return writer->nowhere;
    }
    struct writer_batch *batch = &writer->batches[table];
    size_t room = CHUNK_MAX_ROWS - batch->count;
    *count = *count < room ? *count : room;
    return batch->rows + batch->count * (schema_tables[table].column_count + 1);
}

void writer_commit(struct writer *writer, enum table_id table, size_t count)
{
    writer->appended[table] += count;
    if (writer->batches[table].rows)
        writer->batches[table].count += count;
    else
        writer_lose(writer, table, count);
}

void writer_append(struct writer *writer, enum table_id table, const void *row)
{
    size_t count = 1;
    void *room = writer_reserve(writer, table, &count);
    memcpy(room, row, (schema_tables[table].column_count + 1) * 8);
    writer_commit(writer, table, 1);
}

/* Jobs and stuck chunks point to strings, so none may remain when strings are dropped. */
static void forget_strings(struct writer *writer)
{
    wait_idle(writer);
    if (!string_pool_pending(&writer->strings) && !writer->stuck_count)
        string_pool_forget(&writer->strings);
}

int64_t writer_string(struct writer *writer, const char *bytes, size_t length)
{
    if (!length)
        return 0;
    length = length < STRING_MAX_BYTES ? length : STRING_MAX_BYTES;
    size_t before = string_pool_pending(&writer->strings);
    int64_t id = string_pool_add(&writer->strings, bytes, length);
    if (string_pool_pending(&writer->strings) > before) {
        writer->pending_string_bytes += length;
        if (writer->pending_string_bytes > PENDING_STRING_BYTES) {
            submit_strings(writer);
            if (string_pool_bytes(&writer->strings) > writer->string_memory)
                forget_strings(writer);
        }
    }
    return id < 0 ? 0 : id;
}

uint64_t writer_rows(const struct writer *writer, enum table_id table)
{
    return writer->appended[table];
}

uint64_t writer_rows_lost(const struct writer *writer, enum table_id table)
{
    return atomic_load_explicit(&writer->lost[table], memory_order_relaxed);
}

uint64_t writer_bytes(const struct writer *writer)
{
    return atomic_load_explicit(&writer->file.output.end, memory_order_acquire);
}

static int report_failure(struct writer *writer, struct error *err)
{
    if (!writer->file.failed)
        return 0;
    errno = writer->file.failed_errno;
    error_set_errno(err, "cannot write the report");
    if (err)
        err->code = writer->file.failed;
    return writer->file.failed;
}

int writer_flush(struct writer *writer, struct error *err)
{
    submit_strings(writer);
    for (int table = 0; table < TABLE_COUNT; table++)
        submit_batch(writer, (enum table_id)table);
    wait_idle(writer);
    return report_failure(writer, err);
}

static int choose_workers(int asked)
{
    if (asked > 0)
        return asked < MAX_WORKERS ? asked : MAX_WORKERS;
    int spare_cores = parallel_cores() - 1;
    return spare_cores < 1 ? 1 : spare_cores < DEFAULT_WORKERS ? spare_cores : DEFAULT_WORKERS;
}

int writer_open(const char *path, const struct writer_options *options, struct writer **out, struct error *err)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_no_memory(err);
    int code = chunkfile_open(&writer->file, path, options ? options->overwrite : 0, err);
    if (code != 0)
        goto free_writer;
    writer->level = options ? options->level : 0;
    writer->workers = choose_workers(options ? options->workers : 0);
    writer->string_memory = options && options->string_memory ? options->string_memory : STRING_MEMORY;
    writer->tail = &writer->head;
    writer->held_tail = &writer->held;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->work, NULL);
    pthread_cond_init(&writer->space, NULL);
    writer->encoder = encoder_new(writer->level);
    struct encoded_chunk schema = { 0 };
    if ((!writer->encoder || string_pool_add(&writer->strings, "", 0) < 0 || encode_schema(writer->encoder, &schema)) &&
        (code = error_no_memory(err)) != 0)
        goto discard_file;
    code = chunkfile_put(&writer->file, &schema, OUTPUT_RESERVE);
    free(schema.bytes);
    if (code != 0) {
        error_set_errno(err, "cannot write %s", path);
        goto discard_file;
    }
    *out = writer;
    return 0;

discard_file:
    encoder_delete(writer->encoder);
    string_pool_free(&writer->strings);
    chunkfile_discard(&writer->file, path);
free_writer:
    free(writer);
    return code;
}

/* ---- closing: the queue is empty, the owner does all of it ----------------------------------------------------- */

static void stop_threads(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->quit = 1;
    pthread_cond_broadcast(&writer->work);
    pthread_mutex_unlock(&writer->lock);
    for (int i = 0; i < writer->threads_started; i++)
        pthread_join(writer->threads[i], NULL);
}

static int is_stuck(const struct writer *writer, int64_t id)
{
    for (size_t i = 0; i < writer->stuck_count; i++)
        if (id >= writer->stuck[i].header.first && id <= writer->stuck[i].header.last)
            return 1;
    return 0;
}

static int put_string(struct writer *writer, int64_t id)
{
    for (size_t i = 0; i < writer->file.count; i++) {
        const struct chunk_header *header = &writer->file.chunks[i].header;
        if (header->kind == CHUNK_ROWS && header->table == TABLE_StringIds && id >= header->first && id <= header->last)
            return 0;
    }
    struct encoded_chunk encoded;
    const struct intern_string *string = string_pool_find(&writer->strings, id);
    int code;
    if (!string)
        return ERR_NO_SPACE;
    if ((code = encode_strings(writer->encoder, id, string, 1, &encoded)) != 0)
        return code;
    code = chunkfile_put(&writer->file, &encoded, chunkfile_index_room(&writer->file));
    free(encoded.bytes);
    return code;
}

/* On a full disk, writes only the strings that the last rows of a table need, one by one, out of the reserve. */
static int put_needed_strings(struct writer *writer, enum table_id table, const uint64_t *rows, size_t count)
{
    const struct schema_table *schema = &schema_tables[table];
    for (size_t column = 0; column < schema->column_count; column++) {
        if (schema->columns[column].type != COLUMN_TEXT && schema->columns[column].type != COLUMN_STRING)
            continue;
        for (size_t i = 0; i < count; i++) {
            const uint64_t *row = rows + i * (schema->column_count + 1);
            int64_t id = (int64_t)row[column + 1];
            int is_needed = (row[0] >> column & 1) && is_stuck(writer, id), code;
            if (is_needed && (code = put_string(writer, id)) != 0)
                return code;
        }
    }
    return 0;
}

static void put_last_rows(struct writer *writer, enum table_id table, const uint64_t *rows, size_t count, uint64_t keep)
{
    struct encoded_chunk encoded = { 0 };
    if (put_needed_strings(writer, table, rows, count) != 0 ||
        encode_rows(writer->encoder, table, rows, count, &encoded) != 0 ||
        chunkfile_put(&writer->file, &encoded, chunkfile_index_room(&writer->file) + keep) != 0)
        writer_lose(writer, table, count);
    free(encoded.bytes);
}

static void put_last_of(struct writer *writer, enum table_id table, uint64_t keep)
{
    for (struct writer_job *job = writer->held; job; job = job->next)
        if (job->table == table)
            put_last_rows(writer, table, job->rows, job->count, keep);
    struct writer_batch *batch = &writer->batches[table];
    if (batch->count)
        put_last_rows(writer, table, batch->rows, batch->count, keep);
    batch->count = 0;
}

static void free_held(struct writer *writer)
{
    while (writer->held) {
        struct writer_job *next = writer->held->next;
        free_job(writer->held);
        writer->held = next;
    }
    writer->held_tail = &writer->held;
}

static int by_rows(const void *a, const void *b, void *context)
{
    const struct writer *writer = context;
    uint64_t x = writer->appended[*(const enum table_id *)a], y = writer->appended[*(const enum table_id *)b];
    return COMPARE(x, y);
}

/* Small tables first, so that they get the reserve. */
static void put_last_tables(struct writer *writer, uint64_t keep)
{
    enum table_id order[TABLE_COUNT];
    for (size_t i = 0; i < TABLE_COUNT; i++)
        order[i] = (enum table_id)i;
    qsort_r(order, TABLE_COUNT, sizeof *order, by_rows, writer);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        put_last_of(writer, order[i], keep);
    free_held(writer);
}

void writer_give_up_held(struct writer *writer)
{
    wait_idle(writer);
    if (writer->held)
        put_last_tables(writer, LAST_WORDS_BYTES);
}

/* Writes a second copy of the schema, so that no single damaged place makes a closed report unreadable. */
static int put_schema(struct writer *writer)
{
    struct encoded_chunk encoded;
    int code;
    if ((code = encode_schema(writer->encoder, &encoded)) != 0)
        return code;
    code = chunkfile_put(&writer->file, &encoded, chunkfile_index_room(&writer->file) / 2);
    free(encoded.bytes);
    return code;
}

static void writer_free(struct writer *writer)
{
    for (int table = 0; table < TABLE_COUNT; table++) {
        struct writer_batch *batch = &writer->batches[table];
        free(batch->rows);
        while (batch->spares) {
            struct spare *next = batch->spares->next;
            free(batch->spares);
            batch->spares = next;
        }
    }
    for (size_t i = 0; i < writer->stuck_count; i++)
        free(writer->stuck[i].bytes);
    free(writer->stuck);
    free_held(writer);
    encoder_delete(writer->encoder);
    string_pool_free(&writer->strings);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->work);
    pthread_cond_destroy(&writer->space);
    free(writer);
}

static int report_losses(const struct writer *writer, struct error *err)
{
    uint64_t lost = 0;
    for (int table = 0; table < TABLE_COUNT; table++)
        lost += writer_rows_lost(writer, (enum table_id)table);
    return lost ? error_set(err, ERR_NO_SPACE, "%llu rows could not be written", (unsigned long long)lost) : 0;
}

int writer_close(struct writer *writer, struct error *err)
{
    submit_strings(writer);
    wait_idle(writer);
    stop_threads(writer);
    if (!put_stuck(writer, OUTPUT_RESERVE))
        put_held(writer, OUTPUT_RESERVE);
    put_last_tables(writer, 0);
    if (!put_schema(writer))
        chunkfile_finish(&writer->file, writer->encoder);
    int code;
    if ((code = report_failure(writer, err)) != 0 || (code = report_losses(writer, err)) != 0)
        chunkfile_close(&writer->file);
    else if (chunkfile_close(&writer->file) != 0)
        code = error_set_errno(err, "cannot write the report");
    writer_free(writer);
    return code;
}

int writer_close_after(struct writer *writer, int code, struct error *err)
{
    struct error closing = { 0 };
    int closed = writer_close(writer, &closing);

    if (code != 0 || closed == 0)
        return code;
    *err = closing;
    return closed;
}
