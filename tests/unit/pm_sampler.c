/* Sampling of counters against a CUPTI of a few functions: it checks the sizes of structs and the order of calls, and
 * its buffer fills, overflows and refuses as a script says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/cupti.h"
#include "base/array.h"
#include "gpu/counters/pm_sampler.h"

enum { IMAGE_BYTES = 1000, INTERVAL = 100 };

/* The sizes that CUPTI's headers give, by version (12.6, and from 12.8 on). */
static struct {
    uint32_t version;
    size_t config_bytes;
} const versions[] = { { CUPTI_VERSION_12_6, 60 }, { CUPTI_VERSION_12_8, 64 }, { 130000, 64 } };

/* One sample: its times, and what its metrics are. */
struct made {
    uint64_t begin, end;
    double value;
};

static struct gpu {
    uint32_t version;
    size_t config_bytes;                         /* expected of SetConfig */
    int is_enabled, is_started, enables;
    int refuse_enable;                           /* result */
    size_t room;                                 /* samples of an image */
    uint32_t asked;                              /* samples that the newest image was asked to have room for */
    const struct made *made;
    size_t count, at;                            /* samples that the GPU has, and those decoded */
    size_t overflow_at;                          /* the GPU's buffer is full once so many were decoded; 0: never */
    int overflow_result;                         /* of the decode that finds it so */
    const struct made *image[1024];
    size_t held;                                 /* of the image, which begins with this number */
    int is_endless;                              /* it has the samples again as soon as they were decoded */
    int hosts[PM_THREADS_MOST];
    _Atomic uint32_t evaluated[PM_THREADS_MOST]; /* with each host */
    struct cupti_sampling_config config;
} gpu;

#define SIZE(struct_name, bytes) assert_int_equal(((struct cupti_##struct_name *)arguments)->struct_bytes, bytes)

static int enable(void *arguments)
{
    struct cupti_sampling_enable *call = arguments;
    SIZE(sampling_enable, 32);
    if (gpu.refuse_enable)
        return gpu.refuse_enable;
    assert_false(gpu.is_enabled);
    assert_int_equal(call->device, 3);
    gpu.is_enabled = 1;
    gpu.enables++;
    call->sampling = &gpu;
    return 0;
}

static int configure(void *arguments)
{
    struct cupti_sampling_config *call = arguments;
    assert_int_equal(call->struct_bytes, gpu.config_bytes);
    assert_true(gpu.is_enabled && !gpu.is_started);
    gpu.config = *call;
    return 0;
}

static int data_size(void *arguments)
{
    struct cupti_sampling_data_size *call = arguments;
    assert_int_equal(call->count, 2);
    assert_string_equal(call->names[1], "b");
    call->bytes = IMAGE_BYTES;
    gpu.asked = call->samples;
    return 0;
}

static int data_initialize(void *arguments)
{
    struct cupti_sampling_data_initialize *call = arguments;
    assert_int_equal(call->bytes, IMAGE_BYTES);
    memset(call->data, 0, call->bytes);
    return 0;
}

static int start(void *arguments)
{
    assert_true(gpu.is_enabled && !gpu.is_started);
    gpu.is_started = 1;
    return 0;
}

static int stop(void *arguments)
{
    assert_true(gpu.is_started);
    gpu.is_started = 0;
    return 0;
}

static int disable(void *arguments)
{
    assert_true(gpu.is_enabled);
    gpu.is_enabled = gpu.is_started = 0;
    return 0;
}

static int decode(void *arguments)
{
    struct cupti_sampling_decode *call = arguments;
    SIZE(sampling_decode, 45);
    assert_true(gpu.is_enabled);
    memcpy(&gpu.held, call->data, sizeof gpu.held);
    assert_int_equal(gpu.held, 0);
    while (gpu.at < gpu.count && gpu.held < gpu.room)
        gpu.image[gpu.held++] = &gpu.made[gpu.at++];
    memcpy(call->data, &gpu.held, sizeof gpu.held);
    gpu.at = gpu.is_endless ? 0 : gpu.at;
    call->stop_reason = gpu.at < gpu.count ? CUPTI_DECODE_FULL : CUPTI_DECODE_END;
    call->overflow = gpu.overflow_at && gpu.at >= gpu.overflow_at;
    int result = call->overflow ? gpu.overflow_result : 0;
    gpu.overflow_at = call->overflow ? 0 : gpu.overflow_at;
    return result;
}

static int data_info(void *arguments)
{
    struct cupti_sampling_data_info *call = arguments;
    call->total = gpu.room;
    call->populated = call->completed = gpu.held;
    return 0;
}

static int sample(void *arguments)
{
    struct cupti_sampling_sample *call = arguments;
    SIZE(sampling_sample, 64);
    call->start_ns = gpu.image[call->sample]->begin;
    call->end_ns = gpu.image[call->sample]->end;
    return 0;
}

static int evaluate(void *arguments)
{
    struct cupti_host_evaluate *call = arguments;
    SIZE(host_evaluate, 72);
    gpu.evaluated[(int *)call->host - gpu.hosts]++;
    for (size_t i = 0; i < call->count; i++)
        call->values[i] = gpu.image[call->range]->value * (double)(i + 1);
    return 0;
}

static struct cupti_profiler cupti_of(uint32_t version)
{
    struct cupti_profiler cupti = { .version = version };
    cupti.functions[CUPTI_CALL_sampling_enable] = enable;
    cupti.functions[CUPTI_CALL_sampling_config] = configure;
    cupti.functions[CUPTI_CALL_sampling_data_size] = data_size;
    cupti.functions[CUPTI_CALL_sampling_data_initialize] = data_initialize;
    cupti.functions[CUPTI_CALL_sampling_start] = start;
    cupti.functions[CUPTI_CALL_sampling_stop] = stop;
    cupti.functions[CUPTI_CALL_sampling_disable] = disable;
    cupti.functions[CUPTI_CALL_sampling_decode] = decode;
    cupti.functions[CUPTI_CALL_sampling_data_info] = data_info;
    cupti.functions[CUPTI_CALL_sampling_sample] = sample;
    cupti.functions[CUPTI_CALL_host_evaluate] = evaluate;
    return cupti;
}

struct taken {
    size_t count;
    uint64_t end_ns[64];
    double values[64][2];
};

static void take(void *to, const struct pm_sample *from)
{
    struct taken *taken = to;
    taken->end_ns[taken->count] = from->end_ns;
    memcpy(taken->values[taken->count++], from->values, 2 * sizeof(double));
}

static void end(struct pm_sampler *sampler, struct taken *taken)
{
    pm_sampler_stop(sampler, take, taken);
    pm_sampler_free(sampler);
}

static struct cupti_profiler cupti;
static const char *names[] = { "a", "b" };

static struct pm_request request_of(size_t version, const struct made *made, size_t count)
{
    gpu = (struct gpu){ .version = versions[version].version,
                        .config_bytes = versions[version].config_bytes,
                        .room = 3,
                        .made = made,
                        .count = count };
    cupti = cupti_of(gpu.version);
    return (struct pm_request){ .cupti = &cupti,
                                .hosts = { gpu.hosts, gpu.hosts + 1, gpu.hosts + 2, gpu.hosts + 3 },
                                .threads = 1,
                                .device = 3,
                                .metrics = names,
                                .count = 2,
                                .config = (const uint8_t *)"config",
                                .config_bytes = 6,
                                .interval_ns = INTERVAL,
                                .decode_ns = 100000000 };
}

static const struct made eight[] = {
    { 1000, 1100, 1 }, { 1100, 1200, 2 }, { 1200, 1300, 3 }, { 1300, 1400, 4 },
    { 1400, 1500, 5 }, { 1500, 1600, 6 }, { 1600, 1700, 7 }, { 0, 0, 99 }, /* after Stop: empty */
};

/* An image of three samples is decoded as often as it is full. */
static void all_samples_come_once_and_in_order(void **state)
{
    for (size_t version = 0; version < COUNT_OF(versions); version++) {
        struct pm_request request = request_of(version, eight, 5);
        struct taken taken = { 0 };
        const char *call;
        int result;
        struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
        assert_non_null(sampler);
        assert_int_equal(gpu.config.interval, INTERVAL);
        assert_int_equal(gpu.config.trigger, CUPTI_TRIGGER_TIME);
        assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
        assert_int_equal(taken.count, 5);
        gpu.count = 8;
        struct pm_counts counts = pm_sampler_counts(sampler);
        end(sampler, &taken);
        assert_int_equal(taken.count, 7);
        for (size_t i = 0; i < 7; i++) {
            assert_int_equal(taken.end_ns[i], 1100 + 100 * i);
            assert_true(taken.values[i][0] == (double)(i + 1) && taken.values[i][1] == 2.0 * (double)(i + 1));
        }
        assert_int_equal(counts.samples, 5);
        assert_int_equal(counts.lost, 0);
        assert_false(gpu.is_enabled);
    }
}

static void check_order(void *to, const struct pm_sample *sample)
{
    size_t *next = to;
    assert_int_equal(sample->begin_ns, 1000 + 100 * *next);
    assert_true(sample->values[0] == (double)*next && sample->values[1] == 2.0 * (double)*next);
    ++*next;
}

/* Each thread evaluates its part of an image with a host of its own, and the order stays. */
static void threads_share_an_image(void **state)
{
    enum { COUNT = 1000 };
    static struct made made[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        made[i] = (struct made){ 1000 + 100 * i, 1100 + 100 * i, (double)i };
    struct pm_request request = request_of(2, made, COUNT);
    size_t next = 0;
    const char *call;
    int result;
    request.interval_ns = 100;
    request.decode_ns = 50000; /* an image has room for 2,000 */
    request.threads = 4;
    gpu.room = COUNT;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    assert_int_equal(pm_sampler_read(sampler, check_order, &next), 0);
    assert_int_equal(next, COUNT);
    assert_int_equal(gpu.evaluated[0] + gpu.evaluated[1] + gpu.evaluated[2] + gpu.evaluated[3], COUNT);
    end(sampler, NULL);
}

/* A GPU that samples faster than they can be evaluated: a read ends nevertheless, and so does the last one. */
static void a_gpu_that_is_too_fast_is_left_behind(void **state)
{
    struct pm_request request = request_of(2, eight, 3);
    struct taken taken = { 0 };
    const char *call;
    int result;
    request.decode_ns = 1000;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    gpu.is_endless = 1;
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_int_equal(taken.count, 3); /* later ones have times that were there already */
    assert_int_equal(pm_sampler_counts(sampler).interval_ns, INTERVAL);
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_int_equal(pm_sampler_counts(sampler).interval_ns, INTERVAL);
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0); /* the third time: it samples half as often */
    assert_int_equal(pm_sampler_counts(sampler).interval_ns, 2 * INTERVAL);
    assert_int_equal(gpu.config.interval, 2 * INTERVAL);
    assert_int_equal(gpu.enables, 2);
    pm_sampler_stop(sampler, take, &taken);
    assert_true(pm_sampler_counts(sampler).lost > 0);
    pm_sampler_free(sampler);
}

/* What came in a pause has room: all is decoded at once, and the next image is as usual. */
static void a_pause_loses_nothing(void **state)
{
    struct pm_request request = request_of(2, eight, 3);
    struct taken taken = { 0 };
    const char *call;
    int result;
    request.interval_ns = 1000;
    request.decode_ns = 100000; /* room for 256 */
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    assert_int_equal(gpu.asked, 256);
    usleep(2000);               /* 2,000 samples, and a quarter more */
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_true(gpu.asked >= 4096);
    end(sampler, &taken);
}

static void chips_without_a_trigger_by_time_count_cycles(void **state)
{
    struct pm_request request = request_of(1, eight, 0);
    const char *call;
    int result;
    request.interval_ns = 100000;
    request.system_hz = 1410000000;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    assert_int_equal(gpu.config.interval, 141000);
    assert_int_equal(gpu.config.trigger, CUPTI_TRIGGER_CYCLES);
    end(sampler, NULL);
}

static void gaps_are_counted(void **state)
{
    static const struct made gaps[] = { { 1000, 1100, 1 }, { 1400, 1500, 2 }, { 1500, 1600, 3 }, { 1610, 1710, 4 } };
    struct pm_request request = request_of(2, gaps, 4);
    struct taken taken = { 0 };
    const char *call;
    int result;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_int_equal(pm_sampler_counts(sampler).samples, 4);
    assert_int_equal(pm_sampler_counts(sampler).lost, 3);
    end(sampler, &taken);
}

/* The first sample of a session has no values, and may have any time: neither a sample nor a gap. */
static void a_first_sample_without_values_is_none(void **state)
{
    static const struct made made[] = {
        { 900000, 900100, NAN }, { 0, 1000, 5 }, { 1000, 1100, 1 }, { 1100, 1200, 2 }, { 2, 900000, 6 }
    };
    struct pm_request request = request_of(2, made, 5);
    struct taken taken = { 0 };
    const char *call;
    int result;
    request.interval_ns = 10;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_int_equal(taken.count, 2);
    assert_true(taken.values[0][0] == 1 && taken.values[1][0] == 2);
    assert_int_equal(pm_sampler_counts(sampler).lost, 0);
    end(sampler, &taken);
}

/* The GPU's buffer stays full: sampling begins again, the samples after it count, and so does the gap. CUPTI tells of
 * it by a flag, or by its result. */
static void check_overflow(int told)
{
    static const struct made made[] = { { 1000, 1100, 1 }, { 1100, 1200, 2 }, { 2000, 2100, 3 } };
    struct pm_request request = request_of(2, made, 2);
    struct taken taken = { 0 };
    const char *call;
    int result;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    gpu.overflow_at = 2;
    gpu.overflow_result = told;
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_int_equal(gpu.enables, 2);
    assert_true(gpu.is_started);
    gpu.count = 3;
    assert_int_equal(pm_sampler_read(sampler, take, &taken), 0);
    assert_int_equal(pm_sampler_counts(sampler).overflows, 1);
    assert_int_equal(pm_sampler_counts(sampler).samples, 3);
    assert_int_equal(pm_sampler_counts(sampler).lost, 8);
    end(sampler, &taken);
}

static void an_overflow_begins_again(void **state)
{
    check_overflow(CUPTI_RESULT_SUCCESS);
    check_overflow(CUPTI_RESULT_ERROR_OUT_OF_MEMORY);
}

static void refusals_name_the_call(void **state)
{
    struct pm_request request = request_of(2, eight, 5);
    const char *call;
    int result;
    gpu.refuse_enable = CUPTI_RESULT_ERROR_INSUFFICIENT_PRIVILEGES;
    assert_null(pm_sampler_begin(&request, &result, &call));
    assert_int_equal(result, CUPTI_RESULT_ERROR_INSUFFICIENT_PRIVILEGES);
    assert_string_equal(call, "cuptiPmSamplingEnable");
}

/* Another profiler took the GPU while ours overflowed. */
static void a_gpu_that_is_taken_away_ends_it(void **state)
{
    struct pm_request request = request_of(2, eight, 2);
    struct taken taken = { 0 };
    const char *call;
    int result;
    struct pm_sampler *sampler = pm_sampler_begin(&request, &result, &call);
    gpu.overflow_at = 1;
    gpu.refuse_enable = CUPTI_RESULT_ERROR_INVALID_OPERATION;
    assert_int_equal(pm_sampler_read(sampler, take, &taken), CUPTI_RESULT_ERROR_INVALID_OPERATION);
    assert_int_equal(taken.count, 2);
    assert_int_equal(pm_sampler_read(sampler, take, &taken), CUPTI_RESULT_ERROR_NOT_INITIALIZED);
    end(sampler, &taken);
    assert_int_equal(taken.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_samples_come_once_and_in_order),
        cmocka_unit_test(threads_share_an_image),
        cmocka_unit_test(a_gpu_that_is_too_fast_is_left_behind),
        cmocka_unit_test(a_pause_loses_nothing),
        cmocka_unit_test(chips_without_a_trigger_by_time_count_cycles),
        cmocka_unit_test(gaps_are_counted),
        cmocka_unit_test(a_first_sample_without_values_is_none),
        cmocka_unit_test(an_overflow_begins_again),
        cmocka_unit_test(refusals_name_the_call),
        cmocka_unit_test(a_gpu_that_is_taken_away_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
