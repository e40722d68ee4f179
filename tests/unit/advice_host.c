/* Rules on the time of threads, on small captures made by hand, with savings that can be worked out on paper, in µs. */
#include "analyze/advice/adviser.h"
#include "analyze/registry.h"
#include "made_cuda.h"

/* Runs one rule on a report. */
static struct report *advise(struct adviser *adviser, struct writer *writer, const struct analysis *rule)
{
    struct report *report = finish(writer);
    struct error err;

    if (adviser_open(adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(adviser, rule, &err) != 0 || adviser_judge(adviser, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

static void done(struct adviser *adviser, struct report *report)
{
    adviser_free(adviser);
    report_close(report);
}

static void operator(struct writer *writer, int64_t start, int64_t end, const char *name, const char *stack)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, start * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, end * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
    if (stack)
        ROW_SET(&row, TACHO_TORCH_OP, callStackId, made_string(writer, stack));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void expect(const struct advice_cause *cause, int64_t bound, int64_t estimate, const char *what,
                   const char *where)
{
    assert_string_equal(text_string(&cause->what), what);
    assert_string_equal(text_string(&cause->where), where);
    assert_int_equal(cause->bound_ns, bound * US);
    assert_int_equal(cause->estimate_ns, estimate * US);
}

/* ---- waits ----------------------------------------------------------------------------------------------------- */

enum { STEPS = 10, STEP = 150, KERNEL = 100 };

/* A step of 150 µs: a launch of 5 µs, its kernel of 100 µs, and an operator of 15 + 100 µs that launches a copy of 2 µs
 * and waits until 5 µs behind it. From the first launch to the last return: 9 · 150 + 117. Ten kernels and copies in a
 * row, with gaps of 1 µs: 5 + 10 · 102 + 19. Kernels alone: 5 + 10 · 100 + 9. */
static void a_result_in_each_step(void **state)
{
    enum { RUN = 9 * STEP + 117, WITHOUT_WAITS = 5 + 10 * 102 + 19, WITHOUT_COPIES = 5 + 10 * 100 + 9 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = STEP * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 1, 7);
        operator(writer, at + 7, at + 118, "aten::item", "train.py(57): train");
        call(writer, MAIN, at + 10, at + 13, "cudaMemcpyAsync", 10 * i + 2);
        made_copy(writer, (struct made_memory){ (at + 106) * US, (at + 108) * US, 10 * i + 2, 4, 2, 2, 1 });
        call(writer, MAIN, at + 15, at + 117, "cudaStreamSynchronize", 10 * i + 3);
        sync_record(writer, STREAM_SYNC, 7, 10 * i + 3, 0);
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits);
    assert_int_equal(adviser.step_ns, RUN * US);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], RUN - WITHOUT_COPIES, RUN - WITHOUT_WAITS, ".item() waits for the GPU (10 times)",
           "train.py:57 train");
    done(&adviser, report);
}

/* The thread waits for one stream while the other has work for much longer. */
static void a_wait_while_the_gpu_has_work_saves_nothing(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    call(writer, MAIN, 0, 5, "cudaLaunchKernel", 1);
    kernel(writer, 10, 2000, 1, 8);
    for (int i = 0; i < STEPS; i++) {
        int64_t at = 20 + STEP * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 11, 7);
        call(writer, MAIN, at + 10, at + 110, "cudaStreamSynchronize", 10 * i + 12);
        sync_record(writer, STREAM_SYNC, 7, 10 * i + 12, 0);
    }
    struct report *report = advise(&adviser, writer, &rule_result_waits);
    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_in_each_step),
        cmocka_unit_test(a_wait_while_the_gpu_has_work_saves_nothing),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
