/* Reports that are cut, damaged, still growing, without an index, from another version, or on a full disk: what can be
 * read is read and right, and what cannot is counted. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory_host.h"
#include "report/reader/reader.h"
#include "report/writer/chunkfile.h"
#include "report/writer/recover.h"
#include "report/writer/writer.h"
#include "rounds.h"

#define FLUSHES 6
#define ROWS_PER_FLUSH 20
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRIDE 9 /* odd, so that each byte of a word has its turn */
#endif
#endif
#if !defined(STRIDE)
#define STRIDE 1
#endif

static char folder[] = "/tmp/tacho-unit-XXXXXX";
static char path[64], other_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/report.tacho", folder);
    snprintf(other_path, sizeof other_path, "%s/other.tacho", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(other_path);
    return rmdir(folder);
}

static struct writer *open_writer(const char *where)
{
    struct writer *writer = NULL;
    struct error err = { 0 };
    if (writer_open(where, &(struct writer_options){ .overwrite = 1, .workers = 1 }, &writer, &err))
        fail_msg("%s", err.text);
    return writer;
}

/* Row i of the stories below, all of it a function of i, so that a wrong row shows itself. */
static void append_row(struct writer *writer, int64_t i)
{
    char name[32];
    struct row_NVTX_EVENTS row = { 0 };
    ROW_SET(&row, NVTX_EVENTS, start, i * 1000 + i % 7);
    ROW_SET(&row, NVTX_EVENTS, end, row.start + 10 + i % 13);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    if (i % 3)
        ROW_SET(&row, NVTX_EVENTS, int64Value, -i);
    ROW_SET(&row, NVTX_EVENTS, text,
            writer_string(writer, name, (size_t)snprintf(name, sizeof name, "row %d", (int)i)));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

/* What a report holds of such rows; each must be whole and right. Only a report whose strings were damaged may lack
 * some of them. */
static uint64_t check_rows_and_strings(struct report *report, int all_strings)
{
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    if (!table)
        return 0;
    int columns[] = { report_column(table, "start"), report_column(table, "end"), report_column(table, "eventType"),
                      report_column(table, "int64Value"), report_column(table, "text") };
    struct report_columns got;
    assert_int_equal(report_read(report, table, columns, 5, &got, NULL), 0);
    int64_t before = -1;
    for (size_t r = 0; r < got.rows; r++) {
        int64_t i = got.values[0][r] / 1000;
        assert_true(i > before);
        before = i;
        assert_int_equal(got.values[0][r], i * 1000 + i % 7);
        assert_int_equal(got.values[1][r], got.values[0][r] + 10 + i % 13);
        assert_int_equal(got.values[2][r], 59);
        assert_int_equal(got.values[3][r], i % 3 ? -i : 0);
        assert_int_equal(!(got.nulls[3] && got.nulls[3][r / 64] >> r % 64 & 1), i % 3 != 0);
        char name[32];
        snprintf(name, sizeof name, "row %d", (int)i);
        const char *text = report_string(report, got.values[4][r], NULL);
        if (*text || all_strings)
            assert_string_equal(text, name);
    }
    uint64_t rows = got.rows;
    report_columns_free(&got);
    return rows;
}

static uint64_t check_rows(struct report *report)
{
    return check_rows_and_strings(report, 1);
}

static uint8_t *load(const char *from, size_t *size)
{
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void store(const char *to, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* A small report; ends[k] is its length after k flushes. */
static uint8_t *small_report(size_t *size, uint64_t *ends)
{
    struct writer *writer = open_writer(path);
    ends[0] = writer_bytes(writer);
    for (int64_t i = 0; i < FLUSHES * ROWS_PER_FLUSH; i++) {
        append_row(writer, i);
        if (i % ROWS_PER_FLUSH == ROWS_PER_FLUSH - 1) {
            assert_int_equal(writer_flush(writer, NULL), 0);
            ends[i / ROWS_PER_FLUSH + 1] = writer_bytes(writer);
        }
    }
    assert_int_equal(writer_close(writer, NULL), 0);
    return load(path, size);
}

static void cut_anywhere_leaves_what_was_before(void **state)
{
    (void)state;
    uint64_t ends[FLUSHES + 1];
    size_t size;
    uint8_t *bytes = small_report(&size, ends);
    size_t step = STRIDE * (size_t)rounds_step(ROUNDS_ENDLESS);
    for (size_t length = 0; length <= size; length = length < size && length + step > size ? size : length + step) {
        struct memory_file file = { bytes, length };
        struct report *report = NULL;
        int status = memory_open(&file, &report, NULL);
        assert_int_equal(status, length < 16 ? ERR_BAD_FORMAT : 0);
        if (status)
            continue;
        uint64_t expected = 0;
        for (size_t k = 1; k <= FLUSHES; k++)
            expected = length >= ends[k] ? k * ROWS_PER_FLUSH : expected;
        assert_int_equal(check_rows(report), expected);
        struct report_health health = report_health(report);
        assert_int_equal(health.complete, length == size);
        assert_int_equal(health.has_index, length == size);
        assert_int_equal(health.damaged_chunks, 0);
        report_close(report);
    }
    free(bytes);
}

static void one_wrong_byte_costs_one_chunk_at_most(void **state)
{
    (void)state;
    uint64_t ends[FLUSHES + 1];
    size_t size;
    uint8_t *bytes = small_report(&size, ends);
    for (size_t at = 0; at < size; at += STRIDE * (size_t)rounds_step(ROUNDS_ENDLESS)) {
        bytes[at] ^= (uint8_t)(1 << at % 8);
        struct memory_file file = { bytes, size };
        struct report *report = NULL;
        int status = memory_open(&file, &report, NULL);
        if (at < 12)
            assert_int_not_equal(status, 0);
        if (!status) {
            uint64_t rows = check_rows_and_strings(report, 0);
            assert_in_range(rows, (FLUSHES - 1) * ROWS_PER_FLUSH, FLUSHES * ROWS_PER_FLUSH);
            if (rows < FLUSHES * ROWS_PER_FLUSH)
                assert_int_equal(report_health(report).damaged_chunks, 1);
            report_close(report);
        }
        bytes[at] ^= (uint8_t)(1 << at % 8);
    }
    free(bytes);
}

static void a_hole_in_the_middle_is_stepped_over(void **state)
{
    (void)state;
    uint64_t ends[FLUSHES + 1];
    size_t size;
    uint8_t *bytes = small_report(&size, ends);
    memset(bytes + ends[2], 0, ends[4] - ends[2]);
    struct memory_file cut = { bytes, ends[FLUSHES] }; /* without index */
    struct report *report;
    assert_int_equal(memory_open(&cut, &report, NULL), 0);
    assert_int_equal(check_rows(report), (FLUSHES - 2) * ROWS_PER_FLUSH);
    assert_int_equal(report_health(report).damaged_bytes, ends[4] - ends[2]);
    report_close(report);
    free(bytes);
}

static void a_growing_report_reads_up_to_its_last_flush(void **state)
{
    (void)state;
    struct writer *writer = open_writer(path);
    for (int64_t i = 0; i < 200; i++) {
        append_row(writer, i);
        if (i % 40 != 39)
            continue;
        assert_int_equal(writer_flush(writer, NULL), 0);
        struct report *report;
        assert_int_equal(report_open(path, &report, NULL), 0);
        assert_int_equal(check_rows(report), i + 1);
        assert_int_equal(report_health(report).complete, 0);
        assert_int_equal(report_health(report).damaged_chunks, 0);
        report_close(report);
    }
    assert_int_equal(writer_close(writer, NULL), 0);
}

static void recovery_makes_it_whole(void **state)
{
    (void)state;
    uint64_t ends[FLUSHES + 1];
    size_t size;
    uint8_t *bytes = small_report(&size, ends);
    bytes[ends[1] + 60] ^= 1; /* in the payload of the strings of the second flush */
    store(path, bytes, ends[FLUSHES] - 5);
    struct report_health health;
    struct error err;
    unlink(other_path);
    if (report_recover(path, other_path, 0, &health, &err))
        fail_msg("%s", err.text);
    assert_int_equal(health.damaged_chunks, 1);
    assert_int_equal(health.complete, 0);
    struct report *report;
    assert_int_equal(report_open(other_path, &report, NULL), 0);
    assert_int_equal(report_health(report).complete, 1);
    assert_int_equal(report_health(report).has_index, 1);
    assert_int_equal(check_rows_and_strings(report, 0), (FLUSHES - 1) * ROWS_PER_FLUSH);
    report_close(report);
    assert_int_equal(report_recover(path, other_path, 0, NULL, &err), ERR_EXISTS);
    assert_int_equal(report_recover(path, path, 1, NULL, &err), 0); /* in place */
    assert_int_equal(report_open(path, &report, NULL), 0);
    assert_int_equal(check_rows_and_strings(report, 0), (FLUSHES - 1) * ROWS_PER_FLUSH);
    report_close(report);
    free(bytes);
}

static void what_is_no_report_is_refused(void **state)
{
    (void)state;
    struct report *report;
    struct error err;
    assert_int_equal(report_open("/nonexistent/file", &report, &err), ERR_NOT_FOUND);
    assert_int_equal(report_open(folder, &report, &err), ERR_BAD_FORMAT);
    store(path, (const uint8_t *)"", 0);
    assert_int_equal(report_open(path, &report, &err), ERR_BAD_FORMAT);
    store(path, (const uint8_t *)"SQLite format 3\0 and so on and on", 34);
    assert_int_equal(report_open(path, &report, &err), ERR_BAD_FORMAT);
    store(path, (const uint8_t *)"TACHO\r\n\x1a\x63\0\0\0\0\0\0\0", 16);
    assert_int_equal(report_open(path, &report, &err), ERR_VERSION);
    assert_non_null(strstr(err.text, "99"));
    store(path, (const uint8_t *)"TACHO\r\n\x1a\x01\0\0\0\0\0\0\0", 16);
    assert_int_equal(report_open(path, &report, &err), 0);
    assert_int_equal(report_table_count(report), 0);
    report_close(report);
}

static void an_existing_file_is_not_replaced_unasked(void **state)
{
    (void)state;
    store(path, (const uint8_t *)"mine", 4);
    struct writer *writer;
    struct error err;
    assert_int_equal(writer_open(path, NULL, &writer, &err), ERR_EXISTS);
    assert_int_equal(writer_open("/nonexistent/file", NULL, &writer, &err), ERR_NOT_FOUND);
    size_t size;
    uint8_t *bytes = load(path, &size);
    assert_int_equal(size, 4);
    free(bytes);
}

/* A chunk from its payload, as docs/format.md has it, by hand. */
static void put_chunk(struct chunkfile *file, struct chunk_header header, const char *payload, size_t size)
{
    uint8_t bytes[512];
    memcpy(bytes + CHUNK_HEADER_SIZE, payload, size);
    header.payload_size = (uint32_t)size;
    header.payload_hash = hash_bytes(payload, size);
    struct encoded_chunk chunk = { header, bytes, CHUNK_HEADER_SIZE + size };
    assert_int_equal(chunkfile_put(file, &chunk, 0), 0);
}

/* A later version has added a table and a column, in a second schema chunk; rows of both
 * generations read as one table. */
static void another_version_reads_by_name(void **state)
{
    (void)state;
    struct chunkfile file;
    assert_int_equal(chunkfile_open(&file, path, 1, NULL), 0);
    struct chunk_header schema = { .kind = CHUNK_SCHEMA, .rows = 1, .first = 1 };
    /* directory of two bytes: raw and stored size; then: number, name, columns: name and type */
    put_chunk(&file, schema,
              "\x02\x09\x09"
              "\x07\x03OLD\x01\x01t\x01",
              12);
    schema.rows = 2;
    put_chunk(&file, schema,
              "\x02\x15\x15"
              "\x08\x03OLD\x02\x03new\x00\x01t\x01"
              "\x63\x01X\x01\x01y\x63",
              24);
    struct chunk_header rows = { .kind = CHUNK_ROWS, .table = 7, .rows = 2, .first = 1, .last = 1 };
    put_chunk(&file, rows, "\x02\x00\x02", 3);         /* t: constant 1 */
    rows.table = 8;
    put_chunk(&file, rows, "\x04\x00\x0e\x00\x04", 5); /* new: constant 7, t: constant 2 */
    rows.table = 9;                                    /* defined nowhere */
    put_chunk(&file, rows, "\x02\x00\x02", 3);
    struct encoder *encoder = encoder_new(0);
    assert_int_equal(chunkfile_finish(&file, encoder), 0);
    encoder_delete(encoder);
    assert_int_equal(chunkfile_close(&file), 0);

    struct report *report;
    assert_int_equal(report_open(path, &report, NULL), 0);
    assert_int_equal(report_table_count(report), 2);
    const struct report_table *table = report_table(report, "OLD");
    assert_int_equal(table->rows, 4);
    assert_int_equal(table->column_count, 2);
    assert_int_equal(report_health(report).damaged_chunks, 1);
    int columns[] = { report_column(table, "t"), report_column(table, "new") };
    struct report_columns got;
    assert_int_equal(report_read(report, table, columns, 2, &got, NULL), 0);
    const int64_t times[] = { 1, 1, 2, 2 }, news[] = { 0, 0, 7, 7 };
    assert_memory_equal(got.values[0], times, sizeof times);
    assert_memory_equal(got.values[1], news, sizeof news);
    assert_int_equal(got.nulls[1][0], 3);
    assert_null(got.nulls[0]);
    report_columns_free(&got);
    table = report_table(report, "X"); /* its only column is of a type that this version does not know */
    assert_int_equal(table->column_count, 0);
    report_close(report);
}

/* Writes until rows are lost, then closes; the report must open, be complete, and hold exactly the rest. */
static void fill_disk(const char *where)
{
    struct writer *writer = open_writer(where);
    uint64_t noise = 88172645463325252u;
    int64_t i = 0;
    while (!writer_rows_lost(writer, TABLE_NVTX_EVENTS) && i < 1000000) {
        append_row(writer, i++);
        struct row_OSRT_API row = { 0 };
        for (int k = 0; k < 20; k++) {
            noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
            ROW_SET(&row, OSRT_API, start, (int64_t)noise);
            ROW_SET(&row, OSRT_API, returnValue, (int64_t)(noise * 3));
            writer_append(writer, TABLE_OSRT_API, &row);
        }
        if (i % 500 == 0)
            writer_flush(writer, NULL); /* fails when the disk is full */
    }
    assert_true(writer_rows_lost(writer, TABLE_NVTX_EVENTS) > 0);
    append_row(writer, i++);            /* goes on living */
    struct row_PROCESSES process = { 0 };
    ROW_SET(&process, PROCESSES, name, writer_string(writer, "program", 7));
    writer_append(writer, TABLE_PROCESSES, &process);
    writer_flush(writer, NULL); /* where even this does not fit, it waits for the close */
    struct row_TACHO_COUNT count = { 0 };
    ROW_SET(&count, TACHO_COUNT, cause, writer_string(writer, "disk-full", 9));
    ROW_SET(&count, TACHO_COUNT, count, (int64_t)writer_rows_lost(writer, TABLE_NVTX_EVENTS));
    writer_append(writer, TABLE_TACHO_COUNT, &count);
    struct error err;
    assert_int_equal(writer_close(writer, &err), ERR_NO_SPACE);

    struct report *report;
    if (report_open(where, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report_health(report).complete, 1);
    assert_int_equal(report_health(report).damaged_chunks, 0);
    uint64_t kept = check_rows(report);
    assert_true(kept > 0 && kept < (uint64_t)i);
    assert_int_equal(report_table(report, "PROCESSES")->rows, 1);
    const struct report_table *table = report_table(report, "TACHO_COUNT");
    assert_int_equal(table->rows, 1);
    struct report_columns got;
    int columns[] = { report_column(table, "cause"), report_column(table, "count") };
    assert_int_equal(report_read(report, table, columns, 2, &got, NULL), 0);
    assert_string_equal(report_string(report, got.values[0][0], NULL), "disk-full");
    assert_in_range(i - (int64_t)kept, got.values[1][0], got.values[1][0] + 1);
    report_columns_free(&got);
    report_close(report);
}

static void a_full_disk_keeps_the_report_whole(void **state)
{
    (void)state;
    char mounted[96], where[128];
    snprintf(mounted, sizeof mounted, "%s/small", folder);
    snprintf(where, sizeof where, "%s/report.tacho", mounted);
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("tacho-unit", mounted, "tmpfs", 0, "size=4m")) {
        rmdir(mounted);
        print_message("skipped: no right to mount a small file system\n");
        skip();
    }
    fill_disk(where);
    struct statvfs room;
    assert_int_equal(statvfs(mounted, &room), 0);
    assert_true(room.f_bfree > 0); /* what was left of the reserve was given back */
    assert_int_equal(umount(mounted), 0);
    rmdir(mounted);
}

static void a_file_size_limit_is_like_a_full_disk(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 3 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill_disk(path); /* SIGXFSZ would end this program: the writer must stay below the limit */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void a_report_that_cannot_begin_leaves_no_file(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    struct writer *writer;
    unlink(path);
    for (rlim_t room = 0; room <= (1 << 20) + 64; room += (1 << 20) + 64) { /* not even the first bytes; no schema */
        limit.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(writer_open(path, NULL, &writer, NULL), ERR_NO_SPACE);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void append_noise(struct writer *writer, enum table_id table, int rows, uint64_t *noise)
{
    const struct schema_table *schema = &schema_tables[table];
    uint64_t row[65] = { 0 };
    while (rows-- > 0) {
        for (size_t column = 0; column < schema->column_count; column++) {
            *noise ^= *noise << 13, *noise ^= *noise >> 7, *noise ^= *noise << 17;
            row[0] |= schema->columns[column].type == COLUMN_INT ? UINT64_C(1) << column : 0;
            row[column + 1] = *noise;
        }
        writer_append(writer, table, row);
    }
}

/* More rows of small tables than the reserve has room for: which of them are lost is known
 * before that is written down. */
static void losses_are_final_before_they_are_counted(void **state)
{
    (void)state;
    static const enum table_id tables[] = { TABLE_CUPTI_ACTIVITY_KIND_KERNEL, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY,
                                            TABLE_COMPOSITE_EVENTS };
    enum { TABLES = COUNT_OF(tables), ROWS = 4000 };
    struct rlimit before, limit;
    uint64_t noise = 88172645463325252u, lost[TABLES], lost_in_all = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 2 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct writer *writer = open_writer(path);
    while (!writer_rows_lost(writer, TABLE_OSRT_API)) {
        append_noise(writer, TABLE_OSRT_API, 5000, &noise);
        writer_flush(writer, NULL);
    }
    for (int i = 0; i < TABLES; i++)
        append_noise(writer, tables[i], ROWS, &noise);
    writer_flush(writer, NULL);
    writer_give_up_held(writer);
    for (int i = 0; i < TABLES; i++)
        lost_in_all += lost[i] = writer_rows_lost(writer, tables[i]);
    assert_true(lost_in_all > 0);
    struct row_TACHO_COUNT count = { 0 };
    ROW_SET(&count, TACHO_COUNT, cause, writer_string(writer, "disk-full", 9));
    writer_append(writer, TABLE_TACHO_COUNT, &count);
    assert_int_equal(writer_close(writer, NULL), ERR_NO_SPACE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

    struct report *report;
    assert_int_equal(report_open(path, &report, NULL), 0);
    assert_int_equal(report_table(report, "TACHO_COUNT")->rows, 1);
    for (int i = 0; i < TABLES; i++) {
        const struct report_table *table = report_table(report, schema_tables[tables[i]].name);
        assert_int_equal((table ? table->rows : 0) + lost[i], ROWS);
    }
    report_close(report);
}

/* Fills the file to the last byte but the reserve: what says whose rows are missing must find its way out of that. */
static void small_tables_wait_for_the_close(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 2 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct writer *writer = open_writer(path);
    uint64_t noise = 88172645463325252u;
    for (int rows = 5000; rows; rows /= 10)
        do {
            for (int i = 0; i < rows; i++) {
                struct row_OSRT_API row = { 0 };
                noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
                ROW_SET(&row, OSRT_API, start, (int64_t)noise);
                writer_append(writer, TABLE_OSRT_API, &row);
            }
        } while (!writer_flush(writer, NULL));
    do { /* the chunk of a narrow table may still find room */
        struct row_ThreadNames row = { 0 };
        ROW_SET(&row, ThreadNames, priority, 1);
        writer_append(writer, TABLE_ThreadNames, &row);
    } while (!writer_flush(writer, NULL));
    struct row_PROCESSES process = { 0 };
    for (int i = 0; i < 3; i++) {
        char name[32];
        ROW_SET(&process, PROCESSES, pid, i);
        ROW_SET(&process, PROCESSES, name,
                writer_string(writer, name, (size_t)snprintf(name, sizeof name, "program %d", i)));
        writer_append(writer, TABLE_PROCESSES, &process);
        assert_int_equal(writer_flush(writer, NULL), ERR_NO_SPACE);
    }
    assert_int_equal(writer_rows_lost(writer, TABLE_PROCESSES), 0);
    assert_int_equal(writer_close(writer, NULL), ERR_NO_SPACE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

    struct report *report;
    assert_int_equal(report_open(path, &report, NULL), 0);
    const struct report_table *table = report_table(report, "PROCESSES");
    struct report_columns got;
    assert_int_equal(report_read(report, table, (int[]){ report_column(table, "pid"), report_column(table, "name") }, 2,
                                 &got, NULL),
                     0);
    assert_int_equal(got.rows, 3);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "program %d", i);
        assert_int_equal(got.values[0][i], i);
        assert_string_equal(report_string(report, got.values[1][i], NULL), name);
    }
    report_columns_free(&got);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere_leaves_what_was_before),
        cmocka_unit_test(one_wrong_byte_costs_one_chunk_at_most),
        cmocka_unit_test(a_hole_in_the_middle_is_stepped_over),
        cmocka_unit_test(a_growing_report_reads_up_to_its_last_flush),
        cmocka_unit_test(recovery_makes_it_whole),
        cmocka_unit_test(what_is_no_report_is_refused),
        cmocka_unit_test(an_existing_file_is_not_replaced_unasked),
        cmocka_unit_test(another_version_reads_by_name),
        cmocka_unit_test(a_full_disk_keeps_the_report_whole),
        cmocka_unit_test(a_file_size_limit_is_like_a_full_disk),
        cmocka_unit_test(a_report_that_cannot_begin_leaves_no_file),
        cmocka_unit_test(losses_are_final_before_they_are_counted),
        cmocka_unit_test(small_tables_wait_for_the_close),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
