/* The agent's own thread, in a process that uses CUDA. It makes CUPTI hand over its records now and then, follows
 * captures that begin or end elsewhere, switches to the chosen API calls when the start is over, reads the properties
 * of the devices, and does the last flush when the process ends. It ends the process itself when the program's last
 * thread has called pthread_exit(), because libc would wait for this one.
 *
 * CUPTI completes the record of a kernel only when its buffer is full or flushed, and other records are gone when a
 * process is killed. So the thread flushes once CUPTI has had a buffer for 100 ms; a program that launches all the time
 * fills buffers sooner. It blocks all signals of the program, hooks do not see it, and the collector leaves out the
 * calls that it makes. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/core/libc_real.h"
#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "cuda_agent.h"

#define TICK_MS 10u
#define FINISH_HOLD_MS 500 /* of the two seconds that the end may take */
#define FLUSH_MS 100u
#define SAMPLES_MS 100u
#define START_MAX_MS 10000u /* if a new context runs no kernel, all calls are recorded for this long */

enum { FINISH_NOT_ASKED, FINISH_ASKED, FINISH_DONE };
static _Atomic uint32_t finish;

static uint64_t now_ms(void)
{
    return sys_now_ns() / 1000000;
}

void cuda_thread_wake(void)
{
    atomic_fetch_add_explicit(&cuda.wake, 1, memory_order_release);
    sys_futex_wake(&cuda.wake, 1);
}

/* ---- Devices --------------------------------------------------------------------------------------------------- */

/* "0000:17:00.0" as domain << 32 | bus << 16 | device << 8 | function. */
static uint64_t parse_bus(const char *text)
{
    uint64_t parts[4] = { 0 };
    for (int part = 0; *text && part < 4; text++) {
        char c = (char)(*text | 0x20);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16)
            part++;
        else
            parts[part] = parts[part] << 4 | digit;
    }
    return parts[0] << 32 | (parts[1] & 0xffff) << 16 | (parts[2] & 0xff) << 8 | (parts[3] & 0xff);
}

#define DEVICE_HEAD_WORDS 5

static void tell_device(int ordinal)
{
    uint64_t words[DEVICE_HEAD_WORDS + (CUDA_DEVICE_ATTRIBUTES + 1) / 2] = { 0 };
    int32_t *attributes = (int32_t *)(words + DEVICE_HEAD_WORDS);
    char name[256] = "", bus[32] = "";
    int device, version = 0;
    size_t bytes = 0;
    const struct cuda_driver_functions *driver = &cuda.driver;
    if (driver->cuDeviceGet(&device, ordinal) != 0)
        return;
    driver->cuDeviceGetName(name, sizeof name - 1, device);
    driver->cuDeviceTotalMem_v2(&bytes, device);
    driver->cuDriverGetVersion(&version);
    words[0] = bytes;
    if (driver->cuDeviceGetUuid_v2)
        driver->cuDeviceGetUuid_v2((unsigned char *)&words[1], device);
    else if (driver->cuDeviceGetUuid)
        driver->cuDeviceGetUuid((unsigned char *)&words[1], device);
    words[3] = (uint32_t)version;
    if (driver->cuDeviceGetPCIBusId && driver->cuDeviceGetPCIBusId(bus, sizeof bus - 1, device) == 0)
        words[4] = parse_bus(bus);
    for (int i = 1; i < CUDA_DEVICE_ATTRIBUTES; i++)
        if (driver->cuDeviceGetAttribute(&attributes[i], i, device) != 0)
            attributes[i] = 0;
    cuda_emit(&(struct cuda_note){
        .type = WIRE_CUDA_DEVICE,
        .a = (uint16_t)ordinal,
        .b = CUDA_DEVICE_ATTRIBUTES,
        .words = words,
        .word_count = COUNT_OF(words),
        .text = name,
    });
}

/* Returns 1 once it is done: the driver does not answer before cuInit() has returned. */
static int tell_devices(void)
{
    int count = 0;
    const struct cuda_driver_functions *driver = &cuda.driver;
#define LACKS_REQUIRED(name) !driver->name ||
#define LACKS_OPTIONAL(name)
#define LACKS(need, name, parameters) LACKS_##need(name)
    if (CUDA_DRIVER_FUNCTIONS(LACKS) 0)
        return 1;
#undef LACKS
    if (driver->cuDeviceGetCount(&count) != 0)
        return 0;
    for (int ordinal = 0; ordinal < count; ordinal++)
        tell_device(ordinal);
    return 1;
}

/* ---- Regular work ---------------------------------------------------------------------------------------------- */

struct cuda_thread_rounds {
    uint64_t flushed_ms, counted_ms, context_ms, samples_ms;
    uint32_t contexts;
    int devices_told;
};

static void count_dropped(void)
{
    size_t dropped = 0;
    if (cuda.cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_RESULT_SUCCESS && dropped)
        atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_CUDA][WIRE_LOST_CUPTI], dropped,
                                  memory_order_relaxed);
}

/* While CUPTI counts a kernel it is not asked for records. */
static int cuda_thread_flush(uint32_t flags, int patience_ms)
{
    enum counters_hold hold = counters_hold(patience_ms);
    if (hold == COUNTERS_BUSY)
        return -1;
    cuda.cupti.cuptiActivityFlushAll(flags);
    if (hold == COUNTERS_HELD)
        counters_release();
    count_dropped();
    return 0;
}

static void flush_if_due(struct cuda_thread_rounds *rounds, uint64_t now)
{
    uint32_t interval = cuda.settings.flush_interval_ms ? cuda.settings.flush_interval_ms : FLUSH_MS;
    if (atomic_load_explicit(&cuda.new_context, memory_order_relaxed) && interval > TICK_MS)
        interval = TICK_MS; /* to notice its first kernel soon */
    if (now - rounds->flushed_ms >= interval && cuda_buffers_older_than((uint64_t)interval * 1000000)) {
        if (cuda_thread_flush(0, 0) == 0)
            rounds->flushed_ms = now;
    }
    if (now - rounds->counted_ms >= FLUSH_MS) {
        count_dropped();
        rounds->counted_ms = now;
    }
    if (now - rounds->samples_ms >= SAMPLES_MS) {
        cuda_pc_fetch();
        rounds->samples_ms = now;
    }
}

/* Records all calls while a context is new, then the chosen ones. */
static void choose_stage(struct cuda_thread_rounds *rounds, uint64_t now)
{
    uint32_t contexts = atomic_load(&cuda.contexts_seen);
    if (contexts != rounds->contexts) {
        rounds->contexts = contexts;
        rounds->context_ms = now;
    }
    if (atomic_load(&cuda.unsettled) && cuda_lock()) {
        cuda_api_callbacks(atomic_load(&cuda.stage));
        cuda_unlock();
    }
    if (atomic_load(&cuda.state) != CUDA_RECORDING || contexts == 0)
        return;
    int is_new = atomic_load(&cuda.new_context) != 0 && now - rounds->context_ms < START_MAX_MS;
    enum cuda_stage stage = is_new ? CUDA_STAGE_ALL : cuda_api_last_stage();
    if (atomic_load(&cuda.stage) == stage || !cuda_lock())
        return;
    if (atomic_load(&cuda.state) == CUDA_RECORDING)
        cuda_api_callbacks(stage);
    cuda_unlock();
}

/* Waits for the kernels that still run. The caller of cuda_thread_finish() waits only until its deadline; if that
 * passes first, the collector reads the buffers as CUPTI left them. */
static void finish_now(struct cuda_thread_rounds *rounds)
{
    void *contexts[CUDA_CONTEXTS_MAX], *popped;
    if (!rounds->devices_told) /* a short program may have started and ended since the last look */
        rounds->devices_told = tell_devices();
    cuda_thread_flush(0, FINISH_HOLD_MS);
    cuda_pc_fetch();           /* a kernel may never end */
    uint32_t count = cuda_contexts(contexts);
    if (cuda.driver.cuCtxPushCurrent_v2 && cuda.driver.cuCtxPopCurrent_v2 && cuda.driver.cuCtxSynchronize)
        for (uint32_t i = 0; i < count; i++)
            if (cuda.driver.cuCtxPushCurrent_v2(contexts[i]) == 0) {
                cuda.driver.cuCtxSynchronize();
                cuda.driver.cuCtxPopCurrent_v2(&popped);
            }
    cuda_pc_finish();
    cuda_thread_flush(CUPTI_FLUSH_FORCED, FINISH_HOLD_MS);
    atomic_store_explicit(&finish, FINISH_DONE, memory_order_release);
    sys_futex_wake(&finish, INT32_MAX);
}

static void go_round(struct cuda_thread_rounds *rounds)
{
    uint64_t now = now_ms();
    cuda_follow(1);
    cuda_buffers_prepare();
    choose_stage(rounds, now);
    flush_if_due(rounds, now);
    int in_use = rounds->contexts > 0 || atomic_load_explicit(&cuda.lent, memory_order_relaxed) > 0;
    if (!rounds->devices_told && in_use)
        rounds->devices_told = tell_devices();
}

uint64_t cuda_stat_number(const char *path, int index, char *state)
{
    char text[512];
    int file = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = file < 0 ? -1 : sys_read(file, text, sizeof text - 1);
    if (file >= 0)
        sys_close(file);
    if (length <= 0)
        return 0;
    text[length] = 0;
    const char *word = strrchr(text, ')'); /* the name may contain any character */
    if (!word || word[1] != ' ')
        return 0;
    word += 2;
    if (state)
        *state = *word;
    for (int i = 0; word && i < index; i++)
        if ((word = strchr(word, ' ')))
            word++;
    return word ? small_number(word) : 0;
}

/* True if the program has no thread left. The kernel counts the first thread until the process ends. */
static int is_program_gone(void)
{
    enum { THREADS = 17 };
    char state = 0;
    if (likely(!atomic_load_explicit(&agent.first_thread_ended, memory_order_relaxed)))
        return 0;
    uint64_t threads = cuda_stat_number("/proc/self/stat", THREADS, &state);
    return state == 'Z' && threads == atomic_load(&agent.own_threads) + 1;
}

/* libc ends a process with its last thread, but it takes this thread and CUPTI's for the program's. */
static void cuda_thread_end_process(struct cuda_thread_rounds *rounds)
{
    if (cuda_in_use()) {
        finish_now(rounds);
        cuda_exit_flushed();
    }
    exit(0);
}

static void *cuda_thread_run(void *unused)
{
    struct cuda_thread_rounds rounds = { 0 };
    atomic_fetch_add(&agent.own_threads, 1);
    sys_prctl(PR_SET_NAME, (long)"tacho", 0, 0, 0);
    /* Before the thread has a slot, so that the collector knows whose it is. */
    atomic_store_explicit(&wire_cuda(agent.arena)->thread, (uint32_t)sys_gettid(), memory_order_release);
    cuda.own_slot = thread_attach();
    agent_self = AGENT_OWN_THREAD;
    while (agent_attached() && !agent.left) {
        uint32_t seen = atomic_load_explicit(&cuda.wake, memory_order_acquire);
        if (cuda_in_use())
            go_round(&rounds);
        if (atomic_load(&finish) == FINISH_ASKED)
            finish_now(&rounds);
        if (is_program_gone())
            cuda_thread_end_process(&rounds);
        sys_futex_wait(&cuda.wake, seen, TICK_MS * 1000000ull);
    }
    atomic_fetch_sub(&agent.own_threads, 1);
    return NULL;
}

/* ---- Calls from other threads ---------------------------------------------------------------------------------- */

int cuda_thread_start(void)
{
    pthread_t thread;
    return LIBC_REAL(pthread_create)(&thread, NULL, cuda_thread_run, NULL) == 0 ? 0 : -1;
}

/* libc's own signals must stay unblocked, which is why its sigfillset() makes the mask: setuid() and similar functions
 * signal every thread and wait until each has answered. */
void cuda_block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, before);
}

void cuda_restore_signals(const sigset_t *before)
{
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* Several exit handlers may call this, one for each capture. If a flush hangs, only the first of them waits. */
void cuda_thread_finish(uint64_t patience_ns)
{
    static _Atomic uint32_t in_vain;
    if (atomic_exchange(&finish, FINISH_ASKED) == FINISH_ASKED && atomic_load(&in_vain))
        return;
    cuda_thread_wake();
    uint64_t end_ms = now_ms() + patience_ns / 1000000;
    for (uint64_t now = now_ms(); now < end_ms && atomic_load(&finish) == FINISH_ASKED; now = now_ms())
        sys_futex_wait(&finish, FINISH_ASKED, (end_ms - now) * 1000000);
    atomic_store(&in_vain, atomic_load(&finish) == FINISH_ASKED);
}
