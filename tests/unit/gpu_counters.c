/* Metrics, sets and sections by tacho-gpu, with stand-ins of CUPTI of every version since 12.6. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/counters/counter_sections.h"
#include "base/text.h"
#include "collect/gpu/gpu_link.h"

enum { MOST = 64 };

struct told {
    struct {
        struct gpu_frame_metric head;
        char texts[GPU_METRIC_TEXTS][128];
    } metric[MOST];
    char missing[MOST][GPU_MISSING_TEXTS][256];
    struct gpu_config config;
    char chip[MOST][16];
    double value[8][8];
    size_t metrics, misses, chips, results;
    char refusal[512];
    int status;
};

static void use(const char *library, const char *driver)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", getenv("FAKE"), library);
    setenv("TACHO_CUPTI", path, 1);
    snprintf(path, sizeof path, "%s%s", driver ? getenv("FAKE") : "", driver ? driver : "");
    setenv("LD_LIBRARY_PATH", path, 1);
}

static int begin(void **state)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/tacho-gpu", getenv("HELPERS"));
    setenv("TACHO_GPU_HELPER", path, 1);
    use("lib/libcupti.so.13", NULL);
    return 0;
}

static void take(struct told *told, const struct gpu_frame *frame, const void *payload)
{
    const struct gpu_refusal *refusal;
    const char *texts[GPU_METRIC_TEXTS];

    switch (frame->type) {
    case GPU_FRAME_CHIP:
        assert_int_equal(gpu_frame_texts(frame, payload, sizeof(struct gpu_chip), texts, 1), 0);
        snprintf(told->chip[told->chips++], sizeof *told->chip, "%s", texts[0]);
        break;
    case GPU_FRAME_METRIC:
        assert_int_equal(gpu_frame_texts(frame, payload, sizeof(struct gpu_frame_metric), texts, GPU_METRIC_TEXTS), 0);
        told->metric[told->metrics].head = *(const struct gpu_frame_metric *)payload;
        for (size_t i = 0; i < GPU_METRIC_TEXTS; i++)
            snprintf(told->metric[told->metrics].texts[i], sizeof *told->metric->texts, "%s", texts[i]);
        told->metrics++;
        break;
    case GPU_FRAME_MISSING:
        assert_int_equal(gpu_frame_texts(frame, payload, sizeof(struct gpu_missing), texts, GPU_MISSING_TEXTS), 0);
        for (size_t i = 0; i < GPU_MISSING_TEXTS; i++)
            snprintf(told->missing[told->misses][i], sizeof **told->missing, "%s", texts[i]);
        told->misses++;
        break;
    case GPU_FRAME_CONFIG: told->config = *(const struct gpu_config *)payload; break;
    case GPU_FRAME_RESULTS:
        memcpy(told->value[told->results++], ((const struct gpu_results *)payload)->values,
               ((const struct gpu_results *)payload)->count * sizeof(double));
        break;
    case GPU_FRAME_REFUSAL:
        snprintf(told->refusal, sizeof told->refusal, "%s", gpu_frame_refusal(frame, payload, &refusal));
        break;
    default: fail();
    }
    assert_in_range(told->metrics, 0, MOST - 1);
    assert_in_range(told->misses, 0, MOST - 1);
}

static struct told *run(const char *mode, const char *const *options)
{
    static struct told told;
    struct gpu_link link;
    struct error err = { 0 };
    struct gpu_frame frame;
    const void *payload;

    memset(&told, 0, sizeof told);
    assert_int_equal(gpu_link_start(&link, mode, options, &err), 0);
    int code;
    while ((code = gpu_link_next(&link, 1, &frame, &payload, &err)) == 1)
        take(&told, &frame, payload);
    assert_string_equal(code ? err.text : "", "");
    told.status = gpu_link_end(&link);
    assert_true(WIFEXITED(told.status));
    return &told;
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define TEXT(told, i, which) ((told)->metric[i].texts[GPU_METRIC_##which])

/* The stand-in refuses a struct of another size than its version has. */
static void light_is_one_pass_with_every_version(void **state)
{
    static const char *const versions[][2] = {
        { "cupti-12.6/libcupti.so.12", NULL }, { "cupti-12.8/libcupti.so.12", NULL },
        { "cupti-12.9/libcupti.so.12", NULL }, { "lib/libcupti.so.13", NULL },
        { "cupti-13.1/libcupti.so.13", NULL }, { "cupti-13.4/libcupti.so.13", "/lib" },
    };
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        use(versions[i][0], versions[i][1]);
        struct told *told = run("config", OPTIONS("chip=GH100", "sets=light"));
        assert_string_equal(told->refusal, "");
        assert_int_equal(told->metrics, 9);
        assert_int_equal(told->misses, 0);
        assert_int_equal(told->config.passes, 1);
        assert_int_equal(told->config.counters, 9);
        assert_string_equal(TEXT(told, 0, NAME), "gpu__time_duration.sum");
        assert_string_equal(TEXT(told, 0, UNIT), "ns");
        assert_string_equal(TEXT(told, 0, LABEL), "Duration");
        assert_string_equal(TEXT(told, 0, SECTION), "Light");
        assert_string_equal(TEXT(told, 3, UNIT), "%");
    }
    begin(NULL);
}

static void a_chip_gets_the_names_that_it_has(void **state)
{
    struct told *told = run("config", OPTIONS("chip=GB202", "sets=light"));

    assert_int_equal(told->metrics, 9);
    assert_string_equal(TEXT(told, 5, NAME), "dram__bytes_op_read.sum");
    assert_string_equal(TEXT(told, 5, LABEL), "DRAM Bytes Read");
    assert_string_equal(TEXT(told, 8, NAME), "sm__inst_executed_pipe_tensor_subpipe_hmma.sum");
}

static void a_missing_metric_is_said_with_its_neighbours(void **state)
{
    struct told *told = run("config", OPTIONS("chip=GH100",
                                              "metrics=sm__inst_executd.sum,sm__warps_active.nope,"
                                              "sass__inst_executed,group:memory__chart,gpu__time_duration.sum",
                                              "sets=none"));

    assert_int_equal(told->metrics, 1);
    assert_int_equal(told->misses, 5);
    assert_string_equal(told->missing[0][0], "none");
    assert_non_null(strstr(told->missing[0][1], "--list-sets"));
    assert_string_equal(told->missing[1][0], "sm__inst_executd.sum");
    assert_non_null(strstr(told->missing[1][1], "the nearest: sm__inst_executed"));
    assert_non_null(strstr(told->missing[2][1], "sm__warps_active has other suffixes"));
    assert_non_null(strstr(told->missing[3][1], "instrumented"));
    assert_non_null(strstr(told->missing[4][1], "--section"));
    assert_int_equal(told->config.counters, 1);
}

/* A section's metric that should be there is missed one by one, never left out. */
static void every_metric_of_a_section_is_said(void **state)
{
    size_t expected = 0;
    const struct counter_section *section = counter_section_find("WarpStateStats");
    for (const struct section_metric *row = section->metrics; row->names; row++)
        expected += (size_t)counter_is_for(row->chips, "GH100");
    struct told *told = run("config", OPTIONS("chip=GH100", "sections=WarpStateStats"));

    assert_true(told->misses > 0);
    assert_int_equal(told->metrics + told->misses, expected);
}

static void a_base_stands_for_its_usual_suffixes(void **state)
{
    struct told *told = run("config",
                            OPTIONS("chip=GH100", "metrics=lts__t_sectors,regex:^lts__t_sector_hit_rate.pct$"));

    assert_int_equal(told->metrics, 5);
    assert_string_equal(TEXT(told, 0, NAME), "lts__t_sectors.avg");
    assert_string_equal(TEXT(told, 3, NAME), "lts__t_sectors.sum");
    assert_string_equal(TEXT(told, 4, NAME), "lts__t_sector_hit_rate.pct");
    assert_int_equal(told->misses, 0);
}

static void derived_and_launch_metrics_are_not_counters(void **state)
{
    struct told *told = run("config",
                            OPTIONS("chip=GH100", "metrics=derived__lts__lts2xbar_bytes.sum.per_second,"
                                                  "launch__grid_size,sm__maximum_warps_per_active_cycle_pct"));

    assert_int_equal(told->metrics, 3);
    assert_int_equal(told->config.counters, 1);
    assert_int_equal(told->metric[0].head.kind, COUNTER_DERIVED);
    assert_true(told->metric[0].head.factor == 32);
    assert_string_equal(TEXT(told, 0, COUNTER), "lts__lts2xbar_cycles_active.sum.per_second");
    assert_int_equal(told->metric[1].head.kind, COUNTER_LAUNCH);
    assert_string_equal(TEXT(told, 1, COUNTER), "");
    assert_int_equal(told->metric[2].head.kind, COUNTER_LAUNCH);
}

static void counters_of_the_device_go_alone(void **state)
{
    struct told *told = run("config", OPTIONS("chip=GH100", "metrics=sm__inst_executed.sum,pcie__read_bytes.sum"));
    assert_int_equal(told->metrics, 1);
    assert_string_equal(told->missing[0][0], "pcie__read_bytes.sum");
    assert_int_equal(told->config.passes, 1);

    told = run("config", OPTIONS("chip=GH100", "metrics=pcie__read_bytes.sum"));
    assert_int_equal(told->metrics, 1);
    assert_int_equal(told->misses, 0);
}

/* The stand-in has room for four counters of a unit in a pass. */
static void one_pass_leaves_out_what_does_not_fit(void **state)
{
    const char
        *five = "metrics=sm__inst_executed.sum,sm__inst_executed.avg,sm__cycles_active.avg,sm__cycles_active.sum,"
                "sm__warps_active.avg,lts__t_sectors.sum";
    struct told *told = run("config", OPTIONS("chip=GH100", five));
    assert_int_equal(told->config.passes, 2);
    assert_int_equal(told->misses, 0);

    told = run("config", OPTIONS("chip=GH100", five, "single=1"));
    assert_int_equal(told->config.passes, 1);
    assert_int_equal(told->metrics, 5);
    assert_int_equal(told->misses, 1);
    assert_string_equal(told->missing[0][0], "sm__warps_active.avg");
    assert_non_null(strstr(told->missing[0][1], "second pass"));
}

static void the_image_goes_to_a_file(void **state)
{
    char path[] = "/tmp/tacho-config-XXXXXX", option[64], text[256] = "";
    close(mkstemp(path));
    snprintf(option, sizeof option, "file=%s", path);
    struct told *told = run("config", OPTIONS("chip=GH100", "metrics=sm__inst_executed.sum", option));
    FILE *file = fopen(path, "r");
    size_t bytes = fread(text, 1, sizeof text - 1, file);

    fclose(file);
    unlink(path);
    assert_int_equal(bytes, told->config.bytes);
    assert_string_equal(text, "1\nsm__inst_executed.sum\n");

    told = run("config", OPTIONS("chip=GH100", "metrics=sm__inst_executed.sum", "file=/nowhere/at/all"));
    assert_non_null(strstr(told->refusal, "/nowhere/at/all"));
}

static void write_text(const char *path, const struct text *text)
{
    assert_int_equal(text_write_file(text, path), 0);
}

/* The names of metrics are longer than an argument of a program may be. */
static void values_come_range_by_range(void **state)
{
    enum { BLANKS = 200000 };
    char data[] = "/tmp/tacho-data-XXXXXX", list[] = "/tmp/tacho-list-XXXXXX", option[64];
    struct text image = { 0 }, lines = { 0 };

    close(mkstemp(data));
    close(mkstemp(list));
    text_add(&image, "0 sm__inst_executed.sum 1024\n0 lts__t_sectors.sum 64.5\n1 sm__inst_executed.sum 2048\n");
    write_text(data, &image);
    text_add_repeat(&lines, ',', BLANKS);
    text_addf(&lines, "lts__t_sectors.sum,sm__inst_executed.sum\n%s\n", data);
    write_text(list, &lines);
    snprintf(option, sizeof option, "list=%s", list);
    struct told *told = run("results", OPTIONS("chip=GH100", option));
    assert_int_equal(told->results, 2);
    assert_true(told->value[0][0] == 64.5 && told->value[0][1] == 1024);
    assert_true(isnan(told->value[1][0]) && told->value[1][1] == 2048);

    unlink(data);
    told = run("results", OPTIONS("chip=GH100", option));
    assert_non_null(strstr(told->refusal, "No such file"));
    assert_int_equal(WEXITSTATUS(told->status), 3);

    text_clear(&lines);
    write_text(list, &lines);
    assert_non_null(strstr(run("results", OPTIONS("chip=GH100", option))->refusal, "no line of metrics"));
    unlink(list);
    assert_non_null(strstr(run("results", OPTIONS("chip=GH100", option))->refusal, "No such file"));
    text_free(&image);
    text_free(&lines);
}

static void what_cannot_be_loaded_is_said(void **state)
{
    use("cupti-12.4/libcupti.so.12", NULL);
    struct told *told = run("chips", OPTIONS("x=1"));
    assert_non_null(strstr(told->refusal, "Counters need CUPTI 12.6 or later"));
    use("cupti-13.4/libcupti.so.13", NULL);
    assert_non_null(strstr(run("chips", OPTIONS("x=1"))->refusal, "needs the NVIDIA driver"));
    setenv("TACHO_CUPTI", "/nowhere/libcupti.so.13", 1);
    assert_non_null(strstr(run("chips", OPTIONS("x=1"))->refusal, "TACHO_CUPTI names /nowhere/libcupti.so.13"));
    begin(NULL);
    assert_non_null(strstr(run("metrics", OPTIONS("chip=XX100"))->refusal, "does not know the counters of XX100"));
    told = run("config", OPTIONS("chip=GV100", "profiler=sampling", "sets=general"));
    assert_string_equal(told->refusal, "This CUPTI does not know samples over time of GV100.");
}

static void chips_and_metrics_are_listed_once(void **state)
{
    struct told *told = run("chips", OPTIONS("x=1"));
    assert_int_equal(told->chips, 3);
    assert_string_equal(told->chip[2], "GB202");

    told = run("metrics", OPTIONS("device=0")); /* a GH100, says the stand-in */
    assert_int_equal(told->metrics, 15);
    assert_string_equal(TEXT(told, 0, NAME), "gpu__time_duration");
    assert_string_equal(TEXT(told, 0, HARDWARE), "gpu");
    told = run("metrics", OPTIONS("chip=GH100", "mode=suffix", "names=sm__throughput,sm__thruput"));
    assert_int_equal(told->metrics, 4);
    assert_string_equal(TEXT(told, 0, NAME), "sm__throughput.avg.pct_of_peak_sustained_elapsed");
    assert_int_equal(told->misses, 1);
    assert_string_equal(told->missing[0][0], "sm__thruput");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_is_one_pass_with_every_version),
        cmocka_unit_test(a_chip_gets_the_names_that_it_has),
        cmocka_unit_test(a_missing_metric_is_said_with_its_neighbours),
        cmocka_unit_test(every_metric_of_a_section_is_said),
        cmocka_unit_test(a_base_stands_for_its_usual_suffixes),
        cmocka_unit_test(derived_and_launch_metrics_are_not_counters),
        cmocka_unit_test(counters_of_the_device_go_alone),
        cmocka_unit_test(one_pass_leaves_out_what_does_not_fit),
        cmocka_unit_test(the_image_goes_to_a_file),
        cmocka_unit_test(values_come_range_by_range),
        cmocka_unit_test(what_cannot_be_loaded_is_said),
        cmocka_unit_test(chips_and_metrics_are_listed_once),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
