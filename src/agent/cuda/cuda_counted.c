/* Hardware counters of single kernels, by CUPTI's range profiler.
 *
 * The collector decides what is counted before the program runs: the file `counters` in the session's folder has the
 * metrics, CUPTI's configuration for them and the filter of launches. The agent only starts and stops the profiler
 * around launches, and CUPTI writes what it counted into files of that folder (images), which the collector evaluates.
 *
 * One pass needs no replay: CUPTI then gets the mode for replay of the whole program, of which this is the only run.
 * It costs 0.9 ms a kernel on an H200; kernel replay costs 28 ms a kernel even where nothing is replayed.
 *
 * Ranges carry no names, only their order. So launches that are counted take turns: a thread holds the lock from the
 * entry of its launch to its exit, which is when the kernel has ended, too. The number of ranges of an image is held
 * against the number of launches; where they differ, the image is not used.
 *
 * A launch that must not be counted (another kernel than those that were asked for, a kernel that waits for others)
 * stops the profiler first; the launch of a graph disables it, because CUPTI 13.0 loses its ranges or crashes in one.
 *
 * All of this runs in the program's threads. From CUPTI, callbacks call the range profiler, which is made for it. Of
 * CUDA they call cuCtxSynchronize(), because CUPTI 13.0 may fail to start while copies are on their way, and functions
 * that only ask. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/cupti_profiler.h"
#include "agent/core/arena_window.h"
#include "agent/core/libc_loader.h"
#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "agent/counters/launch_filter.h"
#include "cuda_agent.h"

enum { PATH_BYTES = 320, METRICS_MOST = 8192, CONTEXTS_MOST = 16 };
enum { LAUNCH_MS = 10000, END_MS = 1000 }; /* to wait for the lock: to count a launch, and at the end */
#define IMAGE_MOST_BYTES ((size_t)256 << 20)

struct counted_context {
    void *handle, *profiler;
    uint32_t device;
    uint8_t *old_image; /* its profiler may still have it, until the next configuration */
    size_t old_bytes;
};

static struct {
    _Atomic uint32_t lock;         /* a launch is being counted, or what follows is being changed */
    _Atomic uint32_t owner, turns; /* of the lock: tid of its owner, how often it was released */
    _Atomic uint32_t is_lost;      /* CUPTI's objects may be gone: they are not touched any more */
    _Atomic uint32_t is_over;      /* refused, or all is counted */
    int is_read;                   /* the file was read */
    char folder[PATH_BYTES];
    const char *chip;
    const char **metrics;
    size_t metric_count;
    const uint8_t *config;
    size_t config_bytes;
    uint32_t passes, ranges, replay;
    uint64_t until_ns; /* 0: no limit */
    struct cupti_profiler cupti;

    struct counted_context contexts[CONTEXTS_MOST];
    struct counted_context *now; /* the context of the image; NULL: there is none */
    int is_on;                   /* between Start and Stop */
    uint8_t *image;
    size_t image_bytes;
    uint32_t image_number;       /* from 1 */
    uint32_t used;               /* launches in it */
    uint64_t launches;
    uint64_t uncounted[WIRE_UNCOUNTED_CAUSES];
    _Atomic uint32_t captures;   /* streams that are being captured into graphs: nothing is started or stopped */
    struct wire_counted launch;  /* the one that is being counted */
} counters;

#define CALL(call, variable) call_cupti(CUPTI_CALL_##call, &(variable))
static int call_cupti(enum cupti_call_id call, void *arguments)
{
    return atomic_load(&counters.is_lost) ? CUPTI_RESULT_ERROR_INVALID_OPERATION
                                          : cupti_profiler_call(&counters.cupti, call, arguments);
}

/* ---- Refusals -------------------------------------------------------------------------------------------------- */

static void give_up(void)
{
    atomic_store_explicit(&counters.is_over, 1, memory_order_release);
    cuda_callbacks_changed();
}

/* Ends counting with a sentence for the user. Whoever has the lock disables the profiler. */
__attribute__((noinline)) static void refuse(const char *what, int result)
{
    char text[512] = "Kernels are not counted. ";
    small_text_add(text, sizeof text, what);
    small_text_add(text, sizeof text, result ? cuda_counters_sentence_of(result) : "");
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_COUNTERS_REFUSED, .a = (uint16_t)result, .text = text });
    give_up();
}

/* ---- The file of the collector --------------------------------------------------------------------------------- */

static int find_folder(void)
{
    const char *path = strchr(agent.session, '/');
    const char *end = path ? strrchr(path, '/') : NULL;
    if (!end || (size_t)(end - path) >= sizeof counters.folder)
        return -1;
    memcpy(counters.folder, path, (size_t)(end - path));
    return 0;
}

/* Private memory with the file in it, which may be changed; NULL: there is none. */
static char *map_file(const char *path, size_t *bytes)
{
    int file = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = file < 0 ? -1 : sys_call3(SYS_lseek, file, 0, SEEK_END);
    void *memory = length <= 0 ? NULL : sys_mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (file >= 0)
        sys_close(file);
    *bytes = length > 0 ? (size_t)length : 0;
    return memory && !sys_failed(memory) ? memory : NULL;
}

static void take_line(const char *key, const char *value)
{
    if (strcmp(key, "chip") == 0)
        counters.chip = value;
    else if (strcmp(key, "passes") == 0)
        counters.passes = (uint32_t)small_number(value);
    else if (strcmp(key, "ranges") == 0)
        counters.ranges = (uint32_t)small_number(value);
    else if (strcmp(key, "replay") == 0)
        counters.replay = strcmp(value, "application") == 0 ? CUPTI_REPLAY_APPLICATION : CUPTI_REPLAY_KERNEL;
    else if (strcmp(key, "image") == 0)
        counters.config_bytes = small_number(value);
    else if (strcmp(key, "ns") == 0)
        counters.until_ns = sys_now_ns() + small_number(value);
    else if (strcmp(key, "metric") == 0 && counters.metric_count < METRICS_MOST)
        counters.metrics[counters.metric_count++] = value;
    else
        launch_filter_add(key, value);
}

/* Lines up to an empty one, then CUPTI's configuration. */
static int read_file(void)
{
    char path[PATH_BYTES + 16] = "";
    size_t bytes = 0;

    if (find_folder() != 0)
        return -1;
    small_text_add(path, sizeof path, counters.folder);
    small_text_add(path, sizeof path, "/" WIRE_COUNTERS_FILE);
    char *at = map_file(path, &bytes), *end = at + bytes;
    counters.metrics = window_map(-1, 0, METRICS_MOST * sizeof *counters.metrics);
    if (!at || !counters.metrics)
        return -1;
    for (char *stop; at < end && *at != '\n'; at = stop + 1) {
        char *sign = memchr(at, '=', (size_t)(end - at));
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop || !sign || sign > stop)
            return -1;
        *sign = *stop = 0;
        take_line(at, sign + 1);
    }
    counters.config = (const uint8_t *)at + 1;
    return at < end && counters.config_bytes && counters.config_bytes <= (size_t)(end - at) - 1 && counters.chip &&
                   counters.metric_count && counters.ranges
               ? 0
               : -1;
}

static int read_once(void)
{
    struct cupti_profiler_initialize initialize = { 0 };

    if (counters.is_read)
        return 0;
    counters.is_read = 1;
    const char *missing = cupti_profiler_find(&counters.cupti, cuda.version, loader.dlsym, cuda.library);
    int result = missing ? 0 : CALL(profiler_initialize, initialize);
    if (cuda.version < CUPTI_VERSION_12_6 || missing)
        refuse("This needs CUPTI 12.6 or later.", 0);
    else if (result != CUPTI_RESULT_SUCCESS)
        refuse("", result);
    else if (read_file() != 0)
        refuse("The process cannot read the file of the collector in /tmp.", 0);
    else
        return 0;
    loader.dlerror(); /* the program must not see this error */
    return -1;
}

/* ---- Images ---------------------------------------------------------------------------------------------------- */

/* The file of the next image, whose number no other process of this pid has used; negative: there is none. */
__attribute__((noinline)) static int new_file(void)
{
    enum { ATTEMPTS = 64 };
    int file = -EEXIST;

    for (int i = 0; i < ATTEMPTS && file == -EEXIST; i++) {
        char path[PATH_BYTES + 64] = "";
        small_text_add(path, sizeof path, counters.folder);
        small_text_add(path, sizeof path, "/" WIRE_COUNTERS_FILE "-");
        small_text_add_number(path, sizeof path, agent.pid);
        small_text_add(path, sizeof path, "-");
        small_text_add_number(path, sizeof path, ++counters.image_number);
        file = (int)sys_call6(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0, 0);
    }
    return file;
}

/* A file of this size, mapped. Its blocks are there: in a hole of a full disk a write would kill the program. */
static uint8_t *new_image(size_t bytes)
{
    int file = new_file();
    if (file < 0)
        return NULL;
    void *memory = sys_call6(SYS_fallocate, file, 0, 0, (long)bytes, 0, 0) == 0
                       ? sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : NULL;
    sys_close(file);
    return memory && !sys_failed(memory) ? memory : NULL;
}

/* Fewer ranges where the image would become too large. */
static int image_size(struct counted_context *context, size_t *bytes)
{
    int result;
    for (;; counters.ranges /= 2) {
        struct cupti_range_data_size size = { .profiler = context->profiler,
                                              .names = counters.metrics,
                                              .count = counters.metric_count,
                                              .ranges = counters.ranges,
                                              .nodes = counters.ranges };
        result = CALL(range_data_size, size);
        *bytes = size.bytes;
        if (result != CUPTI_RESULT_SUCCESS || size.bytes <= IMAGE_MOST_BYTES || counters.ranges <= 1)
            return result;
    }
}

static void drop_old_image(struct counted_context *context)
{
    if (context->old_image)
        sys_munmap(context->old_image, context->old_bytes);
    context->old_image = NULL;
}

static int begin_image(struct counted_context *context)
{
    size_t bytes = 0;
    int result = image_size(context, &bytes);

    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    uint8_t *image = new_image(bytes);
    if (!image)
        return CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    struct cupti_range_data_initialize empty = { .profiler = context->profiler, .bytes = bytes, .data = image };
    struct cupti_range_config config = { .profiler = context->profiler,
                                         .config_bytes = counters.config_bytes,
                                         .config = counters.config,
                                         .data_bytes = bytes,
                                         .data = image,
                                         .range = CUPTI_RANGE_AUTO,
                                         .replay = counters.replay,
                                         .ranges = counters.ranges,
                                         .nesting_levels = 1,
                                         .nesting_least = 1 };
    result = CALL(range_data_initialize, empty);
    if (result == CUPTI_RESULT_SUCCESS)
        result = CALL(range_config, config);
    drop_old_image(context);
    counters.image = image;
    counters.image_bytes = bytes;
    counters.used = 0;
    counters.now = context;
    return result;
}

/* Waits for all work of the context, which has no captures. The program did not make this call. */
static void wait_for(void *context)
{
    struct agent_thread *self = agent_self;
    void *popped;

    if (atomic_load(&counters.is_lost) || !cuda.driver.cuCtxPushCurrent_v2 || !cuda.driver.cuCtxPopCurrent_v2 ||
        !cuda.driver.cuCtxSynchronize)
        return;
    agent_self = AGENT_HIDDEN_THREAD;
    if (cuda.driver.cuCtxPushCurrent_v2(context) == 0) {
        cuda.driver.cuCtxSynchronize();
        cuda.driver.cuCtxPopCurrent_v2(&popped);
    }
    agent_self = self;
}

static int start(void)
{
    struct cupti_range_start begin = { .profiler = counters.now->profiler };
    if (!counters.is_on)
        wait_for(counters.now->handle);
    int result = counters.is_on ? CUPTI_RESULT_SUCCESS : CALL(range_start, begin);
    counters.is_on |= result == CUPTI_RESULT_SUCCESS;
    return result;
}

static int stop(void)
{
    struct cupti_range_stop end = { .profiler = counters.now ? counters.now->profiler : NULL };
    if (counters.is_on)
        wait_for(counters.now->handle);
    int result = counters.is_on ? CALL(range_stop, end) : CUPTI_RESULT_SUCCESS;
    counters.is_on = 0;
    return result;
}

/* Stops, and tells the collector how many ranges the image has. */
static void end_image(void)
{
    if (!counters.now)
        return;
    int result = stop();
    struct cupti_range_decode decode = { .profiler = counters.now->profiler };
    struct cupti_range_data_info info = { .data = counters.image, .data_bytes = counters.image_bytes };
    if (result == CUPTI_RESULT_SUCCESS && counters.used)
        result = CALL(range_decode, decode);
    if (result == CUPTI_RESULT_SUCCESS && counters.used)
        result = CALL(range_data_info, info);
    uint64_t words[] = { (uint64_t)counters.image_number << 32 | counters.used,
                         (uint64_t)info.ranges << 32 | (uint32_t)decode.dropped };
    cuda_emit(&(struct cuda_note){
        .type = WIRE_CUDA_COUNTERS_IMAGE, .a = (uint16_t)result, .words = words, .word_count = 2 });
    counters.now->old_image = counters.image;
    counters.now->old_bytes = counters.image_bytes;
    counters.image = NULL;
    counters.now = NULL;
    if (result != CUPTI_RESULT_SUCCESS)
        refuse("", result);
}

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

static struct counted_context *enable_context(void *handle)
{
    struct counted_context *free_slot = NULL;
    for (size_t i = 0; i < CONTEXTS_MOST; i++) {
        if (counters.contexts[i].handle == handle)
            return &counters.contexts[i];
        if (!counters.contexts[i].handle && !free_slot)
            free_slot = &counters.contexts[i];
    }
    struct cupti_range_enable enable = { .context = handle };
    uint32_t device = 0;
    cuda.cupti.cuptiGetDeviceId(handle, &device);
    struct cupti_chip_name chip = { .device = device };
    int result = free_slot ? CALL(chip_name, chip) : CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
    if (result == CUPTI_RESULT_SUCCESS && (!chip.name || strcmp(chip.name, counters.chip) != 0)) {
        refuse("The counters were chosen for another chip than that of the program's GPU.", 0);
        return NULL;
    }
    if (result == CUPTI_RESULT_SUCCESS)
        result = CALL(range_enable, enable);
    if (result != CUPTI_RESULT_SUCCESS) {
        refuse("", result);
        return NULL;
    }
    *free_slot = (struct counted_context){ .handle = handle, .profiler = enable.profiler, .device = device };
    return free_slot;
}

static void disable_context(struct counted_context *context)
{
    struct cupti_range_disable disable = { .profiler = context->profiler };
    if (counters.now == context)
        end_image();
    CALL(range_disable, disable);
    drop_old_image(context);
    *context = (struct counted_context){ 0 };
}

static void disable_all(void)
{
    for (size_t i = 0; i < CONTEXTS_MOST; i++)
        if (counters.contexts[i].handle)
            disable_context(&counters.contexts[i]);
}

/* ---- Launches -------------------------------------------------------------------------------------------------- */

static int take_lock(int patience_ms)
{
    if (!cuda_lock_within(&counters.lock, patience_ms))
        return 0;
    atomic_store_explicit(&counters.owner, (uint32_t)sys_gettid(), memory_order_relaxed);
    return 1;
}

/* Waits as long as others take their turns, and then so long for one of them. */
static int take_turn(void)
{
    uint32_t turns;
    do {
        turns = atomic_load(&counters.turns);
        if (take_lock(LAUNCH_MS))
            return 1;
    } while (atomic_load(&counters.turns) != turns);
    return 0;
}

static void release_lock(void)
{
    atomic_store_explicit(&counters.owner, 0, memory_order_relaxed);
    atomic_fetch_add(&counters.turns, 1);
    atomic_store_explicit(&counters.lock, 0, memory_order_release);
}

/* This thread is in a launch that is being counted, and ends, or runs a signal handler, before the launch does. */
static int is_owner(void)
{
    return atomic_load_explicit(&counters.owner, memory_order_relaxed) == (uint32_t)sys_gettid();
}

int counters_are_wanted(void)
{
    return (cuda.settings.flags & WIRE_CUDA_COUNTERS) && !atomic_load_explicit(&counters.is_over, memory_order_acquire);
}

/* What the call launches. */
struct launched {
    void *function, *stream;
    const uint32_t *sizes;
    uint32_t shared_bytes;
    uint8_t is_cooperative;
};

static uint8_t is_cooperative(const struct cuda_launch_config *config)
{
    enum { ATTRIBUTES_MOST = 64 };
    for (uint32_t i = 0; config->attributes && i < config->attribute_count && i < ATTRIBUTES_MOST; i++)
        if (config->attributes[i].id == CUDA_ATTRIBUTE_COOPERATIVE && config->attributes[i].value)
            return 1;
    return 0;
}

static int launched_by(enum cuda_launch_kind kind, const void *parameters, struct launched *launched)
{
    const struct cuda_launch_parameters *plain = parameters;
    const struct cuda_launch_ex_parameters *extended = parameters;

    if (!parameters || (kind == CUDA_LAUNCH_EX && !extended->config))
        return -1;
    if (kind == CUDA_LAUNCH_EX)
        *launched = (struct launched){ extended->function, extended->config->stream, extended->config->sizes,
                                       extended->config->shared_bytes, is_cooperative(extended->config) };
    else
        *launched = (struct launched){ plain->function, plain->stream, plain->sizes, plain->shared_bytes, 0 };
    return 0;
}

static uint32_t attribute_of(void *function, enum cuda_function_attribute attribute)
{
    int value = 0;
    return cuda.driver.cuFuncGetAttribute && cuda.driver.cuFuncGetAttribute(&value, (int)attribute, function) == 0 &&
                   value > 0
               ? (uint32_t)value
               : 0;
}

static void note_launch(const struct launched *launched, const struct counted_launch *launch,
                        const struct cupti_call *call)
{
    counters.launch = (struct wire_counted){ .correlation = call->correlation_id,
                                             .device = launch->device,
                                             .stream = launch->stream_id,
                                             .context = call->context_id,
                                             .name = (uintptr_t)call->symbol,
                                             .shared_bytes = launched->shared_bytes };
    memcpy(counters.launch.grid, launched->sizes, sizeof counters.launch.grid);
    memcpy(counters.launch.block, launched->sizes + 3, sizeof counters.launch.block);
    struct agent_thread *self = agent_self;
    agent_self = AGENT_HIDDEN_THREAD; /* the program does not ask for these */
    counters.launch.registers = attribute_of(launched->function, CUDA_FUNCTION_REGISTERS);
    counters.launch.fixed_bytes = attribute_of(launched->function, CUDA_FUNCTION_SHARED_BYTES);
    counters.launch.local_bytes = attribute_of(launched->function, CUDA_FUNCTION_LOCAL_BYTES);
    agent_self = self;
    cuda_name_text(call->symbol);
}

/* Why this launch is not counted; WIRE_UNCOUNTED_CAUSES: it is. */
static enum wire_uncounted cause_of(enum cuda_launch_kind kind, const struct cupti_call *call)
{
    struct launched launched;

    if (kind == CUDA_LAUNCH_GRAPH)
        return WIRE_UNCOUNTED_GRAPH;
    if (counters.captures)
        return WIRE_UNCOUNTED_CAPTURED;
    if (!call->context || !call->symbol || launched_by(kind, call->parameters, &launched) != 0)
        return WIRE_UNCOUNTED_FILTER;
    struct counted_launch launch = { .symbol = call->symbol,
                                     .context_id = call->context_id,
                                     .is_cooperative = kind == CUDA_LAUNCH_COOPERATIVE || launched.is_cooperative };
    cuda.cupti.cuptiGetDeviceId(call->context, &launch.device);
    cuda.cupti.cuptiGetStreamIdEx(call->context, launched.stream, 0, &launch.stream_id);
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = launched.sizes[i];
        launch.block[i] = launched.sizes[i + 3];
    }
    if (!launch_filter_wants(&launch))
        return WIRE_UNCOUNTED_FILTER;
    note_launch(&launched, &launch, call);
    return WIRE_UNCOUNTED_CAUSES;
}

/* Bytes that the machine can give to a program; UINT64_MAX: not known. */
__attribute__((noinline)) static uint64_t host_memory(void)
{
    char text[512];
    int file = sys_openat(AT_FDCWD, "/proc/meminfo", O_RDONLY | O_CLOEXEC);
    long length = file < 0 ? -1 : sys_read(file, text, sizeof text - 1);
    if (file >= 0)
        sys_close(file);
    text[length > 0 ? length : 0] = 0;
    const char *line = strstr(text, "MemAvailable:");
    return line ? small_number(line + strlen("MemAvailable:") + strspn(line + strlen("MemAvailable:"), " ")) * 1024
                : UINT64_MAX;
}

/* To replay a kernel CUPTI keeps a copy of all memory that the program has on the GPU: there, or else on the host. */
static int has_room_for_copy(void)
{
    size_t free_bytes = 0, all = 0;
    if (counters.replay != CUPTI_REPLAY_KERNEL || counters.passes <= 1 || !cuda.driver.cuMemGetInfo_v2 ||
        cuda.driver.cuMemGetInfo_v2(&free_bytes, &all) != 0 || all - free_bytes <= free_bytes)
        return 1;
    return all - free_bytes < host_memory() / 2;
}

/* Before the launch where CUPTI writes a record of the kernel, so that the collector knows it first; else after it,
 * when it is known to have run. */
static void tell_launch(void)
{
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_COUNTED,
                                   .a = (uint16_t)counters.passes,
                                   .words = (const uint64_t *)&counters.launch,
                                   .word_count = sizeof counters.launch / sizeof(uint64_t) });
}

static int start_image(void *handle)
{
    struct counted_context *context = enable_context(handle);
    if (!context)
        return -1;
    if (counters.now && counters.now != context)
        end_image();
    int result = counters.now ? CUPTI_RESULT_SUCCESS : begin_image(context);
    if (result == CUPTI_RESULT_SUCCESS)
        result = start();
    if (result != CUPTI_RESULT_SUCCESS)
        refuse("", result);
    return result == CUPTI_RESULT_SUCCESS ? 0 : -1;
}

/* 1: the launch that follows will be counted. */
static int prepare(void *handle)
{
    int has_room = has_room_for_copy();
    if (!has_room)
        refuse("CUPTI must copy all GPU memory that is in use to replay a kernel, and neither the GPU nor the host has "
               "room for the copy. Use metrics that need one pass (light).",
               0);
    if (!has_room || start_image(handle) != 0) {
        disable_all();
        return 0;
    }
    counters.launch.image = counters.image_number;
    counters.launch.range = counters.used;
    counters.launch.number = counters.launches;
    if (counters.replay != CUPTI_REPLAY_KERNEL)
        tell_launch();
    return 1;
}

static int is_late(void)
{
    return counters.until_ns && sys_now_ns() > counters.until_ns;
}

/* Leaves the launch alone: what counts others must not see it. Of a graph it must not even be enabled. */
static void step_aside(enum cuda_launch_kind kind, enum wire_uncounted cause)
{
    counters.uncounted[cause]++;
    if (counters.captures)
        return;
    if (kind == CUDA_LAUNCH_GRAPH || cause == WIRE_UNCOUNTED_LATE)
        disable_all();
    else
        stop();
    if (cause == WIRE_UNCOUNTED_LATE)
        give_up();
}

/* Signals of the program wait: their handlers may launch. */
void counters_enter(enum cuda_launch_kind kind, const struct cupti_call *call)
{
    struct agent_thread *thread = kind == CUDA_LAUNCH_CAPTURE_END ? NULL : agent_enter(WIRE_BIT(CUDA));
    if (!thread || !counters_are_wanted() || cuda_of(thread)->counted)
        return;
    if (!take_turn()) {
        refuse("A kernel did not end within ten seconds of being counted.", 0);
        return;
    }
    sigset_t before;
    cuda_block_signals(&before);
    int is_counted = 0;
    if (counters_are_wanted() && read_once() == 0) {
        enum wire_uncounted cause = kind == CUDA_LAUNCH_CAPTURE_BEGIN ? WIRE_UNCOUNTED_CAPTURED
                                    : is_late()                       ? WIRE_UNCOUNTED_LATE
                                                                      : cause_of(kind, call);
        if (kind == CUDA_LAUNCH_CAPTURE_BEGIN) {
            disable_all();
            atomic_fetch_add(&counters.captures, 1); /* taken back at the exit if the call fails */
        } else if (cause != WIRE_UNCOUNTED_CAUSES)
            step_aside(kind, cause);
        else
            is_counted = prepare(call->context);
    }
    cuda_restore_signals(&before);
    if (is_counted)
        cuda_of(thread)->counted = call->correlation_id;
    else
        release_lock();
}

static void leave_launch(int has_run)
{
    sigset_t before;
    cuda_block_signals(&before);
    counters.used += has_run;
    counters.launches += has_run;
    if (has_run && counters.replay == CUPTI_REPLAY_KERNEL)
        tell_launch();
    int is_over = launch_filter_is_over() || is_late() || !counters_are_wanted();
    if (is_over)
        disable_all();
    else if (counters.used == counters.ranges)
        end_image();
    cuda_restore_signals(&before);
    release_lock();
    if (is_over)
        give_up();
}

/* Also one that had become invalid; other failures end no capture. */
static int has_ended_capture(const struct cupti_call *call)
{
    int result = call->result ? *(const int *)call->result : -1;
    return result == 0 || result == CUDA_ERROR_CAPTURE_INVALIDATED || result == CUDA_ERROR_CAPTURE_UNJOINED;
}

static void end_capture(void)
{
    uint32_t captures = atomic_load(&counters.captures);
    while (captures && !atomic_compare_exchange_weak(&counters.captures, &captures, captures - 1))
        ;
}

void counters_leave(enum cuda_launch_kind kind, const struct cupti_call *call)
{
    int is_success = call->result && *(const int *)call->result == 0;

    if ((kind == CUDA_LAUNCH_CAPTURE_BEGIN && !is_success) ||
        (kind == CUDA_LAUNCH_CAPTURE_END && has_ended_capture(call)))
        end_capture();
    struct agent_thread *thread = agent_self;
    if (!agent_is_thread(thread) || !cuda_of(thread)->counted || cuda_of(thread)->counted != call->correlation_id)
        return;
    cuda_of(thread)->counted = 0;
    leave_launch(is_success);
}

enum counters_hold counters_hold(int patience_ms)
{
    if (!(cuda.settings.flags & WIRE_CUDA_COUNTERS))
        return COUNTERS_IDLE;
    return !is_owner() && take_lock(patience_ms) ? COUNTERS_HELD : COUNTERS_BUSY;
}

void counters_release(void)
{
    release_lock();
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

void counters_context_ends(void *handle)
{
    if (!(cuda.settings.flags & WIRE_CUDA_COUNTERS) || is_owner())
        return;
    if (!take_lock(END_MS)) {
        atomic_store(&counters.is_lost, 1);
        give_up();
        return;
    }
    for (size_t i = 0; i < CONTEXTS_MOST; i++)
        if (handle && counters.contexts[i].handle == handle)
            disable_context(&counters.contexts[i]);
    release_lock();
}

void counters_finish(void)
{
    if (!(cuda.settings.flags & WIRE_CUDA_COUNTERS) || is_owner() || !take_lock(END_MS))
        return;
    disable_all();
    uint64_t all = 0;
    for (size_t i = 0; i < WIRE_UNCOUNTED_CAUSES; i++)
        all += counters.uncounted[i];
    if (all)
        cuda_emit(&(struct cuda_note){
            .type = WIRE_CUDA_UNCOUNTED, .words = counters.uncounted, .word_count = WIRE_UNCOUNTED_CAUSES });
    memset(counters.uncounted, 0, sizeof counters.uncounted);
    release_lock();
}
