/* Tensor cores in reports made by hand: what the machine code says, what names say, and what it would save to use them.
 */
#include "analyze/advice/adviser.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "analyze/registry.h"
#include "made_cuda.h"

#define SGEMM "ampere_sgemm_128x64_nn"

static void code_row(struct writer *writer, const char *mangled, const char *types, int is_mixed)
{
    struct row_TACHO_KERNEL_CODE row = { 0 };

    ROW_SET(&row, TACHO_KERNEL_CODE, globalPid, made_thread(1, 0));
    ROW_SET(&row, TACHO_KERNEL_CODE, mangledName, made_string(writer, mangled));
    ROW_SET(&row, TACHO_KERNEL_CODE, sm, 90);
    if (types)
        ROW_SET(&row, TACHO_KERNEL_CODE, tensorTypes, made_string(writer, types));
    if (is_mixed)
        ROW_SET(&row, TACHO_KERNEL_CODE, isMixed, 1);
    writer_append(writer, TABLE_TACHO_KERNEL_CODE, &row);
}

static void named_kernel(struct writer *writer, int64_t start, int64_t end, const char *name)
{
    made_kernel(writer, (struct made_kernel){ start * US, end * US, 1, start + 1, 0, 7, name, NULL, name });
}

static const struct table_cell *row_of(const struct table *table, const char *name)
{
    size_t column = table_find_column(table, "Name");

    for (size_t i = 0; i < table_row_count(table); i++)
        if (strcmp(table_row(table, i)[column].text.bytes, name) == 0)
            return table_row(table, i);
    fail_msg("no row for %s", name);
    return NULL;
}

static void expect(const struct table *table, const char *name, const char *use, const char *by, const char *type)
{
    const struct table_cell *row = row_of(table, name);
    const struct table_cell *cells[] = { &row[table_find_column(table, "Tensor Cores")],
                                         &row[table_find_column(table, "Known By")],
                                         &row[table_find_column(table, "Type")] };
    const char *expected[] = { use, by, type };

    for (size_t i = 0; i < 3; i++) {
        if (expected[i])
            assert_string_equal(cells[i]->text.bytes, expected[i]);
        else
            assert_int_equal(cells[i]->kind, CELL_NONE);
    }
}

/* 10 + 20 + 30 + 40 + 50 µs of kernels. */
static void code_comes_before_names(void **state)
{
    struct writer *writer = start();
    struct table *table = NULL;
    struct tensor_time time;
    struct error err;

    code_row(writer, "triton_tem_fused_mm_1", "bf16", 0);
    code_row(writer, "triton_tem_fused_mm_2", NULL, 0);
    code_row(writer, "matmul_kernel", "fp16", 1);
    named_kernel(writer, 0, 10, "triton_tem_fused_mm_1");
    named_kernel(writer, 10, 30, "triton_tem_fused_mm_2");
    named_kernel(writer, 30, 60, "matmul_kernel");
    named_kernel(writer, 60, 100, SGEMM);
    named_kernel(writer, 100, 150, "nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT");

    struct report *report = finish(writer);
    assert_int_equal(analysis_run(&analysis_tensor_core_sum, report, &(struct analysis_request){ 0 }, &table, &err), 0);
    expect(table, "triton_tem_fused_mm_1", "yes", "code", "bf16");
    expect(table, "triton_tem_fused_mm_2", "no", "code", NULL);
    expect(table, "matmul_kernel", "unknown", NULL, NULL);
    expect(table, SGEMM, "no", "name", "fp32");
    expect(table, "nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT", "yes", "name", "bf16");
    table_delete(table);
    assert_int_equal(tensor_time_read(&time, report, &(struct analysis_request){ 0 }, &err), 0);
    assert_int_equal(time.kernel_ns, 150 * US);
    assert_int_equal(time.ns[TENSOR_YES], 60 * US);
    assert_int_equal(time.ns[TENSOR_NO], 60 * US);
    assert_int_equal(time.ns[TENSOR_UNKNOWN], 30 * US);
    report_close(report);
}

static void gpu_row(struct writer *writer)
{
    struct row_TARGET_INFO_GPU row = { 0 };

    ROW_SET(&row, TARGET_INFO_GPU, id, 0);
    ROW_SET(&row, TARGET_INFO_GPU, name, made_string(writer, "NVIDIA H200"));
    ROW_SET(&row, TARGET_INFO_GPU, smCount, 132);
    ROW_SET(&row, TARGET_INFO_GPU, computeMajor, 9);
    ROW_SET(&row, TARGET_INFO_GPU, computeMinor, 0);
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}

/* Ten launches of 5 µs, and kernels of 1000 µs one behind the other. */
static void products(struct adviser *adviser, const char *name)
{
    struct writer *writer = start();
    struct error err;

    gpu_row(writer);
    for (int i = 0; i < 10; i++) {
        call(writer, MAIN, 10 * i, 10 * i + 5, "cudaLaunchKernel", 1000 * i + 6);
        made_kernel(writer, (struct made_kernel){ (1000 * i + 5) * US, (1000 * i + 1005) * US, 1, 1000 * i + 6, 0, 7,
                                                  name, NULL, name });
    }
    struct report *report = finish(writer);
    if (adviser_open(adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(adviser, &rule_tensor_cores, &err) != 0 || adviser_judge(adviser, &err) != 0)
        fail_msg("%s", err.text);
    report_close(report);
}

/* An H200 has 66.9 TFLOP/s of fp32, 494.7 of tf32 and 989.4 of bf16: 13.5 % and 6.76 %. Of 10 ms half of the latter
 * remains at least, and twice of the former by the estimate: 3.4 % and 27 %. */
static void products_of_fp32_could_use_tensor_cores(void **state)
{
    struct adviser adviser;

    products(&adviser, SGEMM);
    assert_int_equal(adviser.count, 1);
    assert_int_equal(adviser.causes[0].count, 10);
    assert_int_equal(adviser.causes[0].confidence, ADVICE_MODELLED);
    assert_in_range(adviser.causes[0].bound_ns, 9650 * US, 9670 * US);
    assert_in_range(adviser.causes[0].estimate_ns, 7270 * US, 7330 * US);
    assert_string_equal(text_string(&adviser.causes[0].what),
                        "tensor cores unused: 10 matrix products of fp32 in 10.0 ms");
    adviser_free(&adviser);
}

static void other_kernels_get_no_advice(void **state)
{
    static const char *const names[] = { "nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT", "triton_tem_fused_mm_1", "saxpy",
                                         "triton_poi_fused_add_0" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct adviser adviser;

        products(&adviser, names[i]);
        assert_int_equal(adviser.count, 0);
        adviser_free(&adviser);
    }
}

/* The rate that bounds an operator of fp32 is that of TF32 if the code of its kernel uses tensor cores, whatever its
 * name. */
static void operators_use_tensor_cores_by_code(void **state)
{
    struct writer *writer = start();
    struct row_TACHO_TORCH_OP op = { 0 };
    struct flops flops;
    struct error err;
    int found = 0;

    ROW_SET(&op, TACHO_TORCH_OP, start, 0);
    ROW_SET(&op, TACHO_TORCH_OP, end, 10 * US);
    ROW_SET(&op, TACHO_TORCH_OP, globalTid, made_thread(1, MAIN));
    ROW_SET(&op, TACHO_TORCH_OP, nameId, made_string(writer, "aten::mm"));
    ROW_SET(&op, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
    ROW_SET(&op, TACHO_TORCH_OP, inputDimsId, made_string(writer, "[[64, 64], [64, 64]]"));
    ROW_SET(&op, TACHO_TORCH_OP, inputTypesId, made_string(writer, "[\"float\", \"float\"]"));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &op);
    call(writer, MAIN, 1, 5, "cudaLaunchKernel", 21);
    code_row(writer, "my_product", "tf32", 0);
    named_kernel(writer, 20, 30, "my_product");

    struct report *report = finish(writer);
    if (flops_of_operators(&flops, report, &(struct analysis_request){ 0 }, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < flops.operators.count; i++)
        found += flops.list[i].work != FLOPS_NO_WORK && flops.list[i].uses_tensor_cores;
    assert_int_equal(found, 1);
    flops_free(&flops);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_comes_before_names),
        cmocka_unit_test(products_of_fp32_could_use_tensor_cores),
        cmocka_unit_test(other_kernels_get_no_advice),
        cmocka_unit_test(operators_use_tensor_cores_by_code),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
