/* The texts that CUPTI's records point to, and the names of calls: each is read once, when the agent publishes it.
 *
 * A kernel's name is demangled here once, not for each launch. The area of texts only grows; a malformed entry ends the
 * reading for good. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_state.h"
#include "symbols/names/demangle.h"

#define NAMES_MAX (1u << 19)

void cuda_names_free(struct cuda_process *cuda)
{
    cuda_name_map_free(&cuda->names.by_pointer);
    free(cuda->calls[CUDA_RUNTIME]);
    free(cuda->calls[CUDA_DRIVER]);
}

/* ---- By pointer ------------------------------------------------------------------------------------------------ */

static int64_t cuda_names_intern(struct cuda_process *cuda, const struct text *text)
{
    return writer_string(cuda->writer, text->length ? text->bytes : "", text->length);
}

/* Kineto demangles as the C++ runtime does, and leaves longer names as they are. */
static void add_torch_name(struct cuda_process *cuda, const char *mangled, const struct text *demangled)
{
    enum { KINETO_LONGEST = 1024 };
    struct row_TACHO_TORCH_KERNEL row = { 0 };
    struct text name = { 0 };

    if (strlen(mangled) > KINETO_LONGEST)
        text_add(&name, mangled);
    else
        symbol_demangle(mangled, &name);
    if (strcmp(text_string(&name), text_string(demangled)) != 0) {
        ROW_SET(&row, TACHO_TORCH_KERNEL, mangledName, writer_string(cuda->writer, mangled, strlen(mangled)));
        ROW_SET(&row, TACHO_TORCH_KERNEL, nameId, cuda_names_intern(cuda, &name));
        writer_append(cuda->writer, TABLE_TACHO_TORCH_KERNEL, &row);
    }
    text_free(&name);
}

static struct cuda_name *cuda_names_add_name(struct cuda_process *cuda, uint64_t pointer, const char *text)
{
    struct cuda_name *known = cuda_name_map_find(&cuda->names.by_pointer, pointer);
    if (!known && cuda->names.by_pointer.count == NAMES_MAX)
        return NULL;
    struct text demangled = { 0 }, bare = { 0 };
    symbol_demangle_kernel(text, &demangled);
    symbol_short(text_string(&demangled), &bare);
    const struct cuda_name name = {
        .pointer = pointer,
        .text_id = writer_string(cuda->writer, text, strlen(text)),
        .demangled_id = cuda_names_intern(cuda, &demangled),
        .short_id = cuda_names_intern(cuda, &bare),
    };
    add_torch_name(cuda, text, &demangled);
    cuda_code_run(cuda, text, name.text_id);
    text_free(&demangled);
    text_free(&bare);
    cuda->names.last = NULL; /* adding moves entries */
    if (!known)
        return cuda_name_map_add(&cuda->names.by_pointer, &name);
    *known = name;
    return known;
}

const struct cuda_name *cuda_names_find(struct cuda_process *cuda, uint64_t pointer)
{
    static const struct cuda_name nothing;
    struct cuda_names *names = &cuda->names;
    if (names->last && names->last->pointer == pointer)
        return names->last;
    if (!pointer)
        return &nothing;
    const struct cuda_name *name = cuda_name_map_find(&names->by_pointer, pointer);
    if (!name) { /* the process died before it could publish the text: only the address is known */
        char address[24];
        snprintf(address, sizeof address, "0x%" PRIx64, pointer);
        name = cuda_names_add_name(cuda, pointer, address);
    }
    names->last = name;
    return name ? name : &nothing;
}

/* ---- By callback id -------------------------------------------------------------------------------------------- */

/* Calls that begin or end the capture of a stream, which decides what a launch means. */
static int8_t capture_of(const char *name)
{
    if (strstr(name, "StreamBeginCapture"))
        return 1;
    return strstr(name, "StreamEndCapture") ? -1 : 0;
}

static struct cuda_call_name *call_slot(struct cuda_process *cuda, enum cuda_domain domain, uint64_t id)
{
    if (id >= CUDA_CALLS_MAX)
        return NULL;
    if (!cuda->calls[domain])
        cuda->calls[domain] = calloc(CUDA_CALLS_MAX, sizeof *cuda->calls[domain]);
    return cuda->calls[domain] ? &cuda->calls[domain][id] : NULL;
}

static void cuda_names_add_call(struct cuda_process *cuda, enum cuda_domain domain, uint64_t id, const char *text)
{
    struct cuda_call_name *slot = call_slot(cuda, domain, id);
    if (!slot)
        return;
    const struct cuda_call *call = cuda_call_find(domain, text);
    *slot = (struct cuda_call_name){
        .known = 1,
        .name_id = writer_string(cuda->writer, text, strlen(text)),
        .capture = capture_of(text),
        .work = call ? call->work : CUDA_NONE,
        .wait = call ? call->wait : 0,
    };
}

const struct cuda_call_name *cuda_call_name(struct cuda_process *cuda, enum cuda_domain domain, uint32_t id)
{
    static const struct cuda_call_name nothing;
    struct cuda_call_name *slot = call_slot(cuda, domain, id);
    if (slot && !slot->known)
        cuda_names_read(cuda, UINT64_MAX); /* at the start, calls are reported before the first buffer */
    if (slot && !slot->known) {
        char text[40];
        snprintf(text, sizeof text, "%s call %" PRIu32, domain == CUDA_DRIVER ? "driver" : "runtime", id);
        cuda_names_add_call(cuda, domain, id, text);
    }
    return slot ? slot : &nothing;
}

/* ---- The area of texts ----------------------------------------------------------------------------------------- */

/* Also keeps the size outside the layouts, which are chosen when the first buffer comes. */
static void learn_bytes(struct cuda_process *cuda, uint64_t key)
{
    uint32_t kind = (uint32_t)(key >> 32), bytes = (uint32_t)key;
    if (kind < CUPTI_KIND_LIMIT && bytes <= CUPTI_RECORD_LIMIT)
        cuda->learned_bytes[kind] = (uint16_t)bytes;
    if (cuda->version)
        cupti_layouts_learn(&cuda->layouts, kind, bytes);
}

static void cuda_names_take(struct cuda_process *cuda, uint32_t what, uint64_t key, const char *text)
{
    if (what == WIRE_CUDA_NAME_POINTER && key)
        cuda_names_add_name(cuda, key, text);
    else if (what == WIRE_CUDA_NAME_RUNTIME || what == WIRE_CUDA_NAME_DRIVER)
        cuda_names_add_call(cuda, what == WIRE_CUDA_NAME_DRIVER ? CUDA_DRIVER : CUDA_RUNTIME, key, text);
    else if (what == WIRE_CUDA_NAME_RECORD_BYTES)
        learn_bytes(cuda, key);
}

/* Reads one entry. Returns its bytes, 0 if there is none yet, or -1 if it is malformed. */
static int64_t cuda_names_read_entry(struct cuda_process *cuda, const char *area, uint64_t at)
{
    const struct wire_cuda_text *entry = (const struct wire_cuda_text *)(area + at);
    uint64_t left = WIRE_CUDA_NAMES_BYTES - at;
    if (left < sizeof *entry)
        return 0;
    uint64_t bytes = (uint64_t)atomic_load_explicit(&entry->words, memory_order_acquire) * 8;
    if (bytes == 0)
        return 0;
    if (bytes < sizeof *entry || bytes > left)
        return -1;
    size_t length = bytes - sizeof *entry;
    if (length > SYMBOL_LONGEST_MANGLED)
        length = SYMBOL_LONGEST_MANGLED;
    char *text = malloc(length + 1);
    if (!text)
        return -1;
    memcpy(text, entry->text, length);
    text[length] = 0;
    cuda_names_take(cuda, entry->what, entry->key, text);
    free(text);
    return (int64_t)bytes;
}

void cuda_names_read(struct cuda_process *cuda, uint64_t until)
{
    const char *area = wire_cuda_names(cuda->setup.arena, cuda->setup.chunk_count, cuda->setup.buffer_count);
    while (!cuda->names_damaged && cuda->names_read < until) {
        int64_t bytes = cuda_names_read_entry(cuda, area, cuda->names_read);
        if (bytes == 0)
            return;
        if (bytes < 0) {
            cuda->names_damaged = 1;
            cuda->counts.damaged++;
            return;
        }
        cuda->names_read += (uint64_t)bytes;
    }
}
