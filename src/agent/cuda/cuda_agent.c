/* CUDA: the function that the driver calls in the library of CUDA_INJECTION64_PATH, the life of the source in a
 * process, and what a capture enables. See cuda_agent.h for the other files.
 *
 * The state follows what is to be recorded (cuda_follow). While no capture runs, CUPTI is only loaded, or subscribed to
 * the calls that begin a range and to new contexts and streams; neither costs a launch anything measurable. Only one
 * thread at a time changes what is enabled: the one that begins or ends the range, before its call returns, or else the
 * agent's own thread. On any failure the source is over and the report says why; all other sources go on. */
#include "cuda_agent.h"
#include "agent/core/lifecycle.h"
#include "agent/core/modules.h"
#include "agent/core/sys.h"

/* How long to wait for the thread that changes what is enabled: it may wait for a lock of CUPTI that this thread
 * holds. */
#define PATIENCE_MS 100

#define KERNEL_KINDS 2u /* the first of kinds[] */

struct cuda cuda;

/* The kinds of records that a capture enables beside API calls. `wants`: the settings that need it (0: every capture);
 * `unless`: the setting that replaces it; `stays`: its records are rare and later ones refer to them, so it stays
 * enabled while recording pauses, and where kernels are replayed. There CUPTI 13.0 writes records without times,
 * records of its own kernels, and corrupts the heap as it flushes them. Contexts and streams are also recorded before
 * and between the ranges of a capture (ALWAYS_STAYS), because work inside of a range runs on them. */
enum { STAYS = 1, ALWAYS_STAYS };
static const struct {
    uint32_t kind, wants, unless;
    int stays;
} cuda_agent_kinds[] = {
    /* To time kernels that may overlap, CUPTI adds instructions to their code, which counters would count. */
    { CUPTI_KIND_CONCURRENT_KERNEL, 0, WIRE_CUDA_COUNTERS, 0 },
    { CUPTI_KIND_KERNEL, WIRE_CUDA_COUNTERS, 0, 0 },
    { CUPTI_KIND_MEMCPY, 0, 0, 0 },
    { CUPTI_KIND_MEMCPY2, 0, 0, 0 },
    { CUPTI_KIND_MEMSET, 0, 0, 0 },
    { CUPTI_KIND_CONTEXT, 0, 0, ALWAYS_STAYS },
    { CUPTI_KIND_STREAM, 0, 0, ALWAYS_STAYS },
    { CUPTI_KIND_OVERHEAD, 0, 0, 0 },
    { CUPTI_KIND_JIT, 0, 0, STAYS },
    { CUPTI_KIND_GRAPH_TRACE, 0, WIRE_CUDA_GRAPH_NODES, 0 },
    { CUPTI_KIND_CUDA_EVENT, WIRE_CUDA_EVENTS, 0, 0 },
    { CUPTI_KIND_MEMORY2, WIRE_CUDA_MEMORY, 0, 0 },
    { CUPTI_KIND_MEMORY_POOL, WIRE_CUDA_MEMORY, 0, 0 },
    /* see cuda_enable_unified_memory() */
    { CUPTI_KIND_UNIFIED_MEMORY_COUNTER, WIRE_CUDA_CPU_FAULTS | WIRE_CUDA_GPU_FAULTS, 0, 0 },
};

/* ---- Records of the agent -------------------------------------------------------------------------------------- */

void cuda_emit(const struct cuda_note *note)
{
    struct agent_thread *self = agent_self;
    struct agent_thread *thread = self == AGENT_OWN_THREAD      ? cuda.own_slot
                                  : self == AGENT_HIDDEN_THREAD ? cuda.hidden
                                                                : agent_thread();
    if (!thread || !agent_attached())
        return;
    size_t length = note->text ? strnlen(note->text, WIRE_TEXT_MAX) : 0;
    uint32_t words = WIRE_HEAD_WORDS + note->word_count + (note->text ? emit_text_words(length) : 0);
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_CUDA, note->type, words);
    if (!record)
        return;
    record->a = note->a;
    record->b = note->b;
    record->ticks = agent_ticks();
    if (note->word_count)
        memcpy(record->body, note->words, note->word_count * sizeof *note->words);
    if (note->text)
        emit_text(record->body + note->word_count, note->text, length);
    emit_commit(lane, record);
}

/* What CUPTI's result means, and what to do, in a sentence for the user. */
const char *cuda_sentence_of(int result)
{
    static const struct {
        int number;
        const char *sentence;
    } sentences[] = {
#define ROW(name, number, sentence) { number, sentence },
        CUPTI_RESULTS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < COUNT_OF(sentences); i++)
        if (sentences[i].number == result && sentences[i].sentence[0])
            return sentences[i].sentence;
    return "CUPTI failed to start.";
}

const char *cuda_counters_sentence_of(int result)
{
    return result == CUPTI_RESULT_ERROR_INVALID_OPERATION ? "Another profiler uses the counters of this GPU."
                                                          : cuda_sentence_of(result);
}

static void cuda_agent_refuse(int result, const char *detail)
{
    static char text[1024]; /* static because it is large for a stack; the caller has the lock */
    strcpy(text, "CUDA is not recorded. ");
    strcat(text, result ? cuda_sentence_of(result) : "");
    strncat(text, detail ? detail : "", sizeof text - 1 - strlen(text));
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_REFUSED, .a = (uint16_t)result, .text = text });
    atomic_store_explicit(&cuda.state, CUDA_OVER, memory_order_release);
}

/* ---- One at a time --------------------------------------------------------------------------------------------- */

int cuda_lock_within(_Atomic uint32_t *lock, int patience_ms)
{
    for (int waited = 0; atomic_exchange_explicit(lock, 1, memory_order_acquire); waited++) {
        if (waited >= patience_ms)
            return 0;
        sys_nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return 1;
}

int cuda_lock(void)
{
    return cuda_lock_within(&cuda.switching, PATIENCE_MS);
}

void cuda_callbacks_changed(void)
{
    atomic_store(&cuda.unsettled, 1);
    cuda_thread_wake();
}

void cuda_unlock(void)
{
    atomic_store_explicit(&cuda.switching, 0, memory_order_release);
}

/* ---- What is enabled ------------------------------------------------------------------------------------------- */

static int cuda_agent_is_wanted(size_t kind)
{
    uint32_t flags = cuda.settings.flags;
    if ((flags & WIRE_CUDA_REPLAY) && !cuda_agent_kinds[kind].stays)
        return 0;
    return (!cuda_agent_kinds[kind].wants || (flags & cuda_agent_kinds[kind].wants)) &&
           !(flags & cuda_agent_kinds[kind].unless);
}

/* Counters must be configured before the kind is enabled, and both must be done again for the first context. */
void cuda_enable_unified_memory(void)
{
    if (!(cuda.settings.flags & (WIRE_CUDA_CPU_FAULTS | WIRE_CUDA_GPU_FAULTS)) ||
        (cuda.settings.flags & WIRE_CUDA_REPLAY))
        return;
    static const struct {
        uint32_t flag, counter;
    } wanted[] = {
        { WIRE_CUDA_CPU_FAULTS | WIRE_CUDA_GPU_FAULTS, CUPTI_UNIFIED_MEMORY_HTOD },
        { WIRE_CUDA_CPU_FAULTS | WIRE_CUDA_GPU_FAULTS, CUPTI_UNIFIED_MEMORY_DTOH },
        { WIRE_CUDA_CPU_FAULTS | WIRE_CUDA_GPU_FAULTS, CUPTI_UNIFIED_MEMORY_DTOD },
        { WIRE_CUDA_CPU_FAULTS, CUPTI_UNIFIED_MEMORY_CPU_FAULT },
        { WIRE_CUDA_GPU_FAULTS, CUPTI_UNIFIED_MEMORY_GPU_FAULT },
    };
    struct cupti_unified_memory_config configs[COUNT_OF(wanted)];
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (cuda.settings.flags & wanted[i].flag)
            configs[count++] = (struct cupti_unified_memory_config){
                .scope = CUPTI_UNIFIED_MEMORY_ALL_DEVICES,
                .kind = wanted[i].counter,
                .device = 0,
                .enable = 1,
            };
    int result = count && cuda.cupti.cuptiActivityConfigureUnifiedMemoryCounter
                     ? cuda.cupti.cuptiActivityConfigureUnifiedMemoryCounter(configs, count)
                     : 0;
    if (result)
        cuda_emit(&(struct cuda_note){ .type = WIRE_DIAGNOSTIC, .a = 2, .text = cuda_sentence_of(result) });
    cuda.cupti.cuptiActivityEnable(CUPTI_KIND_UNIFIED_MEMORY_COUNTER);
}

/* The result for kernels decides: without them there is nothing to record. */
static int enable_kinds(void)
{
    if (!cuda.starting)
        cuda_enable_unified_memory();
    if ((cuda.settings.flags & WIRE_CUDA_EVENTS) && cuda.cupti.cuptiActivityEnableCudaEventDeviceTimestamps)
        cuda.cupti.cuptiActivityEnableCudaEventDeviceTimestamps(1);
    for (size_t i = 0; i < COUNT_OF(cuda_agent_kinds); i++) {
        int result = cuda_agent_is_wanted(i) ? cuda.cupti.cuptiActivityEnable(cuda_agent_kinds[i].kind)
                                             : CUPTI_RESULT_SUCCESS;
        if (i < KERNEL_KINDS && result != CUPTI_RESULT_SUCCESS)
            return result;
    }
    return CUPTI_RESULT_SUCCESS;
}

/* Those that stay at least so much remain enabled. */
static void disable_kinds(int stays)
{
    cuda_api_records(0);
    for (size_t i = 0; i < COUNT_OF(cuda_agent_kinds); i++)
        if (cuda_agent_is_wanted(i) && cuda_agent_kinds[i].stays < stays)
            cuda.cupti.cuptiActivityDisable(cuda_agent_kinds[i].kind);
}

/* Contexts and streams that come while a range is awaited. */
static void watch_contexts(int on)
{
    for (size_t i = 0; i < COUNT_OF(cuda_agent_kinds); i++) {
        if (cuda_agent_kinds[i].stays != ALWAYS_STAYS)
            continue;
        if (on)
            cuda.cupti.cuptiActivityEnable(cuda_agent_kinds[i].kind);
        else
            cuda.cupti.cuptiActivityDisable(cuda_agent_kinds[i].kind);
    }
    cuda_events_enable(on);
}

/* True before a range and between two, and until the delay of a capture is over. A program that has no more of them is
 * not watched. */
int cuda_is_awaited(void)
{
    if (!(agent.sources & WIRE_BIT(CUDA)) || agent_recording(WIRE_BIT(CUDA)))
        return 0;
    return atomic_load_explicit(&agent.arena->ranges_left, memory_order_relaxed) > 0 ||
           (agent.arena->flags & WIRE_FLAG_DELAYED && atomic_load_explicit(&cuda.epoch, memory_order_relaxed) == 0);
}

/* All calls are recorded from the start of CUDA on. In a range that begins later, that start is long over. */
static void begin_recording(void)
{
    int result = enable_kinds();
    if (result != CUPTI_RESULT_SUCCESS) {
        cuda_stop_for_good();
        cuda_agent_refuse(result, NULL);
        return;
    }
    int goes_on = atomic_load(&cuda.stage) == CUDA_STAGE_PAUSED;
    atomic_fetch_add_explicit(&cuda.epoch, 1, memory_order_relaxed);
    cuda_api_records(1);
    cuda_events_enable(1);
    cuda_pc_record(1);
    cuda_api_callbacks(cuda.starting ? CUDA_STAGE_ALL : cuda_api_last_stage());
    if (!cuda.starting && !goes_on && atomic_load_explicit(&cuda.contexts_seen, memory_order_relaxed) == 0)
        cuda_exit_register();
    atomic_store_explicit(&cuda.state, CUDA_RECORDING, memory_order_release);
}

/* True while steps are only timed: recording pauses and will go on. The agent still sees contexts, streams and modules
 * that come and go, because later records refer to them. */
static int is_paused(void)
{
    return agent_recording(WIRE_BIT(STEPS)) && (agent.sources & WIRE_BIT(CUDA)) && !agent_recording(WIRE_BIT(CUDA));
}

static void end_recording(void)
{
    int pauses = is_paused(), is_awaited = cuda_is_awaited();
    counters_finish();
    cuda_pc_record(0);
    disable_kinds(pauses ? STAYS : is_awaited ? ALWAYS_STAYS : ALWAYS_STAYS + 1);
    cuda_api_callbacks(pauses ? CUDA_STAGE_PAUSED : CUDA_STAGE_NONE);
    if (!pauses && !is_awaited)
        cuda_events_enable(0);
    if (!pauses && cuda.settings.flags & WIRE_CUDA_FLUSH_ON_STOP)
        cuda.cupti.cuptiActivityFlushAll(0);
    atomic_store_explicit(&cuda.state, CUDA_SUBSCRIBED, memory_order_release);
}

/* ---- The life of the source ------------------------------------------------------------------------------------ */

static int set_attribute(uint32_t attribute, void *value, size_t bytes)
{
    return cuda.cupti.cuptiActivitySetAttribute(attribute, &bytes, value);
}

static uint64_t clock_ns(void)
{
    return wire_cuda_time(agent_ticks(), cuda.settings.ns_per_tick);
}

/* The name of the client that has the subscription, as far as CUPTI knows. */
static void name_of_other(char *name, size_t bytes)
{
    struct cupti_subscriber_parameters parameters = {
        .bytes = CUPTI_SUBSCRIBER_BYTES,
        .name = "tacho",
        .old_name = name,
        .old_name_bytes = bytes,
    };
    void *unused = NULL;
    name[0] = 0;
    if (cuda.cupti.cuptiSubscribe_v2 &&
        cuda.cupti.cuptiSubscribe_v2(&unused, cuda_callback, NULL, &parameters) == CUPTI_RESULT_SUCCESS)
        cuda.cupti.cuptiUnsubscribe(unused); /* the other client has just gone, but that is too late */
    name[bytes - 1] = 0;
}

/* 0, or CUPTI's result. It subscribes first, because CUPTI refuses a second subscriber, whereas it would let a second
 * client replace the buffers of the first. */
static int subscribe(void)
{
    int result = cuda.cupti.cuptiSubscribe(&cuda.subscriber, cuda_callback, NULL);
    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    uint8_t yes = 1;
    cuda.cupti.cuptiActivityRegisterTimestampCallback(clock_ns); /* before any kind is enabled */
    set_attribute(CUPTI_ATTRIBUTE_ZEROED_OUT_ACTIVITY_BUFFER, &yes, sizeof yes);
    cuda.cupti.cuptiSetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
    result = cuda.cupti.cuptiActivityRegisterCallbacks(cuda_buffer_wanted, cuda_buffer_done);
    if (result != CUPTI_RESULT_SUCCESS) {
        cuda.cupti.cuptiUnsubscribe(cuda.subscriber);
        return result;
    }
    cuda_api_forget_callbacks();
    cuda_api_callbacks(CUDA_STAGE_NONE);
    cuda_modules_enable();
    watch_contexts((agent.sources & WIRE_BIT(CUDA)) != 0); /* a range that was awaited may have begun just now */
    atomic_store_explicit(&cuda.state, CUDA_SUBSCRIBED, memory_order_release);
    return CUPTI_RESULT_SUCCESS;
}

static int subscribe_or_refuse(void)
{
    int result = subscribe();
    if (result == CUPTI_RESULT_SUCCESS)
        return 1;
    char detail[256] = "", name[128];
    if (result == CUPTI_RESULT_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        name_of_other(name, sizeof name);
        strcat(detail, " ");
        strcat(detail, name[0] ? name : "It");
        strcat(detail, " must be turned off, or run the program without tacho.");
    }
    cuda_agent_refuse(result, detail);
    return 0;
}

void cuda_stop_for_good(void)
{
    uint32_t state = atomic_load(&cuda.state);
    if (state == CUDA_RECORDING)
        end_recording();
    if (state >= CUDA_SUBSCRIBED && state != CUDA_OVER) {
        cuda.cupti.cuptiActivityFlushAll(0);
        cuda.cupti.cuptiUnsubscribe(cuda.subscriber);
    }
    atomic_store_explicit(&cuda.state, CUDA_OVER, memory_order_release);
}

/* The state that the capture needs now. */
static uint32_t wanted_state(void)
{
    if (agent_recording(WIRE_BIT(CUDA)))
        return CUDA_RECORDING;
    return cuda_is_awaited() || is_paused() || cuda_pc_wanted() ? CUDA_SUBSCRIBED : CUDA_LOADED;
}

/* A range that ends in a callback leaves unsubscribing to the agent's thread, because CUPTI is still in that call. */
static void change_state(uint32_t wanted, int is_own_thread)
{
    uint32_t state = atomic_load(&cuda.state);
    if (wanted > CUDA_LOADED && state == CUDA_LOADED && subscribe_or_refuse())
        state = CUDA_SUBSCRIBED;
    if (wanted == CUDA_RECORDING && state == CUDA_SUBSCRIBED)
        begin_recording();
    if (wanted < CUDA_RECORDING && state == CUDA_RECORDING) {
        end_recording();
        state = CUDA_SUBSCRIBED;
    }
    if (wanted == CUDA_LOADED && state == CUDA_SUBSCRIBED && is_own_thread) {
        watch_contexts(0);
        cuda.cupti.cuptiUnsubscribe(cuda.subscriber);
        atomic_store_explicit(&cuda.state, CUDA_LOADED, memory_order_release);
    }
}

void cuda_follow(int is_own_thread)
{
    if (!cuda_in_use() || wanted_state() == atomic_load_explicit(&cuda.state, memory_order_relaxed))
        return;
    if (!cuda_lock()) {
        cuda_thread_wake();
        return;
    }
    int saved_errno = errno;
    sigset_t before;
    struct agent_thread *self = cuda_hide();
    cuda_block_signals(&before);
    if (cuda_in_use())
        change_state(wanted_state(), is_own_thread);
    cuda_restore_signals(&before);
    cuda_show(self);
    errno = saved_errno;
    cuda_unlock();
    if (!is_own_thread)
        cuda_thread_wake();
}

/* Learns the record sizes of this CUPTI. Those that differ from the agent's table are sent to the collector too. */
static void learn_sizes(void)
{
    cupti_layouts_init(&cuda.layouts, cuda.version);
    for (uint32_t kind = 1; kind < CUPTI_KIND_LIMIT; kind++) {
        uint32_t bytes = cupti_bytes_told(&cuda.cupti, kind);
        if (bytes && bytes != cupti_record_bytes(&cuda.layouts, kind) &&
            cupti_layouts_learn(&cuda.layouts, kind, bytes) == 0)
            cuda_name_add(WIRE_CUDA_NAME_RECORD_BYTES, (uint64_t)kind << 32 | bytes, NULL);
    }
}

/* ThreadSanitizer knows only threads that its own pthread_create() has made. In any other thread, such as the agent's,
 * an allocation by CUPTI kills the program. */
extern void __tsan_init(void) __attribute__((weak));

static void cuda_agent_set_up(void)
{
    cuda.settings = wire_cuda(agent.arena)->settings;
    if (cuda.settings.buffer_count == 0 || cuda_names_prepare() != 0)
        return;
    cuda.pid = agent.pid;
    const char *failure = __tsan_init
                              ? "The program is built with ThreadSanitizer, which does not allow a thread of Tacho."
                              : cuda_library_load();
    if (failure) {
        cuda_agent_refuse(0, failure);
        return;
    }
    learn_sizes();
    cuda_api_learn();
    atomic_store_explicit(&wire_cuda(agent.arena)->cupti_version, cuda.version, memory_order_release);
    uint64_t version = cuda.version;
    cuda_emit(&(struct cuda_note){
        .type = WIRE_CUDA_LOADED,
        .a = (uint16_t)cuda_api_last_stage(),
        .words = &version,
        .word_count = 1,
        .text = cuda.path,
    });
    atomic_store_explicit(&cuda.state, CUDA_LOADED, memory_order_release);
    change_state(wanted_state(), 0);
    if (cuda_in_use() && cuda_thread_start() != 0) {
        cuda_stop_for_good();
        cuda_agent_refuse(0, "Its flush thread could not be started.");
    }
}

static void set_up_alone(void)
{
    if (!cuda_lock()) {
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0, "CUDA is not recorded: another thread kept CUPTI locked for too long.");
        return;
    }
    sigset_t before;
    struct agent_thread *self = cuda_hide();
    cuda_block_signals(&before);
    cuda.starting = 1;
    if (atomic_load(&cuda.state) == CUDA_ABSENT) /* not OVER: the program may have begun to use CUPTI meanwhile */
        cuda_agent_set_up();
    cuda.starting = 0;
    cuda_restore_signals(&before);
    cuda_show(self);
    cuda_unlock();
    agent_note_modules();
}

/* cuInit() calls this, also in a process that does not preload the agent. Other threads wait in cuInit(). */
EXPORT int InitializeInjection(void);

int InitializeInjection(void)
{
    agent_start();
    int saved_errno = errno;
    struct agent_thread *thread = agent_thread();
    if (thread && (agent.sources & WIRE_BIT(CUDA)) && !atomic_exchange(&cuda.entered, 1))
        set_up_alone();
    errno = saved_errno;
    return 1;
}

static void cuda_agent_forked(void)
{
    if (atomic_load(&cuda.entered)) /* also if another thread was still setting up CUPTI */
        atomic_store(&cuda.state, CUDA_OVER);
    atomic_store(&cuda.switching, 0);
}

static void cuda_agent_switched(void)
{
    cuda_follow(0);
}

const struct agent_source agent_source_cuda = {
    .attach = cuda_buffers_attach,
    .forked = cuda_agent_forked,
    .switched = cuda_agent_switched,
    .flush = cuda_flush,
    .exit = cuda_exit,
};
