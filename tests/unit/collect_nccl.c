/* Records of NCCL's profiler plugin, made by hand, become the right rows in any order; nonsense becomes none, is
 * counted, and takes no memory without end. */
#include <stdio.h>

#include "analyze/engine/event_columns.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "collect/sources/nccl/nccl_records.h"
#include "made_report.h"
#include "wire/wire_nccl.h"

#define GLOBAL_PID ((int64_t)1 << 48 | (int64_t)77 << 24)

struct capture {
    struct collector collector;
    struct process process;
    struct process_counts counts[WIRE_SOURCE_COUNT];
    struct process_reader reader;
    struct collect_origin origin;
};

/* Report time is ticks - 1000. */
static void begin(struct capture *capture)
{
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    memset(capture, 0, sizeof *capture);
    capture->collector.writer = start();
    assert_int_equal(clock_map_init(&capture->collector.clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    capture->process.collector = &capture->collector;
    capture->process.global_pid = GLOBAL_PID;
    capture->process.counts = capture->counts;
    capture->reader.tid = 5;
    capture->origin = (struct collect_origin){ &capture->collector, &capture->process, &capture->reader };
}

static struct report *end(struct capture *capture)
{
    nccl_process_end(&capture->process);
    assert_null(capture->process.state[COLLECT_SOURCE_NCCL]);
    clock_map_free(&capture->collector.clock);
    return finish(capture->collector.writer);
}

struct made {
    struct wire_record head;
    uint64_t body[64];
};

static void give_start(struct capture *capture, uint64_t ticks, enum wire_nccl_kind kind, struct wire_nccl_event event,
                       const char *texts)
{
    struct made made = { .head = { .type = WIRE_NCCL_START, .a = (uint16_t)kind, .b = 6, .ticks = ticks } };
    size_t words = WIRE_NCCL_EVENT_WORDS;
    memcpy(made.body, &event, sizeof event);
    memcpy(made.body + words, texts, strlen(texts));
    words += WIRE_HEAD_WORDS + strlen(texts) / 8 + 1;
    nccl_start(&capture->origin, &made.head, (uint32_t)words);
}

static void give_stop(struct capture *capture, uint64_t ticks, uint64_t id)
{
    struct made made = { .head = { .type = WIRE_NCCL_STOP, .ticks = ticks }, .body = { id } };
    nccl_stop(&capture->origin, &made.head, WIRE_HEAD_WORDS + 1);
}

enum { START, END, ID, PARENT, BYTES, FUNCTION, COLUMNS };
static const char *const names[COLUMNS] = { "start", "end", "id", "parentId", "bytes", "function" };

static struct report_columns operations(struct report *report)
{
    struct report_columns rows;
    struct error err;
    if (columns_read(report, "TACHO_NCCL_OP", names, COLUMNS, &rows, &err) != 0)
        fail_msg("%s", err.text);
    return rows;
}

static void begins_and_ends_come_in_any_order(void **state)
{
    struct capture capture;
    begin(&capture);
    give_stop(&capture, 3000, 2);
    give_start(&capture, 2000, WIRE_NCCL_GROUP, (struct wire_nccl_event){ .id = 1 }, "");
    give_start(&capture, 2500, WIRE_NCCL_COLLECTIVE, (struct wire_nccl_event){ .id = 2, .parent = 1, .count = 5 },
               "AllReduce\tRING\tLL\tncclFloat64\t\t");
    give_stop(&capture, 2900, 1);
    give_stop(&capture, 9000, 1);                                                               /* twice */
    give_start(&capture, 4000, WIRE_NCCL_P2P, (struct wire_nccl_event){ .id = 3 }, "Send");     /* never ends */
    give_stop(&capture, 9000, 4711);                                                            /* never began */
    give_start(&capture, 6000, WIRE_NCCL_GROUP, (struct wire_nccl_event){ .id = 5 }, "\t\t\t"); /* ends before it */
    give_stop(&capture, 5000, 5);
    struct report *report = end(&capture);
    struct report_columns rows = operations(report);
    assert_int_equal(rows.rows, 4);
    assert_int_equal(capture.counts[WIRE_SOURCE_NCCL].recorded, 4);
    assert_int_equal(capture.counts[WIRE_SOURCE_NCCL].damaged, 0);
    static const int64_t expected[][3] = { { 2, 1500, 2000 }, { 1, 1000, 1900 }, { 5, 5000, 5000 }, { 3, 3000, 0 } };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rows.values[ID][i], expected[i][0]);
        assert_int_equal(rows.values[START][i], expected[i][1]);
        assert_int_equal(columns_is_null(&rows, END, i), expected[i][2] == 0);
        if (expected[i][2])
            assert_int_equal(rows.values[END][i], expected[i][2]);
    }
    assert_int_equal(rows.values[BYTES][0], 40);
    assert_int_equal(rows.values[PARENT][0], 1);
    assert_string_equal(report_string(report, rows.values[FUNCTION][0], NULL), "AllReduce");
    assert_true(columns_is_null(&rows, BYTES, 3));
    report_columns_free(&rows);
    report_close(report);
}

static void damaged_records_are_counted(void **state)
{
    struct capture capture;
    struct made made = { .head = { .type = WIRE_NCCL_START, .a = WIRE_NCCL_KIND_COUNT, .ticks = 2000 }, .body = { 1 } };
    begin(&capture);
    nccl_start(&capture.origin, &made.head, WIRE_HEAD_WORDS + WIRE_NCCL_EVENT_WORDS); /* a kind that there is not */
    made.head.a = WIRE_NCCL_GROUP;
    nccl_start(&capture.origin, &made.head, WIRE_HEAD_WORDS + WIRE_NCCL_EVENT_WORDS - 1);
    made.body[0] = 0;                                                                 /* no id */
    nccl_start(&capture.origin, &made.head, WIRE_HEAD_WORDS + WIRE_NCCL_EVENT_WORDS);
    nccl_stop(&capture.origin, &made.head, WIRE_HEAD_WORDS);
    nccl_stop(&capture.origin, &made.head, WIRE_HEAD_WORDS + 1);
    nccl_state(&capture.origin, &made.head, WIRE_HEAD_WORDS + 1);
    nccl_comm(&capture.origin, &made.head, WIRE_HEAD_WORDS + 3);
    give_start(&capture, 2000, WIRE_NCCL_GROUP, (struct wire_nccl_event){ .id = 1 }, "");
    give_start(&capture, 2000, WIRE_NCCL_GROUP, (struct wire_nccl_event){ .id = 1 }, ""); /* the id is taken */
    /* As many elements as no memory has: their bytes are unknown. */
    give_start(&capture, 2000, WIRE_NCCL_COLLECTIVE, (struct wire_nccl_event){ .id = 2, .count = UINT64_MAX },
               "AllReduce\tRING\tLL\tncclFloat64\t");
    struct report *report = end(&capture);
    struct report_columns rows = operations(report);
    assert_int_equal(capture.counts[WIRE_SOURCE_NCCL].damaged, 8);
    assert_int_equal(capture.counts[WIRE_SOURCE_NCCL].recorded, 2);
    assert_int_equal(rows.rows, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(columns_is_null(&rows, BYTES, i));
    report_columns_free(&rows);
    report_close(report);
}

static void any_bytes_do_no_harm(void **state)
{
    static void (*const handlers[])(const struct collect_origin *, const struct wire_record *,
                                    uint32_t) = { nccl_comm, nccl_start, nccl_stop, nccl_state };
    struct capture capture;
    unsigned seed = 17;
    begin(&capture);
    for (int round = 0; round < 20000; round++) {
        struct made made;
        for (size_t i = 0; i < sizeof made / 2; i++)
            ((uint16_t *)&made)[i] = (uint16_t)((seed = seed * 1103515245 + 12345) >> (round % 3 ? 14 : 26));
        made.head.words = (uint16_t)(WIRE_HEAD_WORDS + round % 64);
        if (round % 5)
            made.head.a %= WIRE_NCCL_KIND_COUNT;
        handlers[round % 4](&capture.origin, &made.head, made.head.words);
    }
    struct report *report = end(&capture);
    assert_true(capture.counts[WIRE_SOURCE_NCCL].recorded > 0 && capture.counts[WIRE_SOURCE_NCCL].damaged > 0);
    report_close(report);
}

static void events_without_end_take_no_memory_without_end(void **state)
{
    struct capture capture;
    begin(&capture);
    for (uint64_t id = 1; id <= NCCL_OPEN_MAX + 10; id++)
        give_start(&capture, 2000, WIRE_NCCL_PROXY_STEP, (struct wire_nccl_event){ .id = id }, "");
    assert_int_equal(capture.counts[WIRE_SOURCE_NCCL].recorded, NCCL_OPEN_MAX); /* written to make room */
    for (uint64_t id = 1; id <= 2 * NCCL_OPEN_MAX; id++)
        give_stop(&capture, 2000, 1000000 + id);
    report_close(end(&capture));
    assert_int_equal(capture.counts[WIRE_SOURCE_NCCL].recorded, NCCL_OPEN_MAX + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_and_ends_come_in_any_order),
        cmocka_unit_test(damaged_records_are_counted),
        cmocka_unit_test(any_bytes_do_no_harm),
        cmocka_unit_test(events_without_end_take_no_memory_without_end),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
