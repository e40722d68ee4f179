/* What losses of events do to figures: the sentences, and the tables that they concern. Worked out by hand. */
#include <string.h>

#include "analyze/model/event_counts.h"
#include "analyze/model/stacks/missing_stacks.h"
#include "made_report.h"
#include "report/schema/chain_tables.h"
#include "wire/wire.h"

static void count_as(struct writer *writer, const char *source, const char *fate, const char *cause, int64_t count)
{
    struct row_TACHO_COUNT row = { 0 };

    ROW_SET(&row, TACHO_COUNT, globalPid, made_thread(1, 0));
    ROW_SET(&row, TACHO_COUNT, source, made_string(writer, source));
    ROW_SET(&row, TACHO_COUNT, fate, made_string(writer, fate));
    if (*cause)
        ROW_SET(&row, TACHO_COUNT, cause, made_string(writer, cause));
    ROW_SET(&row, TACHO_COUNT, count, count);
    writer_append(writer, TABLE_TACHO_COUNT, &row);
}

static void process(struct writer *writer, int64_t pid)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, 0);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(pid, 0));
    ROW_SET(&row, TACHO_PROCESS, image, 0);
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static struct event_counts counts;

static struct report *read_counts(struct writer *writer)
{
    struct report *report = finish(writer);
    struct error err;

    if (event_counts_read(&counts, report, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

static void expect_sentence(size_t loss, const char *sentence)
{
    struct text text = { 0 };

    assert_true(loss < counts.loss_count);
    loss_add(&text, &counts.losses[loss]);
    assert_string_equal(text_string(&text), sentence);
    text_free(&text);
}

/* The kernel does not say what it could not store. If all 94 were samples, 94 of 40,094 are missing: 0.2344 %; if all
 * were switches, 94 of 11,000: 0.8545 %. What is rounded is rounded up. */
static void kernel_rings(void **state)
{
    struct writer *writer = start();

    count_as(writer, "samples", "recorded", "", 40000);
    count_as(writer, "switches", "recorded", "", 10906);
    count_as(writer, "perf records", "lost", "ring-full", 94);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, 1);
    expect_sentence(0, "94 of 51,000 perf records lost (ring full): sample counts up to 0.3 % low, switch counts up to "
                       "0.9 % low");
    assert_true(loss_is_small(&counts.losses[0]));
    assert_true(loss_concerns(&counts.losses[0], "COMPOSITE_EVENTS"));
    assert_true(loss_concerns(&counts.losses[0], "SCHED_EVENTS"));
    assert_false(loss_concerns(&counts.losses[0], "OSRT_API"));
    assert_false(loss_concerns(&counts.losses[0], "TACHO_PYTHON_SAMPLE"));
    report_close(report);
}

/* Of 900 samples and 99,000 switches 100 records are missing. That is 0.1 % of all records, but if they were samples,
 * 100 of 1,000 are missing. */
static void a_few_samples_among_many_switches(void **state)
{
    struct writer *writer = start();

    count_as(writer, "samples", "recorded", "", 900);
    count_as(writer, "switches", "recorded", "", 99000);
    count_as(writer, "perf records", "lost", "ring-full", 100);
    struct report *report = read_counts(writer);
    expect_sentence(0, "100 of 100,000 perf records lost (ring full): sample counts up to 10.0 % low, switch counts up "
                       "to 0.2 % low");
    assert_false(loss_is_small(&counts.losses[0]));
    report_close(report);
}

/* Without samples the records are switches, and with neither all that is known is that none was stored. */
static void rings_without_samples(void **state)
{
    struct writer *writer = start();

    count_as(writer, "switches", "recorded", "", 900);
    count_as(writer, "perf records", "lost", "ring-full", 100);
    struct report *report = read_counts(writer);
    expect_sentence(0, "100 of 1,000 perf records lost (ring full): switch counts up to 10.0 % low");
    report_close(report);
    writer = start();
    count_as(writer, "perf records", "lost", "ring-full", 100);
    report = read_counts(writer);
    expect_sentence(0, "100 of 100 perf records lost (ring full): sample counts up to 100.0 % low");
    report_close(report);
}

/* One torn sample of 3,510 is 0.028 %. Rows of the same key in several processes add up. */
static void a_torn_sample(void **state)
{
    struct writer *writer = start();

    count_as(writer, "python-sampling", "recorded", "", 3000);
    count_as(writer, "python-sampling", "recorded", "cut", 509);
    count_as(writer, "python-sampling", "lost", "torn", 1);
    struct report *report = read_counts(writer);
    expect_sentence(0, "1 of 3,510 Python samples lost (torn): sample counts up to 0.1 % low");
    assert_true(loss_concerns(&counts.losses[0], "TACHO_PYTHON_SAMPLE"));
    assert_false(loss_concerns(&counts.losses[0], "COMPOSITE_EVENTS"));
    report_close(report);
}

/* A report that was cut in time has no counts of what was recorded: its rows are counted, and not the frames of their
 * stacks. 1 of 1 + 4. */
static void a_part(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < 4; i++) {
        struct row_TACHO_PYTHON_SAMPLE row = { 0 };
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, i);
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, 1));
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, 1);
        writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
    }
    for (int depth = 0; depth < 9; depth++) {
        struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, 1);
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
        writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
    }
    count_as(writer, "callchains", "recorded", "", 1);
    count_as(writer, "python-sampling", "lost", "torn", 1);
    struct report *report = read_counts(writer);
    expect_sentence(0, "1 of 5 Python samples lost (torn): sample counts up to 20.0 % low");
    report_close(report);
}

static void cut_stacks(struct writer *writer, int64_t count)
{
    struct row_TACHO_CAPTURE row = { 0 };

    ROW_SET(&row, TACHO_CAPTURE, timestamp, 1);
    ROW_SET(&row, TACHO_CAPTURE, over, made_string(writer, "program"));
    ROW_SET(&row, TACHO_CAPTURE, cutStacks, count);
    writer_append(writer, TABLE_TACHO_CAPTURE, &row);
}

/* A stack without its outermost frames is not in the total times of these: 26 of 2,000 are 1.3 %. Nothing is lost. */
static void incomplete_stacks(void **state)
{
    struct writer *writer = start();

    count_as(writer, "samples", "recorded", "", 2000);
    count_as(writer, "python-sampling", "recorded", "", 970);
    count_as(writer, "python-sampling", "recorded", "cut", 30);
    cut_stacks(writer, 26);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, 2);
    expect_sentence(0, "26 of 2,000 CPU samples have a truncated stack: total times of callers up to 1.3 % low");
    expect_sentence(1, "30 of 1,000 Python samples have a truncated stack: total times of callers up to 3.0 % low");
    assert_true(counts.losses[0].is_note && loss_is_small(&counts.losses[0]));
    assert_true(loss_concerns(&counts.losses[0], "SAMPLING_CALLCHAINS"));
    assert_false(loss_concerns(&counts.losses[0], "COMPOSITE_EVENTS"));
    assert_true(loss_concerns(&counts.losses[1], "TACHO_PYTHON_CALLCHAINS"));
    report_close(report);
}

/* One of a hundred is not worth a word. */
static void a_few_incomplete_stacks(void **state)
{
    struct writer *writer = start();

    count_as(writer, "samples", "recorded", "", 2000);
    cut_stacks(writer, 20);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, 0);
    report_close(report);
}

static void several_causes(void **state)
{
    struct writer *writer = start();

    count_as(writer, "osrt", "recorded", "", 500);
    count_as(writer, "osrt", "lost", "buffer-full", 250);
    count_as(writer, "osrt", "lost", "in-signal", 100);
    count_as(writer, "osrt", "lost", "buffer-full", 150);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, 1);
    expect_sentence(0, "500 of 1,000 OS calls lost (buffer full 400, in signal 100): counts up to 50.0 % low");
    assert_false(loss_is_small(&counts.losses[0]));
    report_close(report);
}

/* A child that was killed before its main() is a note: no figure is wrong for it. */
static void processes(void **state)
{
    struct writer *writer = start();

    for (int pid = 1; pid <= 4; pid++) {
        process(writer, pid);
        process(writer, pid); /* its end */
    }
    count_as(writer, "processes", "lost", "not-attached", 1);
    count_as(writer, "processes", "lost", "static", 2);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, 2);
    assert_true(counts.losses[0].is_note);
    expect_sentence(0, "1 of 4 processes not traced (not attached)");
    assert_false(loss_concerns(&counts.losses[0], "OSRT_API"));
    expect_sentence(1, "2 of 4 processes not traced (static): their calls, ranges and GPU work are missing");
    assert_true(loss_concerns(&counts.losses[1], "OSRT_API"));
    assert_true(loss_concerns(&counts.losses[1], "CUPTI_ACTIVITY_KIND_KERNEL"));
    assert_false(loss_concerns(&counts.losses[1], "COMPOSITE_EVENTS"));
    report_close(report);
}

/* A full disk counts rows of tables that belong to no source. Counts of a tampered file do not overflow. */
static void tables_and_tampering(void **state)
{
    struct writer *writer = start();

    count_as(writer, "TACHO_CLOCK", "lost", "disk-full", 7);
    count_as(writer, "nvtx", "recorded", "", -5);
    count_as(writer, "nvtx", "lost", "damaged", INT64_MAX);
    struct report *report = read_counts(writer);
    expect_sentence(0, "7 of 7 rows of TACHO_CLOCK lost (disk full): counts up to 100.0 % low");
    assert_true(loss_concerns(&counts.losses[0], "TACHO_CLOCK"));
    assert_false(loss_concerns(&counts.losses[0], "TACHO_COUNT"));
    assert_false(loss_is_small(&counts.losses[1]));
    report_close(report);
}

static void add_call(struct writer *writer, int64_t start, int64_t stack)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, start);
    ROW_SET(&row, OSRT_API, end, start + 1);
    ROW_SET(&row, OSRT_API, callchainId, stack);
    ROW_SET(&row, OSRT_API, lockCallchainId, 99); /* the name of a lock is no stack of a call */
    writer_append(writer, TABLE_OSRT_API, &row);
}

static void add_frame(struct writer *writer, int64_t stack)
{
    struct row_OSRT_CALLCHAINS row = { 0 };

    ROW_SET(&row, OSRT_CALLCHAINS, id, stack);
    ROW_SET(&row, OSRT_CALLCHAINS, stackDepth, 0);
    writer_append(writer, TABLE_OSRT_CALLCHAINS, &row);
}

/* Two of three calls lost their stacks of three frames each. The events themselves are all there. */
static void stacks_on_a_full_disk(void **state)
{
    struct missing_stacks missing[MISSING_STACKS_MAX];
    struct writer *writer = start();
    struct text text = { 0 };
    struct error err;
    size_t count;

    for (int i = 1; i <= 3; i++)
        add_call(writer, i * 1000, i);
    add_frame(writer, 1);
    add_frame(writer, 1);
    count_as(writer, "osrt", "recorded", "", 3);
    count_as(writer, "stack frames", "lost", "disk-full", 6);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, 1);
    expect_sentence(0, "6 of 8 stack frames lost (disk full): events have no stack, or a part of it");
    for (int i = 0; i < CHAIN_TABLES; i++)
        assert_true(loss_concerns(&counts.losses[0], chain_tables[i]));
    assert_false(loss_concerns(&counts.losses[0], "OSRT_API"));
    assert_int_equal(missing_stacks_read(missing, &count, report, &err), 0);
    assert_int_equal(count, 1);
    missing_stacks_describe(&text, missing, count);
    assert_string_equal(text_string(&text), "2 of 3 OS calls have no stack: those of the last 2.00 µs");
    text_free(&text);
    report_close(report);
}

/* A source without words would be told as rows of a table that does not exist. */
static void every_source_has_words(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        count_as(writer, wire_source_name(i), "lost", "damaged", 1);
    struct report *report = read_counts(writer);
    assert_int_equal(counts.loss_count, WIRE_SOURCE_COUNT);
    for (size_t i = 0; i < counts.loss_count; i++) {
        struct text text = { 0 };
        loss_add(&text, &counts.losses[i]);
        if (strstr(text_string(&text), "rows of"))
            fail_msg("%s has no words in event_counts.c", counts.losses[i].source);
        text_free(&text);
    }
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_rings),
        cmocka_unit_test(a_few_samples_among_many_switches),
        cmocka_unit_test(rings_without_samples),
        cmocka_unit_test(a_torn_sample),
        cmocka_unit_test(a_part),
        cmocka_unit_test(incomplete_stacks),
        cmocka_unit_test(a_few_incomplete_stacks),
        cmocka_unit_test(several_causes),
        cmocka_unit_test(processes),
        cmocka_unit_test(tables_and_tampering),
        cmocka_unit_test(stacks_on_a_full_disk),
        cmocka_unit_test(every_source_has_words),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
