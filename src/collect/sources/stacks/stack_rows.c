/* Call stacks to rows: see stack_rows.h. */
#include "stack_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/parallel.h"
#include "collect/core/chain_row.h"
#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "collect/sources/python/python_calls.h"
#include "made_code.h"

#define TICKS_A_ROUND 5 /* 2 s */
#define ONE_MAY_WAIT_OF 50u /* one stack of this many may wait longer: to read a library's symbols takes long */

/* A stack that is not written yet. */
struct waiting {
    int64_t id;      /* of its rows */
    uint32_t stack;
    uint32_t source; /* enum wire_source of the events that refer to it, or SAMPLES */
};
enum { SAMPLES = WIRE_SOURCE_COUNT };

struct stacks {
    struct symbols *symbols;
    uint16_t *used; /* by stack: bits by enum wire_source of the events that refer to it */
    size_t used_room;
    struct waiting *waiting;
    size_t waiting_count, waiting_room;
    uint64_t written;
    uint64_t unnamed;           /* samples in code made at run time that has no name */
    uint64_t unkept;            /* samples whose stack could not be kept: out of memory */
    struct chain_line_ids *ids; /* by line */
    size_t ids_room;
};

/* Innermost frames in these files are not part of the program. */
static const char *const own_files[] = { "libtacho-", "libcupti.so", NULL };

/* NULL: out of memory; no call gets a chain. */
static struct stacks *stacks_of(const struct collector *collector)
{
    struct stacks *stacks = collector->state[COLLECT_SOURCE_STACKS];
    return stacks->symbols ? stacks : NULL;
}

static void stack_rows_begin(struct collector *collector, pid_t pid)
{
    struct stacks *stacks = collector->state[COLLECT_SOURCE_STACKS];
    const struct symbols_settings settings = { .debug_paths = collector->options->debug_paths,
                                               .no_names = collector->options->no_names };
    stacks->symbols = symbols_new(&settings);
}

static void free_stacks(struct collector *collector)
{
    struct stacks *stacks = stacks_of(collector);
    if (!stacks)
        return;
    symbols_delete(stacks->symbols);
    free(stacks->used);
    free(stacks->waiting);
    free(stacks->ids);
    *stacks = (struct stacks){ 0 };
}

struct symbols *stacks_symbols(struct collector *collector)
{
    struct stacks *stacks = stacks_of(collector);
    return stacks ? stacks->symbols : NULL;
}

/* ---- Processes ------------------------------------------------------------------------------------------------- */

static void stack_rows_attach_process(struct process *process)
{
    struct symbols *symbols = stacks_symbols(process->collector);
    const struct process *parent = strcmp(process->origin, "fork") == 0
                                       ? process_find(process->collector, process->parent_pid)
                                       : NULL;
    if (!symbols || process->space)
        return;
    /* The loader does not report the modules of a forked child again. */
    process->space = parent && parent->space ? symbols_process_fork(parent->space, process->pid)
                                             : symbols_process_new(symbols, process->pid);
}

static void stack_rows_end_process(struct process *process)
{
    if (process->space)
        symbols_process_end(process->space);
}

static void stack_rows_module_begin(struct process *process, const struct symbols_mapping *mapping)
{
    if (process->space)
        symbols_process_map(process->space, mapping);
}

static void stack_rows_module_end(struct process *process, uint64_t address, uint64_t bytes)
{
    if (process->space)
        symbols_process_unmap(process->space, address, bytes);
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

_Static_assert(WIRE_SOURCE_COUNT <= 16, "a bit for each in stacks.used");

static int add_waiting(struct stacks *stacks, const struct waiting *added)
{
    if (array_reserve(&stacks->waiting, &stacks->waiting_room, stacks->waiting_count + 1, sizeof *added) != 0)
        return -1;
    stacks->waiting[stacks->waiting_count++] = *added;
    return 0;
}

/* Events of one source that have the same stack share its rows. */
static int note_use(struct stacks *stacks, uint32_t stack, enum wire_source source)
{
    uint16_t bit = (uint16_t)(1u << source);
    if (array_reserve_zeroed(&stacks->used, &stacks->used_room, (size_t)stack + 1, sizeof *stacks->used) != 0)
        return -1;
    if (!(stacks->used[stack] & bit) && add_waiting(stacks, &(struct waiting){ stack, stack, source }) != 0)
        return -1;
    stacks->used[stack] |= bit;
    return 0;
}

static uint32_t stack_rows_of(struct process *process, const struct wire_record *record, uint32_t words)
{
    enum wire_source id = record->a;
    const struct collect_source *source = collect_counted_sources[id];
    struct stacks *stacks = stacks_of(process->collector);
    struct symbols_registers registers = { 0 };
    if (!stacks || !process->space || words < WIRE_HEAD_WORDS + 3)
        return SYMBOLS_NO_STACK;
    registers.known = record->body[2] & ((UINT64_C(1) << SYMBOLS_REGISTERS) - 1);
    const uint64_t *at = record->body + 3, *end = (const uint64_t *)record + words;
    for (unsigned i = 0; i < SYMBOLS_REGISTERS; i++)
        if (registers.known >> i & 1) {
            if (at == end)
                return SYMBOLS_NO_STACK;
            registers.value[i] = *at++;
        }
    struct symbols_sample sample = {
        .registers = &registers,
        .stack = at,
        .stack_bytes = (size_t)(end - at) * 8,
        .skip_files = own_files,
        .depth_max = source->chain_depth ? source->chain_depth(process->collector) : 0,
    };
    uint32_t stack = symbols_unwind(process->space, &sample).stack;
    if (stack != SYMBOLS_NO_STACK && source->chain_row && note_use(stacks, stack, id) != 0)
        return SYMBOLS_NO_STACK;
    if (stack != SYMBOLS_NO_STACK)
        symbols_note_sample(stacks->symbols, stack);
    return stack;
}

struct call_chains stacks_unwind(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    return (struct call_chains){
        .native = stack_rows_of(origin->process, record, words),
        .interpreted = python_calls_find(origin->process, record->body[1]),
    };
}

static int64_t chain_of_one(struct process *process, enum wire_source source, const struct symbols_chain *chain)
{
    struct stacks *stacks = stacks_of(process->collector);
    uint32_t stack = symbols_stack_from_chain(process->space, chain).stack;
    return stack != SYMBOLS_NO_STACK && note_use(stacks, stack, source) == 0 ? stack : 0;
}

int64_t stacks_variable(struct process *process, enum wire_source source, uint64_t address)
{
    if (!stacks_of(process->collector) || !process->space || !symbols_process_has_loaded(process->space, address))
        return 0;
    return chain_of_one(process, source, &(struct symbols_chain){ .addresses = &address, .count = 1 });
}

int64_t stacks_return_address(struct process *process, enum wire_source source, uint64_t address)
{
    if (!stacks_of(process->collector) || !process->space || !address)
        return 0;
    return chain_of_one(process, source,
                        &(struct symbols_chain){ .addresses = &address, .count = 1, .first_is_return = 1 });
}

void stacks_sample(struct collector *collector, int64_t sample_id, uint32_t stack)
{
    struct stacks *stacks = stacks_of(collector);
    if (!stacks || stack == SYMBOLS_NO_STACK)
        return;
    if (add_waiting(stacks, &(struct waiting){ sample_id, stack, SAMPLES }) != 0)
        stacks->unkept++;
    symbols_note_sample(stacks->symbols, stack);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const struct chain_line_ids *ids_of(struct collector *collector, uint32_t number)
{
    struct stacks *stacks = stacks_of(collector);
    struct chain_line_ids *ids = &stacks->ids[number];
    const struct symbols_line *line = symbols_line(stacks->symbols, number);
    if (!ids->symbol) {
        ids->symbol = collector_string(collector, *line->name ? line->name : "[Unknown]");
        ids->module = collector_string(collector, started_names_of(&collector->processes->started, line->module));
        ids->file = line->file ? collector_string(collector, line->file) : 0;
    }
    return ids;
}

static void write_sampled(struct writer *writer, const struct chain_row *from)
{
    struct row_SAMPLING_CALLCHAINS row = { 0 };
    CHAIN_ROW_SET(SAMPLING_CALLCHAINS, &row, from);
    CHAIN_ROW_SET_METHOD(SAMPLING_CALLCHAINS, &row, from);
    writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &row);
}

static int is_unnamed_made(const struct symbols_line *line)
{
    return line->flags & SYMBOLS_UNRESOLVED && strcmp(line->module, "[jit]") == 0;
}

static void write_stack(struct collector *collector, const struct waiting *what)
{
    struct stacks *stacks = stacks_of(collector);
    const struct symbols *symbols = stacks->symbols;
    void (*write)(struct writer *, const struct chain_row *) = what->source == SAMPLES
                                                                   ? write_sampled
                                                                   : collect_counted_sources[what->source]->chain_row;
    struct chain_row row = { .id = what->id };
    for (uint32_t stack = what->stack; stack != SYMBOLS_NO_STACK;) {
        struct symbols_node node = symbols_stack(symbols, stack);
        row.frame = symbols_frame(symbols, node.frame);
        for (uint32_t i = 0; i < row.frame.line_count; i++, row.depth++) {
            row.line = symbols_line(symbols, row.frame.first_line + i);
            row.ids = ids_of(collector, row.frame.first_line + i);
            if (row.depth == 0 && what->source == SAMPLES)
                stacks->unnamed += is_unnamed_made(row.line);
            write(collector->writer, &row);
        }
        stack = node.caller;
    }
}

/* Readers are fast if the ids of a chunk ascend. */
static int stack_rows_by_id(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    return COMPARE(x->id, y->id);
}

/* Writes the stacks whose names are known; at the end all of them. Returns -1 when memory is short. */
static int write_waiting(struct collector *collector, int is_end)
{
    struct stacks *stacks = stacks_of(collector);
    size_t kept = 0;
    if (!stacks->waiting_count)
        return 0;
    if (array_reserve_zeroed(&stacks->ids, &stacks->ids_room, symbols_line_count(stacks->symbols) + (size_t)1,
                             sizeof *stacks->ids) != 0)
        return -1;
    qsort(stacks->waiting, stacks->waiting_count, sizeof *stacks->waiting, stack_rows_by_id);
    for (size_t i = 0; i < stacks->waiting_count; i++)
        if (is_end || symbols_is_named(stacks->symbols, stacks->waiting[i].stack))
            write_stack(collector, &stacks->waiting[i]);
        else
            stacks->waiting[kept++] = stacks->waiting[i];
    stacks->written += stacks->waiting_count - kept;
    stacks->waiting_count = kept;
    return 0;
}

/* Whether enough stacks wait for names to resolve them now. Code made at run time has names for a while only. */
static int is_naming_worth_it(const struct stacks *stacks)
{
    uint64_t unnamed = 0;
    for (size_t i = 0; i < stacks->waiting_count; i++)
        unnamed += !symbols_is_named(stacks->symbols, stacks->waiting[i].stack);
    return unnamed > stacks->written / ONE_MAY_WAIT_OF || symbols_look_for_made_names(stacks->symbols);
}

/* Every few seconds the stacks so far are written, so that they outlive us. If many have frames without names, those
 * are found first, in a thread: two seconds later at most, the stacks with known names are written all the same. The
 * writer is flushed after this call, so each round has chunks of its own. */
static void stack_rows_tick(struct collector *collector)
{
    struct stacks *stacks = stacks_of(collector);
    if (!stacks)
        return;
    int is_due = collector->ticks % TICKS_A_ROUND == 0, is_done = symbols_naming_take(stacks->symbols);
    int has_begun = is_due && is_naming_worth_it(stacks) && symbols_naming_begin(stacks->symbols);
    if (is_done || (is_due && !has_begun))
        write_waiting(collector, 0);
}

/* Counts stacks by how their unwinding ended. */
static void write_counts(struct collector *collector)
{
    static const char *const ends[] = {
        [SYMBOLS_WHOLE] = "whole", [SYMBOLS_CUT] = "cut", [SYMBOLS_TOO_DEEP] = "too-deep", [SYMBOLS_BROKEN] = "broken"
    };
    const struct symbols_counts *counts = symbols_counts(stacks_of(collector)->symbols);
    for (size_t i = 0; collector->primary && i < COUNT_OF(ends); i++)
        process_count_row(collector->primary, "callchains", "recorded", ends[i], (int64_t)counts->by_end[i]);
    if (collector->primary)
        process_count_row(collector->primary, "callchains", "lost", "memory", (int64_t)stacks_of(collector)->unkept);
}

static void tell_of_lines(struct collector *collector, uint64_t files)
{
    char text[200];
    if (!files)
        return;
    snprintf(text, sizeof text,
             "Source lines and inlined functions of %llu file%s were not looked up: to read so much debug information "
             "takes long beside a run of this length.",
             (unsigned long long)files, files == 1 ? "" : "s");
    collector_diagnostic(collector, collector_now(collector), 1, 0, text);
}

static void stack_rows_finish(struct collector *collector)
{
    struct stacks *stacks = stacks_of(collector);
    if (!stacks || symbols_stack_count(stacks->symbols) <= 1)
        return;
    struct parallel *pool = parallel_new(0);
    symbols_resolve(stacks->symbols, pool);
    parallel_delete(pool);
    if (symbols_counts(stacks->symbols)->maps_cut)
        collector_warn(collector, 0,
                       "Names of JIT-compiled code may be missing: only the first 256 MiB of /tmp/perf-PID.map are "
                       "read.");
    if (write_waiting(collector, 1) != 0)
        for (size_t i = 0; i < stacks->waiting_count; i++)
            stacks->unkept += stacks->waiting[i].source == SAMPLES;
    made_code_tell(collector, stacks->unnamed);
    tell_of_lines(collector, symbols_counts(stacks->symbols)->without_lines);
    collector->result->children_ns += symbols_counts(stacks->symbols)->children_ns;
    write_counts(collector);
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

/* Hands the call stack of the next record to its source. */
static void stack(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    const struct collect_source *source = record->a < WIRE_SOURCE_COUNT ? collect_counted_sources[record->a] : NULL;
    if (words < WIRE_HEAD_WORDS + 3 || !source || !source->take_chains)
        return;
    struct collect_counts *counts = &origin->collector->result->counts[record->a];
    counts->stacks++;
    counts->stack_bytes += (uint64_t)words * 8;
    source->take_chains(origin, record, stacks_unwind(origin, record, words));
}

static const struct collect_records stack_rows_records[] = { { WIRE_STACK, WIRE_STACK, stack }, { 0 } };

const struct collect_source collect_source_stacks = {
    .state_bytes = sizeof(struct stacks),
    .records = stack_rows_records,
    .begin = stack_rows_begin,
    .tick = stack_rows_tick,
    .finish = stack_rows_finish,
    .free = free_stacks,
    .process_attach = stack_rows_attach_process,
    .process_end = stack_rows_end_process,
    .module_begin = stack_rows_module_begin,
    .module_end = stack_rows_module_end,
};
