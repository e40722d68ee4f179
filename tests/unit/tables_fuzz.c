/* Hostile rows behind right checksums, against all that reads reports: the fuzzer's entry with fixed seeds, the same
 * every time, so that what it found once is looked for in every run. Under ASan and UBSan this finds overflows and
 * reads out of bounds; without, it still finds crashes, endless loops and refusals without a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../fuzz/fuzz_tables.c"

enum { SEEDS = 32 };

/* The first two bytes choose who reads: each in turn. */
static void hostile_tables_are_harmless(void **state)
{
    for (uint16_t seed = 0; seed < SEEDS; seed++)
        LLVMFuzzerTestOneInput((const uint8_t[]){ (uint8_t)(seed >> 8), (uint8_t)seed }, 2);
}

/* ---- a step of PyTorch that takes all the time there is -------------------------------------------------------- */

/* Chance seldom makes rows that belong together: operators of both directions, what they launched,
 * and the step around them. */

static int64_t text_of(struct writer *writer, const char *text)
{
    return writer_string(writer, text, strlen(text));
}

#define THREAD(tid) (INT64_C(1) << 48 | INT64_C(1) << 24 | (tid))

static void write_operator(struct writer *writer, const char *category, const char *name, int64_t tid, int64_t external,
                           int64_t sequence)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, INT64_MIN);
    ROW_SET(&row, TACHO_TORCH_OP, end, INT64_MAX);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, THREAD(tid));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, text_of(writer, name));
    ROW_SET(&row, TACHO_TORCH_OP, category, text_of(writer, category));
    ROW_SET(&row, TACHO_TORCH_OP, externalId, external);
    ROW_SET(&row, TACHO_TORCH_OP, sequenceNumber, sequence);
    if (tid == 2)
        ROW_SET(&row, TACHO_TORCH_OP, forwardThread, 1);
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void write_module(struct writer *writer, const char *name)
{
    struct row_TACHO_TORCH_PYTHON row = { 0 };

    ROW_SET(&row, TACHO_TORCH_PYTHON, start, INT64_MIN);
    ROW_SET(&row, TACHO_TORCH_PYTHON, end, INT64_MAX);
    ROW_SET(&row, TACHO_TORCH_PYTHON, globalTid, THREAD(1));
    ROW_SET(&row, TACHO_TORCH_PYTHON, nameId, text_of(writer, name));
    writer_append(writer, TABLE_TACHO_TORCH_PYTHON, &row);
}

static void write_work(struct writer *writer, int64_t correlation, int64_t external, int64_t tid)
{
    struct row_TACHO_TORCH_LINK link = { 0 };
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME call = { 0 };
    struct row_CUPTI_ACTIVITY_KIND_KERNEL kernel = { 0 };

    ROW_SET(&link, TACHO_TORCH_LINK, globalPid, THREAD(0));
    ROW_SET(&link, TACHO_TORCH_LINK, correlationId, correlation);
    ROW_SET(&link, TACHO_TORCH_LINK, externalId, external);
    ROW_SET(&link, TACHO_TORCH_LINK, category, text_of(writer, "kernel"));
    writer_append(writer, TABLE_TACHO_TORCH_LINK, &link);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, start, INT64_MIN);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, end, INT64_MAX);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, THREAD(tid));
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, correlation);
    ROW_SET(&call, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, text_of(writer, "cudaLaunchKernel_v7000"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &call);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, start, INT64_MIN);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, end, INT64_MAX);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, THREAD(0));
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, correlationId, correlation);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, deviceId, INT64_MAX);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, contextId, 1);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, streamId, 7);
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, text_of(writer, "gemm"));
    ROW_SET(&kernel, CUPTI_ACTIVITY_KIND_KERNEL, shortName, text_of(writer, "gemm"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &kernel);
}

static struct report *endless_step(void)
{
    struct writer *writer;
    struct report *report;
    struct error err;

    make_folder();
    assert_int_equal(writer_open(report_path, &(struct writer_options){ .overwrite = 1 }, &writer, &err), 0);
    write_operator(writer, "user_annotation", "ProfilerStep#7", 1, 1, -1);
    write_module(writer, "nn.Module: Net_0");
    write_module(writer, "nn.Module: Linear_0");
    for (int64_t i = 0; i < 2; i++) { /* two, so that sums overflow too */
        write_operator(writer, "cpu_op", "aten::mm", 1, 2 + i, i);
        write_operator(writer, "cpu_op", "MmBackward0", 2, 4 + i, i);
        write_work(writer, INT64_MAX - i, 2 + i, 1);
        write_work(writer, INT64_MIN + i, 4 + i, 2);
    }
    assert_int_equal(writer_close(writer, &err), 0);
    assert_int_equal(report_open(report_path, &report, &err), 0);
    return report;
}

static void an_endless_step_is_harmless(void **state)
{
    struct report *report = endless_step();
    struct error err;
    char path[80];

    for (const struct analysis *const *analysis = analyses; *analysis; analysis++) {
        struct table *table = make_table(*analysis, report, &(struct analysis_request){ 0 });
        if (table)
            print(table);
        table_delete(table);
    }
    for (size_t i = 0; exporters[i]; i++)
        for (int is_cut = 0; is_cut <= exporters[i]->limits; is_cut++) {
            snprintf(path, sizeof path, "%s.%s", export_path, exporters[i]->extension);
            err = (struct error){ 0 };
            expect_sentence(exporters[i]->name,
                            export_file(exporters[i], report, path, 1,
                                        &(struct export_options){ .max_bytes = is_cut ? 1000 : 0 }, &err),
                            &err);
            unlink(path);
        }
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(hostile_tables_are_harmless),
                                        cmocka_unit_test(an_endless_step_is_harmless) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
