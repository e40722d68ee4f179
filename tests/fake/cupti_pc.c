/* The stand-in's PC sampling: every kernel that has ended since Start gives the samples of the table below. Sizes and
 * members are from the vendor's headers, not from ours.
 *
 * A call with a wrong size, out of order, or with too little room is refused and counted (pc_errors). So is a context
 * that is destroyed while it is sampled. Settings: pc_refusal (a CUptiResult: Enable answers it), pc_full (so many
 * times, the GPU's buffer is full and its samples are lost), pc_slow (so many calls take long). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"

#if FAKE_CUPTI >= 1206

enum { INVALID_OPERATION = 7, OUT_OF_MEMORY = 8, REASONS = 5, NAME_BYTES = 128, LAUNCHES = 4096, MODULES = 64 };

static const char *const reason_names[REASONS] = {
    "smsp__pcsamp_warps_issue_stalled_selected",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_lg_throttle",
    "smsp__pcsamp_warps_issue_stalled_lg_throttle_not_issued",
};
static const uint32_t reason_numbers[REASONS] = { 3, 7, 8, 20, 21 };

struct stall {
    uint32_t reason, samples;
};
struct pc {
    size_t size;
    uint64_t crc, offset;
    uint32_t function_index, pad;
    char *function;
    size_t count;
    struct stall *stalls;
    uint32_t correlation;
} __attribute__((packed, aligned(8)));

struct data {
    size_t size, room;
    uint64_t total, dropped;
    size_t count, remaining;
    uint64_t range;
    struct pc *pcs;
    uint64_t foreign;
    uint8_t full;
} __attribute__((packed, aligned(8)));

/* What a launch is sampled with: 21 samples at four instructions, and 3 that no instruction has. */
enum { PCS = 4, FOREIGN = 2, DROPPED = 1, SAMPLES = 21 };
static const struct {
    uint64_t offset;
    uint32_t count;
    struct stall stalls[3];
} script[PCS] = {
    { 0x00, 1, { { 3, 2 } } },
    { 0x90, 3, { { 3, 1 }, { 7, 10 }, { 8, 8 } } },
    { 0x110, 1, { { 7, 5 } } },
    { 0x220, 2, { { 20, 3 }, { 21, 3 } } },
};

static struct {
    pthread_mutex_t lock;
    void *context;
    int is_configured, is_running;
    uint32_t mode;
    struct data *buffer; /* the caller's */
    struct launch {
        char *function;
        uint64_t crc, done_ns;
        uint32_t correlation, at; /* at: instructions that were given out */
    } launches[LAUNCHES];
    size_t first, count;
    struct {
        char *image;
        size_t bytes;
    } modules[MODULES];
    size_t module_count;
} gpu = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int wrong(void)
{
    fake_add("pc_errors", 1);
    return INVALID_PARAMETER;
}

#define CALL(name, type, bytes)                                                                                        \
    EXPORT int name(struct type *params);                                                                              \
    EXPORT int name(struct type *params)                                                                               \
    {                                                                                                                  \
        pthread_mutex_lock(&gpu.lock);                                                                                 \
        int result = params && params->size == (bytes) ? do_##name(params) : wrong();                                  \
        pthread_mutex_unlock(&gpu.lock);                                                                               \
        return result;                                                                                                 \
    }

/* ---- What the driver reports ----------------------------------------------------------------------------------- */

static uint64_t crc_of(const char *bytes, size_t count)
{
    uint64_t crc = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++)
        crc = (crc ^ (unsigned char)bytes[i]) * 0x100000001b3;
    return crc;
}

void pc_module(const struct fake_module *module)
{
    pthread_mutex_lock(&gpu.lock);
    if (gpu.module_count < MODULES) {
        gpu.modules[gpu.module_count].image = memcpy(malloc(module->bytes), module->image, module->bytes);
        gpu.modules[gpu.module_count++].bytes = module->bytes;
    }
    pthread_mutex_unlock(&gpu.lock);
}

static uint64_t module_of(const char *function)
{
    for (size_t i = gpu.module_count; i-- > 0;)
        if (memmem(gpu.modules[i].image, gpu.modules[i].bytes, function, strlen(function) + 1))
            return crc_of(gpu.modules[i].image, gpu.modules[i].bytes);
    return 1;
}

void pc_work(const struct fake_work *work)
{
    uint64_t name = 0, correlation = 0;
    for (uint32_t i = 0; i < work->count; i++) {
        name = work->set[i].field == FIELD_name ? work->set[i].value : name;
        correlation = work->set[i].field == FIELD_correlationId ? work->set[i].value : correlation;
    }
    pthread_mutex_lock(&gpu.lock);
    if (work->kind == KIND_KERNEL && name && gpu.is_running && gpu.count < LAUNCHES)
        gpu.launches[gpu.count++] = (struct launch){ .function = strdup((const char *)(uintptr_t)name),
                                                     .crc = module_of((const char *)(uintptr_t)name),
                                                     .done_ns = work->done_ns,
                                                     .correlation = (uint32_t)correlation };
    pthread_mutex_unlock(&gpu.lock);
}

void pc_context_destroyed(void *context)
{
    if (gpu.context == context)
        wrong();
}

/* ---- Samples --------------------------------------------------------------------------------------------------- */

static int fill(struct pc *pc, const struct launch *launch)
{
    if (pc->size != 64 || pc->count < script[launch->at].count || !pc->stalls)
        return wrong();
    pc->crc = launch->crc;
    pc->offset = script[launch->at].offset;
    pc->function_index = (uint32_t)strlen(launch->function);
    pc->function = launch->function;
    pc->count = script[launch->at].count;
    memcpy(pc->stalls, script[launch->at].stalls, sizeof script[0].stalls[0] * pc->count);
    pc->correlation = gpu.mode == 2 ? launch->correlation : 0;
    return OK;
}

static int give(struct data *data)
{
    if (!data || data->size != 80 || !data->pcs)
        return wrong();
    uint64_t now = fake_now();
    data->count = data->remaining = data->total = data->dropped = data->foreign = data->full = 0;
    for (; gpu.first < gpu.count && gpu.launches[gpu.first].done_ns <= now; gpu.first++) {
        struct launch *launch = &gpu.launches[gpu.first];
        for (; launch->at < PCS && data->count < data->room; launch->at++)
            if (fill(&data->pcs[data->count++], launch) != OK)
                return INVALID_PARAMETER;
        if (launch->at < PCS)
            break;
        data->total += SAMPLES + FOREIGN + DROPPED;
        data->foreign += FOREIGN;
        data->dropped += DROPPED;
    }
    for (size_t i = gpu.first; i < gpu.count && gpu.launches[i].done_ns <= now; i++)
        data->remaining += PCS - gpu.launches[i].at;
    return OK;
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

struct of_context {
    size_t size;
    void *priv, *context;
};
static int do_cuptiPCSamplingEnable(struct of_context *params)
{
    uint32_t id;
    if (fake_get("pc_refusal"))
        return (int)fake_get("pc_refusal");
    if (gpu.context || fake_context_id(params->context, &id) != 0)
        return wrong();
    gpu.context = params->context;
    return OK;
}
CALL(cuptiPCSamplingEnable, of_context, 24)

static int do_cuptiPCSamplingStart(struct of_context *params)
{
    if (gpu.context != params->context || !gpu.is_configured || gpu.is_running)
        return wrong();
    gpu.is_running = 1;
    return OK;
}
CALL(cuptiPCSamplingStart, of_context, 24)

static int do_cuptiPCSamplingStop(struct of_context *params)
{
    if (gpu.context != params->context || !gpu.is_running)
        return wrong();
    gpu.is_running = 0;
    return OK;
}
CALL(cuptiPCSamplingStop, of_context, 24)

/* The samples that were not fetched go into the buffer of the configuration. */
static int do_cuptiPCSamplingDisable(struct of_context *params)
{
    if (gpu.context != params->context)
        return wrong();
    if (gpu.is_configured)
        give(gpu.buffer);
    gpu.context = NULL;
    gpu.is_configured = gpu.is_running = 0;
    gpu.first = gpu.count;
    return OK;
}
CALL(cuptiPCSamplingDisable, of_context, 24)

struct reason_count {
    size_t size;
    void *priv, *context;
    size_t *count;
};
static int do_cuptiPCSamplingGetNumStallReasons(struct reason_count *params)
{
    if (!gpu.context || params->context != gpu.context)
        return wrong();
    *params->count = REASONS;
    return OK;
}
CALL(cuptiPCSamplingGetNumStallReasons, reason_count, 32)

struct reasons {
    size_t size;
    void *priv, *context;
    size_t count;
    uint32_t *indexes;
    char **names;
};
static int do_cuptiPCSamplingGetStallReasons(struct reasons *params)
{
    if (!gpu.context || params->context != gpu.context || params->count != REASONS)
        return wrong();
    for (size_t i = 0; i < REASONS; i++) {
        params->indexes[i] = reason_numbers[i];
        strncpy(params->names[i], reason_names[i], NAME_BYTES);
    }
    return OK;
}
CALL(cuptiPCSamplingGetStallReasons, reasons, 48)

enum { PERIOD = 1, STALL_REASON, SCRATCH, HARDWARE, MODE, START_STOP, FORMAT, BUFFER };
struct attributes {
    size_t size;
    void *priv, *context;
    size_t count;
    struct {
        uint32_t type;
        int status;
        union {
            uint32_t number;
            size_t bytes;
            struct data *buffer;
            uint64_t words[3];
        } value;
    } *list;
};
static int set(struct attributes *params, size_t i)
{
    uint32_t number = params->list[i].value.number;
    switch (params->list[i].type) {
    case PERIOD: return number < 5 || number > 31 ? wrong() : OK;
    case STALL_REASON: return params->list[i].value.words[0] > REASONS ? wrong() : OK;
    case HARDWARE: return params->list[i].value.bytes < 1 << 20 ? wrong() : OK;
    case MODE: gpu.mode = number; return number == 1 || number == 2 ? OK : wrong();
    case START_STOP:
    case FORMAT: return number == 1 ? OK : wrong();
    case BUFFER: gpu.buffer = params->list[i].value.buffer; return gpu.buffer && gpu.buffer->size == 80 ? OK : wrong();
    default: return wrong();
    }
}
static int do_cuptiPCSamplingSetConfigurationAttribute(struct attributes *params)
{
    if (!gpu.context || params->context != gpu.context || gpu.is_running)
        return wrong();
    for (size_t i = 0; i < params->count; i++)
        if ((params->list[i].status = set(params, i)) != OK)
            return INVALID_PARAMETER;
    gpu.is_configured = gpu.buffer != NULL;
    return OK;
}
CALL(cuptiPCSamplingSetConfigurationAttribute, attributes, 40)

struct get {
    size_t size;
    void *priv, *context;
    struct data *data;
};
static int do_cuptiPCSamplingGetData(struct get *params)
{
    if (!gpu.is_configured || params->context != gpu.context)
        return wrong();
    if (fake_take("pc_slow"))
        usleep(300000);
    if (gpu.first < gpu.count && gpu.launches[gpu.first].done_ns <= fake_now() && fake_take("pc_full")) {
        gpu.first++;
        params->data->count = params->data->remaining = params->data->total = 0;
        params->data->full = 1;
        return OUT_OF_MEMORY;
    }
    return give(params->data);
}
CALL(cuptiPCSamplingGetData, get, 32)

struct cubin {
    size_t size, bytes;
    const void *image;
    uint64_t crc;
};
static int do_cuptiGetCubinCrc(struct cubin *params)
{
    params->crc = crc_of(params->image, params->bytes);
    return OK;
}
CALL(cuptiGetCubinCrc, cubin, 32)

#else

void pc_module(const struct fake_module *module)
{
    (void)module;
}

void pc_work(const struct fake_work *work)
{
    (void)work;
}

void pc_context_destroyed(void *context)
{
    (void)context;
}

#endif
