/* GPU metrics that rules share: read once for the same part of a capture, and apart for another. */
#include "analyze/model/metrics/gpu_metrics.h"
#include "made_report.h"

static void sample(struct writer *writer, int64_t gpu, int64_t time_ns)
{
    struct row_GPU_METRICS row = { 0 };

    ROW_SET(&row, GPU_METRICS, timestamp, time_ns);
    ROW_SET(&row, GPU_METRICS, typeId, gpu);
    ROW_SET(&row, GPU_METRICS, metricId, 1);
    ROW_SET(&row, GPU_METRICS, value, 50);
    writer_append(writer, TABLE_GPU_METRICS, &row);
}

static struct report *two_gpus(void)
{
    struct writer *writer = start();

    for (int64_t i = 0; i < 10; i++) {
        sample(writer, 0, 100 * i);
        sample(writer, 1, 100 * i);
    }
    return finish(writer);
}

static const struct gpu_metrics *get(struct gpu_metrics *own, struct report *report,
                                     const struct analysis_request *request)
{
    const struct gpu_metrics *metrics;
    struct error err;

    if (gpu_metrics_get(&metrics, own, report, request, &err) != 0)
        fail_msg("%s", err.text);
    return metrics;
}

static void the_same_part_is_read_once(void **state)
{
    const struct report_span all = { INT64_MIN, INT64_MAX };
    struct gpu_metrics_share share = { 0 };
    struct analysis_request request = { .metrics = &share };
    struct report *report = two_gpus();
    struct gpu_metrics own;
    const struct gpu_metrics *first = get(&own, report, &request);

    assert_ptr_equal(first, &share.metrics);
    assert_int_equal(first->count, 2);
    const double *values = first->list[0].values;
    request.span = &all; /* no span at all is the same */
    const struct gpu_metrics *second = get(&own, report, &request);
    assert_ptr_equal(second, first);
    assert_ptr_equal(second->list[0].values, values);
    assert_int_equal(own.count, 0);
    gpu_metrics_share_free(&share);
    report_close(report);
}

static void another_part_is_read_apart(void **state)
{
    const struct report_span late = { 700, INT64_MAX };
    const struct analysis_filter second_gpu = { .only = ONLY_DEVICE, .device = 1 };
    struct gpu_metrics_share share = { 0 };
    struct report *report = two_gpus();
    struct gpu_metrics own;

    get(&own, report, &(struct analysis_request){ .metrics = &share });
    const struct gpu_metrics *cut = get(&own, report, &(struct analysis_request){ .span = &late, .metrics = &share });
    assert_ptr_equal(cut, &own);
    assert_in_range(cut->clocks[0].count, 3, 4); /* of 10; the one that ends at 700 may count */
    gpu_metrics_free(&own);
    cut = get(&own, report, &(struct analysis_request){ .filter = &second_gpu, .metrics = &share });
    assert_ptr_equal(cut, &own);
    assert_int_equal(cut->count, 1);
    assert_int_equal(cut->list[0].gpu, 1);
    gpu_metrics_free(&own);
    assert_int_equal(share.metrics.count, 2);
    gpu_metrics_share_free(&share);
    report_close(report);
}

static void without_a_share_the_caller_owns_them(void **state)
{
    struct report *report = two_gpus();
    struct gpu_metrics own;

    assert_ptr_equal(get(&own, report, &(struct analysis_request){ 0 }), &own);
    assert_int_equal(own.count, 2);
    gpu_metrics_free(&own);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_part_is_read_once),
        cmocka_unit_test(another_part_is_read_apart),
        cmocka_unit_test(without_a_share_the_caller_owns_them),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
