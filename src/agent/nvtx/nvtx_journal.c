/* Domains, registered strings, categories, names of threads and resources, and the journal that stores them all.
 *
 * The journal is private memory, in which an entry is written once and never freed: a list of blocks, entries in a
 * block, each a wire record without its time. A thread claims space by compare-and-swap and publishes the entry with
 * `ready`, so threads and signal handlers can register side by side without a lock. An entry for which no buffer had
 * room goes onto a stack (taken off only as a whole, hence no ABA) and is sent later. A forked child has the memory but
 * a new arena: it sends everything again. */
#include "agent/core/agent.h"
#include "agent/core/arena_window.h"
#include "agent/core/sys.h"
#include "nvtx_agent.h"

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

#define REPLACEMENT 0xFFFDu

static uint32_t code_point(wchar_t wide)
{
    uint32_t code = (uint32_t)wide;
    return code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? REPLACEMENT : code;
}

static uint32_t utf8_length(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static char *put_utf8(char *to, uint32_t code)
{
    static const uint8_t lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    uint32_t length = utf8_length(code);
    for (uint32_t i = length; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3F));
    to[0] = (char)(lead[length] | code);
    return to + length;
}

struct nvtx_text nvtx_wide(const wchar_t *text)
{
    if (!text)
        return (struct nvtx_text){ .kind = NVTX_TEXT_NONE };
    uint32_t length = 0;
    for (const wchar_t *c = text; *c; c++) {
        uint32_t more = utf8_length(code_point(*c));
        if (length + more > WIRE_TEXT_MAX)
            break;
        length += more;
    }
    return (struct nvtx_text){ .kind = NVTX_TEXT_WIDE, .pointer = text, .length = length };
}

/* The program may change its text while the agent reads it: never write more than was reserved. */
void nvtx_put_wide(char *to, const struct nvtx_text *text)
{
    const wchar_t *from = text->pointer;
    char *end = to + text->length;
    while (to < end) {
        uint32_t code = code_point(*from++);
        if (utf8_length(code) > (size_t)(end - to) || code == 0)
            code = '?';
        to = put_utf8(to, code);
    }
}

static int nvtx_journal_is_string(uint64_t handle)
{
    return handle >> 48 == (uint64_t)NVTX_TAG_STRING << 8 && (uint32_t)handle != 0 &&
           (uint32_t)handle <= atomic_load_explicit(&nvtx.string_count, memory_order_relaxed);
}

struct nvtx_text nvtx_message(int32_t type, union abi_message message)
{
    uint64_t handle = (uint64_t)(uintptr_t)message.registered;
    if (type == ABI_MESSAGE_ASCII)
        return nvtx_ascii(message.ascii);
    if (type == ABI_MESSAGE_WIDE)
        return nvtx_wide(message.wide);
    if (type == ABI_MESSAGE_REGISTERED && nvtx_journal_is_string(handle))
        return (struct nvtx_text){ .kind = NVTX_TEXT_REGISTERED, .id = (uint32_t)handle };
    return (struct nvtx_text){ .kind = NVTX_TEXT_NONE };
}

/* ---- The journal ----------------------------------------------------------------------------------------------- */

#define BLOCK_WORDS 32768u /* 256 KiB */
#define BLOCKS_MAX 1024u
#define LAST_WAIT_MS 2000 /* a program waits no longer than this for the agent at its exit */

struct nvtx_journal_entry {
    _Atomic uint32_t words; /* length of the record; 0: claimed, but the length is not written yet */
    _Atomic uint32_t ready;
    struct nvtx_journal_entry *next_unsent;
    struct wire_record record;
};
#define ENTRY_WORDS ((uint32_t)(offsetof(struct nvtx_journal_entry, record) / 8))

struct nvtx_journal_block {
    _Atomic(struct nvtx_journal_block *) next;
    _Atomic uint32_t used; /* words */
    uint32_t number;
    uint64_t words[];
};
#define BLOCK_ROOM (BLOCK_WORDS - (uint32_t)(sizeof(struct nvtx_journal_block) / 8))

static _Atomic(struct nvtx_journal_block *) first_block, last_block;

/* The block after this one (NULL: the first), created if needed; NULL when there is no memory. */
static struct nvtx_journal_block *nvtx_journal_next_block(struct nvtx_journal_block *block)
{
    _Atomic(struct nvtx_journal_block *) *link = block ? &block->next : &first_block;
    struct nvtx_journal_block *next = atomic_load_explicit(link, memory_order_acquire);
    if (next || (block && block->number + 1 >= BLOCKS_MAX))
        return next;
    struct nvtx_journal_block *fresh = window_map_inherited(BLOCK_WORDS * 8);
    if (!fresh)
        return NULL;
    fresh->number = block ? block->number + 1 : 0;
    if (atomic_compare_exchange_strong(link, &next, fresh))
        return fresh;
    window_unmap(fresh, BLOCK_WORDS * 8);
    return next;
}

static struct nvtx_journal_entry *take_entry(uint32_t record_words)
{
    uint32_t words = ENTRY_WORDS + record_words;
    if (words > BLOCK_ROOM)
        return NULL;
    struct nvtx_journal_block *block = atomic_load_explicit(&last_block, memory_order_acquire);
    if (!block)
        block = nvtx_journal_next_block(NULL);
    while (block) {
        uint32_t used = atomic_load_explicit(&block->used, memory_order_relaxed);
        while (used + words <= BLOCK_ROOM) {
            if (!atomic_compare_exchange_weak(&block->used, &used, used + words))
                continue;
            struct nvtx_journal_entry *entry = (struct nvtx_journal_entry *)&block->words[used];
            atomic_store_explicit(&entry->words, record_words, memory_order_release);
            atomic_store_explicit(&last_block, block, memory_order_release);
            return entry;
        }
        block = nvtx_journal_next_block(block);
    }
    return NULL;
}

/* 0, or -1 when there is no room now. */
static int send_entry(struct agent_thread *thread, const struct nvtx_journal_entry *entry)
{
    enum wire_fate fate;
    uint32_t words = atomic_load_explicit(&entry->words, memory_order_relaxed);
    struct agent_lane *lane;
    struct wire_record *record = emit_reserve(thread, &lane, entry->record.type, words, &fate);
    if (!record)
        return -1;
    memcpy(record, &entry->record, (size_t)words * 8);
    record->ticks = agent_ticks();
    emit_commit(lane, record);
    return 0;
}

static void send_later(struct nvtx_journal_entry *first, struct nvtx_journal_entry *last)
{
    void *head = atomic_load_explicit(&nvtx.unsent, memory_order_relaxed);
    do
        last->next_unsent = head;
    while (
        !atomic_compare_exchange_weak_explicit(&nvtx.unsent, &head, first, memory_order_release, memory_order_relaxed));
}

/* Called before events while entries are unsent. A full buffer stays full for a while, so it does not walk the list
 * each time. */
int nvtx_send_unsent(struct agent_thread *thread)
{
    static _Atomic uint64_t not_before;
    const uint64_t pause = UINT64_C(1) << 20; /* ticks: well below a millisecond */
    uint64_t now = agent_ticks();
    if (thread->lanes[WIRE_LANE_THREAD].busy || now < atomic_load_explicit(&not_before, memory_order_relaxed))
        return 0;
    struct nvtx_journal_entry *entry = atomic_exchange_explicit(&nvtx.unsent, NULL, memory_order_acquire);
    while (entry && send_entry(thread, entry) == 0)
        entry = entry->next_unsent;
    if (!entry)
        return 1;
    atomic_store_explicit(&not_before, now + pause, memory_order_relaxed);
    struct nvtx_journal_entry *last = entry;
    while (last->next_unsent)
        last = last->next_unsent;
    send_later(entry, last);
    return 0;
}

/* At the end of the program there is a little time to send what found no room: the collector makes some. */
__attribute__((destructor)) static void send_last(void)
{
    const struct timespec millisecond = { .tv_nsec = 1000000 };
    for (int i = 0; i < LAST_WAIT_MS && agent_attached() && atomic_load(&nvtx.unsent); i++) {
        struct agent_thread *thread = agent_thread();
        if (!thread || nvtx_send_unsent(thread))
            return;
        sys_nanosleep(&millisecond, NULL);
    }
}

/* Two texts share the room of one: the second is truncated to what the first leaves, with the zero between them. So
 * every entry fits into a chunk. One that did not would never be sent, and would hold up all entries after it. */
static uint32_t more_length(const struct nvtx_note *note)
{
    uint32_t room = note->text.length < WIRE_TEXT_MAX ? WIRE_TEXT_MAX - note->text.length - 1 : 0;
    return note->more.length < room ? note->more.length : room;
}
#define HEAD_WORDS_MAX 8u
_Static_assert((WIRE_HEAD_WORDS + HEAD_WORDS_MAX) * 8 + WIRE_TEXT_MAX + 8 <= WIRE_CHUNK_DATA,
               "every entry fits into a chunk");
_Static_assert(WIRE_ENTRY_WORDS <= HEAD_WORDS_MAX && WIRE_SCHEMA_WORDS <= HEAD_WORDS_MAX,
               "the longest heads there are");

static uint32_t note_words(const struct nvtx_note *note)
{
    uint32_t more = more_length(note) ? more_length(note) + 1 : 0;
    uint32_t text = note->text.kind == NVTX_TEXT_REGISTERED ? 1 : emit_text_words(note->text.length + more);
    return WIRE_HEAD_WORDS + note->head_words + text;
}

static void fill_note(struct wire_record *record, const struct nvtx_note *note, uint32_t words)
{
    record->type = (uint8_t)note->type;
    record->flags = note->flags;
    record->words = (uint16_t)words;
    record->a = (uint16_t)note->domain;
    memcpy(record->body, note->head, (size_t)note->head_words * 8);
    uint64_t *text = record->body + note->head_words;
    nvtx_put_text(text, &note->text);
    if (note->more.kind == NVTX_TEXT_UTF8) /* the memory is fresh, so zeros follow */
        memcpy((char *)text + note->text.length + 1, note->more.pointer, more_length(note));
}

void nvtx_tell(const struct nvtx_note *note)
{
    if (!(agent.sources & WIRE_BIT(NVTX)) && !nvtx_domain_on(note->domain))
        return;   /* only libraries' own annotations are recorded, and this is not one */
    uint32_t words = note_words(note);
    struct nvtx_journal_entry *entry = take_entry(words);
    if (!entry) { /* no memory, or the journal has its maximum size. A name is not an event */
        if (agent_attached())
            atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_NOTES][WIRE_LOST_BUFFER_FULL], 1,
                                      memory_order_relaxed);
        return;
    }
    fill_note(&entry->record, note, words);
    atomic_store_explicit(&entry->ready, 1, memory_order_release);
    struct agent_thread *thread = agent_thread();
    if (!thread || send_entry(thread, entry) != 0)
        send_later(entry, entry);
}

static void tell_again(struct agent_thread *thread, struct nvtx_journal_block *block)
{
    uint32_t used = atomic_load_explicit(&block->used, memory_order_relaxed), words;
    for (uint32_t at = 0; at < used; at += ENTRY_WORDS + words) {
        struct nvtx_journal_entry *entry = (struct nvtx_journal_entry *)&block->words[at];
        words = atomic_load_explicit(&entry->words, memory_order_relaxed);
        if (words == 0) /* another thread was about to write here during the fork */
            return;
        int tells = atomic_load_explicit(&entry->ready, memory_order_relaxed) && entry->record.type != WIRE_NVTX_THREAD;
        if (tells && (!thread || send_entry(thread, entry) != 0)) /* threads of the parent are not in this process */
            send_later(entry, entry);
    }
}

void nvtx_after_attach(enum wire_origin origin)
{
    nvtx_apply_settings();
    atomic_store(&nvtx.unsent, NULL);
    atomic_store(&nvtx.trigger_range, 0);
    nvtx_steps_forget();
    struct agent_thread *thread = agent_thread();
    for (struct nvtx_journal_block *block = atomic_load(&first_block); block; block = atomic_load(&block->next))
        tell_again(thread, block);
}

/* ---- Settings -------------------------------------------------------------------------------------------------- */

/* A text of the arena's settings, or NULL. */
static const char *setting(uint32_t offset)
{
    return offset && offset < WIRE_TEXT_BYTES ? agent.arena->text + offset : NULL;
}

/* Settings call the default domain "default". That also means a domain that the program gives this name. */
static int listed(const char *list, const struct nvtx_text *name)
{
    for (; *list; list += strlen(list) + 1)
        if (name ? nvtx_text_is(name, list) : strcmp(list, "default") == 0)
            return 1;
    return 0;
}

const char *const nvtx_library_domains[WIRE_LIBRARY_COUNT] = {
#define LIBRARY(id, name, domain, ...) [WIRE_LIBRARY_##id] = domain,
#include "wire/libraries.def"
#undef LIBRARY
};

/* Whether a domain of this name belongs to a library that the user selected. */
static int is_of_library(const struct nvtx_text *name)
{
    for (uint32_t i = 0; (agent.sources & WIRE_BIT(LIBRARIES)) && i < WIRE_LIBRARY_COUNT; i++)
        if ((wire_library(agent.arena)->wanted & WIRE_LIBRARY_BIT(i)) && nvtx_text_is(name, nvtx_library_domains[i]))
            return 1;
    return 0;
}

/* name: NULL for the default domain. */
static uint8_t domain_flags(const struct nvtx_text *name)
{
    const char *include = setting(wire_nvtx(agent.arena)->domain_include),
               *exclude = setting(wire_nvtx(agent.arena)->domain_exclude);
    const char *trigger = setting(wire_nvtx(agent.arena)->capture_domain);
    int on = (agent.sources & WIRE_BIT(NVTX)) && (!include || listed(include, name)) &&
             !(exclude && listed(exclude, name));
    int begins = !trigger ? !name
                          : strcmp(trigger, "*") == 0 || (name && nvtx_text_is(name, trigger)) ||
                                (!name && strcmp(trigger, "default") == 0);
    return (uint8_t)((on ? NVTX_DOMAIN_ON : 0) | (name && is_of_library(name) ? NVTX_DOMAIN_LIBRARY : 0) |
                     (begins ? NVTX_DOMAIN_TRIGGER : 0));
}

void nvtx_apply_settings(void)
{
    atomic_store(&nvtx.domains[0], domain_flags(NULL));
    atomic_store(&nvtx.trigger,
                 (agent.arena->capture == WIRE_CAPTURE_NVTX ? NVTX_TRIGGERS_CAPTURE : 0) |
                     (steps_are_advised() ? NVTX_TRIGGERS_STEPS : 0) |
                     (nvtx_launch_read(setting(wire_nvtx(agent.arena)->launch_ranges)) ? NVTX_TRIGGERS_LAUNCHES : 0));
}

/* The names of the first domains that do not begin the capture, in case one of them has the range. */
static _Alignas(8) char other_domains[32][64];
static _Atomic uint32_t told_elsewhere;

static void keep_name(uint32_t id, const struct nvtx_text *name)
{
    if (!(atomic_load_explicit(&nvtx.trigger, memory_order_relaxed) & NVTX_TRIGGERS_CAPTURE) ||
        id >= COUNT_OF(other_domains))
        return;
    struct nvtx_text start = *name;
    start.length = name->length < sizeof *other_domains ? name->length : sizeof *other_domains - 1;
    nvtx_put_text((uint64_t *)other_domains[id], &start);
}

int nvtx_elsewhere_told(void)
{
    return (int)atomic_load_explicit(&told_elsewhere, memory_order_relaxed);
}

void nvtx_tell_elsewhere(uint32_t domain)
{
    const char *name = domain == 0 ? "default" : domain < COUNT_OF(other_domains) ? other_domains[domain] : "";
    if (!atomic_exchange(&told_elsewhere, 1))
        emit_note(WIRE_CAPTURE_ELSEWHERE, 0, NULL, 0, name);
}

/* Registered strings that equal the name of the capture range. */
static _Atomic uint32_t trigger_strings[64];
static _Atomic uint32_t trigger_string_count;

static void note_trigger_string(const struct nvtx_text *text, uint32_t id)
{
    const char *wanted = setting(wire_nvtx(agent.arena)->capture_range);
    if (!(atomic_load_explicit(&nvtx.trigger, memory_order_relaxed) & NVTX_TRIGGERS_CAPTURE) || !wanted ||
        !nvtx_text_is(text, wanted))
        return;
    uint32_t place = atomic_fetch_add(&trigger_string_count, 1);
    if (place < COUNT_OF(trigger_strings))
        atomic_store(&trigger_strings[place], id);
}

static int wide_is(const wchar_t *text, const char *wanted)
{
    for (; *text; text++) {
        char bytes[4];
        size_t length = (size_t)(put_utf8(bytes, code_point(*text)) - bytes);
        if (strncmp(wanted, bytes, length) != 0)
            return 0;
        wanted += length;
    }
    return *wanted == 0;
}

int nvtx_text_is(const struct nvtx_text *text, const char *wanted)
{
    if (text->kind == NVTX_TEXT_UTF8)
        return strlen(wanted) == text->length && memcmp(wanted, text->pointer, text->length) == 0;
    if (text->kind == NVTX_TEXT_WIDE)
        return wide_is(text->pointer, wanted);
    if (text->kind == NVTX_TEXT_REGISTERED)
        for (size_t i = 0; i < COUNT_OF(trigger_strings); i++)
            if (atomic_load_explicit(&trigger_strings[i], memory_order_relaxed) == (uint32_t)text->id)
                return 1;
    return 0;
}

/* ---- Domains, strings, categories ------------------------------------------------------------------------------ */

uint32_t nvtx_take_number(_Atomic uint32_t *count, uint32_t max)
{
    uint32_t now = atomic_load_explicit(count, memory_order_relaxed);
    do {
        if (now >= max)
            return 0;
    } while (!atomic_compare_exchange_weak(count, &now, now + 1));
    return now + 1;
}

static void tell_text(uint32_t type, uint32_t domain, uint64_t number, struct nvtx_text text)
{
    nvtx_tell(&(struct nvtx_note){ .type = type, .domain = domain, .head = &number, .head_words = 1, .text = text });
}

const void *nvtx_new_domain(struct nvtx_text name)
{
    if (!agent_attached())
        return NULL;
    uint8_t flags = domain_flags(&name);
    uint32_t id = nvtx_take_number(&nvtx.domain_count, NVTX_DOMAIN_MAX - 1);
    if (!id)
        return NULL;
    atomic_store(&nvtx.domains[id], flags);
    if (!(flags & NVTX_DOMAIN_TRIGGER))
        keep_name(id, &name);
    nvtx_launch_domain(id, &name);
    if (nvtx_domain_on(id))
        nvtx_tell(
            &(struct nvtx_note){ .type = WIRE_NVTX_DOMAIN, .domain = id, .head = &(uint64_t){ 0 }, .text = name });
    return (const void *)(uintptr_t)nvtx_handle(NVTX_TAG_DOMAIN, 0, id);
}
static const void *domain_create_a(const char *name)
{
    return nvtx_new_domain(nvtx_ascii(name));
}
static const void *domain_create_w(const wchar_t *name)
{
    return nvtx_new_domain(nvtx_wide(name));
}

static void domain_destroy(const void *handle)
{
    uint32_t domain = nvtx_domain_of(handle);
    if (domain && nvtx_domain_on(domain))
        emit_note(WIRE_NVTX_DOMAIN_END, (uint16_t)domain, NULL, 0, NULL);
}

uint32_t nvtx_register(uint32_t domain, struct nvtx_text text)
{
    uint32_t id = nvtx_take_number(&nvtx.string_count, UINT32_MAX - 1);
    if (id)
        tell_text(WIRE_NVTX_STRING, domain, id, text);
    return id;
}

static const void *register_string(const void *domain_handle, struct nvtx_text text)
{
    if (!agent_attached() || text.kind == NVTX_TEXT_NONE)
        return NULL;
    uint32_t domain = nvtx_domain_of(domain_handle), id = nvtx_register(domain, text);
    if (!id)
        return NULL;
    note_trigger_string(&text, id);
    nvtx_launch_string(&text, id);
    nvtx_step_string(&text, id);
    return (const void *)(uintptr_t)nvtx_handle(NVTX_TAG_STRING, domain, id);
}
static const void *register_string_a(const void *domain, const char *text)
{
    return register_string(domain, nvtx_ascii(text));
}
static const void *register_string_w(const void *domain, const wchar_t *text)
{
    return register_string(domain, nvtx_wide(text));
}

static void domain_category_a(const void *domain, uint32_t category, const char *name)
{
    tell_text(WIRE_NVTX_CATEGORY, nvtx_domain_of(domain), category, nvtx_ascii(name));
}
static void domain_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
    tell_text(WIRE_NVTX_CATEGORY, nvtx_domain_of(domain), category, nvtx_wide(name));
}
static void category_a(uint32_t category, const char *name)
{
    domain_category_a(NULL, category, name);
}
static void category_w(uint32_t category, const wchar_t *name)
{
    domain_category_w(NULL, category, name);
}

/* The first call of the headers. Nothing is left to do. */
static void nvtx_journal_initialize(const void *reserved)
{
    (void)reserved;
}

/* ---- Threads and resources ------------------------------------------------------------------------------------- */

static void thread_a(uint32_t tid, const char *name)
{
    tell_text(WIRE_NVTX_THREAD, 0, tid, nvtx_ascii(name));
}
static void thread_w(uint32_t tid, const wchar_t *name)
{
    tell_text(WIRE_NVTX_THREAD, 0, tid, nvtx_wide(name));
}

static const struct {
    int32_t type;
    enum wire_resource resource;
} resource_types[] = {
    { ABI_RESOURCE(1, 1), WIRE_RESOURCE_GENERIC_POINTER }, { ABI_RESOURCE(1, 2), WIRE_RESOURCE_GENERIC_HANDLE },
    { ABI_RESOURCE(1, 3), WIRE_RESOURCE_GENERIC_THREAD },  { ABI_RESOURCE(1, 4), WIRE_RESOURCE_GENERIC_POSIX },
    { ABI_RESOURCE(4, 1), WIRE_RESOURCE_CUDA_DEVICE },     { ABI_RESOURCE(4, 2), WIRE_RESOURCE_CUDA_CONTEXT },
    { ABI_RESOURCE(4, 3), WIRE_RESOURCE_CUDA_STREAM },     { ABI_RESOURCE(4, 4), WIRE_RESOURCE_CUDA_EVENT },
    { ABI_RESOURCE(5, 0), WIRE_RESOURCE_CUDA_DEVICE },     { ABI_RESOURCE(5, 1), WIRE_RESOURCE_CUDA_STREAM },
    { ABI_RESOURCE(5, 2), WIRE_RESOURCE_CUDA_EVENT },
};

static void tell_resource(enum wire_resource resource, uint32_t domain, uint64_t identifier, uint32_t handle,
                          struct nvtx_text name)
{
    uint64_t head[] = { identifier, handle };
    uint8_t flags = (uint8_t)resource;
    if (name.kind == NVTX_TEXT_REGISTERED) /* then the body has [id of the string] instead of the text */
        flags |= WIRE_NVTX_REGISTERED;
    nvtx_tell(&(struct nvtx_note){
        .type = WIRE_NVTX_RESOURCE, .flags = flags, .domain = domain, .head = head, .head_words = 2, .text = name });
}

static const void *resource_create(const void *domain, const struct abi_resource *attributes)
{
    if (!attributes || attributes->size < sizeof *attributes || !agent_attached())
        return NULL;
    enum wire_resource resource = WIRE_RESOURCE_OTHER;
    for (size_t i = 0; i < COUNT_OF(resource_types); i++)
        if (resource_types[i].type == attributes->type)
            resource = resource_types[i].resource;
    uint32_t id = nvtx_take_number(&nvtx.resource_count, UINT32_MAX - 1), number = nvtx_domain_of(domain);
    if (!id)
        return NULL;
    tell_resource(resource, number, attributes->identifier, id,
                  nvtx_message(attributes->message_type, attributes->message));
    return (const void *)(uintptr_t)nvtx_handle(NVTX_TAG_RESOURCE, number, id);
}

static void resource_destroy(const void *handle)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle, head[] = { 0, (uint32_t)bits };
    if (bits >> 48 != (uint64_t)NVTX_TAG_RESOURCE << 8)
        return;
    nvtx_tell(&(struct nvtx_note){
        .type = WIRE_NVTX_RESOURCE,
        .flags = WIRE_RESOURCE_DESTROYED,
        .domain = (uint16_t)(bits >> 32),
        .head = head,
        .head_words = 2,
    });
}

#define CUDA_NAMES(function, argument, resource)                                                                     \
    static void function##_a(argument object, const char *name)                                                      \
    {                                                                                                                \
        tell_resource(resource, 0, (uint64_t)(uintptr_t)object, 0, nvtx_ascii(name));                                 \
    }                                                                                                                \
    static void function##_w(argument object, const wchar_t *name)                                                   \
    {                                                                                                                \
        tell_resource(resource, 0, (uint64_t)(uintptr_t)object, 0, nvtx_wide(name));                                  \
    }
CUDA_NAMES(cuda_device, int, WIRE_RESOURCE_CUDA_DEVICE)
CUDA_NAMES(cuda_context, const void *, WIRE_RESOURCE_CUDA_CONTEXT)
CUDA_NAMES(cuda_stream, const void *, WIRE_RESOURCE_CUDA_STREAM)
CUDA_NAMES(cuda_event, const void *, WIRE_RESOURCE_CUDA_EVENT)

/* ---- User-defined synchronisation objects ---------------------------------------------------------------------- */

static const void *sync_create(const void *domain, const struct abi_sync *attributes)
{
    if (!agent_attached())
        return NULL;
    struct nvtx_text name = { .kind = NVTX_TEXT_NONE };
    if (attributes && attributes->size >= sizeof *attributes)
        name = nvtx_message(attributes->message_type, attributes->message);
    uint32_t id = nvtx_take_number(&nvtx.sync_count, UINT32_MAX - 1), number = nvtx_domain_of(domain);
    if (!id)
        return NULL;
    uint64_t head = id;
    uint8_t flags = WIRE_SYNC_CREATE | (name.kind == NVTX_TEXT_REGISTERED ? WIRE_NVTX_REGISTERED : 0);
    nvtx_tell(&(struct nvtx_note){
        .type = WIRE_NVTX_SYNC, .flags = flags, .domain = number, .head = &head, .head_words = 1, .text = name });
    return (const void *)(uintptr_t)nvtx_handle(NVTX_TAG_SYNC, number, id);
}

static void sync_event(const void *handle, enum wire_sync what)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    uint16_t domain = (uint16_t)(bits >> 32);
    struct agent_thread *thread = agent_enter(WIRE_BIT(NVTX));
    if (!thread || bits >> 48 != (uint64_t)NVTX_TAG_SYNC << 8 || !nvtx_domain_on(domain))
        return;
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_NVTX, WIRE_NVTX_SYNC, WIRE_HEAD_WORDS + 1);
    if (!record)
        return;
    record->flags = (uint8_t)what;
    record->a = domain;
    record->body[0] = (uint32_t)bits;
    record->ticks = agent_ticks();
    emit_commit(lane, record);
}
static void sync_destroy(const void *handle)
{
    sync_event(handle, WIRE_SYNC_DESTROY);
}
static void sync_acquire_start(const void *handle)
{
    sync_event(handle, WIRE_SYNC_ACQUIRE_START);
}
static void sync_acquire_failed(const void *handle)
{
    sync_event(handle, WIRE_SYNC_ACQUIRE_FAILED);
}
static void sync_acquire_success(const void *handle)
{
    sync_event(handle, WIRE_SYNC_ACQUIRE_SUCCESS);
}
static void sync_releasing(const void *handle)
{
    sync_event(handle, WIRE_SYNC_RELEASING);
}

/* ---- Callback tables ------------------------------------------------------------------------------------------- */

#define CALL(number, name) { number, (abi_function)(uintptr_t)(name) }

const struct nvtx_callback nvtx_names_core[] = {
    CALL(12, category_a), CALL(13, category_w), CALL(14, thread_a), CALL(15, thread_w), { 0, NULL },
};
const struct nvtx_callback nvtx_names_core2[] = {
    CALL(6, resource_create),
    CALL(7, resource_destroy),
    CALL(8, domain_category_a),
    CALL(9, domain_category_w),
    CALL(10, register_string_a),
    CALL(11, register_string_w),
    CALL(12, domain_create_a),
    CALL(13, domain_create_w),
    CALL(14, domain_destroy),
    CALL(15, nvtx_journal_initialize),
    { 0, NULL },
};
const struct nvtx_callback nvtx_names_cuda[] = {
    CALL(1, cuda_device_a),  CALL(2, cuda_device_w), CALL(3, cuda_context_a),
    CALL(4, cuda_context_w), CALL(5, cuda_stream_a), CALL(6, cuda_stream_w),
    CALL(7, cuda_event_a),   CALL(8, cuda_event_w),  { 0, NULL },
};
const struct nvtx_callback nvtx_names_cudart[] = {
    CALL(1, cuda_device_a),
    CALL(2, cuda_device_w),
    CALL(3, cuda_stream_a),
    CALL(4, cuda_stream_w),
    CALL(5, cuda_event_a),
    CALL(6, cuda_event_w),
    { 0, NULL },
};
const struct nvtx_callback nvtx_names_sync[] = {
    CALL(1, sync_create),
    CALL(2, sync_destroy),
    CALL(3, sync_acquire_start),
    CALL(4, sync_acquire_failed),
    CALL(5, sync_acquire_success),
    CALL(6, sync_releasing),
    { 0, NULL },
};
