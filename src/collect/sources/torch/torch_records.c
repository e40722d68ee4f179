/* Operators, modules, steps and memory of PyTorch: see torch_records.h.
 *
 * The begin of an operator goes onto the stack of its thread; its end takes it off and writes the row. An end that its
 * own thread does not know belongs to an asynchronous operator of another thread, whose begin may not have been read
 * yet. */
#include "torch_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/text.h"
#include "collect/core/clock_map.h"
#include "collect/sources/nvtx/nvtx_state.h"
#include "report/schema/torch_names.h"
#include "torch_twins.h"
#include "wire/wire_torch.h"

enum { OPEN_MAX = 1 << 16, ENDS_MAX = 1 << 12, STACKS_MAX = 1 << 21 };
enum { SCOPE_FUNCTION = 0, SCOPE_BACKWARD = 1, SCOPE_USER = 7 };

/* A running operator, or a call of a module. Ids are in the writer's string pool; 0: none. */
struct open {
    uint64_t number;
    int64_t start_ns, sequence, forward_thread;
    int64_t name, range;
    /* details.modules: the modules around it, outermost first; for the call of a module, including that module.
     * path_bytes is then the length of this text in the thread's path. */
    struct torch_details details;
    size_t path_bytes;
    int64_t step;      /* N of ProfilerStep#N, or -1 */
    uint16_t scope;
    uint8_t is_engine; /* an operator of autograd's engine without an inner one so far */
};

/* An end whose begin is not known yet. */
struct end {
    uint64_t number;
    int64_t time_ns;
};

/* The text of a stack that the agent has numbered. */
struct torch_records_stack {
    uint64_t number; /* never 0 */
    int64_t text;
};
MAP(stack_map, struct torch_records_stack, uint64_t, number, number, hash_number, map_is_same_number)

struct torch_process {
    struct torch_setup setup;
    struct torch_counts counts;
    struct torch_thread *threads;
    struct end *ends;
    size_t end_count;
    struct stack_map stacks;
    int64_t categories[2]; /* cpu_op, user_annotation; 0: not needed yet */
    struct text dims, types, strides, values, sizes, range, modules;
};

struct torch_thread {
    struct torch_process *process;
    struct torch_thread *next;
    int64_t tid;
    struct open *open;
    size_t open_count, open_capacity;
    size_t call_count; /* calls of modules among them */
    struct text path;  /* of the call that began last */
    struct torch_twins twins;
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int64_t category(struct torch_process *process, int is_annotation)
{
    static const char *const names[] = { "cpu_op", "user_annotation" };
    int64_t *id = &process->categories[is_annotation];
    if (!*id)
        *id = writer_string(process->setup.writer, names[is_annotation], strlen(names[is_annotation]));
    return *id;
}

static void torch_records_step_row(const struct torch_thread *thread, const struct open *op, int64_t end_ns)
{
    struct row_TACHO_TORCH_STEP row = { 0 };
    ROW_SET(&row, TACHO_TORCH_STEP, start, op->start_ns);
    ROW_SET(&row, TACHO_TORCH_STEP, end, end_ns);
    ROW_SET(&row, TACHO_TORCH_STEP, globalTid, thread->tid);
    ROW_SET(&row, TACHO_TORCH_STEP, number, op->step);
    writer_append(thread->process->setup.writer, TABLE_TACHO_TORCH_STEP, &row);
}

/* As a range of the program's own would have been, in the default domain. */
static void range_row(const struct torch_thread *thread, const struct open *op, int64_t end_ns)
{
    struct row_NVTX_EVENTS row = { 0 };
    ROW_SET(&row, NVTX_EVENTS, start, op->start_ns);
    ROW_SET(&row, NVTX_EVENTS, end, end_ns);
    ROW_SET(&row, NVTX_EVENTS, eventType, NVTX_ROW_PUSH_POP);
    ROW_SET(&row, NVTX_EVENTS, text, op->range);
    ROW_SET(&row, NVTX_EVENTS, globalTid, thread->tid);
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    writer_append(thread->process->setup.writer, TABLE_NVTX_EVENTS, &row);
}

static void torch_records_set_inputs(struct row_TACHO_TORCH_OP *row, const struct open *op)
{
    ROW_SET(row, TACHO_TORCH_OP, inputDimsId, op->details.dims);
    ROW_SET(row, TACHO_TORCH_OP, inputTypesId, op->details.types);
    ROW_SET(row, TACHO_TORCH_OP, inputStridesId, op->details.strides);
    ROW_SET(row, TACHO_TORCH_OP, concreteInputsId, op->details.values);
}

static int torch_records_is_call(const struct open *open)
{
    return open->scope == WIRE_TORCH_MODULE_CALL;
}

/* The innermost call of a module below an index of the stack. */
static const struct open *call_around(const struct torch_thread *thread, size_t below)
{
    for (size_t i = thread->call_count ? below : 0; i-- > 0;)
        if (torch_records_is_call(&thread->open[i]))
            return &thread->open[i];
    return NULL;
}

static int64_t unfinished_mark(const struct torch_process *process)
{
    static const char mark[] = "\"unfinished\": true";
    return writer_string(process->setup.writer, mark, sizeof mark - 1);
}

static void call_row(const struct torch_thread *thread, const struct open *call, int64_t end_ns, int is_unfinished)
{
    const struct open *around = call_around(thread, (size_t)(call - thread->open));
    struct row_TACHO_TORCH_PYTHON row = { 0 };
    ROW_SET(&row, TACHO_TORCH_PYTHON, start, call->start_ns);
    ROW_SET(&row, TACHO_TORCH_PYTHON, end, end_ns);
    ROW_SET(&row, TACHO_TORCH_PYTHON, globalTid, thread->tid);
    ROW_SET(&row, TACHO_TORCH_PYTHON, nameId, call->name);
    ROW_SET(&row, TACHO_TORCH_PYTHON, pythonId, (int64_t)(call->number & ~WIRE_TORCH_MODULE_NUMBER));
    if (around)
        ROW_SET(&row, TACHO_TORCH_PYTHON, parentId, (int64_t)(around->number & ~WIRE_TORCH_MODULE_NUMBER));
    ROW_SET(&row, TACHO_TORCH_PYTHON, moduleId, call->sequence);
    if (is_unfinished)
        ROW_SET(&row, TACHO_TORCH_PYTHON, argsId, unfinished_mark(thread->process));
    writer_append(thread->process->setup.writer, TABLE_TACHO_TORCH_PYTHON, &row);
    thread->process->counts.recorded++;
}

static void operator_rows(const struct torch_thread *thread, const struct open *op, int64_t end_ns, int is_unfinished)
{
    struct torch_process *process = thread->process;
    struct row_TACHO_TORCH_OP row = { 0 };
    ROW_SET(&row, TACHO_TORCH_OP, start, op->start_ns);
    ROW_SET(&row, TACHO_TORCH_OP, end, end_ns);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, thread->tid);
    ROW_SET(&row, TACHO_TORCH_OP, nameId, op->name);
    ROW_SET(&row, TACHO_TORCH_OP, category, category(process, op->scope == SCOPE_USER));
    ROW_SET(&row, TACHO_TORCH_OP, externalId, (int64_t)op->number);
    ROW_SET(&row, TACHO_TORCH_OP, recordFunctionId, (int64_t)op->number);
    if (op->sequence >= 0) {
        ROW_SET(&row, TACHO_TORCH_OP, sequenceNumber, op->sequence);
        ROW_SET(&row, TACHO_TORCH_OP, forwardThread, op->forward_thread);
    }
    if (op->details.dims)
        torch_records_set_inputs(&row, op);
    if (op->details.stack)
        ROW_SET(&row, TACHO_TORCH_OP, callStackId, op->details.stack);
    if (op->details.modules)
        ROW_SET(&row, TACHO_TORCH_OP, moduleId, op->details.modules);
    if (is_unfinished)
        ROW_SET(&row, TACHO_TORCH_OP, argsId, unfinished_mark(process));
    writer_append(process->setup.writer, TABLE_TACHO_TORCH_OP, &row);
    if (op->step >= 0)
        torch_records_step_row(thread, op, end_ns);
    if (op->range)
        range_row(thread, op, end_ns);
    process->counts.recorded++;
}

static void torch_records_rows_of(const struct torch_thread *thread, const struct open *open, int64_t end_ns,
                                  int is_unfinished)
{
    end_ns = end_ns < open->start_ns ? open->start_ns : end_ns;
    (torch_records_is_call(open) ? call_row : operator_rows)(thread, open, end_ns, is_unfinished);
}

/* Takes an operator off the stack; its rows are written. */
static void take_off(struct torch_thread *thread, size_t place)
{
    thread->call_count -= (size_t)torch_records_is_call(&thread->open[place]);
    memmove(thread->open + place, thread->open + place + 1, (--thread->open_count - place) * sizeof *thread->open);
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

static void stack_record(struct torch_process *process, const struct wire_record *record, uint32_t words)
{
    const char *text = (const char *)(record->body + 1);
    struct torch_records_stack added = { .number = record->body[0] },
                               *known = stack_map_find(&process->stacks, added.number);
    process->counts.damaged += !added.number;
    if (!added.number || (!known && process->stacks.count == STACKS_MAX))
        return; /* operators with this stack have none, and are counted */
    added.text = writer_string(process->setup.writer, text, strnlen(text, (size_t)(words - WIRE_HEAD_WORDS - 1) * 8));
    if (known)
        *known = added;
    else
        stack_map_add(&process->stacks, &added);
}

/* ---- The begin ------------------------------------------------------------------------------------------------- */

static int64_t pool(struct torch_process *process, const struct text *text)
{
    return text_failed(text) ? 0 : writer_string(process->setup.writer, text->bytes, text->length);
}

static int take_inputs(struct torch_process *process, struct open *op, const uint64_t *words, uint32_t count)
{
    const struct torch_texts texts = { &process->dims, &process->types, &process->strides, &process->values,
                                       &process->sizes };
    if (torch_inputs_text(words, count, &texts) != 0)
        return -1;
    op->details.dims = pool(process, &process->dims);
    op->details.types = pool(process, &process->types);
    op->details.strides = pool(process, &process->strides);
    op->details.values = pool(process, &process->values);
    return 0;
}

/* The text of emit_nvtx, which observes operators, backward ones and annotations. */
static int64_t range_text(struct torch_process *process, const struct open *op, const char *name, size_t length,
                          int has_inputs)
{
    struct text *out = &process->range;
    if (op->scope != SCOPE_FUNCTION && op->scope != SCOPE_BACKWARD && op->scope != SCOPE_USER)
        return 0;
    text_clear(out);
    text_add_bytes(out, name, length);
    if (op->sequence >= 0)
        text_addf(out, ", seq = %lld", (long long)op->sequence);
    if (op->number)
        text_addf(out, ", op_id = %llu", (unsigned long long)op->number);
    if (has_inputs)
        text_addf(out, ", sizes = %s", text_string(&process->sizes));
    return pool(process, out);
}

/* Splits "Linear_3": the call is named as in torch's traces, and 3 is the module's number. */
static void name_call(struct torch_process *process, struct open *call, const char *name, size_t length)
{
    struct text *out = &process->modules;
    size_t digits = length;
    text_clear(out);
    text_addf(out, "nn.Module: %.*s", (int)length, name);
    call->name = pool(process, out);
    for (call->sequence = 0; digits && (unsigned char)(name[digits - 1] - '0') <= 9;)
        digits--;
    for (; digits < length && call->sequence < INT32_MAX; digits++)
        call->sequence = call->sequence * 10 + (name[digits] - '0');
}

static int torch_records_read_begin(struct torch_process *process, const struct wire_record *record, uint32_t words,
                                    struct open *op)
{
    uint32_t has_stack = record->flags & WIRE_TORCH_HAS_STACK, inputs = record->b,
             first = WIRE_TORCH_HEAD_WORDS + has_stack, before = first + inputs;
    if (words < WIRE_HEAD_WORDS + before)
        return -1;
    const char *name = (const char *)(record->body + before);
    size_t length = strnlen(name, (size_t)(words - WIRE_HEAD_WORDS - before) * 8);
    *op = (struct open){
        .number = record->body[0],
        .start_ns = clock_map_time(process->setup.clock, record->ticks),
        .sequence = (int64_t)record->body[1],
        .forward_thread = (int64_t)record->body[2],
        .name = writer_string(process->setup.writer, name, length),
        .step = record->a == SCOPE_USER ? torch_step_number(name, length) : -1,
        .scope = record->a,
        .is_engine = (int64_t)record->body[1] < 0 && torch_is_engine(name, length),
    };
    if (torch_records_is_call(op))
        name_call(process, op, name, length);
    if (inputs && take_inputs(process, op, record->body + first, inputs) != 0)
        return -1;
    const struct torch_records_stack *stack = has_stack ? stack_map_find(&process->stacks,
                                                                         record->body[WIRE_TORCH_HEAD_WORDS])
                                                        : NULL;
    if (stack)
        op->details.stack = stack->text;
    process->counts.stack_lost += has_stack && !op->details.stack;
    if (process->setup.as_nvtx)
        op->range = range_text(process, op, name, length, inputs != 0);
    return 0;
}

/* Makes room for one more. If there is none, the oldest one is written as unfinished. */
static int torch_records_make_room(struct torch_thread *thread, int64_t now_ns)
{
    if (thread->open_count < OPEN_MAX &&
        array_reserve(&thread->open, &thread->open_capacity, thread->open_count + 1, sizeof *thread->open) == 0)
        return 0;
    if (!thread->open_count)
        return -1;
    torch_records_rows_of(thread, &thread->open[0], now_ns, 1);
    take_off(thread, 0);
    return 0;
}

static int end_was_here(struct torch_process *process, uint64_t number, int64_t *time_ns)
{
    for (size_t i = 0; i < process->end_count; i++)
        if (process->ends[i].number == number) {
            *time_ns = process->ends[i].time_ns;
            process->ends[i] = process->ends[--process->end_count];
            return 1;
        }
    return 0;
}

/* Autograd's engine has an operator around each of its own; torch's profiler gives it the
 * numbers of the first one within. */
static void number_engine(struct torch_thread *thread, const struct open *op)
{
    struct open *around = thread->open_count ? &thread->open[thread->open_count - 1] : NULL;
    if (around && around->is_engine && op->scope == SCOPE_BACKWARD && op->sequence >= 0) {
        around->sequence = op->sequence;
        around->forward_thread = op->forward_thread;
    }
    if (around)
        around->is_engine = 0;
}

/* Calls of modules end in the order of a stack. If an outer call has ended, the end of an inner one was lost. Unless
 * the inner one is closed here, everything that follows would be in that module. */
static void give_up_calls(struct torch_thread *thread, size_t above, int64_t time_ns)
{
    for (size_t i = thread->open_count; i-- > above;)
        if (torch_records_is_call(&thread->open[i])) {
            torch_records_rows_of(thread, &thread->open[i], time_ns, 1);
            take_off(thread, i);
        }
}

/* Operators above it on the stack are asynchronous and still run, or their ends were lost: they stay. */
static int end_in(struct torch_thread *thread, uint64_t number, int64_t time_ns)
{
    for (size_t i = thread->open_count; i-- > 0;)
        if (thread->open[i].number == number) {
            if (torch_records_is_call(&thread->open[i]))
                give_up_calls(thread, i + 1, time_ns);
            torch_records_rows_of(thread, &thread->open[i], time_ns, 0);
            take_off(thread, i);
            return 1;
        }
    return 0;
}

/* Sets the modules around an operator: "Net_0.Linear_3". */
static void place_in_modules(struct torch_thread *thread, struct open *open, const struct wire_record *record,
                             uint32_t words)
{
    const struct open *around = call_around(thread, thread->open_count);
    open->details.modules = around ? around->details.modules : 0;
    if (!torch_records_is_call(open))
        return;
    const char *name = (const char *)(record->body + WIRE_TORCH_HEAD_WORDS);
    text_cut(&thread->path, around ? around->path_bytes : 0);
    text_add(&thread->path, thread->path.length ? "." : "");
    text_add_bytes(&thread->path, name, strnlen(name, (size_t)(words - WIRE_HEAD_WORDS - WIRE_TORCH_HEAD_WORDS) * 8));
    open->path_bytes = thread->path.length;
    open->details.modules = pool(thread->process, &thread->path);
}

/* The names of annotations may have the number of the step. */
static int has_twin(const struct open *op)
{
    return op->scope != SCOPE_USER && !torch_records_is_call(op);
}

static void begin_record(struct torch_thread *thread, const struct wire_record *record, uint32_t words)
{
    struct torch_process *process = thread->process;
    struct open op;
    int64_t end_ns;
    if (torch_records_read_begin(process, record, words, &op) != 0 ||
        torch_records_make_room(thread, op.start_ns) != 0) {
        process->counts.damaged++;
        return;
    }
    number_engine(thread, &op);
    place_in_modules(thread, &op, record, words);
    if (record->flags >> WIRE_TORCH_STEP_SHIFT && has_twin(&op))
        torch_twins_take(&thread->twins, record->flags >> WIRE_TORCH_STEP_SHIFT, record->flags & WIRE_TORCH_DETAILED,
                         op.name, &op.details);
    thread->open[thread->open_count++] = op;
    thread->call_count += (size_t)torch_records_is_call(&op);
    if (process->end_count && end_was_here(process, op.number, &end_ns))
        end_in(thread, op.number, end_ns);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static void end_record(struct torch_thread *thread, const struct wire_record *record)
{
    struct torch_process *process = thread->process;
    int64_t time_ns = clock_map_time(process->setup.clock, record->ticks);
    uint64_t number = record->body[0];
    if (end_in(thread, number, time_ns))
        return;
    for (struct torch_thread *other = process->threads; other; other = other->next)
        if (other != thread && end_in(other, number, time_ns))
            return;
    if (!process->ends)
        process->ends = malloc(ENDS_MAX * sizeof *process->ends);
    if (process->ends && process->end_count < ENDS_MAX)
        process->ends[process->end_count++] = (struct end){ number, time_ns };
    else
        process->counts.damaged++;
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static void memory_record(struct torch_thread *thread, const struct wire_record *record)
{
    struct torch_process *process = thread->process;
    struct row_TACHO_TORCH_MEMORY row = { 0 };
    const char *event = record->flags ? "[OutOfMemory]" : "[memory]";
    ROW_SET(&row, TACHO_TORCH_MEMORY, timestamp, clock_map_time(process->setup.clock, record->ticks));
    ROW_SET(&row, TACHO_TORCH_MEMORY, globalTid, thread->tid);
    ROW_SET(&row, TACHO_TORCH_MEMORY, event, writer_string(process->setup.writer, event, strlen(event)));
    ROW_SET(&row, TACHO_TORCH_MEMORY, deviceType, record->a);
    ROW_SET(&row, TACHO_TORCH_MEMORY, deviceId, record->b - 1);
    ROW_SET(&row, TACHO_TORCH_MEMORY, address, (int64_t)record->body[0]);
    ROW_SET(&row, TACHO_TORCH_MEMORY, bytes, (int64_t)record->body[1]);
    if (record->body[2] != WIRE_TORCH_NOT_TOLD)
        ROW_SET(&row, TACHO_TORCH_MEMORY, totalAllocated, (int64_t)record->body[2]);
    if (record->body[3] != WIRE_TORCH_NOT_TOLD)
        ROW_SET(&row, TACHO_TORCH_MEMORY, totalReserved, (int64_t)record->body[3]);
    writer_append(process->setup.writer, TABLE_TACHO_TORCH_MEMORY, &row);
    process->counts.recorded++;
}

/* ---- Events of Python ------------------------------------------------------------------------------------------ */

static void torch_records_event_record(struct torch_thread *thread, const struct wire_record *record, uint32_t words)
{
    struct torch_process *process = thread->process;
    if (python_event_row(&process->setup, thread->tid, record, words) == 0)
        process->counts.recorded++;
    else
        process->counts.damaged++;
}

/* ---- Creation and end ------------------------------------------------------------------------------------------ */

void torch_record(struct torch_thread *thread, const struct wire_record *record, uint32_t words)
{
    if (record->type == WIRE_TORCH_BEGIN)
        begin_record(thread, record, words);
    else if (record->type == WIRE_TORCH_END && words > WIRE_HEAD_WORDS)
        end_record(thread, record);
    else if (record->type == WIRE_TORCH_STACK && words > WIRE_HEAD_WORDS + 1)
        stack_record(thread->process, record, words);
    else if (record->type == WIRE_TORCH_BYTES && words >= WIRE_HEAD_WORDS + 4)
        memory_record(thread, record);
    else if (record->type == WIRE_TORCH_PYTHON_EVENT && words > WIRE_HEAD_WORDS + 1)
        torch_records_event_record(thread, record, words);
    else
        thread->process->counts.damaged++;
}

struct torch_process *torch_process_new(const struct torch_setup *setup)
{
    struct torch_process *process = calloc(1, sizeof *process);
    if (process)
        process->setup = *setup;
    return process;
}

struct torch_thread *torch_thread_new(struct torch_process *process, int64_t global_tid)
{
    struct torch_thread *thread = calloc(1, sizeof *thread);
    if (thread) {
        *thread = (struct torch_thread){ .process = process, .next = process->threads, .tid = global_tid };
        process->threads = thread;
    }
    return thread;
}

void torch_thread_finish(struct torch_thread *thread, int64_t end_ns)
{
    struct torch_thread **link = &thread->process->threads;
    for (size_t i = 0; i < thread->open_count; i++)
        torch_records_rows_of(thread, &thread->open[i], end_ns, 1);
    while (*link && *link != thread)
        link = &(*link)->next;
    if (*link)
        *link = thread->next;
    text_free(&thread->path);
    torch_twins_free(&thread->twins);
    free(thread->open);
    free(thread);
}

void torch_process_free(struct torch_process *process)
{
    struct text *const texts[] = { &process->dims,  &process->types, &process->strides, &process->values,
                                   &process->sizes, &process->range, &process->modules };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        text_free(texts[i]);
    free(process->ends);
    stack_map_free(&process->stacks);
    free(process);
}

const struct torch_counts *torch_process_counts(const struct torch_process *process)
{
    return &process->counts;
}
