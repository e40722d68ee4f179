/* What the files of the NVTX source share: handles, domains, texts, and the journal of names.
 *
 * nvtx_agent.c has the events and the hot path; nvtx_journal.c the domains, strings and names; nvtx_extensions.c the
 * extensions. Handles are numbers with a tag, not pointers: the agent can check any value that a program passes without
 * touching memory, and a forked child understands the handles of its parent. */
#ifndef TACHO_AGENT_NVTX_NVTX_AGENT_H
#define TACHO_AGENT_NVTX_NVTX_AGENT_H

#include <string.h>

#include "abi/nvtx_abi.h"
#include "agent/core/agent.h"
#include "agent/core/source.h"
#include "agent/steps/step_agent.h"
#include "wire/wire_libraries.h"
#include "wire/wire_nvtx.h"

/* ---- Handles: { tag : 8, zero : 8, domain : 16, id : 32 }; ids count from 1, so that none is NULL -------------- */

enum nvtx_tag { NVTX_TAG_DOMAIN = 0xD1, NVTX_TAG_STRING, NVTX_TAG_RESOURCE, NVTX_TAG_SYNC };

static inline uint64_t nvtx_handle(enum nvtx_tag tag, uint32_t domain, uint32_t id)
{
    return (uint64_t)tag << 56 | (uint64_t)domain << 32 | id;
}

#define NVTX_DOMAIN_MAX 65536u
enum nvtx_domain_flag {
    NVTX_DOMAIN_ON = WIRE_BIT(NVTX), /* not filtered out: recorded while NVTX is */
    /* The domain of a library that the user selected: recorded while libraries are. */
    NVTX_DOMAIN_LIBRARY = WIRE_BIT(LIBRARIES),
    NVTX_DOMAIN_TRIGGER = 0x80, /* its ranges may begin a capture */
};

enum nvtx_trigger {
    NVTX_TRIGGERS_CAPTURE = 1,  /* the capture begins with an NVTX range */
    NVTX_TRIGGERS_STEPS = 2,    /* steps are timed, and ranges may mark them */
    NVTX_TRIGGERS_LAUNCHES = 4, /* ranges decide which launches are counted */
};

struct nvtx {
    _Atomic uint8_t domains[NVTX_DOMAIN_MAX]; /* enum nvtx_domain_flag, by id; 0 is the default domain */
    _Atomic uint32_t domain_count;            /* number of ids in use, without the default domain */
    _Atomic uint32_t string_count, resource_count, sync_count;
    _Atomic uint32_t trigger;                 /* enum nvtx_trigger: events of this capture that ranges begin */
    _Atomic uint64_t trigger_range;           /* the range that began it, while it is open: see nvtx_agent.c */
    _Atomic(void *) unsent;                   /* journal entries that no buffer had room for */
    _Atomic uint32_t range_blocks;
};
extern struct nvtx nvtx;

/* The id behind a handle; 0, the default domain, for NULL and for values that are not a handle of a domain. */
static inline uint32_t nvtx_domain_of(const void *handle)
{
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    if (bits >> 32 != (uint64_t)NVTX_TAG_DOMAIN << 24)
        return 0;
    uint32_t id = (uint32_t)bits;
    return id <= atomic_load_explicit(&nvtx.domain_count, memory_order_relaxed) ? id : 0;
}

static inline int nvtx_domain_on(uint32_t domain)
{
    return atomic_load_explicit(&nvtx.domains[domain], memory_order_relaxed) & (NVTX_DOMAIN_ON | NVTX_DOMAIN_LIBRARY);
}

/* True if events of this domain are recorded right now. */
static inline int nvtx_records(uint32_t domain)
{
    uint32_t flags = atomic_load_explicit(&nvtx.domains[domain], memory_order_relaxed);
    return agent_recording(flags & (NVTX_DOMAIN_ON | NVTX_DOMAIN_LIBRARY));
}

/* The domain of the ranges that stubs make for a library's calls: its row in libraries.def, counted from 1. */
static inline uint32_t library_domain(uint32_t library)
{
    return library + 1;
}

extern const char *const nvtx_library_domains[WIRE_LIBRARY_COUNT]; /* the names of these domains, by library */

/* The source that counts an event of this domain. NVTX events of a library count as NVTX if NVTX is recorded. */
static inline enum wire_source nvtx_source(uint32_t domain)
{
    int is_call = domain - 1 < WIRE_LIBRARY_COUNT && (agent.sources & WIRE_BIT(LIBRARIES));
    return is_call || !(agent.sources & WIRE_BIT(NVTX)) ? WIRE_SOURCE_LIBRARIES : WIRE_SOURCE_NVTX;
}

/* ---- Levels ---------------------------------------------------------------------------------------------------- */

/* Domains whose levels have room in the thread itself. Those of further domains are mapped when needed. */
#define NVTX_THREAD_DOMAINS 16

/* How deep a thread is in the push/pop ranges of a domain, and a bit for each level: "this push was recorded". */
struct nvtx_level {
    uint64_t recorded; /* levels 0 to 63 */
    uint64_t *deep;    /* further levels, mapped when needed */
    uint32_t depth;
};

struct nvtx_thread {
    uint32_t range_serial;   /* for nvtxRangeStart ids */
    uint32_t range_block;    /* upper half of the ids, valid once range_serial is not 0 */
    struct nvtx_level levels[NVTX_THREAD_DOMAINS];
    struct nvtx_level *more; /* by domain: nvtx_agent.c maps and frees it */
};
AGENT_THREAD_STATE(NVTX, struct nvtx_thread, nvtx_of)

/* Sends domains, strings and names to a new arena. */
void nvtx_after_attach(enum wire_origin origin);
void nvtx_thread_end(struct agent_thread *thread); /* unmaps what the source has for the thread */

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

enum nvtx_text_kind { NVTX_TEXT_NONE, NVTX_TEXT_UTF8, NVTX_TEXT_WIDE, NVTX_TEXT_REGISTERED };

/* A message as the program passed it. The pointer is valid during the call only. */
struct nvtx_text {
    enum nvtx_text_kind kind;
    uint32_t length; /* in bytes of UTF-8 */
    const void *pointer;
    uint64_t id;     /* id of a registered string */
};

static inline struct nvtx_text nvtx_ascii(const char *text)
{
    if (unlikely(!text))
        return (struct nvtx_text){ .kind = NVTX_TEXT_NONE };
    size_t length = emit_text_length(text);
    return (struct nvtx_text){
        .kind = NVTX_TEXT_UTF8,
        .pointer = text,
        .length = unlikely(length > WIRE_TEXT_MAX) ? WIRE_TEXT_MAX : (uint32_t)length,
    };
}

struct nvtx_text nvtx_wide(const wchar_t *text);
struct nvtx_text nvtx_message(int32_t type, union abi_message message); /* as in attribute structs */
void nvtx_put_wide(char *to, const struct nvtx_text *text);             /* length bytes */
/* Compares with a text of the settings; works for registered strings too. */
int nvtx_text_is(const struct nvtx_text *text, const char *wanted);

static inline uint32_t nvtx_text_words(const struct nvtx_text *text)
{
    return text->kind == NVTX_TEXT_NONE ? 0 : text->kind == NVTX_TEXT_REGISTERED ? 1 : emit_text_words(text->length);
}
static inline void nvtx_put_text(uint64_t *to, const struct nvtx_text *text)
{
    if (text->kind == NVTX_TEXT_UTF8) {
        emit_text(to, text->pointer, text->length);
    } else if (text->kind == NVTX_TEXT_WIDE) {
        to[text->length / 8] = 0;
        nvtx_put_wide((char *)to, text);
    } else if (text->kind == NVTX_TEXT_REGISTERED) {
        to[0] = text->id;
    }
}

/* ---- The journal: all that events refer to, stored for forked children and for full buffers -------------------- */

struct nvtx_note {
    uint32_t type;
    uint8_t flags;
    uint32_t domain;
    const uint64_t *head;
    uint32_t head_words;
    struct nvtx_text text;
    struct nvtx_text more; /* a second text, after the first one's NUL */
};

/* Stores the note and sends it, at once or as soon as there is room. */
void nvtx_tell(const struct nvtx_note *note);

/* Returns whether nothing is left to send. */
int nvtx_send_unsent(struct agent_thread *thread);

/* The next number of a counter, from 1; 0 when all are taken. */
uint32_t nvtx_take_number(_Atomic uint32_t *count, uint32_t max);

/* Creates a domain of this name and returns its handle. */
const void *nvtx_new_domain(struct nvtx_text name);

/* Registers a string with the collector and returns its id; 0 when all are taken. */
uint32_t nvtx_register(uint32_t domain, struct nvtx_text text);

/* A range has the name that the capture waits for, but another domain: recorded once, to explain an empty capture. */
int nvtx_elsewhere_told(void);
void nvtx_tell_elsewhere(uint32_t domain);

/* Settings that depend on the arena: filters, the capture range. */
void nvtx_apply_settings(void);

/* ---- Events ---------------------------------------------------------------------------------------------------- */

struct nvtx_event {
    uint32_t domain;
    uint32_t flags;                        /* category, colour and payload, as in enum wire_nvtx_flag */
    uint64_t category_color, payload;
    struct nvtx_text text;
    const struct abi_payload_data *binary; /* extended payloads */
    size_t binary_count;
};

void nvtx_mark(const struct nvtx_event *event);
int nvtx_push(const struct nvtx_event *event);
int nvtx_pop(const struct nvtx_event *event);
uint64_t nvtx_start(const struct nvtx_event *event);
void nvtx_end(uint64_t id, const struct nvtx_event *event);
void nvtx_count_no_thread(void);

/* The extended payloads of an event, and how they are split into WIRE_NVTX_BINARY records. */
struct nvtx_binary {
    uint32_t count, words;
    struct {
        uint64_t id;   /* schema, or offset of the pointer */
        const void *from;
        size_t bytes;  /* size that the program passed */
        uint32_t kept; /* bytes that fit into the record */
        uint32_t flags;
    } parts[16];
};
void nvtx_plan_binary(const struct nvtx_event *event, struct nvtx_binary *plan);
void nvtx_put_binary(uint64_t *to, const struct nvtx_binary *plan);

/* ---- nvtx_steps.c: ranges that mark steps. The key is unique among the ranges that are open. */
void nvtx_step_begins(const struct nvtx_event *event, uint64_t key);
void nvtx_step_ends(uint64_t key);
void nvtx_step_string(const struct nvtx_text *text, uint32_t id); /* a string was registered */
void nvtx_steps_forget(void);                                     /* a new arena: no range is open */

/* Callback tables: a row for each function that a program can call, by its id. */
struct nvtx_callback {
    uint16_t id;
    abi_function function;
};
extern const struct nvtx_callback nvtx_names_core[], nvtx_names_core2[], nvtx_names_cuda[], nvtx_names_cudart[],
    nvtx_names_sync[]; /* each ends with id 0 */

/* The key of a range while it is open: the id of a start/end range, or this key for a push. It is never 0 and never an
 * id, because ids have at most 63 bits. It contains the thread, because each thread has its own levels. */
static inline uint64_t nvtx_push_key(const struct agent_thread *thread, uint32_t domain, uint32_t depth)
{
    return UINT64_C(1) << 63 | (uint64_t)(thread->index & 0x7fff) << 48 | (uint64_t)domain << 32 | depth;
}
static inline uint32_t nvtx_key_thread(uint64_t key)
{
    return key >> 48 & 0x7fff;
}

/* ---- nvtx_launch.c --------------------------------------------------------------------------------------------- */
int nvtx_launch_read(const char *list);                             /* the rules of a capture: 1 if there are any */
void nvtx_launch_domain(uint32_t id, const struct nvtx_text *name); /* name: NULL for the default domain */
void nvtx_launch_string(const struct nvtx_text *text, uint32_t id); /* a string was registered */
void nvtx_launch_range_begins(const struct nvtx_event *event, uint64_t key);
void nvtx_launch_range_ends(uint64_t key);

#endif
