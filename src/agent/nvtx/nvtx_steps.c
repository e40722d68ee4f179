/* NVTX ranges that mark steps, by their names: "step 7", "iteration_7", ProfilerStep#7. The outermost of them counts.
 * Its end has no name, so the agent keeps the name of the one that is open. */
#include "nvtx_agent.h"

enum { NAME_BYTES = 64, STRINGS_MAX = 1 << 16 };

static struct {
    _Atomic uint64_t key; /* 0: none is open */
    enum step_mark mark;
    uint32_t length;
    _Alignas(8) char name[NAME_BYTES];
} open;

static _Atomic uint8_t marks_of_strings[STRINGS_MAX]; /* enum step_mark, by the id of a registered string */
static const char registered_name[] = "step";

/* Copies the begin of a text that is not registered, as UTF-8, and returns its length. */
static uint32_t nvtx_steps_copy_name(char *to, const struct nvtx_text *text)
{
    struct nvtx_text start = *text;
    start.length = text->length < NAME_BYTES ? text->length : NAME_BYTES - 1;
    nvtx_put_text((uint64_t *)(void *)to, &start);
    return start.length;
}

static enum step_mark nvtx_steps_mark_of(const struct nvtx_text *text, char *name, uint32_t *length)
{
    if (text->kind == NVTX_TEXT_NONE)
        return STEP_MARK_NONE;
    if (text->kind != NVTX_TEXT_REGISTERED) {
        *length = nvtx_steps_copy_name(name, text);
        return step_mark_of(name, *length);
    }
    *length = sizeof registered_name - 1;
    memcpy(name, registered_name, sizeof registered_name);
    uint64_t id = (uint32_t)text->id;
    return id < STRINGS_MAX ? (enum step_mark)atomic_load_explicit(&marks_of_strings[id], memory_order_relaxed)
                            : STEP_MARK_NONE;
}

void nvtx_step_begins(const struct nvtx_event *event, uint64_t key)
{
    _Alignas(8) char name[NAME_BYTES];
    uint32_t length;
    enum step_mark mark = nvtx_steps_mark_of(&event->text, name, &length);
    uint64_t before = 0;
    if (!mark || (!atomic_compare_exchange_strong(&open.key, &before, key) && before != key))
        return;
    open.mark = mark;
    open.length = length;
    memcpy(open.name, name, length);
    step_mark_begin(mark, name, length);
}

void nvtx_step_ends(uint64_t key)
{
    if (atomic_load_explicit(&open.key, memory_order_relaxed) != key)
        return;
    step_mark_end(open.mark, open.name, open.length);
    atomic_store_explicit(&open.key, 0, memory_order_release);
}

void nvtx_step_string(const struct nvtx_text *text, uint32_t id)
{
    _Alignas(8) char name[NAME_BYTES];
    if (!steps_are_advised() || id >= STRINGS_MAX || text->kind == NVTX_TEXT_REGISTERED)
        return;
    uint32_t length = nvtx_steps_copy_name(name, text);
    atomic_store_explicit(&marks_of_strings[id], (uint8_t)step_mark_of(name, length), memory_order_relaxed);
}

void nvtx_steps_forget(void)
{
    atomic_store(&open.key, 0);
}
