/* What `tacho info` says about CUDA, from reports made here. */
#include <string.h>

#include "base/text.h"
#include "cmd/sources/cuda_info.h"
#include "made_report.h"

static struct text out;

static int64_t string(struct writer *writer, const char *text)
{
    return writer_string(writer, text, strlen(text));
}

static void cupti(struct writer *writer, int64_t pid, int64_t version, const char *file, const char *calls)
{
    struct row_TACHO_CUPTI row = { 0 };

    ROW_SET(&row, TACHO_CUPTI, timestamp, 1);
    ROW_SET(&row, TACHO_CUPTI, globalPid, pid << 24);
    ROW_SET(&row, TACHO_CUPTI, version, version);
    ROW_SET(&row, TACHO_CUPTI, path, string(writer, file));
    ROW_SET(&row, TACHO_CUPTI, calls, string(writer, calls));
    writer_append(writer, TABLE_TACHO_CUPTI, &row);
}

static void refusal(struct writer *writer, int64_t pid, const char *why)
{
    struct row_TACHO_CUPTI row = { 0 };

    ROW_SET(&row, TACHO_CUPTI, timestamp, 1);
    ROW_SET(&row, TACHO_CUPTI, globalPid, pid << 24);
    ROW_SET(&row, TACHO_CUPTI, result, 39);
    ROW_SET(&row, TACHO_CUPTI, refusal, string(writer, why));
    writer_append(writer, TABLE_TACHO_CUPTI, &row);
}

static void check(struct writer *writer, int64_t pid, const char *finding, int64_t count)
{
    struct row_TACHO_CUDA_CHECK row = { 0 };

    ROW_SET(&row, TACHO_CUDA_CHECK, globalPid, pid << 24);
    ROW_SET(&row, TACHO_CUDA_CHECK, finding, string(writer, finding));
    ROW_SET(&row, TACHO_CUDA_CHECK, count, count);
    writer_append(writer, TABLE_TACHO_CUDA_CHECK, &row);
}

static void recovered(struct writer *writer, int64_t count)
{
    struct row_TACHO_COUNT row = { 0 };

    ROW_SET(&row, TACHO_COUNT, source, string(writer, "cuda"));
    ROW_SET(&row, TACHO_COUNT, fate, string(writer, "recorded"));
    ROW_SET(&row, TACHO_COUNT, cause, string(writer, "recovered"));
    ROW_SET(&row, TACHO_COUNT, count, count);
    writer_append(writer, TABLE_TACHO_COUNT, &row);
}

static void context(struct writer *writer, int64_t pid)
{
    struct row_TARGET_INFO_CUDA_CONTEXT_INFO row = { 0 };

    ROW_SET(&row, TARGET_INFO_CUDA_CONTEXT_INFO, processId, pid);
    writer_append(writer, TABLE_TARGET_INFO_CUDA_CONTEXT_INFO, &row);
}

static void gpu(struct writer *writer, int64_t id)
{
    struct row_TARGET_INFO_GPU row = { 0 };

    ROW_SET(&row, TARGET_INFO_GPU, id, id);
    ROW_SET(&row, TARGET_INFO_GPU, name, string(writer, "GPU \033[31m of ours"));
    ROW_SET(&row, TARGET_INFO_GPU, totalMemory, INT64_C(80000000000));
    ROW_SET(&row, TARGET_INFO_GPU, smCount, 132);
    ROW_SET(&row, TARGET_INFO_GPU, computeMajor, 9);
    ROW_SET(&row, TARGET_INFO_GPU, computeMinor, 0);
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}

static void kernel(struct writer *writer)
{
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, start, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, end, 2);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
}

static void expect(struct writer *writer, const char *expected)
{
    struct report *report = finish(writer);
    struct error err = { 0 };

    text_clear(&out);
    assert_int_equal(cuda_info(&out, report, &err), 0);
    assert_string_equal(text_string(&out), expected);
    report_close(report);
}

static void nothing_where_there_is_no_cuda(void **state)
{
    expect(start(), "");
}

static void all_is_well(void **state)
{
    struct writer *writer = start();

    gpu(writer, 0);
    context(writer, 7);
    context(writer, 7);
    context(writer, 8);
    cupti(writer, 7, 26, "/opt/libcupti.so.12", "chosen");
    cupti(writer, 8, 26, "/opt/libcupti.so.12", "chosen");
    kernel(writer);
    expect(writer, "\nCUDA\n"
                   "GPU 0             GPU \\x1b[31m of ours, 80.0 GB, 132 multiprocessors, compute capability 9.0\n"
                   "Contexts          3 in 2 processes\n"
                   "CUPTI             12.8, /opt/libcupti.so.12; API calls that matter for performance (2 processes)\n"
                   "Records           every launch has a kernel, and every kernel a launch\n");
}

static void not_all_is_well(void **state)
{
    struct writer *writer = start();

    cupti(writer, 7, 130001, "/a/libcupti.so.13", "all");
    refusal(writer, 8, "another profiler has CUPTI");
    kernel(writer);
    check(writer, 7, "launch-without-kernel", 3);
    check(writer, 8, "launch-without-kernel", 4);
    check(writer, 7, "kernel-before-launch", 1);
    recovered(writer, 5);
    expect(writer,
           "\nCUDA\n"
           "CUPTI             13.0, /a/libcupti.so.13; all API calls (1 process)\n"
           "Not traced        another profiler has CUPTI (1 process)\n"
           "Records           launches without a kernel 7; kernels that started before their launch 1; found in "
           "memory that CUPTI had not handed over 5\n");
}

static void versions(void **state)
{
    static const struct {
        int64_t version;
        const char *shown;
    } cases[] = {
        { 18, "11.8" },     { 19, "12.0 or 12.1" }, { 24, "12.6" },       { 28, "12.9" },
        { 130401, "13.4" }, { 140000, "14.0" },     { 25, "version 25" }, { 999, "version 999" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct writer *writer = start();
        struct text expected = { 0 };
        cupti(writer, 7, cases[i].version, "f", "all");
        text_addf(&expected, "\nCUDA\nCUPTI             %s, f; all API calls\n", cases[i].shown);
        expect(writer, text_string(&expected));
        text_free(&expected);
    }
}

static int clean_up(void **state)
{
    text_free(&out);
    return remove_path(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_where_there_is_no_cuda),
        cmocka_unit_test(all_is_well),
        cmocka_unit_test(not_all_is_well),
        cmocka_unit_test(versions),
    };

    return cmocka_run_group_tests(tests, make_path, clean_up);
}
