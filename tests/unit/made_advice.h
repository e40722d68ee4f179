/* Rules of the adviser on reports made by hand. All times are in µs; the thread is MAIN of process 1. */
#ifndef TACHO_TESTS_UNIT_MADE_ADVICE_H
#define TACHO_TESTS_UNIT_MADE_ADVICE_H

#include "analyze/advice/adviser.h"
#include "analyze/registry.h"
#include "made_cuda.h"

/* Runs one rule on a report. Without steps the run counts; with steps they are searched for. */
enum { WITHOUT_STEPS, WITH_STEPS };
static inline struct report *advise(struct adviser *adviser, struct writer *writer, const struct analysis *rule,
                                    int has_steps)
{
    static const struct steps none;
    static const struct analysis_filter without = { .steps = &none };
    struct report *report = finish(writer);
    struct error err;

    if (adviser_open(adviser, report, &(struct analysis_request){ .filter = has_steps ? NULL : &without }, &err) != 0 ||
        adviser_find(adviser, rule, &err) != 0 || adviser_judge(adviser, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

static inline void done(struct adviser *adviser, struct report *report)
{
    adviser_free(adviser);
    report_close(report);
}

static inline void operator(struct writer *writer, int64_t start, int64_t end, const char *name, const char *stack)
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

static inline void expect(const struct advice_cause *cause, int64_t bound, int64_t estimate, const char *what,
                          const char *where)
{
    assert_string_equal(text_string(&cause->what), what);
    assert_string_equal(text_string(&cause->where), where);
    assert_int_equal(cause->bound_ns, bound * US);
    assert_int_equal(cause->estimate_ns, estimate * US);
}

static inline void step(struct writer *writer, int64_t start, int64_t end, int64_t number)
{
    struct row_TACHO_TORCH_STEP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_STEP, start, start * US);
    ROW_SET(&row, TACHO_TORCH_STEP, end, end * US);
    ROW_SET(&row, TACHO_TORCH_STEP, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_TORCH_STEP, number, number);
    writer_append(writer, TABLE_TACHO_TORCH_STEP, &row);
}

#endif
