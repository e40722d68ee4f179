/* SQL over a report of several chunks: the same rows whatever the planner pushes down, texts and NULLs as
 * they are, and nothing but reading. The rows are made by a rule, so that every expected figure can be
 * worked out without a reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "query/query.h"
#include "report/writer/writer.h"

enum { ROWS = 100000, NAMES = 7, STEP_NS = 10 };

static char path[] = "/tmp/tacho-unit-XXXXXX";
static struct report *report;
static struct query *query;

/* Row i: start i * STEP_NS, end i % 100 later, name i % NAMES; every third has no nesting level. */
static void append_call(struct writer *writer, const int64_t *names, int64_t i)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, i * STEP_NS);
    ROW_SET(&row, OSRT_API, end, i * STEP_NS + i % 100);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, i % 4);
    ROW_SET(&row, OSRT_API, nameId, names[i % NAMES]);
    ROW_SET(&row, OSRT_API, returnValue, -i);
    ROW_SET(&row, OSRT_API, callchainId, 0);
    if (i % 3)
        ROW_SET(&row, OSRT_API, nestingLevel, i % 5);
    writer_append(writer, TABLE_OSRT_API, &row);
}

static void append_range(struct writer *writer, int64_t start, const char *text, double real)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, start);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, doubleValue, real);
    if (text)
        ROW_SET(&row, NVTX_EVENTS, text, writer_string(writer, text, strlen(text)));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static int make_report(void **state)
{
    struct writer *writer;
    struct error err;
    int64_t names[NAMES];
    char name[16];
    int fd = mkstemp(path);

    if (fd < 0 || close(fd) != 0 || writer_open(path, &(struct writer_options){ .overwrite = 1 }, &writer, &err) != 0)
        return -1;
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "call_%d", i);
        names[i] = writer_string(writer, name, strlen(name));
    }
    for (int64_t i = 0; i < ROWS; i++)
        append_call(writer, names, i);
    append_range(writer, 5, "it's; \"quoted\"", 0.1);
    append_range(writer, 6, NULL, -1e300);
    append_range(writer, 7, "call_3", 2);
    append_range(writer, 8, "", 3);
    if (writer_close(writer, &err) != 0 || report_open(path, &report, &err) != 0 ||
        query_open(report, &query, &err) != 0)
        return -1;
    return 0;
}

static int drop_report(void **state)
{
    query_close(query);
    report_close(report);
    return unlink(path);
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

/* All values of all rows, joined with | and newlines. */
static int take_names(void *context, const struct query_column *columns, size_t count, struct error *err)
{
    return 0;
}

static int take_row(void *context, const struct query_value *values, size_t count, struct error *err)
{
    struct text *out = context;

    for (size_t i = 0; i < count; i++) {
        text_add(out, i ? "|" : "");
        if (values[i].kind == QUERY_INT)
            text_addf(out, "%lld", (long long)values[i].integer);
        else if (values[i].kind == QUERY_REAL)
            text_addf(out, "%.17g", values[i].real);
        else if (values[i].kind == QUERY_TEXT)
            text_add_bytes(out, values[i].bytes, values[i].length);
        else
            text_add(out, "NULL");
    }
    text_add_char(out, '\n');
    return 0;
}

static int take_end(void *context, struct error *err)
{
    return 0;
}

static char *ask(const char *sql)
{
    struct text out = { 0 };
    struct error err = { 0 };
    const struct query_visitor visitor = { &out, take_names, take_row, take_end };

    if (query_run(query, sql, &visitor, &err) != 0)
        fail_msg("%s: %s", sql, err.text);
    text_add(&out, "");
    return text_take(&out);
}

static void expect(const char *sql, const char *expected)
{
    char *got = ask(sql);

    assert_string_equal(got, expected);
    free(got);
}

static void expect_same(const char *sql, const char *other)
{
    char *got = ask(sql), *expected = ask(other);

    assert_true(*expected != 0); /* a comparison of nothing would show nothing */
    assert_string_equal(got, expected);
    free(got);
    free(expected);
}

static void expect_refused(const char *sql)
{
    struct text out = { 0 };
    struct error err = { 0 };
    const struct query_visitor visitor = { &out, take_names, take_row, take_end };

    if (query_run(query, sql, &visitor, &err) == 0)
        fail_msg("'%s' was not refused", sql);
    assert_true(err.text[0] != 0 && !strchr(err.text, '\n'));
    text_free(&out);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void sums_over_all_chunks(void **state)
{
    /* sum of i * 10 and of i % 100 for i below 100000 */
    expect("SELECT count(*), sum(start), sum(end - start) FROM OSRT_API", "100000|49999500000|4950000\n");
    expect("SELECT count(nestingLevel), sum(returnValue) FROM OSRT_API", "66666|-4999950000\n");
    assert_true(report_chunk_count(report_table(report, "OSRT_API")) > 2); /* else the tests below cross no border */
}

static void ranges_of_time(void **state)
{
    expect("SELECT count(*), min(start), max(start) FROM OSRT_API WHERE start BETWEEN 400000 AND 500000",
           "10001|400000|500000\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start > 400000 AND start < 500000", "9999\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start >= 999990", "1\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start > 999990", "0\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start < 0", "0\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start < 15.5 AND start > 9.5", "1\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start <= '30'", "4\n"); /* the column's affinity makes it a number */
    expect("SELECT count(*) FROM OSRT_API WHERE start > NULL", "0\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start = 500.0", "1\n");
    expect("SELECT count(*) FROM OSRT_API WHERE nestingLevel = '4' AND start < 500", "7\n");
    expect("SELECT count(*) FROM OSRT_API WHERE start < 9223372036854775807 AND start > -9223372036854775807",
           "100000\n");
}

/* A plus sign before a column keeps SQLite from telling us about the comparison: those rows are the truth. */
static void pushed_down_or_not(void **state)
{
    static const char *const conditions[] = {
        "%sstart BETWEEN 327000 AND 328000",
        "%sstart > 654321 AND +globalTid = 2",
        "%sglobalTid = 3 AND +start < 2000",
        "%snameId = (SELECT id FROM StringIds WHERE value = 'call_3') AND +start > 990000",
        "%snestingLevel = 2 AND +start < 900",
        "%sstart IN (10, 20, 327680, 999990, 5)",
        "%sreturnValue = -32768",
        "(%sstart = 40 OR globalTid = 1) AND +start < 300",
        "%snestingLevel = 1.0 AND +start < 500",
        "%sstart >= 999000",
    };

    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        char format[300], with[300], without[300];
        snprintf(format, sizeof format,
                 "SELECT rowid, start, end, nameId, nestingLevel FROM OSRT_API WHERE %s ORDER BY 1", conditions[i]);
        snprintf(with, sizeof with, format, "");
        snprintf(without, sizeof without, format, "+");
        expect_same(with, without);
    }
}

static void texts(void **state)
{
    expect("SELECT start FROM NVTX_EVENTS WHERE text = 'call_3'", "7\n");
    expect("SELECT start FROM NVTX_EVENTS WHERE text = 'CALL_3'", "");
    expect("SELECT start FROM NVTX_EVENTS WHERE text = 'CALL_3' COLLATE NOCASE", "7\n");
    expect("SELECT start FROM NVTX_EVENTS WHERE text = 'it''s; \"quoted\"'", "5\n");
    expect("SELECT start FROM NVTX_EVENTS WHERE text = ''", "8\n");
    expect("SELECT start FROM NVTX_EVENTS WHERE text IS NULL", "6\n");
    expect("SELECT start FROM NVTX_EVENTS WHERE text = 'nobody has this name'", "");
    expect("SELECT start, text FROM NVTX_EVENTS WHERE text LIKE 'call%'", "7|call_3\n");
    expect("SELECT doubleValue FROM NVTX_EVENTS WHERE start IN (5, 6)",
           "0.10000000000000001\n-1.0000000000000001e+300\n");
    expect("SELECT typeof(text), typeof(start), typeof(doubleValue), typeof(end) FROM NVTX_EVENTS LIMIT 1",
           "text|integer|real|null\n");
}

static void joins(void **state)
{
    expect("SELECT value, count(*) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY 1 ORDER BY 1 LIMIT 2",
           "call_0|14286\ncall_1|14286\n");
    expect("SELECT count(*) FROM OSRT_API a JOIN OSRT_API b ON a.returnValue = b.returnValue", "100000\n");
    expect("SELECT count(*), sum(b.start - a.start) FROM OSRT_API a JOIN OSRT_API b ON b.start = a.end AND b.nameId = "
           "a.nameId",
           "2000|70000\n");
    /* three times the same table, each found by another column */
    expect("SELECT count(*) FROM OSRT_API a JOIN OSRT_API b ON b.start = a.start + 10 JOIN OSRT_API c ON c.returnValue "
           "= b.returnValue - 1 WHERE a.start < 1000",
           "100\n");
    expect("SELECT n.start, (SELECT count(*) FROM OSRT_API o WHERE o.start <= n.start) FROM NVTX_EVENTS n ORDER BY 1",
           "5|1\n6|1\n7|1\n8|1\n");
    expect("SELECT n.start, value FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId ORDER BY 1",
           "5|NULL\n6|NULL\n7|NULL\n8|NULL\n");
}

static void strings_by_id_and_by_value(void **state)
{
    expect("SELECT value FROM StringIds WHERE id = (SELECT nameId FROM OSRT_API LIMIT 1)", "call_0\n");
    expect("SELECT count(*) FROM StringIds WHERE id = 123456789", "0\n");
    expect("SELECT count(*) FROM StringIds WHERE id = -1", "0\n");
    expect("SELECT length(value) FROM StringIds WHERE id = 0", "0\n");
    expect("SELECT id FROM StringIds WHERE value = ''", "0\n");
    expect("SELECT min(id), count(*) FROM StringIds", "0|9\n"); /* with seven calls and one quoted text */
    expect_same("SELECT id FROM StringIds WHERE value = 'call_5'", "SELECT id FROM StringIds WHERE +value = 'call_5'");
}

/* Grouped by a name, with and without the plan that needs no sorter: the + keeps SQLite from it. */
static void groups_by_name(void **state)
{
    expect_same("SELECT value, count(*), sum(end - start) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY value "
                "ORDER BY value",
                "SELECT value, count(*), sum(end - start) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY "
                "+value || '' ORDER BY value");
    expect_same("SELECT count(*) FROM (SELECT DISTINCT value FROM StringIds)", "SELECT count(*) FROM StringIds");
    expect("SELECT count(*) FROM (SELECT lower(value) FROM StringIds WHERE value LIKE 'call%' GROUP BY value COLLATE "
           "NOCASE)",
           "7\n");
    expect_same("SELECT DISTINCT value FROM StringIds ORDER BY value DESC",
                "SELECT value FROM StringIds GROUP BY value || '' ORDER BY value DESC");
}

/* The first rows of whole chunks, in a scan and in a join, and what was left out. */
static void first_answers(void **state)
{
    static const struct {
        const char *sql;
        int is_part;
    } asked[] = {
        { "SELECT count(*), sum(start) FROM OSRT_API", 1 },
        { "SELECT sum(n), sum(s) FROM (SELECT value, count(*) AS n, sum(start) AS s FROM StringIds JOIN OSRT_API ON id "
          "= nameId GROUP BY value)",
          1 },
        { "SELECT count(*) FROM OSRT_API WHERE start >= 999000", 0 },
        { "SELECT count(*) FROM StringIds", 0 },
        { "SELECT start FROM OSRT_API LIMIT 3", 0 },
    };
    char expected[64];

    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        query_first_rows(query, 1);
        char *got = ask(asked[i].sql);
        struct query_part part = query_part(query);
        query_first_rows(query, 0);
        assert_int_equal(part.table != NULL, asked[i].is_part);
        if (part.table) {
            assert_string_equal(part.table, "OSRT_API");
            assert_int_equal(part.of, ROWS);
            assert_in_range(part.rows, 1, ROWS - 1);
            snprintf(expected, sizeof expected, "%lld|%lld\n", (long long)part.rows,
                     (long long)(part.rows * (part.rows - 1) / 2 * STEP_NS));
            assert_string_equal(got, expected);
        } else {
            expect(asked[i].sql, got);
            assert_null(query_part(query).table);
        }
        free(got);
    }
}

static void enums(void **state)
{
    expect("SELECT label FROM ENUM_CUDA_MEM_KIND WHERE id = 1", "Pinned\n");
    expect_same("SELECT id, name FROM ENUM_NSYS_EVENT_TYPE WHERE id = 59",
                "SELECT id, name FROM ENUM_NSYS_EVENT_TYPE WHERE +id = 59");
}

static void several_statements(void **state)
{
    expect("SELECT 1; -- a remark\n SELECT 2;;", "1\n2\n");
    expect("", "");
    expect("-- nothing", "");
}

static void only_reading(void **state)
{
    static const char *const forbidden[] = {
        "DROP TABLE OSRT_API",
        "DELETE FROM OSRT_API",
        "INSERT INTO OSRT_API(start) VALUES (1)",
        "UPDATE StringIds SET value = 'x'",
        "CREATE TABLE t(a)",
        "CREATE TEMP TABLE t(a)",
        "CREATE VIEW v AS SELECT 1",
        "ATTACH '/tmp/other.db' AS other",
        "VACUUM",
        "VACUUM INTO '/tmp/tacho-unit-copy.db'",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = 1",
        "BEGIN",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('x', x'4141414141414141')",
        "SELECT hex(fts3_tokenizer('simple'))",
        "ALTER TABLE OSRT_API RENAME TO x",
        "REINDEX",
        "ANALYZE",
        "SELECT 1; DROP TABLE OSRT_API",
        "DETACH main",
        "CREATE VIRTUAL TABLE v USING tacho_table",
        "REPLACE INTO StringIds VALUES (1, 'x')",
        "PRAGMA temp_store_directory = '/'",
    };

    for (size_t i = 0; i < COUNT_OF(forbidden); i++)
        expect_refused(forbidden[i]);
    assert_int_equal(access("/tmp/tacho-unit-copy.db", F_OK), -1);
    expect("SELECT count(*) FROM OSRT_API", "100000\n");
}

static void bad_questions(void **state)
{
    static const char *const wrong[] = {
        "SELEC 1",
        "SELECT",
        "SELECT nothing FROM OSRT_API",
        "SELECT * FROM no_such_table",
        "SELECT * FROM VULKAN_API",
        "SELECT (",
        "SELECT '",
        "SELECT 1 +",
        "SELECT sum(start, end) FROM OSRT_API",
        "\x01",
        "SELECT abs(-9223372036854775808)",
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        expect_refused(wrong[i]);
}

static void endless_statements_are_given_up(void **state)
{
    struct text out = { 0 };
    struct error err = { 0 };
    const struct query_visitor visitor = { &out, take_names, take_row, take_end };

    query_limit(query, 20);
    int code = query_run(query, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
                         &visitor, &err);
    assert_int_equal(code, ERR_CANCELLED);
    assert_non_null(strstr(err.text, "0.02 seconds"));
    query_limit(query, 3600000);
    /* nor one that would make a single value for ever */
    code = query_run(query, "SELECT zeroblob(5000000)", &visitor, &err);
    assert_int_equal(code, ERR_BAD_ARGUMENT);
    query_limit(query, 0);
    text_free(&out);
    expect("SELECT length(zeroblob(5000000))", "5000000\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_all_chunks),
        cmocka_unit_test(ranges_of_time),
        cmocka_unit_test(pushed_down_or_not),
        cmocka_unit_test(texts),
        cmocka_unit_test(joins),
        cmocka_unit_test(strings_by_id_and_by_value),
        cmocka_unit_test(groups_by_name),
        cmocka_unit_test(first_answers),
        cmocka_unit_test(enums),
        cmocka_unit_test(several_statements),
        cmocka_unit_test(only_reading),
        cmocka_unit_test(bad_questions),
        cmocka_unit_test(endless_statements_are_given_up),
    };

    return cmocka_run_group_tests(tests, make_report, drop_report);
}
