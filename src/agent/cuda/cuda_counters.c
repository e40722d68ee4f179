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
 * stops the profiler first, if it counts in the same context; else it does not wait, because a kernel that is being
 * counted on another GPU may wait for this one. The launch of a graph disables the profiler, because CUPTI 13.0 loses
 * its ranges or crashes in one.
 *
 * A launch may never return: its thread ends, or a signal handler jumps out of it. Whoever wants the lock next sees
 * that the owner is gone, or that it launches again from a frame that is not inside the first, and ends the image. A
 * thread with the tid of the owner that started after the lock was taken is another one.
 *
 * All of this runs in the program's threads. From CUPTI, callbacks call the range profiler, which is made for it. Of
 * CUDA they call cuCtxSynchronize(), because CUPTI 13.0 may fail to start while copies are on their way, and functions
 * that only ask. */
#include "cuda_counters.h"

#include <fcntl.h>

#include "agent/core/libc_loader.h"
#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "agent/counters/launch_filter.h"
#include "agent/nvtx/nvtx_launch.h"

enum { LAUNCH_MS = 10000, END_MS = 1000 }; /* to wait for the lock: to count a launch, and at the end */

struct cuda_counters counters;

/* ---- Refusals -------------------------------------------------------------------------------------------------- */

void counters_give_up(void)
{
    atomic_store_explicit(&counters.is_over, 1, memory_order_release);
    cuda_callbacks_changed();
}

/* Ends counting with a sentence for the user. Whoever has the lock disables the profiler. */
__attribute__((noinline)) void counters_refuse(const char *what, int result)
{
    char text[512] = "Kernels are not counted. ";
    small_text_add(text, sizeof text, what);
    small_text_add(text, sizeof text, result ? cuda_counters_sentence_of(result) : "");
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_COUNTERS_REFUSED, .a = (uint16_t)result, .text = text });
    counters_give_up();
}

int counters_are_wanted(void)
{
    return (cuda.settings.flags & WIRE_CUDA_COUNTERS) && !atomic_load_explicit(&counters.is_over, memory_order_acquire);
}

static int has_any_context(void)
{
    for (size_t i = 0; i < COUNTERS_CONTEXTS_MOST; i++)
        if (atomic_load(&counters.contexts[i].handle))
            return 1;
    return 0;
}

/* True if the profiler is enabled in some context, or a launch that has the lock may be about to enable it. */
static int may_be_enabled(void)
{
    return !atomic_load(&counters.is_lost) && (atomic_load(&counters.is_launching) || has_any_context());
}

/* After a refusal the profiler stays enabled until the lock's owner has disabled it. */
int counters_are_in_use(void)
{
    return (cuda.settings.flags & WIRE_CUDA_COUNTERS) && (counters_are_wanted() || may_be_enabled());
}

static int may_count(void)
{
    return counters_are_wanted() && agent_attached() && agent_recording(WIRE_BIT(CUDA));
}

static int cuda_counters_read_once(void)
{
    struct cupti_profiler_initialize initialize = { 0 };

    if (counters.is_read)
        return counters_are_wanted() ? 0 : -1;
    counters.is_read = 1;
    const char *missing = cupti_profiler_find(&counters.cupti, cuda.version, loader.dlsym, cuda.library);
    int result = missing ? 0 : COUNTERS_CALL(profiler_initialize, initialize);
    if (cuda.version < CUPTI_VERSION_12_6 || missing)
        counters_refuse("This needs CUPTI 12.6 or later.", 0);
    else if (result != CUPTI_RESULT_SUCCESS)
        counters_refuse("", result);
    else if (counters_read_config() != 0)
        counters_refuse("The process cannot read the file of the collector in /tmp.", 0);
    else
        return 0;
    loader.dlerror(); /* the program must not see this error */
    return -1;
}

static int is_late(void)
{
    return counters.config.until_ns && sys_now_ns() > counters.config.until_ns;
}

/* ---- The lock -------------------------------------------------------------------------------------------------- */

/* The owner word of the calling thread: its tid, and above it the time since boot in units of 10 ms. */
static uint64_t new_owner(void)
{
    return sys_clock_ns(CLOCK_BOOTTIME) / 10000000 << 32 | (uint32_t)sys_gettid();
}

/* A thread that counts no launch has the tid of an owner that ended. */
static int is_owner(void)
{
    struct agent_thread *thread = agent_self;
    return (uint32_t)atomic_load_explicit(&counters.owner, memory_order_relaxed) == (uint32_t)sys_gettid() &&
           (!agent_is_thread(thread) || cuda_of(thread)->counted);
}

/* True if its thread has ended; another thread that started later may have its tid. */
__attribute__((noinline)) static int is_gone(uint64_t owner)
{
    enum { START = 19, LONG_TICKS = 10 }; /* most launches take less than LONG_TICKS */
    char path[64] = "/proc/self/task/";

    if (sys_call3(SYS_tgkill, agent.pid, (uint32_t)owner, 0) == -ESRCH)
        return 1;
    if ((uint32_t)(new_owner() >> 32) - (uint32_t)(owner >> 32) < LONG_TICKS)
        return 0;
    small_text_add_number(path, sizeof path, (uint32_t)owner);
    small_text_add(path, sizeof path, "/stat");
    /* /proc may be that of another pid namespace */
    int is_own = (uint32_t)owner == (uint32_t)sys_gettid();
    uint64_t start = cuda_stat_number(is_own ? "/proc/thread-self/stat" : path, START, NULL);
    return start && (int32_t)((uint32_t)start - (uint32_t)(owner >> 32)) > 0;
}

/* The launch that was being counted will not return. Whether its kernel ran is not known: if it did not, the image has
 * one range less than launches and is not used. */
static void abandon_launch(void)
{
    counters.used++;
    counters.launches++;
    atomic_fetch_sub(&counters.chosen, 1);
    counters_end_image();
}

/* Takes the lock of a thread that has ended. */
static int take_over(void)
{
    uint64_t owner = atomic_load(&counters.owner);
    if (!owner || !is_gone(owner) || !atomic_compare_exchange_strong(&counters.owner, &owner, new_owner()))
        return 0;
    abandon_launch();
    return 1;
}

static int try_lock(void)
{
    if (!cuda_lock_within(&counters.lock, 0))
        return take_over();
    atomic_store(&counters.owner, new_owner());
    return 1;
}

/* Takes the lock and blocks the program's signals: their handlers may launch. To count a launch, waits while other
 * threads take turns, then up to patience_ms for one of them. */
static int cuda_counters_take_lock(int patience_ms, sigset_t *before)
{
    uint32_t turns = atomic_load(&counters.turns);
    for (int waited = 0;; waited++) {
        cuda_block_signals(before);
        if (try_lock())
            return 1;
        cuda_restore_signals(before);
        if (patience_ms == LAUNCH_MS && atomic_load(&counters.turns) != turns) {
            turns = atomic_load(&counters.turns);
            waited = 0;
        }
        if (waited >= patience_ms)
            return 0;
        sys_nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

static void release_lock(void)
{
    atomic_store(&counters.is_launching, 0);
    atomic_store(&counters.in_vain, 0);
    atomic_store_explicit(&counters.owner, 0, memory_order_relaxed);
    atomic_fetch_add(&counters.turns, 1);
    atomic_store_explicit(&counters.lock, 0, memory_order_release);
}

/* A profiler that counts no more must not stay enabled: the next graph might crash in it. Launches call back until it
 * is disabled. */
static void end_turn(const sigset_t *before)
{
    if (!may_count())
        counters_disable_all();
    release_lock();
    if (!counters_are_wanted())
        cuda_callbacks_changed();
    cuda_restore_signals(before);
}

/* Once somebody has waited for a turn in vain, nobody waits for the same turn again. */
static int cuda_counters_take_turn(sigset_t *before)
{
    if (cuda_counters_take_lock(atomic_load(&counters.in_vain) ? 0 : LAUNCH_MS, before))
        return 1;
    atomic_store(&counters.in_vain, 1);
    if (counters_are_wanted())
        counters_refuse("A kernel did not end within ten seconds of being counted.", 0);
    return 0;
}

/* The frame of a callback, to tell whether a later one is made inside of the same call. */
#define FRAME() ((uintptr_t)__builtin_frame_address(0))

/* True if a callback with this frame is not made inside of the launch that the thread has entered: that is gone. */
static int is_left_behind(uintptr_t frame)
{
    stack_t stack = { 0 };
    int is_handler = sys_sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
    return !is_handler && frame >= counters.frame;
}

/* True if this thread is in a launch that is being counted: it runs a signal handler, or ends, before the launch does.
 * A launch that was left is given up. */
static int is_inside_launch(uintptr_t frame)
{
    struct agent_thread *thread = agent_self;
    sigset_t before;

    if (!is_owner())
        return 0;
    if (!agent_is_thread(thread) || !is_left_behind(frame))
        return 1;
    cuda_block_signals(&before);
    cuda_of(thread)->counted = 0;
    abandon_launch();
    end_turn(&before);
    return 0;
}

/* ---- Which launches -------------------------------------------------------------------------------------------- */

/* What the call launches. */
struct cuda_counters_launched {
    void *function, *stream;
    const uint32_t *sizes;
    uint32_t shared_bytes;
    uint8_t is_cooperative;
    struct counted_launch filtered;
};

static uint8_t is_cooperative(const struct cuda_launch_config *config)
{
    enum { ATTRIBUTES_MOST = 64 };
    for (uint32_t i = 0; config->attributes && i < config->attribute_count && i < ATTRIBUTES_MOST; i++)
        if (config->attributes[i].id == CUDA_ATTRIBUTE_COOPERATIVE && config->attributes[i].value)
            return 1;
    return 0;
}

static int read_launch(enum cuda_launch_kind kind, const void *parameters, struct cuda_counters_launched *launched)
{
    const struct cuda_launch_parameters *plain = parameters;
    const struct cuda_launch_ex_parameters *extended = parameters;

    if (!parameters || (kind == CUDA_LAUNCH_EX && !extended->config))
        return -1;
    if (kind == CUDA_LAUNCH_EX)
        *launched = (struct cuda_counters_launched){ .function = extended->function,
                                                     .stream = extended->config->stream,
                                                     .sizes = extended->config->sizes,
                                                     .shared_bytes = extended->config->shared_bytes,
                                                     .is_cooperative = is_cooperative(extended->config) };
    else
        *launched = (struct cuda_counters_launched){ .function = plain->function,
                                                     .stream = plain->stream,
                                                     .sizes = plain->sizes,
                                                     .shared_bytes = plain->shared_bytes,
                                                     .is_cooperative = kind == CUDA_LAUNCH_COOPERATIVE };
    return 0;
}

/* Counters are chosen for one chip. */
static uint8_t has_other_chip(uint32_t device)
{
    enum { UNKNOWN, SAME, OTHER, DEVICES_MOST = 64 };
    static uint8_t known[DEVICES_MOST];
    struct cupti_chip_name chip = { .device = device };
    uint8_t answer = device < DEVICES_MOST ? known[device] : UNKNOWN;

    if (answer == UNKNOWN)
        answer = COUNTERS_CALL(chip_name, chip) == CUPTI_RESULT_SUCCESS && chip.name &&
                         strcmp(chip.name, counters.config.chip) != 0
                     ? OTHER
                     : SAME;
    if (device < DEVICES_MOST)
        known[device] = answer;
    return answer == OTHER;
}

/* Why this launch is not counted; WIRE_UNCOUNTED_CAUSES: it is. */
static enum wire_uncounted cuda_counters_cause_of(enum cuda_launch_kind kind, const struct cupti_call *call,
                                                  struct cuda_counters_launched *launched)
{
    static const enum wire_uncounted causes[] = { [LAUNCH_UNWANTED] = WIRE_UNCOUNTED_FILTER,
                                                  [LAUNCH_WANTED] = WIRE_UNCOUNTED_CAUSES,
                                                  [LAUNCH_COLLECTIVE] = WIRE_UNCOUNTED_COLLECTIVE,
                                                  [LAUNCH_OTHER_CHIP] = WIRE_UNCOUNTED_CHIP };
    struct counted_launch *launch = &launched->filtered;

    if (kind == CUDA_LAUNCH_GRAPH)
        return WIRE_UNCOUNTED_GRAPH;
    if (atomic_load(&counters.captures))
        return WIRE_UNCOUNTED_CAPTURED;
    if (!call->context || !call->symbol || read_launch(kind, call->parameters, launched) != 0)
        return WIRE_UNCOUNTED_FILTER;
    if (!nvtx_launch_is_wanted(agent_self))
        return WIRE_UNCOUNTED_FILTER;
    *launch = (struct counted_launch){ .symbol = call->symbol,
                                       .context_id = call->context_id,
                                       .is_cooperative = launched->is_cooperative };
    cuda.cupti.cuptiGetDeviceId(call->context, &launch->device);
    launch->has_other_chip = has_other_chip(launch->device);
    cuda.cupti.cuptiGetStreamIdEx(call->context, launched->stream, 0, &launch->stream_id);
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = launched->sizes[i];
        launch->block[i] = launched->sizes[i + 3];
    }
    return causes[launch_filter_ask(launch)];
}

static enum wire_uncounted cuda_counters_choose(enum cuda_launch_kind kind, const struct cupti_call *call,
                                                struct cuda_counters_launched *launched)
{
    enum wire_uncounted cause = WIRE_UNCOUNTED_FILTER;
    sigset_t before;

    cuda_block_signals(&before);
    if (cuda_lock_within(&counters.choosing, LAUNCH_MS)) {
        if (cuda_counters_read_once() == 0) {
            cause = is_late() ? WIRE_UNCOUNTED_LATE : cuda_counters_cause_of(kind, call, launched);
            if (cause == WIRE_UNCOUNTED_CAUSES)
                atomic_fetch_add(&counters.chosen, 1);
            else
                counters.uncounted[cause]++;
        }
        atomic_store_explicit(&counters.choosing, 0, memory_order_release);
    }
    cuda_restore_signals(&before);
    return cause;
}

/* True once the filter wants no launch any more, and all that it wanted have been counted. */
static int is_filter_over(void)
{
    if (!cuda_lock_within(&counters.choosing, LAUNCH_MS))
        return 0;
    int is_over = launch_filter_is_over() && !atomic_load(&counters.chosen);
    atomic_store_explicit(&counters.choosing, 0, memory_order_release);
    return is_over;
}

/* ---- A launch that is counted ---------------------------------------------------------------------------------- */

/* What a launch names is a function, or, from a runtime since 12.0 on, a kernel: each call takes only one of them. */
static uint32_t attribute_of(const struct cuda_counters_launched *launched, enum cuda_function_attribute attribute)
{
    int value = 0;
    int is_known = cuda.driver.cuFuncGetAttribute &&
                   cuda.driver.cuFuncGetAttribute(&value, (int)attribute, launched->function) == 0;
    if (!is_known && cuda.driver.cuKernelGetAttribute)
        is_known = cuda.driver.cuKernelGetAttribute(&value, (int)attribute, launched->function,
                                                    (int)launched->filtered.device) == 0;
    return is_known && value > 0 ? (uint32_t)value : 0;
}

static void note_launch(const struct cuda_counters_launched *launched, const struct cupti_call *call)
{
    counters.launch = (struct wire_counted){ .correlation = call->correlation_id,
                                             .device = launched->filtered.device,
                                             .stream = launched->filtered.stream_id,
                                             .context = call->context_id,
                                             .name = (uintptr_t)call->symbol,
                                             .shared_bytes = launched->shared_bytes,
                                             .image = counters.image_number,
                                             .range = counters.used,
                                             .number = counters.launches };
    memcpy(counters.launch.grid, launched->sizes, sizeof counters.launch.grid);
    memcpy(counters.launch.block, launched->sizes + 3, sizeof counters.launch.block);
    struct agent_thread *self = agent_self;
    agent_self = AGENT_HIDDEN_THREAD; /* the program does not ask for these */
    counters.launch.registers = attribute_of(launched, CUDA_FUNCTION_REGISTERS);
    counters.launch.fixed_bytes = attribute_of(launched, CUDA_FUNCTION_SHARED_BYTES);
    counters.launch.local_bytes = attribute_of(launched, CUDA_FUNCTION_LOCAL_BYTES);
    agent_self = self;
    cuda_name_text(call->symbol);
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
    struct agent_thread *self = agent_self;
    size_t free_bytes = 0, all = 0;
    if (counters.config.replay != CUPTI_REPLAY_KERNEL || counters.config.passes <= 1 || !cuda.driver.cuMemGetInfo_v2)
        return 1;
    agent_self = AGENT_HIDDEN_THREAD; /* the program does not ask for this */
    int result = cuda.driver.cuMemGetInfo_v2(&free_bytes, &all);
    agent_self = self;
    return result != 0 || all - free_bytes <= free_bytes || all - free_bytes < host_memory() / 2;
}

/* Before the launch where CUPTI writes a record of the kernel, so that the collector knows it first; else after it,
 * when it is known to have run. */
static void tell_launch(void)
{
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_COUNTED,
                                   .a = (uint16_t)counters.config.passes,
                                   .words = (const uint64_t *)&counters.launch,
                                   .word_count = sizeof counters.launch / sizeof(uint64_t) });
}

/* 1: the launch that follows will be counted. */
static int cuda_counters_prepare(const struct cuda_counters_launched *launched, const struct cupti_call *call)
{
    int has_room = has_room_for_copy();
    if (!has_room)
        counters_refuse("CUPTI must copy all GPU memory that is in use to replay a kernel, and neither the GPU nor the "
                        "host has room for the copy. Use metrics that need one pass (light).",
                        0);
    if (!has_room || counters_start(call->context) != 0)
        return 0;
    note_launch(launched, call);
    if (counters.config.replay != CUPTI_REPLAY_KERNEL)
        tell_launch();
    return 1;
}

static void leave_launch(int has_run)
{
    sigset_t before;
    cuda_block_signals(&before);
    counters.used += has_run;
    counters.launches += has_run;
    if (has_run && counters.config.replay == CUPTI_REPLAY_KERNEL)
        tell_launch();
    atomic_fetch_sub(&counters.chosen, 1);
    int is_over = is_filter_over() || is_late();
    if (is_over)
        counters_disable_all();
    else if (counters.used == counters.config.ranges)
        counters_end_image();
    end_turn(&before);
    if (is_over)
        counters_give_up();
}

/* ---- Launches that are not counted ----------------------------------------------------------------------------- */

/* Leaves the launch alone: what counts others must not see it. Of a graph it must not even be enabled. */
static void step_aside(enum cuda_launch_kind kind, const void *context, enum wire_uncounted cause)
{
    int is_all = kind == CUDA_LAUNCH_GRAPH || cause == WIRE_UNCOUNTED_LATE;
    sigset_t before;

    if (cause == WIRE_UNCOUNTED_LATE)
        counters_give_up();
    if (atomic_load(&counters.captures) ||
        !(is_all ? may_be_enabled() : context && atomic_load(&counters.counted_context) == context) ||
        !cuda_counters_take_turn(&before))
        return;
    if (is_all)
        counters_disable_all();
    else
        counters_stop();
    end_turn(&before);
}

/* Taken back at the exit if the call fails. */
static void begin_capture(void)
{
    sigset_t before;

    atomic_fetch_add(&counters.captures, 1); /* from here on, nothing is started */
    if (!may_be_enabled() || !cuda_counters_take_turn(&before))
        return;
    counters_disable_all();
    end_turn(&before);
}

/* Also one that had become invalid; other failures end no capture. */
static int has_ended_capture(const struct cupti_call *call)
{
    int result = call->result ? *(const int *)call->result : -1;
    return result == 0 || result == CUDA_ERROR_CAPTURE_INVALIDATED || result == CUDA_ERROR_CAPTURE_UNJOINED;
}

static void cuda_counters_end_capture(void)
{
    uint32_t captures = atomic_load(&counters.captures);
    while (captures && !atomic_compare_exchange_weak(&counters.captures, &captures, captures - 1))
        ;
}

/* ---- Callbacks ------------------------------------------------------------------------------------------------- */

static void cuda_counters_count(struct agent_thread *thread, const struct cuda_counters_launched *launched,
                                const struct cupti_call *call, uintptr_t frame)
{
    sigset_t before;

    if (!cuda_counters_take_turn(&before)) {
        atomic_fetch_sub(&counters.chosen, 1);
        return;
    }
    atomic_store(&counters.is_launching, 1); /* first: whoever forbids it afterwards sees this */
    if (may_count() && !atomic_load(&counters.captures) && cuda_counters_prepare(launched, call)) {
        counters.frame = frame;
        cuda_of(thread)->counted = call->correlation_id;
        cuda_restore_signals(&before);
    } else {
        atomic_fetch_sub(&counters.chosen, 1);
        end_turn(&before);
    }
}

void counters_enter(enum cuda_launch_kind kind, const struct cupti_call *call)
{
    struct agent_thread *thread = agent_self == AGENT_HIDDEN_THREAD ? NULL : agent_enter(WIRE_BIT(CUDA));
    struct cuda_counters_launched launched;

    if (kind == CUDA_LAUNCH_CAPTURE_END || agent_self == AGENT_HIDDEN_THREAD || !counters_are_in_use() ||
        (thread ? cuda_of(thread)->counted && is_inside_launch(FRAME()) : is_owner()))
        return;
    if (kind == CUDA_LAUNCH_CAPTURE_BEGIN) {
        begin_capture();
        return;
    }
    int is_counting = thread && counters_are_wanted();
    enum wire_uncounted cause = is_counting ? cuda_counters_choose(kind, call, &launched) : WIRE_UNCOUNTED_FILTER;
    if (cause == WIRE_UNCOUNTED_CAUSES)
        cuda_counters_count(thread, &launched, call, FRAME());
    else
        step_aside(kind, call->context, cause);
}

void counters_leave(enum cuda_launch_kind kind, const struct cupti_call *call)
{
    int is_success = call->result && *(const int *)call->result == 0;

    if ((kind == CUDA_LAUNCH_CAPTURE_BEGIN && !is_success) ||
        (kind == CUDA_LAUNCH_CAPTURE_END && has_ended_capture(call)))
        cuda_counters_end_capture();
    struct agent_thread *thread = agent_self;
    if (!agent_is_thread(thread) || !cuda_of(thread)->counted || cuda_of(thread)->counted != call->correlation_id)
        return;
    cuda_of(thread)->counted = 0;
    leave_launch(is_success);
}

enum counters_hold counters_hold(int patience_ms)
{
    sigset_t before;

    if (!(cuda.settings.flags & WIRE_CUDA_COUNTERS))
        return COUNTERS_IDLE;
    if (!cuda_counters_take_lock(patience_ms, &before))
        return COUNTERS_BUSY;
    cuda_restore_signals(&before); /* the agent's own thread runs no handlers */
    return COUNTERS_HELD;
}

void counters_release(void)
{
    release_lock();
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

void counters_context_ends(void *handle)
{
    sigset_t before;

    if (!(cuda.settings.flags & WIRE_CUDA_COUNTERS) || is_inside_launch(FRAME()) || !counters_has_context(handle))
        return;
    if (!cuda_counters_take_lock(END_MS, &before)) {
        atomic_store(&counters.is_lost, 1);
        counters_give_up();
        return;
    }
    counters_disable(handle);
    end_turn(&before);
}

/* Other threads may launch meanwhile. */
static void cuda_counters_tell_uncounted(void)
{
    uint64_t uncounted[WIRE_UNCOUNTED_CAUSES], all = 0;

    if (!cuda_lock_within(&counters.choosing, END_MS))
        return;
    memcpy(uncounted, counters.uncounted, sizeof uncounted);
    memset(counters.uncounted, 0, sizeof counters.uncounted);
    atomic_store_explicit(&counters.choosing, 0, memory_order_release);
    for (size_t i = 0; i < WIRE_UNCOUNTED_CAUSES; i++)
        all += uncounted[i];
    if (all)
        cuda_emit(&(struct cuda_note){
            .type = WIRE_CUDA_UNCOUNTED, .words = uncounted, .word_count = WIRE_UNCOUNTED_CAUSES });
}

void counters_finish(void)
{
    sigset_t before;

    if (!(cuda.settings.flags & WIRE_CUDA_COUNTERS) || is_inside_launch(FRAME()) ||
        !cuda_counters_take_lock(END_MS, &before))
        return;
    counters_disable_all();
    cuda_counters_tell_uncounted();
    end_turn(&before);
}
