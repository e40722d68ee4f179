/* Creates and frees struct symbols, and reads from it: see symbols.h. */
#include "symbols.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "module.h"
#include "symbols_state.h"
#include "unwind_plan.h"

struct symbols *symbols_new(const struct symbols_settings *settings)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols)
        return NULL;
    if (settings)
        symbols->settings = *settings;
    symbols->began_ns = clock_ns(CLOCK_MONOTONIC);
#if defined(__aarch64__)
    symbols->machine = EM_AARCH64;
#else
    symbols->machine = EM_X86_64;
#endif
    intern_init(&symbols->texts);
    item_table_init(&symbols->frames, sizeof(struct symbols_frame_item), FRAME_KEY_BYTES);
    item_table_init(&symbols->plans, sizeof(struct unwind_plan), sizeof(struct unwind_plan));
    /* Number 0 stands for no stack and no frame. */
    symbols->node_count = 1;
    if (array_reserve_zeroed(&symbols->nodes, &symbols->node_room, symbols->node_count, sizeof *symbols->nodes) != 0 ||
        item_table_add(&symbols->frames, &(struct symbols_frame_item){ .inside = UINT64_MAX, .module = UINT32_MAX }) !=
            0) {
        symbols_delete(symbols);
        return NULL;
    }
    symbols->first_unnamed = 1;
    return symbols;
}

void symbols_delete(struct symbols *symbols)
{
    if (!symbols)
        return;
    symbols_naming_end(symbols);
    for (struct symbols_process *process = symbols->processes, *next; process; process = next) {
        next = process->next;
        if (process->root >= 0)
            close(process->root);
        free(process->mappings);
        symbols_place_map_free(&process->places);
        free(process);
    }
    for (size_t i = 0; i < symbols->module_count; i++)
        module_delete(symbols->modules[i]);
    free(symbols->modules);
    free(symbols->lines);
    free(symbols->nodes);
    hash_index_free(&symbols->node_index);
    item_table_free(&symbols->frames);
    item_table_free(&symbols->plans);
    intern_free(&symbols->texts);
    free(symbols);
}

const char *symbols_text(struct symbols *symbols, const char *bytes, size_t length)
{
    int64_t id = intern_add(&symbols->texts, bytes, length);
    return id < 0 ? "" : symbols->texts.strings[id].bytes;
}

uint32_t symbols_stack_count(const struct symbols *symbols)
{
    return symbols->node_count;
}

uint32_t symbols_frame_count(const struct symbols *symbols)
{
    return symbols->frames.count;
}

uint32_t symbols_line_count(const struct symbols *symbols)
{
    return symbols->line_count;
}

struct symbols_node symbols_stack(const struct symbols *symbols, uint32_t stack)
{
    return symbols->nodes[stack];
}

struct symbols_frame symbols_frame(const struct symbols *symbols, uint32_t frame)
{
    const struct symbols_frame_item *item = item_table_item(&symbols->frames, frame);
    return (struct symbols_frame){
        .address = item->address,
        .first_line = item->first_line,
        .line_count = item->line_count,
        .method = (uint8_t)item->method,
        .is_kernel = (uint8_t)item->is_kernel,
    };
}

const struct symbols_line *symbols_line(const struct symbols *symbols, uint32_t line)
{
    return &symbols->lines[line];
}

/* Every stack ends with two or three functions of libc that start a thread: they say nothing about where time goes. */
void symbols_note_sample(struct symbols *symbols, uint32_t stack)
{
    enum { STARTERS = 3 };
    uint32_t ahead = stack;
    uint64_t number = ++symbols->samples;
    for (int i = 0; i < STARTERS && ahead != SYMBOLS_NO_STACK; i++)
        ahead = symbols->nodes[ahead].caller;
    for (uint32_t at = stack; at == stack || ahead != SYMBOLS_NO_STACK; at = symbols->nodes[at].caller) {
        const struct symbols_frame_item *frame = item_table_item(&symbols->frames, symbols->nodes[at].frame);
        struct symbols_module *module = symbols->modules[frame->module];
        module->uses += module->last_use != number;
        module->last_use = number;
        ahead = symbols->nodes[ahead].caller;
    }
}

int symbols_is_named(const struct symbols *symbols, uint32_t stack)
{
    while (stack != SYMBOLS_NO_STACK) {
        const struct symbols_node *node = &symbols->nodes[stack];
        const struct symbols_frame_item *frame = item_table_item(&symbols->frames, node->frame);
        if (frame->line_count == 0)
            return 0;
        stack = node->caller;
    }
    return 1;
}

const struct symbols_counts *symbols_counts(const struct symbols *symbols)
{
    return &symbols->counts;
}
