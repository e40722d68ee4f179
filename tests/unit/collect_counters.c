/* Counters without a kernel: pipes stand in for perf events, and give the words that read(2) would. What was
 * counted between two readings becomes rows; what shared its place in the CPU is scaled up; what was counted while
 * recording was off is in no row. */
#include "made_report.h"

#include "analyze/engine/event_columns.h"
#include "collect/sources/perf/counter_rows.c"

enum { PAGE_FAULTS = 2, CYCLES = COLLECT_COUNTERS_OS, COUNTERS = 6 };

static struct collector collector;
static struct collect_result result;
static struct counter_rows_counters counters;
static struct counter_rows_counter list[COUNTERS];
static int ends[COUNTERS];

/* On two CPUs: page faults, the presence, and cycles. */
static void begin(void)
{
    memset(&collector, 0, sizeof collector);
    memset(&result, 0, sizeof result);
    collector.result = &result;
    collector.writer = start();
    counters = (struct counter_rows_counters){ .list = list, .count = COUNTERS, .event_count = 3 };
    collector.state[COLLECT_SOURCE_COUNTERS] = &counters;
    for (uint32_t i = 0; i < COUNTERS; i++) {
        int pair[2];
        assert_int_equal(pipe(pair), 0);
        ends[i] = pair[1];
        list[i] = (struct counter_rows_counter){
            .descriptor = pair[0],
            .cpu = i / 3 * 4,
            .event = (uint32_t[]){ PAGE_FAULTS, PRESENCE, CYCLES }[i % 3],
        };
    }
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    assert_int_equal(clock_map_init(&collector.clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    counters.read_ns = 1;
}

/* The next reading: value and time running of each counter, as the kernel has them from the start. */
static void reading(int is_recorded, const uint64_t words[COUNTERS][2])
{
    for (int i = 0; i < COUNTERS; i++)
        assert_int_equal(write(ends[i], words[i], 16), 16);
    counter_rows_read_all(&collector, is_recorded);
}

static struct report *end(void)
{
    for (int i = 0; i < COUNTERS; i++) {
        close(ends[i]);
        close(list[i].descriptor);
    }
    clock_map_free(&collector.clock);
    return finish(collector.writer);
}

static void assert_values(struct report *report, const int64_t (*expected)[3], size_t rows)
{
    static const char *const of_values[] = { "id", "idx", "value" };
    struct report_columns values;
    struct error err;
    assert_int_equal(columns_read(report, "PMU_EVENT_COUNTERS", of_values, 3, &values, &err), 0);
    assert_int_equal(values.rows, rows);
    for (size_t row = 0; row < rows; row++)
        for (int column = 0; column < 3; column++)
            assert_int_equal(values.values[column][row], expected[row][column]);
    report_columns_free(&values);
    assert_int_equal(result.cpu.counters, rows);
}

/* A row for each CPU on which something was counted, with its times; the kernel's totals become differences. */
static void readings_become_differences(void **state)
{
    static const char *const of_events[] = { "cpu", "counter_id" };
    static const int64_t cpus[] = { 0, 4, 0 };
    static const int64_t expected[][3] = {
        { 1, PAGE_FAULTS, 10 }, { 1, CYCLES, 500 }, { 2, PAGE_FAULTS, 7 }, { 2, CYCLES, 40 }, { 3, PAGE_FAULTS, 5 }
    };
    struct report_columns events;
    struct error err;
    begin();
    reading(1, (const uint64_t[][2]){ { 10, 100 }, { 0, 100 }, { 500, 100 }, { 0, 0 }, { 0, 0 }, { 0, 0 } });
    reading(1, (const uint64_t[][2]){ { 10, 100 }, { 0, 100 }, { 500, 100 }, { 7, 50 }, { 0, 50 }, { 40, 50 } });
    reading(1, (const uint64_t[][2]){ { 15, 120 }, { 0, 120 }, { 500, 120 }, { 7, 50 }, { 0, 50 }, { 40, 50 } });
    struct report *report = end();
    assert_values(report, expected, 5);
    assert_int_equal(columns_read(report, "PMU_EVENTS", of_events, 2, &events, &err), 0);
    assert_int_equal(events.rows, 3);
    for (int row = 0; row < 3; row++) {
        assert_int_equal(events.values[0][row], cpus[row]);
        assert_int_equal(events.values[1][row], row + 1);
    }
    report_columns_free(&events);
    report_close(report);
}

/* A counter of the CPU's own that had its place for a quarter of the time counted a quarter. Those
 * of the kernel never share. */
static void shared_places_are_scaled(void **state)
{
    static const int64_t expected[][3] = { { 1, PAGE_FAULTS, 8 }, { 1, CYCLES, 4000 } };
    begin();
    reading(1, (const uint64_t[][2]){ { 8, 25 }, { 0, 100 }, { 1000, 25 }, { 0, 0 }, { 0, 0 }, { 0, 0 } });
    struct report *report = end();
    assert_values(report, expected, 2);
    report_close(report);
}

static void what_is_counted_while_off_is_left_out(void **state)
{
    static const int64_t expected[][3] = { { 1, PAGE_FAULTS, 1 } };
    begin();
    reading(0, (const uint64_t[][2]){ { 900, 100 }, { 0, 100 }, { 0, 100 }, { 0, 0 }, { 0, 0 }, { 0, 0 } });
    reading(1, (const uint64_t[][2]){ { 901, 101 }, { 0, 101 }, { 0, 101 }, { 0, 0 }, { 0, 0 }, { 0, 0 } });
    struct report *report = end();
    assert_values(report, expected, 1);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_become_differences),
        cmocka_unit_test(shared_places_are_scaled),
        cmocka_unit_test(what_is_counted_while_off_is_left_out),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
