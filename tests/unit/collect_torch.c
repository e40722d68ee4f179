/* Records of PyTorch's operators, made by hand, become the right rows: nested, asynchronous, unfinished, with inputs,
 * and when they are nonsense. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "base/text.h"
#include "collect/core/clock_map.h"
#include "collect/sources/torch/torch_records.h"
#include "made_report.h"
#include "wire/wire_torch.h"

#define GLOBAL_PID ((int64_t)1 << 48 | (int64_t)77 << 24)
enum { FUNCTION = 0, BACKWARD = 1, USER = 7, NO_SEQUENCE = -1 };

struct capture {
    struct writer *writer;
    struct clock_map clock;
    struct torch_process *process;
    struct torch_thread *threads[2];
};

/* Report time is ticks - 1000. */
static void begin(struct capture *capture, int as_nvtx)
{
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };

    capture->writer = start();
    assert_int_equal(clock_map_init(&capture->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    struct torch_setup setup = {
        .writer = capture->writer, .clock = &capture->clock, .global_pid = GLOBAL_PID, .as_nvtx = as_nvtx
    };
    capture->process = torch_process_new(&setup);
    assert_non_null(capture->process);
    for (int i = 0; i < 2; i++)
        assert_non_null(capture->threads[i] = torch_thread_new(capture->process, GLOBAL_PID | (i + 1)));
}

static struct report *end(struct capture *capture, int64_t end_ns, struct torch_counts *counts)
{
    for (int i = 0; i < 2; i++)
        torch_thread_finish(capture->threads[i], end_ns);
    *counts = *torch_process_counts(capture->process);
    torch_process_free(capture->process);
    clock_map_free(&capture->clock);
    return finish(capture->writer);
}

struct operation {
    unsigned type, scope;
    uint64_t ticks, number;
    int64_t sequence;
    uint64_t forward;
    const char *name;
};

static void give(struct torch_thread *thread, const struct operation *operation, const uint64_t *inputs,
                 uint32_t input_words)
{
    struct {
        struct wire_record head;
        uint64_t body[128];
    } record = { 0 };
    size_t words = operation->type == WIRE_TORCH_BEGIN ? 3 : 1;

    record.body[0] = operation->number;
    record.body[1] = (uint64_t)operation->sequence;
    record.body[2] = operation->forward;
    if (input_words)
        memcpy(record.body + words, inputs, input_words * 8);
    words += input_words;
    if (operation->name) {
        memcpy(record.body + words, operation->name, strlen(operation->name));
        words += strlen(operation->name) / 8 + 1;
    }
    record.head = (struct wire_record){
        .type = (uint8_t)operation->type,
        .a = (uint16_t)operation->scope,
        .b = (uint16_t)input_words,
        .ticks = operation->ticks,
        .words = (uint16_t)(WIRE_HEAD_WORDS + words),
    };
    torch_record(thread, &record.head, record.head.words);
}

#define BEGIN(thread, ...) give(thread, &(struct operation){ WIRE_TORCH_BEGIN, __VA_ARGS__ }, NULL, 0)
#define END(thread, at, number) give(thread, &(struct operation){ WIRE_TORCH_END, 0, at, number, 0, 0, NULL }, NULL, 0)

/* All rows of a table as text: columns with a blank, rows with a line feed between them. */
static void expect_rows(struct report *report, const char *table, const char *const *names, size_t count,
                        const char *expected)
{
    struct report_columns columns = { 0 };
    struct error err = { 0 };
    struct text got = { 0 };
    int numbers[16];
    const struct report_table *found = report_table(report, table);

    for (size_t i = 0; found && i < count; i++)
        numbers[i] = report_column(found, names[i]);
    if (found && report_read(report, found, numbers, count, &columns, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t row = 0; row < columns.rows; row++)
        for (size_t i = 0; i < count; i++) {
            int is_text = strstr(names[i], "Id") && strcmp(names[i], "recordFunctionId") != 0 &&
                          strcmp(names[i], "deviceId") != 0;
            is_text &= strcmp(names[i], "pythonId") != 0 && strcmp(names[i], "parentId") != 0;
            /* a text of operators */
            is_text &= strcmp(table, "TACHO_TORCH_PYTHON") != 0 || strcmp(names[i], "moduleId") != 0;
            is_text |= strcmp(names[i], "category") == 0 || strcmp(names[i], "text") == 0 ||
                       strcmp(names[i], "event") == 0;
            if (columns_is_null(&columns, i, row))
                text_add(&got, "-");
            else if (is_text)
                text_add(&got, report_string(report, columns.values[i][row], NULL));
            else
                text_addf(&got, "%" PRId64,
                          columns.values[i][row] >= GLOBAL_PID ? columns.values[i][row] - GLOBAL_PID
                                                               : columns.values[i][row]);
            text_add_char(&got, i + 1 < count ? ' ' : '\n');
        }
    assert_string_equal(text_string(&got), expected);
    if (columns.values)
        report_columns_free(&columns);
    text_free(&got);
}

static const char *const op_columns[] = {
    "start", "end", "globalTid", "category", "recordFunctionId", "sequenceNumber", "forwardThread", "nameId"
};
#define OPS op_columns, COUNT_OF(op_columns)

static void operators_annotations_and_steps(void **state)
{
    static const char *const step_columns[] = { "start", "end", "globalTid", "number" };
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 0);
    BEGIN(capture.threads[0], USER, 1010, 1, NO_SEQUENCE, 0, "ProfilerStep#12");
    BEGIN(capture.threads[0], FUNCTION, 1020, 2, 7, 0, "aten::addmm");
    END(capture.threads[0], 1030, 2);
    BEGIN(capture.threads[1], BACKWARD, 1040, 3, 7, 1, "AddmmBackward0");
    END(capture.threads[1], 1050, 3);
    END(capture.threads[0], 1060, 1);
    BEGIN(capture.threads[0], FUNCTION, 1070, 4, NO_SEQUENCE, 0, "ProfilerStep#13");
    END(capture.threads[0], 1080, 4);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(report, "TACHO_TORCH_OP", OPS,
                "20 30 1 cpu_op 2 7 0 aten::addmm\n40 50 2 cpu_op 3 7 1 AddmmBackward0\n"
                "10 60 1 user_annotation 1 - - ProfilerStep#12\n70 80 1 cpu_op 4 - - ProfilerStep#13\n");
    expect_rows(report, "TACHO_TORCH_STEP", step_columns, 4, "10 60 1 12\n");
    assert_int_equal(counts.recorded, 4);
    assert_int_equal(counts.damaged, 0);
    report_close(report);
}

/* An asynchronous operator ends in another thread, whose records may be read first. */
static void ends_elsewhere(void **state)
{
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 0);
    END(capture.threads[1], 1090, 5);
    BEGIN(capture.threads[0], FUNCTION, 1010, 5, NO_SEQUENCE, 0, "read after its end");
    BEGIN(capture.threads[0], FUNCTION, 1020, 6, NO_SEQUENCE, 0, "outer");
    BEGIN(capture.threads[0], FUNCTION, 1030, 7, NO_SEQUENCE, 0, "outlives outer");
    END(capture.threads[0], 1040, 6);
    END(capture.threads[1], 1050, 7);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(
        report, "TACHO_TORCH_OP", OPS,
        "10 90 1 cpu_op 5 - - read after its end\n20 40 1 cpu_op 6 - - outer\n30 50 1 cpu_op 7 - - outlives outer\n");
    assert_int_equal(counts.recorded, 3);
    report_close(report);
}

static void unfinished_ones_end_with_their_thread(void **state)
{
    static const char *const columns[] = { "start", "end", "argsId", "nameId" };
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 0);
    BEGIN(capture.threads[0], FUNCTION, 1010, 1, NO_SEQUENCE, 0, "outer");
    BEGIN(capture.threads[0], FUNCTION, 1020, 2, NO_SEQUENCE, 0, "inner");
    END(capture.threads[0], 1030, 2);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(report, "TACHO_TORCH_OP", columns, 4, "20 30 - inner\n10 200 \"unfinished\": true outer\n");
    assert_int_equal(counts.recorded, 2);
    report_close(report);
}

/* Calls of modules are Python functions, named as torch does it; operators know which they are in. */
static void calls_of_modules(void **state)
{
    static const char *const calls[] = { "start", "end", "pythonId", "parentId", "moduleId", "argsId", "nameId" },
                             *const operators[] = { "start", "moduleId", "nameId" };
    const uint64_t net = WIRE_TORCH_MODULE_NUMBER | 1, linear = WIRE_TORCH_MODULE_NUMBER | 2,
                   cut = WIRE_TORCH_MODULE_NUMBER | 3;
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 1);
    BEGIN(capture.threads[0], WIRE_TORCH_MODULE_CALL, 1010, net, 0, 0, "Net_0");
    BEGIN(capture.threads[0], FUNCTION, 1015, 1, 4, 0, "aten::relu");
    BEGIN(capture.threads[0], WIRE_TORCH_MODULE_CALL, 1020, linear, 0, 0, "Linear_12");
    BEGIN(capture.threads[0], FUNCTION, 1030, 2, 5, 0, "aten::addmm");
    BEGIN(capture.threads[1], FUNCTION, 1035, 3, 5, 1, "AddmmBackward0");
    END(capture.threads[0], 1040, 2);
    END(capture.threads[0], 1050, linear);
    END(capture.threads[0], 1060, 1);
    END(capture.threads[1], 1070, 3);
    END(capture.threads[0], 1080, net);
    BEGIN(capture.threads[0], FUNCTION, 1090, 4, 6, 0, "aten::sum");
    END(capture.threads[0], 1095, 4);
    BEGIN(capture.threads[0], WIRE_TORCH_MODULE_CALL, 1100, cut, 0, 0, "Net_0");
    struct report *report = end(&capture, 200, &counts);
    expect_rows(report, "TACHO_TORCH_PYTHON", calls, 7,
                "20 50 2 1 12 - nn.Module: Linear_12\n10 80 1 - 0 - nn.Module: Net_0\n"
                "100 200 3 - 0 \"unfinished\": true nn.Module: Net_0\n");
    expect_rows(report, "TACHO_TORCH_OP", operators, 3,
                "30 Net_0.Linear_12 aten::addmm\n15 Net_0 aten::relu\n35 - AddmmBackward0\n90 - aten::sum\n");
    assert_int_equal(counts.recorded, 7);
    assert_int_equal(counts.damaged, 0);
    report_close(report);
}

/* The end of the inner call did not find room, as it happens when buffers are full. */
static void a_call_that_lost_its_end(void **state)
{
    static const char *const calls[] = { "start", "end", "pythonId", "parentId", "argsId" }, *const operators[] = {
        "start", "moduleId", "nameId"
    };
    const uint64_t net = WIRE_TORCH_MODULE_NUMBER | 1, linear = WIRE_TORCH_MODULE_NUMBER | 2,
                   next = WIRE_TORCH_MODULE_NUMBER | 3;
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 0);
    BEGIN(capture.threads[0], WIRE_TORCH_MODULE_CALL, 1010, net, 0, 0, "Net_0");
    BEGIN(capture.threads[0], WIRE_TORCH_MODULE_CALL, 1020, linear, 0, 0, "Linear_0");
    BEGIN(capture.threads[0], FUNCTION, 1030, 1, NO_SEQUENCE, 0, "aten::addmm");
    END(capture.threads[0], 1050, net);
    END(capture.threads[0], 1055, 1);
    BEGIN(capture.threads[0], WIRE_TORCH_MODULE_CALL, 1060, next, 0, 0, "Net_0");
    BEGIN(capture.threads[0], FUNCTION, 1070, 2, NO_SEQUENCE, 0, "aten::relu");
    END(capture.threads[0], 1080, 2);
    END(capture.threads[0], 1090, next);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(report, "TACHO_TORCH_PYTHON", calls, 5, "20 50 2 1 \"unfinished\": true\n10 50 1 - -\n60 90 3 - -\n");
    expect_rows(report, "TACHO_TORCH_OP", operators, 3, "30 Net_0.Linear_0 aten::addmm\n70 Net_0 aten::relu\n");
    report_close(report);
}

/* The texts are torch's own: of a trace by torch.profiler and of emit_nvtx. */
static void inputs_and_ranges(void **state)
{
    static const char *const columns[] = { "inputDimsId", "inputTypesId", "inputStridesId", "concreteInputsId" },
                             *const range[] = { "text" };
    static const double half = 0.5, one = 1, tenth = 0.1;
    uint64_t inputs[64], reals[3];
    uint32_t used = 0;
    struct capture capture;
    struct torch_counts counts;

    memcpy(&reals[0], &half, 8), memcpy(&reals[1], &one, 8), memcpy(&reals[2], &tenth, 8);
    const uint64_t words[] = {
        wire_torch_item(WIRE_TORCH_TENSOR, 6, 2),
        2,
        3,
        3,
        1,
        wire_torch_item(WIRE_TORCH_TENSOR_LIST, 0, 2),
        wire_torch_item(WIRE_TORCH_TENSOR, 4, 1),
        5,
        1,
        wire_torch_item(WIRE_TORCH_TENSOR, 4, 0),
        wire_torch_item(WIRE_TORCH_SCALAR_LIST, 0, 2),
        wire_torch_item(WIRE_TORCH_INT, 0, 0),
        (uint64_t)-1,
        wire_torch_item(WIRE_TORCH_BOOL, 0, 0),
        1,
        wire_torch_item(WIRE_TORCH_DOUBLE, 0, 0),
        reals[0],
        wire_torch_item(WIRE_TORCH_DOUBLE, 0, 0),
        reals[1],
        wire_torch_item(WIRE_TORCH_DOUBLE, 0, 0),
        reals[2],
        wire_torch_item(WIRE_TORCH_UNDEFINED, 0, 0),
        wire_torch_item(WIRE_TORCH_OTHER, 0, 0),
        wire_torch_item(WIRE_TORCH_TENSOR_LIST, WIRE_TORCH_LEFT_OUT, 31),
        wire_torch_item(WIRE_TORCH_CUT, 0, 0),
    };
    memcpy(inputs, words, sizeof words);
    used = sizeof words / 8;
    begin(&capture, 1);
    give(capture.threads[0], &(struct operation){ WIRE_TORCH_BEGIN, FUNCTION, 1010, 31, 4, 0, "aten::cat" }, inputs,
         used);
    END(capture.threads[0], 1020, 31);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(
        report, "TACHO_TORCH_OP", columns, 4,
        "[[2, 3], [[5], []], [], [], [], [], [], [], [], []] [\"float\", \"TensorList\", \"ScalarList\", \"Scalar\", "
        "\"Scalar\", \"Scalar\", \"\", \"\", \"TensorList\", \"...\"] [[3, 1], [[1], []], [], [], [], [], [], [], [], "
        "[]] [\"\", \"\", \"[-1, True]\", \"0.5\", \"1.\", \"0.10000000000000001\", \"\", \"\", \"\", \"\"]\n");
    expect_rows(report, "NVTX_EVENTS", range, 1,
                "aten::cat, seq = 4, op_id = 31, sizes = [[2, 3], [5], [], [], [], [], [], [], [], [...], [...]]\n");
    report_close(report);
}

/* What a program may have written over its records. */
static void nonsense_is_counted(void **state)
{
    const uint64_t bad[][2] = {
        { wire_torch_item(WIRE_TORCH_TENSOR, 6, 5000), 1 },
        { wire_torch_item(WIRE_TORCH_TENSOR, 6, 2), 1 },
        { wire_torch_item(WIRE_TORCH_TENSOR_LIST, 0, UINT32_MAX), wire_torch_item(WIRE_TORCH_OTHER, 0, 0) },
        { 0xffff, 0 },
    };
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        give(capture.threads[0], &(struct operation){ WIRE_TORCH_BEGIN, FUNCTION, 1010, i + 1, 4, 0, "aten::cat" },
             bad[i], 2);
    for (unsigned type = WIRE_TORCH_BEGIN; type <= WIRE_TORCH_BYTES; type++) {
        struct wire_record record = { .type = (uint8_t)type, .words = WIRE_HEAD_WORDS, .b = UINT16_MAX };
        torch_record(capture.threads[0], &record, record.words);
    }
    struct report *report = end(&capture, 200, &counts);
    assert_int_equal(counts.damaged, 4 + 4);
    assert_int_equal(counts.recorded, 0);
    report_close(report);
}

static void stacks(void **state)
{
    static const char *const columns[] = { "nameId", "callStackId" };
    struct {
        struct wire_record head;
        uint64_t body[6];
    } record = { .head = { .type = WIRE_TORCH_BEGIN,
                           .flags = WIRE_TORCH_HAS_STACK,
                           .words = WIRE_HEAD_WORDS + 6,
                           .ticks = 1010, },
                 .body = { 1, UINT64_MAX, 0, 700 } };
    struct capture capture;
    struct torch_counts counts;

    memcpy(record.body + 4, "aten::mm", 8);
    begin(&capture, 0);
    for (uint64_t i = 0; i < 1000; i++) { /* the table grows */
        char text[32];
        snprintf(text, sizeof text, "a.py(%d): f;a.py(1): g", (int)i);
        give(capture.threads[i % 2], &(struct operation){ WIRE_TORCH_STACK, 0, 1005, i + 1, 0, 0, text }, NULL, 0);
    }
    torch_record(capture.threads[0], &record.head, record.head.words);
    END(capture.threads[0], 1020, 1);
    record.body[0] = 2;
    record.body[3] = 5000; /* never told */
    torch_record(capture.threads[0], &record.head, record.head.words);
    END(capture.threads[0], 1030, 2);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(report, "TACHO_TORCH_OP", columns, 2, "aten::mm a.py(699): f;a.py(1): g\naten::mm -\n");
    assert_int_equal(counts.recorded, 2);
    assert_int_equal(counts.stack_lost, 1);
    assert_int_equal(counts.damaged, 0);
    report_close(report);
}

static void memory(void **state)
{
    static const char *const columns[] = { "timestamp", "globalTid", "event",          "deviceType",   "deviceId",
                                           "address",   "bytes",     "totalAllocated", "totalReserved" };
    struct {
        struct wire_record head;
        uint64_t body[4];
    } record = { .head = { .type = WIRE_TORCH_BYTES, .a = 1, .b = 3, .ticks = 1050, .words = WIRE_HEAD_WORDS + 4 },
                 .body = { 4096, 512, 1024, 2048 } };
    struct capture capture;
    struct torch_counts counts;

    begin(&capture, 0);
    torch_record(capture.threads[1], &record.head, record.head.words);
    record.body[1] = (uint64_t)-512;
    record.head.flags = 1;
    record.head.a = record.head.b = 0;
    torch_record(capture.threads[0], &record.head, record.head.words);
    struct report *report = end(&capture, 200, &counts);
    expect_rows(report, "TACHO_TORCH_MEMORY", columns, 7,
                "50 2 [memory] 1 2 4096 512\n50 1 [OutOfMemory] 0 -1 4096 -512\n");
    assert_int_equal(counts.recorded, 2);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_annotations_and_steps),
        cmocka_unit_test(ends_elsewhere),
        cmocka_unit_test(unfinished_ones_end_with_their_thread),
        cmocka_unit_test(calls_of_modules),
        cmocka_unit_test(a_call_that_lost_its_end),
        cmocka_unit_test(inputs_and_ranges),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(stacks),
        cmocka_unit_test(memory),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
