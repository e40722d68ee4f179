/* NVTX records, made by hand, become the right rows: in order, out of order, incomplete, and when they are nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/nvtx_layout.h"
#include "collect/core/clock_map.h"
#include "collect/sources/nvtx/nvtx_records.h"
#include "report/reader/reader.h"
#include "report/writer/writer.h"
#include "rounds.h"
#include "wire/wire_nvtx.h"

#define GLOBAL_PID ((int64_t)1 << 48 | (int64_t)77 << 24)
#define TID(n) (GLOBAL_PID | (n))

/* ---- A capture in small: one process, any number of threads, a report ------------------------------------------ */

struct capture {
    char path[32];
    struct clock_map clock;
    struct writer *writer;
    struct nvtx_process *process;
    struct nvtx_counts counts;
    struct report *report;
    struct report_columns columns;
    uint64_t rows;
};

/* Report time is ticks - 1000. */
static void begin(struct capture *capture)
{
    *capture = (struct capture){ .path = "/tmp/tacho-unit-XXXXXX" };
    int fd = mkstemp(capture->path);
    assert_true(fd >= 0);
    close(fd);
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    assert_int_equal(clock_map_init(&capture->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    struct error err = { 0 };
    if (writer_open(capture->path, &(struct writer_options){ .overwrite = 1, .workers = 1 }, &capture->writer, &err))
        fail_msg("%s", err.text);
    capture->process = nvtx_process_new(capture->writer, &capture->clock, GLOBAL_PID);
    assert_non_null(capture->process);
}

/* The process has ended: its counts, and the columns of one table. */
static void finish(struct capture *capture, const char *table, const char *const *names)
{
    struct error err = { 0 };
    nvtx_process_finish(capture->process, &capture->counts);
    if (writer_close(capture->writer, &err) || report_open(capture->path, &capture->report, &err))
        fail_msg("%s", err.text);
    int columns[32];
    size_t count = 0;
    const struct report_table *found = report_table(capture->report, table);
    capture->rows = found ? found->rows : 0;
    if (!found)
        return;
    for (; names[count]; count++)
        columns[count] = report_column(found, names[count]);
    if (report_read(capture->report, found, columns, count, &capture->columns, &err))
        fail_msg("%s", err.text);
}

static void end(struct capture *capture)
{
    if (capture->columns.values)
        report_columns_free(&capture->columns);
    report_close(capture->report);
    clock_map_free(&capture->clock);
    unlink(capture->path);
}

enum { START, END, TYPE, RANGE, CATEGORY, COLOR, TEXT, TEXT_ID, THREAD, END_THREAD, DOMAIN, UINT64, INT32, JSON, HEX };
static const char *const event_columns[] = { "start",      "end",          "eventType",  "rangeId",
                                             "category",   "color",        "text",       "textId",
                                             "globalTid",  "endGlobalTid", "domainId",   "uint64Value",
                                             "int32Value", "jsonText",     "binaryData", NULL };

static int is_null(const struct capture *capture, int column, size_t row)
{
    assert_true(row < capture->columns.rows);
    return capture->columns.nulls[column] && (capture->columns.nulls[column][row / 64] >> row % 64 & 1);
}

static int64_t value(const struct capture *capture, int column, size_t row)
{
    assert_false(is_null(capture, column, row));
    return capture->columns.values[column][row];
}

static const char *text(const struct capture *capture, int column, size_t row)
{
    return report_string(capture->report, value(capture, column, row), NULL);
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

struct record {
    struct wire_record head;
    uint64_t body[64];
};

/* A record with `count` words, then a text. */
static struct record make(unsigned type, unsigned flags, unsigned a, unsigned b, uint64_t ticks, const uint64_t *words,
                          size_t count, const char *string)
{
    struct record record;
    memset(&record, 0, sizeof record);
    size_t length = string ? strlen(string) / 8 + 1 : 0;
    record.head = (struct wire_record){
        .type = (uint8_t)type,
        .flags = (uint8_t)flags,
        .a = (uint16_t)a,
        .b = (uint16_t)b,
        .ticks = ticks,
        .words = (uint16_t)(WIRE_HEAD_WORDS + count + length),
    };
    if (count)
        memcpy(record.body, words, count * 8);
    if (string)
        memcpy(record.body + count, string, strlen(string));
    return record;
}

static void give(struct nvtx_thread *thread, struct record record)
{
    nvtx_record(thread, &record.head, record.head.words);
}

static void push(struct nvtx_thread *thread, unsigned domain, unsigned level, uint64_t ticks, const char *string)
{
    give(thread, make(WIRE_NVTX_PUSH, WIRE_NVTX_HAS_TEXT, domain, level, ticks, NULL, 0, string));
}
static void pop(struct nvtx_thread *thread, unsigned domain, unsigned level, uint64_t ticks)
{
    give(thread, make(WIRE_NVTX_POP, 0, domain, level, ticks, NULL, 0, NULL));
}
static void start(struct nvtx_thread *thread, uint64_t id, uint64_t ticks, const char *string)
{
    give(thread, make(WIRE_NVTX_START, WIRE_NVTX_HAS_TEXT, 0, 0, ticks, &id, 1, string));
}
static void stop(struct nvtx_thread *thread, uint64_t id, uint64_t ticks)
{
    give(thread, make(WIRE_NVTX_END, 0, 0, 0, ticks, &id, 1, NULL));
}
static void tell_string(struct nvtx_thread *thread, uint64_t id, const char *string)
{
    give(thread, make(WIRE_NVTX_STRING, 0, 0, 0, 1000, &id, 1, string));
}

/* ---- Ranges and marks ------------------------------------------------------------------------------------------ */

static void nested_ranges_have_a_row_each(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(5));
    push(thread, 0, 0, 2000, "outer");
    push(thread, 0, 1, 2100, "inner");
    push(thread, 3, 0, 2150, "other domain");
    pop(thread, 0, 1, 2200);
    pop(thread, 3, 0, 2250);
    pop(thread, 0, 0, 2300);
    uint64_t words[] = { 9 | (uint64_t)0xff102030 << 32, (uint64_t)-7 };
    unsigned flags = WIRE_NVTX_HAS_CATEGORY | WIRE_NVTX_HAS_COLOR | 5 << WIRE_NVTX_PAYLOAD_SHIFT | WIRE_NVTX_HAS_TEXT;
    give(thread, make(WIRE_NVTX_MARK, flags, 0, 0, 2400, words, 2, "a longer text than fits into one word"));
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 4);
    assert_int_equal(capture.counts.end_lost + capture.counts.damaged, 0);
    assert_int_equal(capture.rows, 4);
    assert_string_equal(text(&capture, TEXT, 0), "inner");
    assert_int_equal(value(&capture, START, 0), 1100);
    assert_int_equal(value(&capture, END, 0), 1200);
    assert_int_equal(value(&capture, TYPE, 0), 59);
    assert_int_equal(value(&capture, THREAD, 0), TID(5));
    assert_true(is_null(&capture, END_THREAD, 0));
    assert_true(is_null(&capture, CATEGORY, 0));
    assert_true(is_null(&capture, COLOR, 0));
    assert_true(is_null(&capture, RANGE, 0));
    assert_true(is_null(&capture, TEXT_ID, 0));
    assert_string_equal(text(&capture, TEXT, 1), "other domain");
    assert_int_equal(value(&capture, DOMAIN, 1), 3);
    assert_string_equal(text(&capture, TEXT, 2), "outer");
    assert_int_equal(value(&capture, END, 2), 1300);
    assert_string_equal(text(&capture, TEXT, 3), "a longer text than fits into one word");
    assert_int_equal(value(&capture, TYPE, 3), 34);
    assert_true(is_null(&capture, END, 3));
    assert_int_equal(value(&capture, CATEGORY, 3), 9);
    assert_int_equal(value(&capture, COLOR, 3), 0xff102030);
    assert_int_equal(value(&capture, INT32, 3), -7);
    assert_true(is_null(&capture, UINT64, 3));
    end(&capture);
}

static void a_range_whose_pop_was_lost_is_dropped_and_counted(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(5));
    push(thread, 0, 0, 2000, "lost its pop");
    push(thread, 0, 0, 3000, "whole");
    pop(thread, 0, 0, 4000);
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 1);
    assert_int_equal(capture.counts.end_lost, 1);
    assert_int_equal(capture.rows, 1);
    assert_string_equal(text(&capture, TEXT, 0), "whole");
    end(&capture);
}

/* Each domain has levels of its own; together they have a limit, which a range in each must not reach. */
static void a_range_in_every_domain_is_recorded(void **state)
{
    enum { DOMAINS = 65536 };
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(5));
    for (unsigned domain = 0; domain < DOMAINS; domain++) {
        push(thread, domain, 0, 2000 + domain, "one");
        pop(thread, domain, 0, 2001 + domain);
    }
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.rows, DOMAINS);
    assert_int_equal(capture.counts.recorded, DOMAINS);
    end(&capture);
}

static void open_ranges_have_rows_without_an_end(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(5));
    push(thread, 0, 0, 2000, "open");
    push(thread, 0, 1, 2001, "open too");
    start(thread, 11, 2002, "started");
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 3);
    assert_int_equal(capture.rows, 3);
    for (size_t row = 0; row < 3; row++)
        assert_true(is_null(&capture, END, row));
    assert_string_equal(text(&capture, TEXT, 2), "started");
    assert_int_equal(value(&capture, RANGE, 2), 11);
    end(&capture);
}

static void start_and_end_meet_whichever_is_read_first(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *one = nvtx_thread_new(capture.process, TID(1)), *two = nvtx_thread_new(capture.process, TID(2));
    stop(two, 3, 5000); /* drained before the start */
    start(one, 5, 2000, "in order");
    stop(one, 5, 2500);
    start(one, 3, 3000, "across threads");
    for (uint64_t id = 101; id < 1101; id += 2) /* many at once, ended in another order */
        start(one, id, 6000, "many");
    for (uint64_t id = 1099; id >= 101; id -= 2)
        stop(two, id, 7000);
    stop(two, 9999, 8000); /* of a forked child: its start is the parent's */
    nvtx_thread_finish(one);
    nvtx_thread_finish(two);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 502);
    assert_int_equal(capture.counts.damaged, 0);
    assert_int_equal(capture.rows, 502);
    assert_true(is_null(&capture, END_THREAD, 0));
    assert_string_equal(text(&capture, TEXT, 1), "across threads");
    assert_int_equal(value(&capture, THREAD, 1), TID(1));
    assert_int_equal(value(&capture, END_THREAD, 1), TID(2));
    assert_int_equal(value(&capture, START, 1), 2000);
    assert_int_equal(value(&capture, END, 1), 4000);
    for (size_t row = 2; row < 502; row++) {
        assert_int_equal(value(&capture, END, row), 6000);
        assert_int_equal(value(&capture, RANGE, row), 1099 - 2 * (row - 2));
    }
    end(&capture);
}

static void ranges_that_are_ended_again_are_no_damage(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *one = nvtx_thread_new(capture.process, TID(1)), *two = nvtx_thread_new(capture.process, TID(2));
    start(one, 5, 2000, "in order");
    for (uint64_t ticks = 2500; ticks < 2800; ticks += 100)
        stop(one, 5, ticks);
    stop(two, 7, 3500); /* both drained before the start */
    stop(two, 7, 3600);
    start(one, 7, 3000, "across threads");
    nvtx_thread_finish(one);
    nvtx_thread_finish(two);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 2);
    assert_int_equal(capture.counts.damaged, 0);
    assert_int_equal(capture.rows, 2);
    assert_int_equal(value(&capture, END, 0), 1500);
    assert_int_equal(value(&capture, END, 1), 2500);
    end(&capture);
}

/* More ranges at once than are kept: those beyond have a row without an end. An end is no event, so
 * that none is counted as lost. */
static void ranges_beyond_those_that_are_kept_stay_open(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *one = nvtx_thread_new(capture.process, TID(1));
    for (uint64_t id = 1; id <= 1u << 20; id++)
        stop(one, id, 2000);
    uint64_t beyond = 1u << 21;
    start(one, beyond, 3000, "beyond");
    stop(one, beyond, 4000);
    nvtx_thread_finish(one);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 1);
    assert_int_equal(capture.counts.damaged, 0);
    assert_int_equal(capture.rows, 1);
    assert_true(is_null(&capture, END, 0));
    end(&capture);
}

static void a_row_waits_for_its_registered_string(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *one = nvtx_thread_new(capture.process, TID(1)), *two = nvtx_thread_new(capture.process, TID(2));
    uint64_t known_later = 2, never_known = 3, known = 1;
    tell_string(one, known, "known");
    give(two, make(WIRE_NVTX_MARK, WIRE_NVTX_REGISTERED, 0, 0, 2000, &known_later, 1, NULL));
    give(two, make(WIRE_NVTX_MARK, WIRE_NVTX_REGISTERED, 0, 0, 3000, &never_known, 1, NULL));
    give(two, make(WIRE_NVTX_MARK, WIRE_NVTX_REGISTERED, 0, 0, 4000, &known, 1, NULL));
    tell_string(one, known_later, "known later");
    nvtx_thread_finish(one);
    nvtx_thread_finish(two);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.rows, 3);
    assert_string_equal(text(&capture, TEXT_ID, 0), "known");
    assert_true(is_null(&capture, TEXT, 0));
    assert_string_equal(text(&capture, TEXT_ID, 1), "known later");
    assert_true(is_null(&capture, TEXT_ID, 2));
    assert_int_equal(value(&capture, START, 2), 2000);
    assert_int_equal(capture.counts.recorded, 3);
    end(&capture);
}

static void names_are_rows(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(1));
    uint64_t category = 4, tid = 9, device[] = { 1, 0 };
    give(thread, make(WIRE_NVTX_DOMAIN, 0, 6, 0, 2000, NULL, 0, "a domain"));
    give(thread, make(WIRE_NVTX_CATEGORY, 0, 6, 0, 2001, &category, 1, "a category"));
    give(thread, make(WIRE_NVTX_THREAD, 0, 0, 0, 2002, &tid, 1, "a thread"));
    give(thread, make(WIRE_NVTX_RESOURCE, WIRE_RESOURCE_CUDA_DEVICE, 0, 0, 2003, device, 2, "a device"));
    give(thread, make(WIRE_NVTX_DOMAIN_END, 0, 6, 0, 2004, NULL, 0, NULL));
    assert_int_equal(nvtx_thread_name(capture.process, 9), writer_string(capture.writer, "a thread", 8));
    assert_int_equal(nvtx_thread_name(capture.process, 1), -1);
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    static const int types[] = { 75, 33, 39, 97, 76 };
    static const char *const texts[] = { "a domain", "a category", "a thread", "a device" };
    assert_int_equal(capture.rows, 5);
    for (size_t row = 0; row < 5; row++)
        assert_int_equal(value(&capture, TYPE, row), types[row]);
    for (size_t row = 0; row < 4; row++)
        assert_string_equal(text(&capture, TEXT, row), texts[row]);
    assert_int_equal(value(&capture, DOMAIN, 0), 6);
    assert_int_equal(value(&capture, CATEGORY, 1), 4);
    assert_int_equal(value(&capture, THREAD, 2), TID(9));
    assert_int_equal(value(&capture, UINT64, 3), 1);
    assert_int_equal(capture.counts.recorded, 0); /* names are no events */
    end(&capture);
}

/* ---- Payloads -------------------------------------------------------------------------------------------------- */

#define DYNAMIC (UINT64_C(1) << 32)

static void tell_schema(struct nvtx_thread *thread, uint64_t id, uint64_t type, uint64_t count, uint64_t size)
{
    uint64_t words[WIRE_SCHEMA_WORDS] = { id, type, 0, count, size, 0 };
    give(thread, make(WIRE_NVTX_SCHEMA, 0, 1, 0, 1000, words, WIRE_SCHEMA_WORDS, "schema"));
}
static void tell_entry(struct nvtx_thread *thread, uint64_t schema, uint64_t index, uint64_t flags, uint64_t type,
                       uint64_t detail, uint64_t offset, const char *name)
{
    uint64_t words[WIRE_ENTRY_WORDS] = { schema, index, flags, type, detail, offset };
    give(thread, make(WIRE_NVTX_SCHEMA_ENTRY, 0, 1, 0, 1000, words, WIRE_ENTRY_WORDS, name));
}
static void mark_with(struct nvtx_thread *thread, uint64_t schema, const void *bytes, size_t size)
{
    uint64_t words[40] = { schema, size };
    assert_true(size <= 38 * 8);
    memcpy(words + 2, bytes, size);
    give(thread, make(WIRE_NVTX_MARK, WIRE_NVTX_HAS_BINARY, 1, 0, 2000, NULL, 0, NULL));
    give(thread, make(WIRE_NVTX_BINARY, 0, 0, 0, 0, words, 2 + (size + 7) / 8, NULL));
}

enum { INT16 = 13, INT32_TYPE = 15, UINT32_TYPE = 16, UINT64_TYPE = 18, FLOAT_TYPE = 19, DOUBLE_TYPE = 20, HALF = 42 };

static void payloads_are_read_by_their_schema(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(1));
    struct {
        int16_t small;
        double real; /* at 8, by C's rules */
        uint32_t length;
        uint16_t half;
        char name[6];
    } fixed = { -2, 0.1, 3, 0x3C00, "abc" };
    tell_schema(thread, DYNAMIC + 1, 1, 5, sizeof fixed);
    tell_entry(thread, DYNAMIC + 1, 0, 0, INT16, 0, 0, "small");
    tell_entry(thread, DYNAMIC + 1, 1, 0, DOUBLE_TYPE, 0, 0, "real");
    tell_entry(thread, DYNAMIC + 1, 2, 0, UINT32_TYPE, 0, 0, "length");
    tell_entry(thread, DYNAMIC + 1, 3, 0, HALF, 0, 0, "half");
    tell_entry(thread, DYNAMIC + 1, 4, ABI_ENTRY_MESSAGE, ABI_TYPE_UTF8, 6, 0, "name");
    mark_with(thread, DYNAMIC + 1, &fixed, sizeof fixed);

    /* A length, so many numbers, a text up to its zero, numbers up to a zero. */
    struct {
        uint16_t count;
        int16_t numbers[3];
        char text[8];
        uint32_t more[3];
    } __attribute__((packed)) dynamic = { 3, { 1, -1, 5 }, "q\"\n\xff", { 7, 8, 0 } };
    tell_schema(thread, DYNAMIC + 2, 2, 4, 0);
    tell_entry(thread, DYNAMIC + 2, 0, 0, 14, 0, 0, "count");
    tell_entry(thread, DYNAMIC + 2, 1, ABI_ENTRY_LENGTH_INDEX, INT16, 0, 0, "numbers");
    tell_entry(thread, DYNAMIC + 2, 2, ABI_ENTRY_ZERO_TERMINATED, ABI_TYPE_UTF8, 0, 0, "text");
    tell_entry(thread, DYNAMIC + 2, 3, ABI_ENTRY_ZERO_TERMINATED, UINT32_TYPE, 0, 16, "more");
    mark_with(thread, DYNAMIC + 2, &dynamic, sizeof dynamic);

    /* A union whose member is chosen by an entry beside it. */
    struct {
        uint32_t which;
        uint32_t fill;
        double real;
    } chosen = { 1, 0, 2.5 };
    tell_schema(thread, DYNAMIC + 3, 3, 2, 8);
    tell_entry(thread, DYNAMIC + 3, 0, 0, UINT64_TYPE, 0, 0, "whole");
    tell_entry(thread, DYNAMIC + 3, 1, 0, DOUBLE_TYPE, 0, 0, "real");
    tell_schema(thread, DYNAMIC + 4, 1, 2, sizeof chosen);
    tell_entry(thread, DYNAMIC + 4, 0, 0, UINT32_TYPE, 0, 0, "which");
    tell_entry(thread, DYNAMIC + 4, 1, 0, DYNAMIC + 3, 0, 8, "value");
    mark_with(thread, DYNAMIC + 4, &chosen, sizeof chosen);

    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.rows, 3);
    assert_string_equal(text(&capture, JSON, 0),
                        "{\"small\":-2,\"real\":0.10000000000000001,\"length\":3,\"half\":1,\"name\":\"abc\"}");
    assert_string_equal(text(&capture, TEXT, 0), "abc");
    assert_string_equal(text(&capture, JSON, 1),
                        "{\"count\":3,\"numbers\":[1,-1,5],\"text\":\"q\\\"\\u000a\xef\xbf\xbd\",\"more\":[7,8]}");
    assert_string_equal(text(&capture, JSON, 2), "{\"which\":1,\"value\":{\"real\":2.5}}");
    assert_string_equal(text(&capture, HEX, 2), "01000000000000000000000000000440");
    end(&capture);
}

static void payloads_may_refer_to_registered_strings(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(1));
    uint64_t handles[] = { UINT64_C(0xD2) << 56 | 7, 8 }; /* the second was never registered */
    tell_string(thread, 7, "seven");
    tell_schema(thread, DYNAMIC + 1, 1, 2, 16);
    tell_entry(thread, DYNAMIC + 1, 0, ABI_ENTRY_MESSAGE, ABI_TYPE_REGISTERED, 0, 0, "known");
    tell_entry(thread, DYNAMIC + 1, 1, 0, ABI_TYPE_REGISTERED, 0, 8, "unknown");
    mark_with(thread, DYNAMIC + 1, handles, sizeof handles);
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_string_equal(text(&capture, JSON, 0), "{\"known\":\"seven\",\"unknown\":null}");
    assert_string_equal(text(&capture, TEXT_ID, 0), "seven");
    end(&capture);
}

static void a_row_waits_for_its_schema(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *one = nvtx_thread_new(capture.process, TID(1)), *two = nvtx_thread_new(capture.process, TID(2));
    uint32_t number = 6;
    mark_with(two, DYNAMIC + 9, &number, sizeof number);
    tell_entry(one, DYNAMIC + 9, 0, 0, UINT32_TYPE, 0, 0, "n"); /* the head may come after */
    tell_schema(one, DYNAMIC + 9, 1, 1, 4);
    mark_with(two, DYNAMIC + 8, &number, sizeof number);        /* never told */
    nvtx_thread_finish(one);
    nvtx_thread_finish(two);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.rows, 2);
    assert_string_equal(text(&capture, JSON, 0), "{\"n\":6}");
    assert_string_equal(text(&capture, HEX, 1), "06000000");
    assert_string_equal(text(&capture, JSON, 1), "null");
    end(&capture);
}

static void enums_are_named(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(1));
    uint64_t head[] = { DYNAMIC + 1, 3, 4 };
    give(thread, make(WIRE_NVTX_ENUM, 0, 1, 0, 1000, head, 3, "bits"));
    static const char *const names[] = { "a", "b", "c" };
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t entry[] = { DYNAMIC + 1, i, UINT64_C(1) << i, 1 };
        give(thread, make(WIRE_NVTX_ENUM_ENTRY, 0, 1, 0, 1000, entry, 4, names[i]));
    }
    static const uint32_t values[] = { 2, 5, 9, 0 };
    for (size_t i = 0; i < 4; i++)
        mark_with(thread, DYNAMIC + 1, &values[i], 4);
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    static const char *const wanted[] = { "\"b\"", "\"a|c\"", "\"a|0x8\"", "0" };
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(text(&capture, JSON, i), wanted[i]);
    end(&capture);
}

static void counters_have_rows(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *one = nvtx_thread_new(capture.process, TID(1)), *two = nvtx_thread_new(capture.process, TID(2));
    uint64_t counter[] = { DYNAMIC + 1, 17, 0 }, sample[] = { DYNAMIC + 1, (uint64_t)-3 }, none[] = { DYNAMIC + 1, 2 };
    give(two, make(WIRE_NVTX_SAMPLE, WIRE_SAMPLE_INT64, 1, 0, 2000, sample, 2, NULL)); /* before the counter is known */
    give(one, make(WIRE_NVTX_COUNTER, 0, 1, 0, 1000, counter, 3, "queue"));
    give(two, make(WIRE_NVTX_SAMPLE, WIRE_SAMPLE_NO_VALUE, 1, 0, 3000, none, 2, NULL));
    nvtx_thread_finish(one);
    nvtx_thread_finish(two);
    finish(&capture, "TACHO_COUNTER", (const char *const[]){ "timestamp", "nameId", "value", "intValue", NULL });
    assert_int_equal(capture.rows, 2);
    assert_int_equal(value(&capture, 0, 0), 1000);
    assert_string_equal(text(&capture, 1, 0), "queue");
    assert_int_equal(value(&capture, 3, 0), -3);
    assert_string_equal(text(&capture, 1, 1), "queue");
    assert_true(is_null(&capture, 2, 1));
    assert_int_equal(capture.counts.recorded, 2);
    end(&capture);
}

/* ---- Nonsense -------------------------------------------------------------------------------------------------- */

static void nonsense_is_counted(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *thread = nvtx_thread_new(capture.process, TID(1));
    uint64_t zero = 0, far = UINT64_MAX;
    pop(thread, 0, 0, 2000);                                                           /* nothing was pushed */
    pop(thread, 65535, 65535, 2000);
    give(thread, make(WIRE_NVTX_MARK, WIRE_NVTX_HAS_TEXT, 0, 0, 2000, NULL, 0, NULL)); /* no text there */
    give(thread, make(WIRE_NVTX_MARK, 255 & ~WIRE_NVTX_HAS_BINARY, 0, 0, 2000, &zero, 1, NULL));
    give(thread, make(WIRE_NVTX_START, 0, 0, 0, 2000, NULL, 0, NULL));                 /* no id */
    give(thread, make(WIRE_NVTX_START, 0, 0, 0, 2000, &zero, 1, NULL));
    give(thread, make(WIRE_NVTX_STRING, 0, 0, 0, 2000, &far, 1, "x"));
    give(thread, make(WIRE_NVTX_BINARY, 0, 0, 0, 2000, &zero, 1, NULL));               /* belongs to nothing */
    give(thread, make(WIRE_NVTX_SCHEMA, 0, 0, 0, 2000, &far, 1, NULL));
    give(thread, make(WIRE_NVTX_SYNC, 0, 0, 0, 2000, &far, 1, NULL));
    assert_int_equal(nvtx_process_counts(capture.process)->damaged, 10);
    start(thread, 5, 2000, "twice");
    start(thread, 5, 2000, "twice");
    assert_int_equal(nvtx_process_counts(capture.process)->damaged, 11);
    nvtx_thread_finish(thread);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_int_equal(capture.counts.recorded, 0);
    assert_int_equal(capture.rows, 0);
    end(&capture);
}

static uint64_t random_state = 88172645463325252u;
static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Small numbers most of the time, so that ids, levels and lengths meet each other. */
static uint64_t random_word(void)
{
    uint64_t number = random_number();
    switch (number % 8) {
    case 0: return random_number();
    case 1: return DYNAMIC + random_number() % 4;
    case 2: return UINT64_MAX;
    case 3: return random_number() % 128;
    default: return random_number() % 5;
    }
}

/* Under the sanitizers this is the test that nothing is read or written out of place. */
static void any_records_at_all_do_no_harm(void **state)
{
    (void)state;
    struct capture capture;
    begin(&capture);
    struct nvtx_thread *threads[] = { nvtx_thread_new(capture.process, TID(1)),
                                      nvtx_thread_new(capture.process, TID(2)) };
    for (int i = 0; i < 300000; i += rounds_step(300000)) {
        uint32_t body = (uint32_t)(random_number() % 12);
        struct wire_record *record = malloc((WIRE_HEAD_WORDS + body) * 8); /* exact: reading beyond it is found */
        memset(record, 0, sizeof *record);
        record->type = (uint8_t)(WIRE_NVTX_MARK + random_number() % (WIRE_NVTX_SYNC - WIRE_NVTX_MARK + 1));
        record->flags = (uint8_t)(random_number() % 3 ? random_number() % 8 : random_number());
        record->words = (uint16_t)random_number(); /* not to be believed */
        record->a = (uint16_t)(random_number() % 100 ? random_number() % 4 : random_number());
        record->b = (uint16_t)(random_number() % 100 ? random_number() % 4 : random_number());
        record->ticks = random_number() % 8 ? 2000 + (uint64_t)i : random_number();
        for (uint32_t word = 0; word < body; word++)
            record->body[word] = random_word();
        nvtx_record(threads[i % 2], record, WIRE_HEAD_WORDS + body);
        free(record);
    }
    nvtx_thread_finish(threads[0]);
    nvtx_thread_finish(threads[1]);
    finish(&capture, "NVTX_EVENTS", event_columns);
    assert_true(capture.counts.damaged > 0);
    assert_true(capture.counts.recorded > 0);
    end(&capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_ranges_have_a_row_each),
        cmocka_unit_test(a_range_whose_pop_was_lost_is_dropped_and_counted),
        cmocka_unit_test(a_range_in_every_domain_is_recorded),
        cmocka_unit_test(open_ranges_have_rows_without_an_end),
        cmocka_unit_test(start_and_end_meet_whichever_is_read_first),
        cmocka_unit_test(ranges_that_are_ended_again_are_no_damage),
        cmocka_unit_test(ranges_beyond_those_that_are_kept_stay_open),
        cmocka_unit_test(a_row_waits_for_its_registered_string),
        cmocka_unit_test(names_are_rows),
        cmocka_unit_test(payloads_are_read_by_their_schema),
        cmocka_unit_test(payloads_may_refer_to_registered_strings),
        cmocka_unit_test(a_row_waits_for_its_schema),
        cmocka_unit_test(enums_are_named),
        cmocka_unit_test(counters_have_rows),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(any_records_at_all_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
