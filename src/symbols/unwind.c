/* Unwinds stacks from copies of memory, and takes chains of addresses: see symbols.h.
 *
 * For an address that this process has had before, one lookup gives its frame and the plan to leave it. Only frames
 * that a plan cannot describe (signal frames, PLTs) are unwound by call frame information each time. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "address_space.h"
#include "base/array.h"
#include "base/path.h"
#include "module.h"
#include "symbols/cfi/cfi_expression.h"
#include "symbols_state.h"
#include "unwind_plan.h"

#define NODES_MAX (1u << 30)
#define PLACES_MAX (1u << 21) /* of one process: then all are forgotten */

/* ---- Places ---------------------------------------------------------------------------------------------------- */

static uint64_t address_in_file(const struct symbols_module *module, const struct address_space_mapping *mapping,
                                uint64_t address)
{
    uint64_t distance = address - mapping->start + mapping->offset, inside;
    if (module->kind == MODULE_JIT || module->kind == MODULE_NOTHING)
        return address;
    if (mapping->is_whole || module->kind == MODULE_VDSO)
        return distance + elf_image_first_address(&module->image);
    return elf_image_address_of(&module->image, distance, &inside) == 0 ? inside : distance;
}

static uint32_t unwind_add_frame(struct symbols *symbols, uint64_t address, uint64_t inside,
                                 const struct symbols_module *module, unsigned method)
{
    struct symbols_frame_item frame = {
        .address = address,
        .inside = inside,
        .module = module->number,
        .method = (uint16_t)method,
        .is_kernel = module->kind == MODULE_KERNEL,
    };
    return item_table_add(&symbols->frames, &frame);
}

/* Finds the frame of an address and the plan to leave it. Returns 0, or -1 if nothing is mapped there. bits: PLACE_
 * bits. */
static int unwind_find_place(struct symbols_process *process, uint64_t address, unsigned bits, unsigned method,
                             struct symbols_place *place)
{
    uint64_t key = address << 2 | bits;
    const struct symbols_place *known = symbols_place_map_find(&process->places, key);
    if (known) {
        *place = *known;
        return 0;
    }
    struct symbols *symbols = process->symbols;
    /* The call is the last instruction before its return address. */
    uint64_t instruction = address - (bits & PLACE_RETURN);
    const struct address_space_mapping *mapping = address_space_find(process, instruction);
    if (!mapping)
        return -1;
    struct symbols_module *module = symbols->modules[mapping->module];
    int is_open = module_open(module, process, mapping);
    uint64_t inside = address_in_file(module, mapping, instruction);
    struct unwind_plan plan = { .kind = PLAN_NONE, .method = (uint8_t)method };
    if (!(bits & PLACE_CHAIN) && is_open)
        unwind_plan_make(&plan, &module->cfi, inside);
    if (!(bits & PLACE_CHAIN) && module->kind == MODULE_VDSO && is_open &&
        unwind_plan_is_kernel_signal(&module->image, inside + (bits & PLACE_RETURN)))
        plan = (struct unwind_plan){ .kind = PLAN_KERNEL_SIGNAL, .method = SYMBOLS_BY_KERNEL, .flags = PLAN_IS_SIGNAL };
    if (plan.flags & PLAN_IS_SIGNAL) /* no call returns there: the kernel has put its address on the stack */
        inside += bits & PLACE_RETURN;
    *place = (struct symbols_place){ key, unwind_add_frame(symbols, address, inside, module, plan.method),
                                     item_table_add(&symbols->plans, &plan) };
    if (place->frame == ITEM_TABLE_FULL || place->plan == ITEM_TABLE_FULL)
        return -1;
    if (process->places.count == PLACES_MAX)
        symbols_place_map_clear(&process->places);
    symbols_place_map_add(&process->places, place); /* without memory for it, the next walk does all this again */
    return 0;
}

/* ---- Building stacks ------------------------------------------------------------------------------------------- */

struct gathered { /* frames, innermost first */
    uint32_t frames[SYMBOLS_DEPTH_MAX];
    uint32_t count;
};

/* Returns the stack that this frame makes with its callers: known already, or a new one. */
static uint32_t unwind_push(struct symbols *symbols, uint32_t caller, uint32_t frame)
{
    const struct hash_entry added = { (uint32_t)hash_number((uint64_t)caller << 32 | frame), symbols->node_count + 1 },
                            *known = hash_index_find(&symbols->node_index, added.hash);
    for (; known; known = hash_index_find_next(&symbols->node_index, known)) {
        const struct symbols_node *node = &symbols->nodes[known->number_plus_1 - 1];
        if (node->caller == caller && node->frame == frame)
            return known->number_plus_1 - 1;
    }
    if (array_reserve_up_to(&symbols->nodes, &symbols->node_room, symbols->node_count + (size_t)1, NODES_MAX,
                            sizeof *symbols->nodes) != 0 ||
        !hash_index_add(&symbols->node_index, &added))
        return SYMBOLS_NO_STACK;
    symbols->nodes[symbols->node_count] = (struct symbols_node){ caller, frame };
    return symbols->node_count++;
}

/* Returns no stack when memory is short: a part would look like the whole. */
static uint32_t unwind_stack_of(struct symbols *symbols, const struct gathered *gathered)
{
    uint32_t stack = SYMBOLS_NO_STACK;
    for (uint32_t i = gathered->count; i-- > 0;)
        if ((stack = unwind_push(symbols, stack, gathered->frames[i])) == SYMBOLS_NO_STACK)
            break;
    return stack;
}

static void gather_kernel(struct symbols *symbols, uint64_t address, int is_return, struct gathered *gathered)
{
    struct symbols_module *kernel = module_of_kernel(symbols);
    uint32_t frame = kernel ? unwind_add_frame(symbols, address, address - (is_return != 0), kernel, SYMBOLS_BY_KERNEL)
                            : ITEM_TABLE_FULL;
    if (frame != ITEM_TABLE_FULL && gathered->count < SYMBOLS_DEPTH_MAX)
        gathered->frames[gathered->count++] = frame;
}

struct symbols_walk symbols_stack_from_chain(struct symbols_process *process, const struct symbols_chain *chain)
{
    struct gathered gathered;
    struct symbols_walk walk = { .end = SYMBOLS_WHOLE };
    int in_kernel = 0, is_return = chain->first_is_return;
    gathered.count = 0;
    for (size_t i = 0; i < chain->count; i++) {
        uint64_t address = chain->addresses[i];
        if (address >= (uint64_t)PERF_CONTEXT_MAX) {
            in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
            is_return = 0;
            continue;
        }
        if (gathered.count == SYMBOLS_DEPTH_MAX) {
            walk.end = SYMBOLS_TOO_DEEP;
            break;
        }
        struct symbols_place place;
        if (in_kernel) {
            gather_kernel(process->symbols, address, is_return, &gathered);
        } else if (unwind_find_place(process, address, PLACE_CHAIN | (is_return ? PLACE_RETURN : 0), chain->method,
                                     &place) == 0) {
            gathered.frames[gathered.count++] = place.frame;
        } else {
            walk.end = SYMBOLS_BROKEN;
            break;
        }
        is_return = 1;
    }
    walk.frames = gathered.count;
    walk.stack = unwind_stack_of(process->symbols, &gathered);
    return walk;
}

/* ---- Walking --------------------------------------------------------------------------------------------------- */

static int unwind_step(struct unwind_plan_scene *scene, const struct symbols_process *process,
                       const struct symbols_place *place)
{
    const struct symbols *symbols = process->symbols;
    const struct unwind_plan *plan = item_table_item(&symbols->plans, place->plan);
    if (plan->kind == PLAN_SIMPLE)
        return unwind_plan_follow(scene, plan);
    if (plan->kind == PLAN_OUTERMOST)
        return PLAN_ENDS;
    if (plan->kind == PLAN_KERNEL_SIGNAL)
        return unwind_plan_leave_kernel_signal(scene);
    const struct symbols_frame_item *frame = item_table_item(&symbols->frames, place->frame);
    if (plan->kind == PLAN_COMPLEX)
        return unwind_plan_work_out(scene, &symbols->modules[frame->module]->cfi, frame->inside);
    return unwind_plan_by_frame_pointer(scene);
}

/* A leaf without call frame information has most likely just been called: then the address of its caller is on top
 * of the stack (or in the link register) and lies in a file. Else the frame pointer is used. */
static int step_from_unknown_leaf(struct unwind_plan_scene *scene, struct symbols_process *process)
{
    uint64_t address;
    if (unwind_plan_return_of_leaf(scene, &address) == 0) {
        const struct address_space_mapping *mapping = address_space_find(process, address - 1);
        if (mapping && process->symbols->modules[mapping->module]->kind == MODULE_FILE)
            return unwind_plan_leave_leaf(scene, address);
    }
    return unwind_plan_by_frame_pointer(scene);
}

static int is_skipped(const struct symbols_module *module, const char *const *files)
{
    const char *name = path_base_name(module->path);
    for (; *files; files++)
        if (strncmp(name, *files, strlen(*files)) == 0)
            return 1;
    return 0;
}

static enum symbols_end walk_user(struct symbols_process *process, const struct symbols_sample *sample,
                                  struct gathered *gathered)
{
    struct unwind_plan_scene scene;
    unwind_plan_begin(&scene, process->symbols->machine, sample);
    uint32_t limit = sample->depth_max && sample->depth_max < SYMBOLS_DEPTH_MAX ? sample->depth_max : SYMBOLS_DEPTH_MAX,
             walked = 0;
    for (int is_skipping = sample->skip_files != NULL;; walked++) {
        struct symbols_place place;
        uint64_t address = unwind_plan_address(&scene);
        int is_known = unwind_find_place(process, address, scene.is_return ? PLACE_RETURN : 0, SYMBOLS_BY_FRAME_POINTER,
                                         &place) == 0;
        if (!is_known && walked > 0)
            return SYMBOLS_BROKEN;
        const struct symbols_frame_item *frame = is_known ? item_table_item(&process->symbols->frames, place.frame)
                                                          : NULL;
        is_skipping = is_skipping && frame && is_skipped(process->symbols->modules[frame->module], sample->skip_files);
        if (gathered->count >= limit || walked > 2 * SYMBOLS_DEPTH_MAX)
            return SYMBOLS_TOO_DEEP;
        if (is_known && !is_skipping)
            gathered->frames[gathered->count++] = place.frame;
        const struct unwind_plan *plan = is_known ? item_table_item(&process->symbols->plans, place.plan) : NULL;
        int result = walked == 0 && (!plan || plan->kind == PLAN_NONE) ? step_from_unknown_leaf(&scene, process)
                                                                       : unwind_step(&scene, process, &place);
        if (result == PLAN_ENDS)
            return SYMBOLS_WHOLE;
        if (result != 0)
            return result == PLAN_BEYOND ? SYMBOLS_CUT : SYMBOLS_BROKEN;
    }
}

struct symbols_walk symbols_unwind(struct symbols_process *process, const struct symbols_sample *sample)
{
    struct symbols *symbols = process->symbols;
    struct gathered gathered;
    gathered.count = 0;
    for (size_t i = 0; i < sample->kernel_count; i++)
        if (sample->kernel[i] < (uint64_t)PERF_CONTEXT_MAX)
            gather_kernel(symbols, sample->kernel[i], gathered.count > 0, &gathered);
    struct symbols_walk walk = { .end = walk_user(process, sample, &gathered) };
    walk.frames = gathered.count;
    walk.stack = unwind_stack_of(symbols, &gathered);
    if (gathered.count && walk.stack == SYMBOLS_NO_STACK)
        walk.end = SYMBOLS_BROKEN;
    symbols->counts.walks++;
    symbols->counts.frames += gathered.count;
    symbols->counts.by_end[walk.end]++;
    return walk;
}
