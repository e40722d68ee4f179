/* The fuzzer's way into the agent: an input is a program, each byte of it a call to one of the entry points (NVTX's
 * functions, its extensions, the stubs' calls into libraries, the API of libtacho) and what it is given. Whatever a
 * program says there, the agent reads nothing that it was not given, and what it writes makes sense to the collector.
 * scripts/fuzz links it with libFuzzer, tests/unit/agent_fuzz.c runs it with numbers from a generator. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "../trace/nvtx_client.h"
#include "abi/nvtx_layout.h"
#include "agent/libraries/libraries_agent.h"
#include "agent_host.h"
#include "tacho/tacho.h"
#include "wire/wire_libraries.h"
#include "wire/wire_nvtx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t));
int InitializeInjectionNvtxExtension(struct nvtx_extension_info *info);
const struct tacho_calls *tacho_agent_calls(void);

/* ---- The input ------------------------------------------------------------------------------------------------- */

static const uint8_t *at, *input_end;

static unsigned next(unsigned limit)
{
    return at < input_end ? *at++ % limit : 0;
}

static uint64_t next_word(void)
{
    uint64_t word = 0;
    for (unsigned i = next(9); i > 0; i--)
        word = word << 8 | next(256);
    return word;
}

/* ---- What calls are given -------------------------------------------------------------------------------------- */

enum { POOL = 16, BUFFER_BYTES = 1 << 16, ENTRIES = 8 };

static char *narrow;                         /* of BUFFER_BYTES, with a zero at its very end: a text begins so
                                              * far before it as it is long */
static wchar_t *wide;                        /* likewise, of a quarter as many characters */
static uint64_t *payload;                    /* words that all point to `narrow` */
static const void *handles[POOL];            /* what calls have returned: strings, domains, resources */
static uint64_t numbers[POOL];               /* schemas, enums, scopes, counters */
static uint64_t ranges[POOL], modules[POOL]; /* that have begun and not ended: what ends
                                              * twice is the program's mistake */

static size_t next_length(void)
{
    static const size_t lengths[] = { 0,  1,  3,    7,     8,     15,    16,    17,
                                      63, 64, 4096, 32767, 32768, 32769, 40000, BUFFER_BYTES - 1 };
    return lengths[next(16)];
}

static const char *next_text(void)
{
    static const char *const known[] = { "range", "domain", "tacho", "default" };
    unsigned kind = next(8);
    return kind == 0 ? NULL : kind < 5 ? known[kind - 1] : narrow + BUFFER_BYTES - 1 - next_length();
}

static const wchar_t *next_wide(void)
{
    size_t length = next_length() / sizeof *wide;
    return next(8) == 0 ? NULL : wide + BUFFER_BYTES / sizeof *wide - 1 - length;
}

static const void *next_handle(void)
{
    unsigned kind = next(POOL + 2);
    return kind < POOL ? handles[kind] : kind == POOL ? NULL : (const void *)(uintptr_t)next_word();
}

static uint64_t next_number(void)
{
    unsigned kind = next(POOL + 1);
    return kind < POOL ? numbers[kind] : next_word();
}

static const void *keep(const void *handle)
{
    return handles[next(POOL)] = handle;
}

static uint64_t keep_number(uint64_t number)
{
    return numbers[next(POOL)] = number;
}

static void begin(uint64_t *pool, uint64_t number)
{
    pool[next(POOL)] = number;
}

static uint64_t end(uint64_t *pool)
{
    unsigned which = next(POOL);
    uint64_t number = pool[which];
    pool[which] = 0;
    return number;
}

/* Sizes are the program's word, so they are true: as much as there is. */
static const struct nvtx_payload_data *next_payloads(size_t *count)
{
    static struct nvtx_payload_data data[20];
    *count = next(20);
    for (size_t i = 0; i < *count; i++) {
        uint64_t type = next(2) ? next_number() : next(128);
        int is_string = type >= ABI_TYPE_CSTRING && type <= ABI_TYPE_UTF32;
        data[i] = (struct nvtx_payload_data){ type, is_string ? SIZE_MAX : next(3) * 1000u + next(64),
                                              next(8) ? payload : NULL };
        if (is_string)
            data[i].bytes = type == ABI_TYPE_CSTRING || type == ABI_TYPE_UTF8 ? (const void *)narrow : wide;
    }
    return data;
}

static union nvtx_message next_message(int32_t *type)
{
    *type = (int32_t)next(5);
    return *type == NVTX_MESSAGE_ASCII  ? (union nvtx_message){ .ascii = next_text() }
           : *type == NVTX_MESSAGE_WIDE ? (union nvtx_message){ .wide = next_wide() }
                                        : (union nvtx_message){ .registered = next_handle() };
}

static const struct nvtx_attributes *next_attributes(void)
{
    static struct nvtx_attributes attributes;
    size_t count;
    memset(&attributes, 0, sizeof attributes);
    attributes.version = (uint16_t)next(4);
    attributes.size = (uint16_t)(next(4) ? sizeof attributes : next(64));
    attributes.category = (uint32_t)next_word();
    attributes.color_type = (int32_t)next(3);
    attributes.color = (uint32_t)next_word();
    attributes.payload_type = (int32_t)next(9);
    attributes.payload.u64 = next_word();
    if (attributes.payload_type == 8) {
        attributes.payload_type = NVTX_PAYLOAD_EXTENDED;
        attributes.payload.extended = next_payloads(&count);
        attributes.payload_count = next(8) ? (int32_t)count : -1;
    }
    attributes.message = next_message(&attributes.message_type);
    return next(16) ? &attributes : NULL;
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

/* Where the program says that a pointer is, there is one: at every eighth byte. */
static void call_schema(void)
{
    struct nvtx_schema_entry entries[ENTRIES];
    struct nvtx_schema schema = { next_word() | 1 << 4 | 1 << 5 | 1 << 6,
                                  next_text(),
                                  next(6),
                                  next_word(),
                                  entries,
                                  next(ENTRIES + 1),
                                  1000,
                                  next(4) * 8,
                                  next_word(),
                                  NULL };
    for (size_t i = 0; i < schema.entry_count; i++)
        entries[i] = (struct nvtx_schema_entry){
            next(2) ? next_word() : next(256) << 1, next(3) ? next(128) : next_number(),      next_text(), next_text(),
            next(2) ? next(ENTRIES) : next_word(),  next(2) ? 0 : next_word() & ~UINT64_C(7), NULL,        NULL
        };
    keep_number(nvtx_register_schema(next_handle(), next(16) ? &schema : NULL));
}

static void call_enum(void)
{
    struct nvtx_enum_entry entries[ENTRIES];
    struct nvtx_enum given = { next_word() | 1 << 2, next_text(), entries, next(ENTRIES + 1), next(16),
                               next_word(),          NULL };
    for (size_t i = 0; i < given.entry_count; i++)
        entries[i] = (struct nvtx_enum_entry){ next_text(), next_word(), (int8_t)next(2) };
    keep_number(nvtx_register_enum(next_handle(), next(16) ? &given : NULL));
}

static void call_scope_or_counter(void)
{
    struct nvtx_scope scope = { next(8) ? sizeof scope : next(32), next_text(), next_number(), next_word() };
    struct nvtx_counter counter = {
        next(8) ? sizeof counter : next(56), next_number(), next_text(), next_text(), next_number(), NULL, next_word()
    };
    if (next(2))
        keep_number(nvtx_register_scope(next_handle(), &scope));
    else
        keep_number(nvtx_register_counter(next_handle(), &counter));
}

static void call_sample(void)
{
    const void *domain = next_handle();
    uint64_t counter = next_number();
    switch (next(4)) {
    case 0: nvtx_sample_int64(domain, counter, (int64_t)next_word()); break;
    case 1: nvtx_sample_float64(domain, counter, (double)next_word()); break;
    case 2: nvtx_sample(domain, counter, next(8) ? payload : NULL, next_length()); break;
    case 3: nvtx_sample_no_value(domain, counter, (uint8_t)next(256)); break;
    }
}

static void call_payload(void)
{
    size_t count;
    const void *domain = next_handle();
    const struct nvtx_payload_data *data = next_payloads(&count);
    if (!next(16))
        data = NULL;
    switch (next(5)) {
    case 0: nvtx_mark_payload(domain, data, count); break;
    case 1: nvtx_push_payload(domain, data, count); break;
    case 2: nvtx_pop_payload(domain, data, count); break;
    case 3: begin(ranges, nvtx_start_payload(domain, data, count)); break;
    case 4: nvtx_end_payload(domain, end(ranges), data, count); break;
    }
}

static void call_names(void)
{
    struct nvtx_resource_attributes resource = {
        1, next(8) ? sizeof resource : next(32), (int32_t)(next(8) << 16 | next(8)), next_word(), 0, { NULL }
    };
    struct nvtx_sync_attributes sync = { 1, next(8) ? sizeof sync : next(16), 0, { NULL } };
    const void *domain = next_handle();
    switch (next(14)) {
    case 0: keep(nvtx_domain(next_text())); break;
    case 1: keep(nvtx_domain_w(next_wide())); break;
    case 2: keep(nvtx_register(domain, next_text())); break;
    case 3: keep(nvtx_register_w(domain, next_wide())); break;
    case 4: nvtx_domain_category(domain, (uint32_t)next_word(), next_text()); break;
    case 5: nvtx_domain_category_w(domain, (uint32_t)next_word(), next_wide()); break;
    case 6: nvtx_thread((uint32_t)next_word(), next_text()); break;
    case 7: nvtx_thread_w((uint32_t)next_word(), next_wide()); break;
    case 8:
        resource.message = next_message(&resource.message_type);
        keep(nvtx_resource_create(domain, &resource));
        break;
    case 9: nvtx_resource_destroy(next_handle()); break;
    case 10:
        sync.message = next_message(&sync.message_type);
        keep(nvtx_sync_create(domain, next(8) ? &sync : NULL));
        break;
    case 11: nvtx_domain_destroy(domain); break;
    case 12: nvtx_cu_stream_w(next_handle(), next_wide()); break;
    case 13: nvtx_cuda_device_w((int)next_word(), next_wide()); break;
    }
}

static void call_sync(void)
{
    const void *object = next_handle();
    switch (next(5)) {
    case 0: nvtx_sync_destroy(object); break;
    case 1: nvtx_sync_acquire_start(object); break;
    case 2: nvtx_sync_acquire_failed(object); break;
    case 3: nvtx_sync_acquire_success(object); break;
    case 4: nvtx_sync_releasing(object); break;
    }
}

static void call_plain(void)
{
    switch (next(9)) {
    case 0: nvtx_mark(next_text()); break;
    case 1: nvtx_mark_w(next_wide()); break;
    case 2: nvtx_push(next_text()); break;
    case 3: nvtx_push_w(next_wide()); break;
    case 4: nvtx_pop(); break;
    case 5: begin(ranges, nvtx_start(next_text())); break;
    case 6: begin(ranges, nvtx_start_w(next_wide())); break;
    case 7: nvtx_end(end(ranges)); break;
    case 8: /* deeper than the levels that a thread has room for in itself */
        for (unsigned i = next(2) * 100; i > 0; i--)
            nvtx_push("deep");
        break;
    }
}

static void call_domain(void)
{
    const void *domain = next_handle();
    switch (next(5)) {
    case 0: nvtx_domain_mark(domain, next_attributes()); break;
    case 1: nvtx_domain_push(domain, next_attributes()); break;
    case 2: nvtx_domain_pop(domain); break;
    case 3: begin(ranges, nvtx_domain_start(domain, next_attributes())); break;
    case 4: nvtx_domain_end(domain, end(ranges)); break;
    }
}

static void call_api(void)
{
    const struct tacho_calls *calls = tacho_agent_calls();
    if (!calls)
        return;
    switch (next(11)) {
    case 0: calls->start(); break;
    case 1: calls->stop(); break;
    case 2: calls->step(); break;
    case 3: calls->mark(next_text()); break;
    case 4: calls->push(next_text()); break;
    case 5: calls->pop(); break;
    case 6: calls->recording(); break;
    case 7: calls->flush(); break;
    case 8: calls->choose(next(64)); break;
    case 9: begin(modules, calls->module_begin(next_text())); break;
    case 10: calls->module_end(end(modules)); break;
    }
}

static _Atomic uint32_t name_ids[2];

static void call_library(void)
{
    const struct agent_library_calls *calls = tacho_agent_library_calls();
    unsigned which = next(2);
    struct agent_library_call call = { next(WIRE_LIBRARY_COUNT + 1), next(2), which ? "cublasSgemm" : "cudnnCreate",
                                       &name_ids[which], 16 * (size_t)next(64) };
    if (calls && next(2))
        calls->begin(&call);
    else if (calls)
        calls->end(&call);
}

static void *run_calls(void *unused);

static void call_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_calls, "") == 0)
        pthread_join(thread, NULL);
}

static void (*const calls[])(void) = {
    call_plain,  call_domain,  call_names, call_sync,    call_schema, call_enum,      call_scope_or_counter,
    call_sample, call_payload, call_api,   call_library, host_drain,  call_in_thread,
};
enum { CALLS = COUNT_OF(calls) };

/* In a thread: some, and none that makes another. */
static void *run_calls(void *in_thread)
{
    for (unsigned left = in_thread ? 1 + next(8) : UINT32_MAX; left > 0 && at < input_end; left--)
        calls[next(in_thread ? CALLS - 1 : CALLS)]();
    return NULL;
}

/* ---- An input -------------------------------------------------------------------------------------------------- */

static void prepare(void)
{
    narrow = malloc(BUFFER_BYTES);
    wide = malloc(BUFFER_BYTES);
    payload = malloc(BUFFER_BYTES);
    if (!narrow || !wide || !payload)
        abort();
    memset(narrow, 'n', BUFFER_BYTES - 1);
    narrow[BUFFER_BYTES - 1] = 0;
    for (size_t i = 0; i < BUFFER_BYTES / sizeof *wide; i++)
        wide[i] = i + 1 < BUFFER_BYTES / sizeof *wide ? (wchar_t)(i % 7 ? 'w' : 0x1F600 + i % 64) : 0;
    for (size_t i = 0; i < BUFFER_BYTES / sizeof *payload; i++)
        payload[i] = (uint64_t)(uintptr_t)narrow;
}

/* As a module of the program does that has the headers inside. */
static void attach_client(void)
{
    struct nvtx_segment segments[] = { { 0, NVTX_EXTENSION_SLOTS, nvtx_client.payload },
                                       { 0, NVTX_EXTENSION_SLOTS, nvtx_client.counters } };
    memset(&nvtx_client, 0, sizeof nvtx_client);
    nvtx_client.state = 2;
    for (int module = 1; module < NVTX_MODULES; module++)
        for (int i = 1; i < NVTX_SLOTS; i++)
            nvtx_client.slots[module][i] = &nvtx_client.functions[module][i];
    nvtx_client.attached = InitializeInjectionNvtx2(nvtx_get_table);
    for (int i = 0; i < 2; i++)
        InitializeInjectionNvtxExtension(&(struct nvtx_extension_info){
            3, sizeof(struct nvtx_extension_info), i ? 4 : 2, i ? 0x0102 : 0x0104, 1, &segments[i], NULL, NULL });
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint32_t sources[] = { WIRE_BIT(NVTX), WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES) | WIRE_BIT(TORCH),
                                        WIRE_BIT(LIBRARIES), WIRE_BIT(NVTX) | WIRE_BIT(LIBRARIES) };
    static const uint32_t chunk_counts[] = { 2, 4, 64, 1024 };
    if (!narrow)
        prepare();
    at = bytes;
    input_end = bytes + size;
    memset(handles, 0, sizeof handles);
    memset(numbers, 0, sizeof numbers);
    memset(ranges, 0, sizeof ranges);
    memset(modules, 0, sizeof modules);
    memset(name_ids, 0, sizeof name_ids);
    struct collect_options options = {
        .libraries = UINT32_MAX,
        .torch_flags = UINT32_MAX,
        .trace_fork_before_exec = 1,
        .range = next(4) ? COLLECT_RANGE_NONE : COLLECT_RANGE_NVTX,
        .range_end = COLLECT_END_REPEAT,
        .range_text = next(2) ? "range" : NULL,
        .range_domain = next(2) ? "domain" : "*",
    };
    host_begin(&options, sources[next(4)], chunk_counts[next(4)]);
    attach_client();
    run_calls(NULL);
    uint64_t damaged = host_end();
    if (damaged) {
        fprintf(stderr, "the collector made no sense of %llu records\n", (unsigned long long)damaged);
        abort();
    }
    return 0;
}
