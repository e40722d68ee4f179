/* A client of CUPTI that counts what hardware counters cost beside tracing: bench/counters.py.
 *
 * CUDA loads it through CUDA_INJECTION64_PATH. COUNTERS names what it does, words with commas between them:
 *
 *     trace         records of kernels
 *     range         counters of every kernel, by kernel replay, from the first context on
 *     application   not by kernel replay, but as in a program that is run once for each pass: for a single pass
 *     launch        the same, with Start and Stop in the callbacks of each launch
 *     sample=NS     counters over time, sampled inside this process every NS ns, from the first context on
 *     cache         with CUPTI 13.4: caches are flushed between passes
 *
 * COUNTERS_METRICS has the metrics, with commas. At the end it writes what it saw to the file COUNTERS_OUT, a line
 * each; if the process crashes, the call in which it did. It uses src/abi and no header of the vendor. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/cupti.h"
#include "abi/cupti_profiler.h"

enum { BUFFER_BYTES = 1 << 20, METRICS_MOST = 2048, RANGES = 512 };
enum { SAMPLES = 20000, DECODE_US = 50000 }; /* of an image: more than come between two decodes at 200 kHz */

static struct cupti_functions api;
static struct cupti_profiler cupti;
static void *subscriber;
static const char *metrics[METRICS_MOST];
static size_t metric_count;
static long kernels, launches, ranges, dropped_ranges, starts, samples, overflows;
static double first_metric;
static int is_range, is_launch, is_application, is_cache;
static uint64_t sample_ns, start_stop_ns;
static uint8_t *config, *image;
static size_t config_bytes, image_bytes, passes;
static void *host, *profiler, *sampling, *context;
static const char *failed_call = "none";
static int failed_result;
static const char *stage = "load"; /* the call that is being made */
static const char *out_path;
static pthread_t decoder;
static volatile int is_ending;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes a call of the profiler, and remembers the first that is refused. */
static int call_named(enum cupti_call_id id, const char *name, void *arguments)
{
    stage = name;
    int result = cupti_profiler_call(&cupti, id, arguments);
    stage = "between calls";
    if (result && !failed_result) {
        failed_result = result;
        failed_call = name;
    }
    return result;
}
#define CALL(call, variable) call_named(CUPTI_CALL_##call, #call, &(variable))

static void wanted(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *bytes = BUFFER_BYTES;
    *buffer = aligned_alloc(4096, BUFFER_BYTES);
    *most = 0;
}

static void done(void *context_of, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    (void)context_of, (void)stream, (void)bytes;
    for (void *record = NULL; api.cuptiActivityGetNextRecord(buffer, valid, &record) == 0;)
        kernels += *(uint32_t *)record == CUPTI_KIND_CONCURRENT_KERNEL;
    free(buffer);
}

/* Metrics to a config image, for this chip. */
static int make_config(const char *chip, uint32_t type, const uint8_t *availability)
{
    struct cupti_host_initialize open = { .profiler = type, .chip = chip, .availability = availability };
    if (CALL(host_initialize, open))
        return -1;
    host = open.host;
    struct cupti_host_add_metrics add = { .host = host, .names = metrics, .count = metric_count };
    struct cupti_host_config_size size = { .host = host };
    if (CALL(host_add_metrics, add) || CALL(host_config_size, size))
        return -1;
    config_bytes = size.bytes;
    config = calloc(1, config_bytes);
    struct cupti_host_config get = { .host = host, .bytes = config_bytes, .image = config };
    struct cupti_host_passes count = { .bytes = config_bytes, .image = config };
    if (CALL(host_config, get) || CALL(host_passes, count))
        return -1;
    passes = count.passes;
    return 0;
}

static int empty_image(void)
{
    struct cupti_range_data_initialize empty = { .profiler = profiler, .bytes = image_bytes, .data = image };
    return CALL(range_data_initialize, empty);
}

static int configure_ranges(void)
{
    struct cupti_range_config set = { .profiler = profiler,
                                      .config_bytes = config_bytes,
                                      .config = config,
                                      .data_bytes = image_bytes,
                                      .data = image,
                                      .range = CUPTI_RANGE_AUTO,
                                      .replay = is_application ? CUPTI_REPLAY_APPLICATION : CUPTI_REPLAY_KERNEL,
                                      .ranges = RANGES,
                                      .nesting_levels = 1,
                                      .nesting_least = 1 };
    return CALL(range_config, set);
}

static void begin_ranges(void *of_context)
{
    struct cupti_counter_availability availability = { .context = of_context };
    struct cupti_chip_name chip = { .device = 0 };
    struct cupti_range_enable enable = { .context = of_context, .cache_control = is_cache ? CUPTI_CACHE_ALL : 0 };

    context = of_context;
    if (CALL(chip_name, chip) || CALL(counter_availability, availability))
        return;
    availability.image = calloc(1, availability.bytes);
    if (CALL(counter_availability, availability) || make_config(chip.name, CUPTI_PROFILER_RANGE, availability.image) ||
        CALL(range_enable, enable))
        return;
    profiler = enable.profiler;
    struct cupti_range_data_size size = {
        .profiler = profiler, .names = metrics, .count = metric_count, .ranges = RANGES, .nodes = RANGES
    };
    if (CALL(range_data_size, size))
        return;
    image_bytes = size.bytes;
    image = calloc(1, image_bytes);
    if (empty_image() || configure_ranges())
        return;
    struct cupti_range_start start = { .profiler = profiler };
    if (!is_launch)
        CALL(range_start, start);
}

/* What the image has, counted; then it is empty again. */
static void read_ranges(void)
{
    struct cupti_range_decode decode = { .profiler = profiler };
    struct cupti_range_data_info info = { .data = image, .data_bytes = image_bytes };
    double values[METRICS_MOST];
    struct cupti_host_evaluate evaluate = { .host = host,
                                            .data = image,
                                            .data_bytes = image_bytes,
                                            .names = metrics,
                                            .count = metric_count,
                                            .values = values };

    if (CALL(range_decode, decode) || CALL(range_data_info, info))
        return;
    ranges += (long)info.ranges;
    dropped_ranges += (long)decode.dropped;
    for (evaluate.range = 0; evaluate.range < info.ranges; evaluate.range++)
        if (CALL(host_evaluate, evaluate) == 0)
            first_metric += values[0];
    empty_image();
}

static void stop_ranges(void)
{
    struct cupti_range_stop stop = { .profiler = profiler };
    CALL(range_stop, stop);
}

/* Start at the enter of a launch, Stop at its exit. */
static void around_launch(const struct cupti_call *call)
{
    uint64_t from_ns = now_ns();
    launches += call->site == CUPTI_ENTER;
    if (!profiler || failed_result)
        return;
    if (call->site == CUPTI_ENTER) {
        struct cupti_range_start start = { .profiler = profiler };
        CALL(range_start, start);
        starts++;
    } else {
        stop_ranges();
        if (starts % (RANGES / 2) == 0) {
            read_ranges();
            configure_ranges();
        }
    }
    start_stop_ns += now_ns() - from_ns;
}

static void begin_samples(void);

/* Once, when CUDA has a context: inside cuInit() CUPTI 13.0 answers 999. */
static void begin(void *of_context)
{
    static int has_begun;
    struct cupti_profiler_initialize initialize = { 0 };

    if (!(is_range || sample_ns) || has_begun++ || CALL(profiler_initialize, initialize))
        return;
    if (is_range)
        begin_ranges(of_context);
    else
        begin_samples();
}

static void called(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    if (domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_RESOURCE_CONTEXT_CREATED)
        begin(((const struct cupti_resource_data *)data)->context);
    else if (domain == CUPTI_DOMAIN_DRIVER)
        around_launch(data);
}

/* cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel, with and without _ptsz. */
static void enable_launches(void)
{
    for (uint32_t id = 1; id < 1200; id++) {
        const char *name = NULL;
        if (api.cuptiGetCallbackName(CUPTI_DOMAIN_DRIVER, id, &name) == 0 && name &&
            (strncmp(name, "cuLaunchKernel", 14) == 0 || strncmp(name, "cuLaunchCooperativeKernel", 25) == 0))
            api.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_DRIVER, id);
    }
}

/* ---- Samples: called when there is a context, since CUPTI crashes before cuInit() has returned ----------------------
 */

static int empty_samples(void)
{
    struct cupti_sampling_data_initialize empty = { .sampling = sampling, .bytes = image_bytes, .data = image };
    return CALL(sampling_data_initialize, empty);
}

/* Counts what has come. A buffer that has overflown stays so; it is counted, and the rest is lost. */
static int decode_samples(void)
{
    struct cupti_sampling_decode decode = { .sampling = sampling, .data = image, .data_bytes = image_bytes };
    struct cupti_sampling_data_info info = { .data = image, .data_bytes = image_bytes };

    stage = "sampling_decode";
    int result = cupti_profiler_call(&cupti, CUPTI_CALL_sampling_decode, &decode);
    overflows += decode.overflow || result == CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    if ((result && result != CUPTI_RESULT_ERROR_OUT_OF_MEMORY) || CALL(sampling_data_info, info))
        return -1;
    samples += (long)info.completed;
    return empty_samples();
}

static void *decode_until_end(void *unused)
{
    while (!is_ending && decode_samples() == 0)
        usleep(DECODE_US);
    return unused;
}

static int configure_samples(void)
{
    struct cupti_sampling_config set = { .sampling = sampling,
                                         .config_bytes = config_bytes,
                                         .config = config,
                                         .buffer_bytes = (size_t)256 << 20,
                                         .interval = sample_ns,
                                         .trigger = CUPTI_TRIGGER_TIME };
    struct cupti_sampling_data_size size = {
        .sampling = sampling, .names = metrics, .count = metric_count, .samples = SAMPLES
    };

    if (CALL(sampling_config, set) || CALL(sampling_data_size, size))
        return -1;
    image_bytes = size.bytes;
    image = calloc(1, image_bytes);
    return image ? empty_samples() : -1;
}

static void begin_samples(void)
{
    struct cupti_chip_name chip = { .device = 0 };
    struct cupti_sampling_availability availability = { .device = 0 };
    struct cupti_sampling_enable enable = { .device = 0 };

    if (CALL(chip_name, chip) || CALL(sampling_availability, availability))
        return;
    availability.image = calloc(1, availability.bytes);
    if (CALL(sampling_availability, availability) ||
        make_config(chip.name, CUPTI_PROFILER_SAMPLING, availability.image) || CALL(sampling_enable, enable))
        return;
    sampling = enable.sampling;
    struct cupti_sampling_start start = { .sampling = sampling };
    if (configure_samples() || CALL(sampling_start, start) || pthread_create(&decoder, NULL, decode_until_end, NULL))
        decoder = 0;
}

static void end_samples(void)
{
    struct cupti_sampling_stop stop = { .sampling = sampling };
    struct cupti_sampling_disable disable = { .sampling = sampling };

    is_ending = 1;
    if (decoder) {
        pthread_join(decoder, NULL);
        if (CALL(sampling_stop, stop) == 0)
            decode_samples();
    }
    CALL(sampling_disable, disable);
}

/* ---- The end -------------------------------------------------------------------------------------------------------
 */

static void crashed(int number)
{
    int out = out_path ? open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

    if (out >= 0)
        dprintf(out, "failed=%s\nresult=signal %d\n", stage, number);
    signal(number, SIG_DFL);
    raise(number);
}

static void report(void)
{
    FILE *out = out_path ? fopen(out_path, "w") : NULL;

    if (profiler) {
        if (!is_launch)
            stop_ranges();
        read_ranges();
        struct cupti_range_disable disable = { .profiler = profiler };
        CALL(range_disable, disable);
    }
    if (sampling)
        end_samples();
    api.cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
    if (!out)
        return;
    fprintf(out, "kernels=%ld\nlaunches=%ld\nranges=%ld\ndropped=%ld\nsamples=%ld\noverflows=%ld\npasses=%zu\n",
            kernels, launches, ranges, dropped_ranges, samples, overflows, passes);
    fprintf(out, "first_metric=%.17g\nstart_stop_ns=%llu\nimage_bytes=%zu\nfailed=%s\nresult=%d\nversion=%u\n",
            first_metric, (unsigned long long)start_stop_ns, image_bytes, failed_call, failed_result, cupti.version);
    fclose(out);
}

static int load(void)
{
    const char *file = getenv("COUNTERS_CUPTI");
    void *library = dlopen(file ? file : "libcupti.so", RTLD_NOW);
    uint32_t version = 0;

    if (!library) {
        fprintf(stderr, "counters: %s\n", dlerror());
        return -1;
    }
#define FIND(need, since, name, parameters) *(void **)&api.name = dlsym(library, #name);
    CUPTI_FUNCTIONS(FIND)
    api.cuptiGetVersion(&version);
    const char *missing = cupti_profiler_find(&cupti, version, dlsym, library);
    if (missing)
        fprintf(stderr, "counters: no %s\n", missing);
    return missing ? -1 : 0;
}

static void parse(void)
{
    const char *words = getenv("COUNTERS");
    char *list = strdup(getenv("COUNTERS_METRICS") ? getenv("COUNTERS_METRICS") : "");
    const char *interval = words ? strstr(words, "sample=") : NULL;

    for (char *name = strtok(list, ","); name && metric_count < METRICS_MOST; name = strtok(NULL, ","))
        metrics[metric_count++] = name;
    out_path = getenv("COUNTERS_OUT");
    is_launch = words && strstr(words, "launch") != NULL;
    is_range = is_launch || (words && strstr(words, "range"));
    is_application = words && strstr(words, "application") != NULL;
    is_cache = words && strstr(words, "cache") != NULL;
    sample_ns = interval ? strtoull(interval + strlen("sample="), NULL, 10) : 0;
}

int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *words = getenv("COUNTERS");

    if (load())
        return 1;
    parse();
    api.cuptiSubscribe(&subscriber, called, NULL);
    api.cuptiActivityRegisterTimestampCallback(now_ns);
    api.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED);
    if (words && strstr(words, "trace")) {
        api.cuptiActivityRegisterCallbacks(wanted, done);
        api.cuptiActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL);
    }
    if (is_launch)
        enable_launches();
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    atexit(report);
    return 1;
}
