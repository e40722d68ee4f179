/* The stand-in's profiler interfaces: metrics of three chips that are made up here, and the size of every struct, which
 * must be that of the version this build stands for. Sizes and members are from the vendor's headers, not from ours.
 *
 * A pass has room for four counters of one unit of the chip. A config image is a text: the passes, then the metrics,
 * line by line. A counter data image is a text, too: "RANGE METRIC VALUE", line by line. cupti_ranges.c has the
 * ranges of kernels, cupti_sampling.c has samples.
 * FAKE_CHIP is another name of the chip, or one for each GPU, with commas between them: CUDA_VISIBLE_DEVICES, a list of
 * numbers, chooses from them. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

#if FAKE_CUPTI >= 1206

enum { INVALID_METRIC_NAME = 17, NOT_SUPPORTED = 27, SLOTS = 4, MOST = 64 };

#define EXPORT __attribute__((visibility("default")))

/* A call whose struct has another size than this version's is refused, as CUPTI does. */
#define CHECK_SIZE(params, bytes)                                                                                      \
    do {                                                                                                               \
        if (!(params) || *(const size_t *)(params) != (size_t)(bytes))                                                 \
            return INVALID_PARAMETER;                                                                                  \
    } while (0)

/* Calls that need a GPU, and the sizes of their structs. */
#define ON_A_GPU(X)                                                                                                    \
    X(cuptiProfilerDeInitialize, 16, OK)                                                                               \
    X(cuptiProfilerGetCounterAvailability, FAKE_CUPTI >= 1301 ? 41 : 40, NOT_SUPPORTED)                                \
    X(cuptiProfilerHostGetRangeName, 56, NOT_SUPPORTED)
#define CALL_ON_A_GPU(name, bytes, result)                                                                             \
    EXPORT int name(void *params);                                                                                     \
    EXPORT int name(void *params)                                                                                      \
    {                                                                                                                  \
        CHECK_SIZE(params, bytes);                                                                                     \
        return result;                                                                                                 \
    }
ON_A_GPU(CALL_ON_A_GPU)

/* ---- Chips and metrics ------------------------------------------------------------------------------------------- */

enum { GV = 1, GH = 2, GB = 4, ALL = GV | GH | GB };

static const char *const chips[] = { "GV100", "GH100", "GB202" };

static const struct metric {
    const char *name, *unit, *hardware;
    int type; /* counter, ratio, throughput */
    int chips, sampled_on;
} metrics[] = {
    { "gpu__time_duration", "nanosecond", "gpu", 0, ALL, 0 },
    { "gpc__cycles_elapsed", "gpc_cycle", "gpc", 0, ALL, GH | GB },
    { "sys__cycles_elapsed", "sys_cycle", "sys", 0, ALL, GH | GB },
    { "sm__cycles_active", "gpc_cycle", "sm", 0, ALL, GH | GB },
    { "sm__warps_active", "gpc_cyclewarp", "sm", 0, ALL, 0 },
    { "sm__inst_executed", "instruction", "sm", 0, ALL, 0 },
    { "sm__inst_executed_pipe_tensor", "instruction", "tensor", 0, GV | GH, 0 },
    { "sm__inst_executed_pipe_tensor_subpipe_hmma", "instruction", "tensor", 0, GB, 0 },
    { "dram__bytes_read", "byte", "dram", 0, GV | GH, 0 },
    { "dram__bytes_write", "byte", "dram", 0, GV | GH, 0 },
    { "dram__bytes_op_read", "byte", "dram", 0, GB, 0 },
    { "dram__bytes_op_write", "byte", "dram", 0, GB, 0 },
    { "lts__t_sectors", "l2_sector", "lts", 0, ALL, 0 },
    { "pcie__read_bytes", "byte", "pcie", 0, GH | GB, GH | GB },
    { "pcie__write_bytes", "byte", "pcie", 0, 0, GH },
    { "gr__cycles_active", "gpc_cycle", "gr", 0, 0, GH },
    { "sm__inst_executed_realtime", "instruction", "issue", 0, 0, GH },
    { "sm__pipe_tensor_cycles_active_realtime", "gpc_cycle", "tensor", 0, 0, GH },
    { "tpc__warps_active_shader_vtg_realtime", "warp", "vtg", 0, 0, GH },
    { "tpc__warps_active_shader_ps_realtime", "warp", "ps", 0, 0, GH },
    { "tpc__warps_active_shader_cs_realtime", "warp", "cs", 0, 0, GH },
    { "tpc__warps_inactive_sm_active_realtime", "warp", "inactive", 0, 0, GH },
    { "dramc__read_throughput", "percent", "dram", 2, 0, GH },
    { "dramc__write_throughput", "percent", "dram", 2, 0, GH },
    { "NVLRX.TriageCompute.nvlrx__bytes_packet_request_data_user", "byte", "nvlrx", 0, 0, GH },
    { "lts__lts2xbar_cycles_active", "fbp_cycle", "lts", 0, ALL, 0 },
    { "lts__t_sector_hit_rate", "percent", "lts", 1, ALL, 0 },
    { "sm__throughput", "percent", "sm", 2, ALL, 0 },
    { "odd__things", "furlong", "sm", 0, GH, 0 },
};
enum { METRICS = sizeof metrics / sizeof *metrics };

/* Of samples, counters have others than of kernels. */
static const char *const sampled_suffixes[] = {
    ".avg",
    ".avg.pct_of_peak_sustained_elapsed",
    ".avg.per_cycle_elapsed",
    ".avg.per_second",
    ".sum",
    ".sum.pct_of_peak_sustained_elapsed",
    NULL,
};

static const char *const suffixes[][8] = {
    { ".avg", ".avg.pct_of_peak_sustained_active", ".avg.per_second", ".max", ".min", ".sum", ".sum.per_second", NULL },
    { ".max_rate", ".pct", ".ratio", NULL },
    { ".avg.pct_of_peak_sustained_elapsed", ".max.pct_of_peak_sustained_elapsed", ".min.pct_of_peak_sustained_elapsed",
      ".sum.pct_of_peak_sustained_elapsed", NULL },
};

struct host {
    int chip, is_sampling;
    const char *added[MOST * SLOTS];
    size_t added_count;
    const char *names[2 * METRICS]; /* of the last answer */
    int asked[3];
};

static int has(const struct host *host, const struct metric *metric)
{
    return (host->is_sampling ? metric->sampled_on : metric->chips) & host->chip;
}

static const char *const *suffixes_of(const struct host *host, int type)
{
    return host->is_sampling && type == 0 ? sampled_suffixes : suffixes[type];
}

/* The metric of a name and its suffix; NULL: the chip has no such one. Versions from 13.0 on take a base, too. */
static const struct metric *find(const struct host *host, const char *name, const char **suffix)
{
    for (size_t i = 0; i < METRICS; i++) {
        size_t length = strlen(metrics[i].name);
        if (!has(host, &metrics[i]) || strncmp(name, metrics[i].name, length) != 0)
            continue;
        *suffix = name + length;
        if (!name[length] && FAKE_CUPTI >= 1300)
            return &metrics[i];
        for (const char *const *known = suffixes_of(host, metrics[i].type); *known; known++)
            if (strcmp(*known, name + length) == 0)
                return &metrics[i];
    }
    return NULL;
}

/* ---- Hosts ------------------------------------------------------------------------------------------------------- */

EXPORT int cuptiProfilerInitialize(void *params);
EXPORT int cuptiProfilerInitialize(void *params)
{
    CHECK_SIZE(params, 16);
    return OK;
}

/* CUPTI crashes where CUDA's driver is not initialized: cuInit(). */
static int is_driver_ready(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*get_count)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
    int count = 0;
    return !get_count || get_count(&count) == 0;
}

/* The number at this place of a list; without a list, that which is given. */
static size_t nth(const char *list, size_t place, size_t without)
{
    for (size_t i = 0; list && i < place; i++)
        list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    return list ? (size_t)atoi(list) : without;
}

struct chip_name {
    size_t size;
    void *priv;
    size_t device;
    const char *name;
};
EXPORT int cuptiDeviceGetChipName(struct chip_name *params);
EXPORT int cuptiDeviceGetChipName(struct chip_name *params)
{
    static char names[8][16];
    const char *list = getenv("FAKE_CHIP"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    size_t number = nth(visible, params ? params->device : 0, params ? params->device : 0);
    CHECK_SIZE(params, 32);
    if (!is_driver_ready())
        return NOT_INITIALIZED_YET;
    for (size_t i = 0; list && i < number; i++, list++)
        if (!(list = strchr(list, ',')))
            return INVALID_PARAMETER;
    if (number >= 8 || (!list && number))
        return INVALID_PARAMETER;
    snprintf(names[number], sizeof names[number], "%.*s", list ? (int)strcspn(list, ",") : 5, list ? list : "GH100");
    params->name = names[number];
    return OK;
}

/* FAKE_SUPPORT, words with commas between them: the level of a member, else 3, supported. Without vgpu=2 and the like
 * all are. */
struct device_supported {
    size_t size;
    void *priv;
    int device, is_supported, architecture, sli, vgpu, confidential, cmp, wsl, interface;
};
static int level(const char *name, struct device_supported *params)
{
    const char *words = getenv("FAKE_SUPPORT"), *found = words ? strstr(words, name) : NULL;
    int value = found ? atoi(found + strlen(name)) : 3;
    if (value != 3)
        params->is_supported = value;
    return value;
}
EXPORT int cuptiProfilerDeviceSupported(struct device_supported *params);
EXPORT int cuptiProfilerDeviceSupported(struct device_supported *params)
{
    CHECK_SIZE(params, FAKE_CUPTI >= 1301 ? 56 : 52);
    if (params->device || params->interface || !is_driver_ready()) /* one GPU, and its ranges */
        return params->device || params->interface ? INVALID_PARAMETER : NOT_INITIALIZED_YET;
    params->is_supported = 3;
    params->architecture = level("architecture=", params);
    params->sli = level("sli=", params);
    params->vgpu = level("vgpu=", params);
    params->confidential = level("confidential=", params);
    params->cmp = level("cmp=", params);
    params->wsl = level("wsl=", params);
    return OK;
}

struct initialize {
    size_t size;
    void *priv;
    int type;
    const char *chip;
    const uint8_t *availability;
    struct host *host;
    const char *set;
};
EXPORT int cuptiProfilerHostInitialize(struct initialize *params);
EXPORT int cuptiProfilerHostInitialize(struct initialize *params)
{
    CHECK_SIZE(params, FAKE_CUPTI >= 1302 ? 56 : 48);
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (strcmp(chips[i], params->chip) == 0 && (params->type == 0 || i > 0)) { /* no samples on GV100 */
            params->host = calloc(1, sizeof *params->host);
            params->host->chip = 1 << i;
            params->host->is_sampling = params->type;
            return OK;
        }
    return NOT_SUPPORTED;
}

struct only_host {
    size_t size;
    void *priv;
    struct host *host;
    size_t bytes;
};
EXPORT int cuptiProfilerHostDeinitialize(struct only_host *params);
EXPORT int cuptiProfilerHostDeinitialize(struct only_host *params)
{
    CHECK_SIZE(params, 24);
    free(params->host);
    return OK;
}

struct supported_chips {
    size_t size;
    void *priv;
    size_t count;
    const char *const *names;
};
EXPORT int cuptiProfilerHostGetSupportedChips(struct supported_chips *params);
EXPORT int cuptiProfilerHostGetSupportedChips(struct supported_chips *params)
{
    CHECK_SIZE(params, 32);
    params->count = sizeof chips / sizeof *chips;
    params->names = chips;
    return OK;
}

/* Asked a second time for one type, it answers everything twice, as 13.0 does. */
struct base_metrics {
    size_t size;
    void *priv;
    struct host *host;
    int type;
    const char **names;
    size_t count;
};
EXPORT int cuptiProfilerHostGetBaseMetrics(struct base_metrics *params);
EXPORT int cuptiProfilerHostGetBaseMetrics(struct base_metrics *params)
{
    CHECK_SIZE(params, 48);
    params->count = 0;
    for (int times = 0; times <= params->host->asked[params->type]; times++)
        for (size_t i = 0; i < METRICS; i++)
            if (has(params->host, &metrics[i]) && metrics[i].type == params->type)
                params->host->names[params->count++] = metrics[i].name;
    params->host->asked[params->type] = 1;
    params->names = params->host->names;
    return OK;
}

struct sub_metrics {
    size_t size;
    void *priv;
    struct host *host;
    int type;
    const char *metric;
    size_t count;
    const char **names;
};
EXPORT int cuptiProfilerHostGetSubMetrics(struct sub_metrics *params);
EXPORT int cuptiProfilerHostGetSubMetrics(struct sub_metrics *params)
{
    const char *suffix;
    CHECK_SIZE(params, 56);
    const struct metric *metric = find(params->host, params->metric, &suffix);
    if (!metric || metric->type != params->type)
        return INVALID_METRIC_NAME;
    params->names = (const char **)suffixes_of(params->host, metric->type);
    for (params->count = 0; params->names[params->count];)
        params->count++;
    return OK;
}

struct metric_properties {
    size_t size;
    void *priv;
    struct host *host;
    const char *metric, *description, *hardware, *unit;
    int type, scope;
};
EXPORT int cuptiProfilerHostGetMetricProperties(struct metric_properties *params);
EXPORT int cuptiProfilerHostGetMetricProperties(struct metric_properties *params)
{
    static char unit[64];
    const char *suffix;
    CHECK_SIZE(params, FAKE_CUPTI >= 1301 ? 64 : 60);
    const struct metric *metric = find(params->host, params->metric, &suffix);
    if (!metric)
        return INVALID_METRIC_NAME;
    int is_percent = strstr(suffix, "pct") != NULL, is_rate = strstr(suffix, ".per_second") != NULL;
    snprintf(unit, sizeof unit, "%s%s", is_percent ? "percent" : metric->unit, is_rate ? "/second" : "");
    params->unit = unit;
    params->hardware = metric->hardware;
    params->description = "";
    params->type = metric->type;
    if (FAKE_CUPTI >= 1301)
        params->scope = strcmp(metric->hardware, "pcie") == 0;
    return OK;
}

/* ---- Configurations ------------------------------------------------------------------------------------------------
 */

struct add_metrics {
    size_t size;
    void *priv;
    struct host *host;
    const char **names;
    size_t count;
};
/* FAKE_SAMPLING=absent=NAME: counters that this chip has and this GPU has not, by how their names begin. */
static int is_absent(const char *name)
{
    const char *words = getenv("FAKE_SAMPLING");
    const char *absent = words ? strstr(words, "absent=") : NULL;
    return absent && strncmp(absent + strlen("absent="), name, strcspn(absent + strlen("absent="), ",")) == 0;
}

EXPORT int cuptiProfilerHostConfigAddMetrics(struct add_metrics *params);
EXPORT int cuptiProfilerHostConfigAddMetrics(struct add_metrics *params)
{
    const char *suffix;
    CHECK_SIZE(params, 40);
    int device = 0, kernel = 0;
    for (size_t i = 0; i < params->count; i++) {
        const struct metric *metric = find(params->host, params->names[i], &suffix);
        if (!metric || !*suffix)
            return metric ? INVALID_PARAMETER : INVALID_METRIC_NAME;
        if (is_absent(params->names[i]))
            return NOT_SUPPORTED;
        *(strcmp(metric->hardware, "pcie") == 0 ? &device : &kernel) = 1;
        params->host->added[params->host->added_count++ % (MOST * SLOTS)] = params->names[i];
    }
    return device && kernel && !params->host->is_sampling ? NOT_SUPPORTED : OK;
}

static size_t passes_of(const struct host *host)
{
    size_t passes = 0;
    for (size_t i = 0; i < METRICS; i++) {
        size_t same = 0;
        const char *suffix;
        for (size_t k = 0; k < host->added_count; k++)
            same += strcmp(find(host, host->added[k], &suffix)->hardware, metrics[i].hardware) == 0;
        passes = (same + SLOTS - 1) / SLOTS > passes ? (same + SLOTS - 1) / SLOTS : passes;
    }
    return passes;
}

static size_t write_image(const struct host *host, char *to, size_t room)
{
    size_t used = (size_t)snprintf(to, room, "%zu\n", passes_of(host));
    for (size_t i = 0; i < host->added_count; i++)
        used += (size_t)snprintf(to ? to + used : NULL, room > used ? room - used : 0, "%s\n", host->added[i]);
    return used + 1;
}

EXPORT int cuptiProfilerHostGetConfigImageSize(struct only_host *params);
EXPORT int cuptiProfilerHostGetConfigImageSize(struct only_host *params)
{
    CHECK_SIZE(params, 32);
    params->bytes = write_image(params->host, NULL, 0);
    return OK;
}

struct config_image {
    size_t size;
    void *priv;
    struct host *host;
    size_t bytes;
    char *image;
};
EXPORT int cuptiProfilerHostGetConfigImage(struct config_image *params);
EXPORT int cuptiProfilerHostGetConfigImage(struct config_image *params)
{
    CHECK_SIZE(params, 40);
    return write_image(params->host, params->image, params->bytes) > params->bytes ? INVALID_PARAMETER : OK;
}

struct pass_count {
    size_t size;
    void *priv;
    size_t bytes;
    const char *image;
    size_t passes;
};
EXPORT int cuptiProfilerHostGetNumOfPasses(struct pass_count *params);
EXPORT int cuptiProfilerHostGetNumOfPasses(struct pass_count *params)
{
    CHECK_SIZE(params, 40);
    params->passes = (size_t)atoi(params->image);
    return OK;
}

/* ---- Values
 * ---------------------------------------------------------------------------------------------------------- */

/* Where the lines of a range begin in an image: from the place of the last question on, since a reader asks for one
 * range after the other, and for each metric of it. */
static const char *find_range(const char *image, size_t bytes, size_t range)
{
    static const char *last_image, *last;
    static size_t last_range;
    const char *end = image + bytes;
    int is_known = image == last_image && last < end && last_range <= range && strtoul(last, NULL, 10) == last_range;
    const char *at = is_known ? last : image;

    while (at < end && *at && strtoul(at, NULL, 10) != range) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    if (at >= end || !*at)
        return image;
    last_image = image;
    last_range = range;
    return last = at;
}

/* Finds the value of a metric in an image; without one, returns the last range + 1. */
static size_t read_data(const char *image, size_t bytes, size_t range, const char *metric, double *value)
{
    size_t ranges = 0;
    const char *start = metric ? find_range(image, bytes, range) : image;
    for (const char *at = start, *end = image + bytes; at < end && *at;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        char *name;
        size_t number = strtoul(at, &name, 10), length = *name == ' ' ? strcspn(name + 1, " \n") : 0;
        if (length && name[1 + length] == ' ') {
            ranges = number + 1 > ranges ? number + 1 : ranges;
            if (metric && number == range && strlen(metric) == length && memcmp(name + 1, metric, length) == 0) {
                *value = atof(name + 1 + length);
                return ranges;
            }
        }
        at = stop ? stop + 1 : end;
    }
    return ranges;
}

struct range_info {
    size_t size;
    void *priv;
    const char *image;
    size_t bytes, ranges;
};
EXPORT int cuptiRangeProfilerGetCounterDataInfo(struct range_info *params);
EXPORT int cuptiRangeProfilerGetCounterDataInfo(struct range_info *params)
{
    CHECK_SIZE(params, 40);
    params->ranges = read_data(params->image, params->bytes, 0, NULL, NULL);
    return OK;
}

struct evaluate {
    size_t size;
    void *priv;
    struct host *host;
    const char *image;
    size_t bytes, range;
    const char **names;
    size_t count;
    double *values;
};
EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct evaluate *params);
EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct evaluate *params)
{
    const char *suffix;
    CHECK_SIZE(params, 72);
    for (size_t i = 0; i < params->count; i++) {
        if (!find(params->host, params->names[i], &suffix))
            return INVALID_METRIC_NAME;
        params->values[i] = __builtin_nan("");
        read_data(params->image, params->bytes, params->range, params->names[i], &params->values[i]);
    }
    return OK;
}

#if FAKE_CUPTI >= 1302
EXPORT int cuptiProfilerHostGetSinglePassSets(void *params);
EXPORT int cuptiProfilerHostGetSinglePassSets(void *params)
{
    CHECK_SIZE(params, 40);
    return NOT_SUPPORTED;
}
#endif

#endif
