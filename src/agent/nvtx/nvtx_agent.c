/* NVTX events: marks, push/pop and start/end ranges, and the entry point through which each module of the program that
 * contains the NVTX headers attaches to the agent.
 *
 * A push always keeps its level and a bit that says whether it was recorded; its pop is recorded if and only if the
 * push was. So ranges keep their true end when recording stops in between, and a range is counted once: by the agent if
 * the push could not be written, by the collector if it was. An end that finds no room is not counted here: the
 * collector sees that it is missing.
 *
 * Signal handlers may push and pop between any two instructions, in balance. Therefore a push takes its level before it
 * writes, and a pop gives it back after it has written. */
#include "nvtx_agent.h"

#include "agent/core/agent.h"
#include "agent/core/arena_window.h"
#include "agent/core/capture_control.h"
#include "agent/core/lifecycle.h"
#include "agent/core/sys.h"

struct nvtx nvtx;

/* ---- Levels ---------------------------------------------------------------------------------------------------- */

#define LEVELS_MAX 65536u /* a record has 16 bits for the level */
#define DEEP_BYTES (LEVELS_MAX / 8)
#define MORE_BYTES (NVTX_DOMAIN_MAX * sizeof(struct nvtx_level))

static __attribute__((noinline)) struct nvtx_level *distant_level(struct agent_thread *thread, uint32_t domain)
{
    if (!nvtx_of(thread)->more)
        nvtx_of(thread)->more = window_map(-1, 0, MORE_BYTES);
    return nvtx_of(thread)->more ? &nvtx_of(thread)->more[domain] : NULL;
}

static inline struct nvtx_level *level_of(struct agent_thread *thread, uint32_t domain)
{
    return likely(domain < NVTX_THREAD_DOMAINS) ? &nvtx_of(thread)->levels[domain] : distant_level(thread, domain);
}

/* The word with the bit of this level, or NULL if there is no memory for it. */
static __attribute__((noinline)) uint64_t *deep_word(struct nvtx_level *level, uint32_t depth)
{
    if (depth >= LEVELS_MAX)
        return NULL;
    if (!level->deep)
        level->deep = window_map(-1, 0, DEEP_BYTES);
    return level->deep ? &level->deep[depth / 64] : NULL;
}

static inline uint64_t *word_of(struct nvtx_level *level, uint32_t depth)
{
    return likely(depth < 64) ? &level->recorded : deep_word(level, depth);
}

void nvtx_thread_end(struct agent_thread *thread)
{
    if (atomic_load_explicit(&nvtx.unsent, memory_order_relaxed))
        nvtx_send_unsent(thread);
    for (uint32_t i = 0; i < NVTX_THREAD_DOMAINS; i++)
        if (nvtx_of(thread)->levels[i].deep)
            window_unmap(nvtx_of(thread)->levels[i].deep, DEEP_BYTES);
    if (!nvtx_of(thread)->more)
        return;
    uint32_t count = atomic_load_explicit(&nvtx.domain_count, memory_order_relaxed);
    for (uint32_t i = NVTX_THREAD_DOMAINS; i <= count && i < NVTX_DOMAIN_MAX; i++)
        if (nvtx_of(thread)->more[i].deep)
            window_unmap(nvtx_of(thread)->more[i].deep, DEEP_BYTES);
    window_unmap(nvtx_of(thread)->more, MORE_BYTES);
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static inline uint32_t attribute_words(const struct nvtx_event *event)
{
    return ((event->flags & (WIRE_NVTX_HAS_CATEGORY | WIRE_NVTX_HAS_COLOR)) != 0) +
           ((event->flags & WIRE_NVTX_PAYLOAD_MASK) != 0);
}

static inline uint32_t text_flag(const struct nvtx_text *text)
{
    return text->kind == NVTX_TEXT_NONE         ? 0
           : text->kind == NVTX_TEXT_REGISTERED ? WIRE_NVTX_REGISTERED
                                                : WIRE_NVTX_HAS_TEXT;
}

/* Where a record goes. ticks 0: read the clock as late as possible, which is right for events that begin. */
struct nvtx_agent_place {
    uint32_t type;
    uint32_t level;
    uint64_t range; /* for START and END, else 0 */
    uint64_t ticks;
    int counts;     /* if it is lost, count a lost event */
};

/* 0, or -1 when the record could not be written. */
static inline __attribute__((always_inline)) int write_record(struct agent_thread *thread,
                                                              const struct nvtx_agent_place *place,
                                                              const struct nvtx_event *event,
                                                              const struct nvtx_binary *binary)
{
    uint32_t words = WIRE_HEAD_WORDS + (place->range != 0) + attribute_words(event) + nvtx_text_words(&event->text);
    enum wire_fate fate;
    struct agent_lane *lane;
    struct wire_record *record = emit_reserve(thread, &lane, place->type, words + (binary ? binary->words : 0), &fate);
    if (unlikely(!record)) {
        if (place->counts)
            agent_count(thread, nvtx_source(event->domain), fate);
        return -1;
    }
    uint64_t flags = event->flags | text_flag(&event->text) | (binary && binary->count ? WIRE_NVTX_HAS_BINARY : 0);
    *(uint64_t *)record = (uint64_t)place->type | flags << 8 | (uint64_t)words << 16 | (uint64_t)event->domain << 32 |
                          (uint64_t)place->level << 48;
    uint64_t *to = record->body;
    if (place->range)
        *to++ = place->range;
    if (event->flags & (WIRE_NVTX_HAS_CATEGORY | WIRE_NVTX_HAS_COLOR))
        *to++ = event->category_color;
    if (event->flags & WIRE_NVTX_PAYLOAD_MASK)
        *to++ = event->payload;
    nvtx_put_text(to, &event->text);
    if (binary) {
        nvtx_put_binary((uint64_t *)record + words, binary);
        lane->cursor += (size_t)binary->words * 8; /* published together with the record */
    }
    record->ticks = place->ticks ? place->ticks : agent_ticks();
    emit_commit(lane, record);
    return 0;
}

static __attribute__((noinline)) int write_with_binary(struct agent_thread *thread,
                                                       const struct nvtx_agent_place *place,
                                                       const struct nvtx_event *event)
{
    struct nvtx_binary binary;
    nvtx_plan_binary(event, &binary);
    return write_record(thread, place, event, &binary);
}

static inline __attribute__((always_inline)) int nvtx_agent_write_event(struct agent_thread *thread,
                                                                        const struct nvtx_agent_place *place,
                                                                        const struct nvtx_event *event)
{
    if (unlikely(atomic_load_explicit(&nvtx.unsent, memory_order_relaxed) != NULL) && !nvtx_send_unsent(thread) &&
        (event->text.kind == NVTX_TEXT_REGISTERED || event->binary_count)) {
        /* The event may refer to an entry that found no room: without that entry it would have no meaning. */
        if (place->counts)
            agent_count(thread, nvtx_source(event->domain), WIRE_LOST_BUFFER_FULL);
        return -1;
    }
    if (unlikely(event->binary_count))
        return write_with_binary(thread, place, event);
    return write_record(thread, place, event, NULL);
}

void nvtx_count_no_thread(void)
{
    if (agent_attached() && agent_recording(WIRE_BIT(NVTX)))
        atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_NVTX][WIRE_LOST_NO_THREAD], 1,
                                  memory_order_relaxed);
}

/* ---- The range that begins a capture, or marks a step ---------------------------------------------------------- */

static inline uint32_t triggers(void)
{
    return atomic_load_explicit(&nvtx.trigger, memory_order_relaxed);
}

static __attribute__((noinline)) void maybe_begin(const struct nvtx_event *event, uint64_t key)
{
    if (triggers() & NVTX_TRIGGERS_STEPS)
        nvtx_step_begins(event, key);
    if (triggers() & NVTX_TRIGGERS_LAUNCHES)
        nvtx_launch_range_begins(event, key);
    if (!(triggers() & NVTX_TRIGGERS_CAPTURE))
        return;
    int begins = atomic_load_explicit(&nvtx.domains[event->domain], memory_order_relaxed) & NVTX_DOMAIN_TRIGGER;
    if ((!begins && nvtx_elsewhere_told()) || agent_recording(WIRE_BIT(NVTX)))
        return;
    uint32_t wanted = wire_nvtx(agent.arena)->capture_range;
    if (wanted && wanted < WIRE_TEXT_BYTES && !nvtx_text_is(&event->text, agent.arena->text + wanted))
        return;
    if (!begins) {
        nvtx_tell_elsewhere(event->domain);
        return;
    }
    uint64_t none = 0;
    if (!atomic_compare_exchange_strong(&nvtx.trigger_range, &none, key))
        return;
    agent_capture_begin(WIRE_CAPTURE_NVTX);
    if (!agent_recording(WIRE_BIT(NVTX))) /* the program has begun as many ranges as the capture allows */
        atomic_store(&nvtx.trigger_range, 0);
}

static __attribute__((noinline)) void maybe_end(uint64_t key)
{
    if (triggers() & NVTX_TRIGGERS_STEPS)
        nvtx_step_ends(key);
    if (triggers() & NVTX_TRIGGERS_LAUNCHES)
        nvtx_launch_range_ends(key);
    if (atomic_compare_exchange_strong(&nvtx.trigger_range, &key, 0))
        agent_capture_end(WIRE_CAPTURE_NVTX);
}

/* True if the agent is attached, the thread has a slot, and the event needs nothing but its own record. */
static inline int nvtx_agent_is_plain(const struct agent_thread *thread)
{
    return likely(atomic_load_explicit(&agent_switch.state, memory_order_relaxed) == AGENT_ATTACHED &&
                  agent_is_thread(thread) && !triggers() && !atomic_load_explicit(&nvtx.unsent, memory_order_relaxed));
}

/* ---- Marks and ranges ------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void nvtx_agent_mark(const struct nvtx_event *event)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES));
    if (thread && nvtx_records(event->domain))
        nvtx_agent_write_event(thread, &(struct nvtx_agent_place){ .type = WIRE_NVTX_MARK, .counts = 1 }, event);
}

static inline __attribute__((always_inline)) int nvtx_agent_push(const struct nvtx_event *event)
{
    struct agent_thread *thread = agent_thread();
    struct nvtx_level *level = likely(thread != NULL) ? level_of(thread, event->domain) : NULL;
    if (unlikely(!level)) {
        nvtx_count_no_thread();
        return ABI_NO_TRACKING;
    }
    uint32_t depth = level->depth;
    if (unlikely(triggers()))
        maybe_begin(event, nvtx_push_key(thread, event->domain, depth));
    level->depth = depth + 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t *word = word_of(level, depth), bit = UINT64_C(1) << depth % 64;
    if (unlikely(!nvtx_records(event->domain))) {
        if (word)
            *word &= ~bit;
        return (int)depth;
    }
    if (unlikely(!word)) {
        agent_count(thread, nvtx_source(event->domain), WIRE_LOST_BUFFER_FULL);
        return (int)depth;
    }
    *word |= bit;
    if (unlikely(
            nvtx_agent_write_event(thread,
                                   &(struct nvtx_agent_place){ .type = WIRE_NVTX_PUSH, .level = depth, .counts = 1 },
                                   event) != 0))
        *word &= ~bit;
    return (int)depth;
}

static inline __attribute__((always_inline)) int nvtx_agent_pop(const struct nvtx_event *event)
{
    struct agent_thread *thread = agent_thread();
    struct nvtx_level *level = likely(thread != NULL) ? level_of(thread, event->domain) : NULL;
    if (unlikely(!level))
        return ABI_NO_TRACKING;
    if (unlikely(level->depth == 0))
        return ABI_PUSH_POP_ERROR;
    uint32_t depth = level->depth - 1;
    uint64_t *word = word_of(level, depth);
    if (likely(word && *word >> depth % 64 & 1))
        nvtx_agent_write_event(thread,
                               &(struct nvtx_agent_place){
                                   .type = WIRE_NVTX_POP, .level = depth, .ticks = agent_ticks() },
                               event);
    atomic_signal_fence(memory_order_seq_cst);
    level->depth = depth;
    if (unlikely(triggers()))
        maybe_end(nvtx_push_key(thread, event->domain, depth));
    return (int)depth;
}

/* Ids are { block : 31, serial : 32, recorded : 1 }. A thread takes a block at its first start, and another one when it
 * has used up its serials: so threads that start ranges share no counter. */
static inline uint64_t next_range(struct agent_thread *thread)
{
    if (unlikely(nvtx_of(thread)->range_serial == 0))
        nvtx_of(thread)->range_block = atomic_fetch_add_explicit(&nvtx.range_blocks, 1, memory_order_relaxed) &
                                       INT32_MAX;
    return (uint64_t)nvtx_of(thread)->range_block << 33 | (uint64_t)agent_next(&nvtx_of(thread)->range_serial) << 1;
}

static inline __attribute__((always_inline)) uint64_t nvtx_agent_start(const struct nvtx_event *event)
{
    struct agent_thread *thread = agent_thread();
    if (unlikely(!thread)) {
        nvtx_count_no_thread();
        return 0;
    }
    uint64_t id = next_range(thread) | 1;
    if (unlikely(triggers()))
        maybe_begin(event, id >> 1);
    if (!nvtx_records(event->domain) ||
        nvtx_agent_write_event(thread, &(struct nvtx_agent_place){ .type = WIRE_NVTX_START, .range = id, .counts = 1 },
                               event) != 0)
        id &= ~UINT64_C(1);
    return id;
}

static inline __attribute__((always_inline)) void nvtx_agent_end(uint64_t id, const struct nvtx_event *event)
{
    struct agent_thread *thread = agent_thread();
    if (unlikely(!thread))
        return;
    if (id & 1)
        nvtx_agent_write_event(thread,
                               &(struct nvtx_agent_place){ .type = WIRE_NVTX_END, .range = id, .ticks = agent_ticks() },
                               event);
    if (unlikely(triggers()) && id >> 1)
        maybe_end(id >> 1);
}

void nvtx_mark(const struct nvtx_event *event)
{
    nvtx_agent_mark(event);
}
int nvtx_push(const struct nvtx_event *event)
{
    return nvtx_agent_push(event);
}
int nvtx_pop(const struct nvtx_event *event)
{
    return nvtx_agent_pop(event);
}
uint64_t nvtx_start(const struct nvtx_event *event)
{
    return nvtx_agent_start(event);
}
void nvtx_end(uint64_t id, const struct nvtx_event *event)
{
    nvtx_agent_end(id, event);
}

/* ---- Functions that programs call ------------------------------------------------------------------------------ */

/* Programs built with older headers have a shorter struct: a field exists if the struct reaches to its end. */
#define HAS(attributes, field)                                                                                       \
    ((attributes)->size >= offsetof(struct abi_event, field) + sizeof((attributes)->field))

static inline uint32_t payload_flags(int32_t type)
{
    return type > ABI_PAYLOAD_NONE && type <= ABI_PAYLOAD_FLOAT ? (uint32_t)type << WIRE_NVTX_PAYLOAD_SHIFT : 0;
}

static inline struct nvtx_event from_attributes(const void *domain, const struct abi_event *attributes)
{
    struct nvtx_event event = { .domain = nvtx_domain_of(domain) };
    if (unlikely(!attributes || attributes->version < 1 || !HAS(attributes, category)))
        return event;
    uint64_t color = 0;
    if (attributes->category)
        event.flags |= WIRE_NVTX_HAS_CATEGORY;
    if (HAS(attributes, color) && attributes->color_type == ABI_COLOR_ARGB) {
        event.flags |= WIRE_NVTX_HAS_COLOR;
        color = attributes->color;
    }
    event.category_color = attributes->category | color << 32;
    if (HAS(attributes, payload)) {
        event.flags |= payload_flags(attributes->payload_type);
        event.payload = attributes->payload_type >= ABI_PAYLOAD_UINT32 ? attributes->payload.low
                                                                       : attributes->payload.bits;
        if (unlikely(attributes->payload_type == ABI_PAYLOAD_EXTENDED && attributes->reserved0 > 0)) {
            event.binary = (const struct abi_payload_data *)(uintptr_t)attributes->payload.bits;
            event.binary_count = event.binary ? (size_t)attributes->reserved0 : 0;
        }
    }
    if (HAS(attributes, message))
        event.text = nvtx_message(attributes->message_type, attributes->message);
    return event;
}

static void domain_mark_ex(const void *domain, const struct abi_event *attributes)
{
    struct nvtx_event event = from_attributes(domain, attributes);
    nvtx_agent_mark(&event);
}
static uint64_t domain_start_ex(const void *domain, const struct abi_event *attributes)
{
    struct nvtx_event event = from_attributes(domain, attributes);
    return nvtx_agent_start(&event);
}
static void domain_end(const void *domain, uint64_t id)
{
    nvtx_agent_end(id, &(struct nvtx_event){ .domain = nvtx_domain_of(domain) });
}
static int domain_push_ex(const void *domain, const struct abi_event *attributes)
{
    struct nvtx_event event = from_attributes(domain, attributes);
    return nvtx_agent_push(&event);
}

static void mark_ex(const struct abi_event *attributes)
{
    domain_mark_ex(NULL, attributes);
}
static void mark_a(const char *message)
{
    nvtx_agent_mark(&(struct nvtx_event){ .text = nvtx_ascii(message) });
}
static void mark_w(const wchar_t *message)
{
    nvtx_agent_mark(&(struct nvtx_event){ .text = nvtx_wide(message) });
}
static uint64_t start_ex(const struct abi_event *attributes)
{
    return domain_start_ex(NULL, attributes);
}
static uint64_t start_a(const char *message)
{
    return nvtx_agent_start(&(struct nvtx_event){ .text = nvtx_ascii(message) });
}
static uint64_t start_w(const wchar_t *message)
{
    return nvtx_agent_start(&(struct nvtx_event){ .text = nvtx_wide(message) });
}
static void range_end(uint64_t id)
{
    nvtx_agent_end(id, &(struct nvtx_event){ 0 });
}
static int push_ex(const struct abi_event *attributes)
{
    return domain_push_ex(NULL, attributes);
}
/* The two most frequent calls repeat the plain case of nvtx_agent_push() and nvtx_agent_pop(), without an event in
 * memory. */
static __attribute__((noinline)) int push_text(const char *message)
{
    return nvtx_agent_push(&(struct nvtx_event){ .text = nvtx_ascii(message) });
}
static int push_a(const char *message)
{
    struct agent_thread *thread = agent_self;
    if (unlikely(!message || !nvtx_agent_is_plain(thread)))
        return push_text(message);
    struct nvtx_level *level = &nvtx_of(thread)->levels[0];
    uint32_t depth = level->depth;
    size_t length = emit_text_length(message);
    if (unlikely(depth >= 64 || length > WIRE_TEXT_MAX || !nvtx_records(0)))
        return push_text(message);
    level->depth = depth + 1;
    level->recorded |= UINT64_C(1) << depth;
    uint32_t words = WIRE_HEAD_WORDS + emit_text_words(length);
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_NVTX, WIRE_NVTX_PUSH, words);
    if (unlikely(!record)) {
        level->recorded &= ~(UINT64_C(1) << depth);
        return (int)depth;
    }
    *(uint64_t *)record = WIRE_NVTX_PUSH | WIRE_NVTX_HAS_TEXT << 8 | (uint64_t)words << 16 | (uint64_t)depth << 48;
    emit_text(record->body, message, length);
    record->ticks = agent_ticks();
    emit_commit(lane, record);
    return (int)depth;
}
static int push_w(const wchar_t *message)
{
    return nvtx_agent_push(&(struct nvtx_event){ .text = nvtx_wide(message) });
}
static __attribute__((noinline)) int pop_anywhere(uint32_t domain)
{
    return nvtx_agent_pop(&(struct nvtx_event){ .domain = domain });
}
static inline int pop_plain(uint32_t domain)
{
    struct agent_thread *thread = agent_self;
    if (unlikely(!nvtx_agent_is_plain(thread) || domain >= NVTX_THREAD_DOMAINS))
        return pop_anywhere(domain);
    struct nvtx_level *level = &nvtx_of(thread)->levels[domain];
    uint32_t depth = level->depth - 1;
    if (unlikely(depth >= 64))
        return pop_anywhere(domain);
    enum wire_fate fate;
    struct agent_lane *lane;
    uint64_t ticks = agent_ticks();
    struct wire_record *record = level->recorded >> depth & 1
                                     ? emit_reserve(thread, &lane, WIRE_NVTX_POP, WIRE_HEAD_WORDS, &fate)
                                     : NULL;
    if (likely(record != NULL)) {
        *(uint64_t *)record = WIRE_NVTX_POP | WIRE_HEAD_WORDS << 16 | (uint64_t)domain << 32 | (uint64_t)depth << 48;
        record->ticks = ticks;
        emit_commit(lane, record);
    }
    atomic_signal_fence(memory_order_seq_cst);
    level->depth = depth;
    return (int)depth;
}
static int range_pop(void)
{
    return pop_plain(0);
}
static int domain_pop(const void *domain)
{
    return pop_plain(nvtx_domain_of(domain));
}

#define CALL(number, name) { number, (abi_function)(uintptr_t)(name) }

static const struct nvtx_callback core_events[] = {
    CALL(1, mark_ex),   CALL(2, mark_a),  CALL(3, mark_w), CALL(4, start_ex), CALL(5, start_a),    CALL(6, start_w),
    CALL(7, range_end), CALL(8, push_ex), CALL(9, push_a), CALL(10, push_w),  CALL(11, range_pop), { 0, NULL },
};
static const struct nvtx_callback core2_events[] = {
    CALL(1, domain_mark_ex), CALL(2, domain_start_ex), CALL(3, domain_end),
    CALL(4, domain_push_ex), CALL(5, domain_pop),      { 0, NULL },
};

/* Names of OpenCL stay no-ops: a slot that is not filled costs its caller nothing. Libraries that annotate themselves
 * use a domain of their own, so for them alone only the calls with a domain are filled. */
static const struct {
    enum abi_module module;
    const struct nvtx_callback *callbacks;
    uint32_t sources;
} attachments[] = {
    { ABI_MODULE_CORE2, core2_events, WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES) },
    { ABI_MODULE_CORE2, nvtx_names_core2, WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES) },
    { ABI_MODULE_CORE, core_events, WIRE_BIT(NVTX) },
    { ABI_MODULE_CORE, nvtx_names_core, WIRE_BIT(NVTX) },
    { ABI_MODULE_CUDA, nvtx_names_cuda, WIRE_BIT(NVTX) },
    { ABI_MODULE_CUDART, nvtx_names_cudart, WIRE_BIT(NVTX) },
    { ABI_MODULE_SYNC, nvtx_names_sync, WIRE_BIT(NVTX) },
};

/* ---- Attaching ------------------------------------------------------------------------------------------------- */

static void fill_slots(const struct abi_callbacks *table, enum abi_module module, const struct nvtx_callback *callbacks)
{
    abi_function **slots = NULL;
    unsigned count = 0;
    if (!table->module_slots((int)module, &slots, &count) || !slots)
        return;
    for (; callbacks->id; callbacks++)
        if (callbacks->id < count && slots[callbacks->id])
            *slots[callbacks->id] = callbacks->function;
}

EXPORT int InitializeInjectionNvtx2(abi_get_table get_table);

/* Every module with the NVTX headers calls this at its first NVTX call. 0 makes all its calls no-ops for good. */
int InitializeInjectionNvtx2(abi_get_table get_table)
{
    agent_start();
    if (!agent_attached() || !(agent.sources & (WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES))) || !get_table)
        return 0;
    const struct abi_callbacks *table = get_table(ABI_TABLE_CALLBACKS);
    if (!table || table->size < sizeof *table || !table->module_slots)
        return 0;
    const struct abi_version_info *version = get_table(ABI_TABLE_VERSION);
    if (version && version->size >= sizeof *version && version->set_tool_version)
        version->set_tool_version(ABI_VERSION);
    for (size_t i = 0; i < COUNT_OF(attachments); i++)
        if (agent.sources & attachments[i].sources)
            fill_slots(table, attachments[i].module, attachments[i].callbacks);
    return 1;
}

const struct agent_source agent_source_nvtx = {
    .attached = nvtx_after_attach,
    .thread_end = nvtx_thread_end,
};
