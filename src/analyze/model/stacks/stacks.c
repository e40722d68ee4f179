/* Samples with their stacks, and the names of frames: see stacks.h. */
#include "stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/path.h"

#define WEIGHT_MOST (INT64_C(1) << 40) /* more than any counter counts between two samples */

/* Tables and columns of each source. The chain of a CPU sample has the sample's own id. */
static const struct stacks_source {
    const char *samples, *chains, *columns[6];
} stacks_sources[STACK_SOURCES] = {
    [STACKS_CPU] = { "COMPOSITE_EVENTS",
                     "SAMPLING_CALLCHAINS",
                     { "start", "globalTid", "threadState", "id", "cpuCycles", "pythonCallchainId" } },
    [STACKS_PYTHON] = { "TACHO_PYTHON_SAMPLE",
                        "TACHO_PYTHON_CALLCHAINS",
                        { "start", "globalTid", "threadState", "callchainId", "weight", "pythonCallchainId" } },
};
enum { TIME, THREAD, STATE, CHAIN, WEIGHT, PYTHON, COLUMNS };
const char *const stack_sample_tables[STACK_SOURCES + 1] = { "COMPOSITE_EVENTS", "TACHO_PYTHON_SAMPLE", NULL };

int stacks_open(struct stacks *stacks, struct report *report, struct error *err)
{
    *stacks = (struct stacks){ .report = report, .frames.width = FRAME_PARTS, .nodes.width = NODE_PARTS };
    if (keys_add(&stacks->nodes, (int64_t[NODE_PARTS]){ -1, -1 }) == NO_KEY)
        return error_short_memory(err, "for the stacks");
    return 0;
}

void stacks_free(struct stacks *stacks)
{
    keys_free(&stacks->frames);
    keys_free(&stacks->nodes);
    free(stacks->samples);
    stacks->samples = NULL;
    stacks->sample_count = 0;
}

/* ---- samples --------------------------------------------------------------------------------------------------- */

static struct stack_sample stacks_sample_at(const struct report_columns *rows, size_t row)
{
    int64_t weight = columns_is_null(rows, WEIGHT, row) ? 1 : rows->values[WEIGHT][row];

    return (struct stack_sample){
        .time_ns = rows->values[TIME][row],
        .thread = rows->values[THREAD][row],
        .weight = weight < 1             ? 1
                  : weight > WEIGHT_MOST ? WEIGHT_MOST
                                         : weight,
        .is_waiting = !columns_is_null(rows, STATE, row) && rows->values[STATE][row] == THREAD_STATE_WAITING,
        .python = columns_is_null(rows, PYTHON, row) ? 0 : rows->values[PYTHON][row],
    };
}

/* The stack of samples without a call chain, so that reports show them. */
static uint32_t no_stack(struct stacks *stacks)
{
    uint32_t frame = keys_add(&stacks->frames, (int64_t[FRAME_PARTS]){ FRAME_NATIVE, FRAME_NO_NAME, FRAME_NO_NAME,
                                                                       FRAME_NO_NAME, FRAME_NO_LINE });

    return frame == NO_KEY ? NO_KEY : keys_add(&stacks->nodes, (int64_t[NODE_PARTS]){ STACK_EMPTY, frame });
}

static int set_samples(struct stacks *stacks, const struct report_columns *rows, const uint32_t *order, size_t count,
                       const struct stack_chains *chains)
{
    size_t hint = 0;

    for (size_t i = 0; i < count; i++) {
        struct stack_sample *sample = &stacks->samples[i];
        *sample = stacks_sample_at(rows, order[i]);
        sample->stack = stack_chains_find(chains, rows->values[CHAIN][order[i]], &hint);
        if (sample->stack == STACK_EMPTY && (sample->stack = no_stack(stacks)) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    stacks->sample_count = count;
    return 0;
}

static int stacks_add_samples(struct stacks *stacks, const struct report_columns *rows,
                              const struct stack_chains *chains, const struct filter *filter)
{
    uint32_t *order = malloc((rows->rows + 1) * sizeof *order);
    size_t count = 0;
    int code = ERR_NO_MEMORY;

    stacks->samples = malloc((rows->rows + 1) * sizeof *stacks->samples);
    if (!order || !stacks->samples)
        goto free_order;
    for (size_t row = 0; row < rows->rows; row++)
        if (!columns_is_null(rows, THREAD, row) &&
            filter_thread(filter, rows->values[THREAD][row], rows->values[TIME][row], rows->values[TIME][row]))
            order[count++] = (uint32_t)row;
    if ((code = order_by_thread(order, count, rows->values[THREAD], rows->values[TIME])) != 0)
        goto free_order;
    code = set_samples(stacks, rows, order, count, chains);
free_order:
    free(order);
    return code;
}

int stacks_read_samples(struct stacks *stacks, enum stack_source source, int lines, const struct filter *filter,
                        struct error *err)
{
    struct stack_chains chains;
    struct report_columns rows = { 0 };
    int code;

    if ((code = stack_chains_read(&chains, stacks, stacks_sources[source].chains, lines, err)) != 0 ||
        (code = columns_read(stacks->report, stacks_sources[source].samples, stacks_sources[source].columns, COLUMNS,
                             &rows, err)) != 0)
        goto done;
    if (rows.rows >= UINT32_MAX) {
        code = error_set(err, ERR_UNSUPPORTED, "the report has too many samples to sort");
        goto done;
    }
    if (rows.rows && stacks_add_samples(stacks, &rows, &chains, filter) != 0)
        code = error_short_memory(err, "for the samples");
done:
    report_columns_free(&rows);
    stack_chains_free(&chains);
    return code;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

uint32_t stack_thread_frame(struct stacks *stacks, const struct thread_names *names, int64_t thread)
{
    const struct thread_name *name = thread_name_find(names, thread);
    int64_t key[FRAME_PARTS] = { FRAME_THREAD, name ? name->name : FRAME_NO_NAME, name ? 0 : global_tid_number(thread),
                                 FRAME_NO_NAME, FRAME_NO_LINE };

    return keys_add(&stacks->frames, key);
}

static const char device_stub[] = "__device_stub__";

/* Whether a frame belongs to a library that is never shown as the caller: those of the system, of CUDA, and of
 * profilers. If CUDA's runtime is linked statically, its functions are in the program: libcudart_static_… and, without
 * a source, functions such as cudaMemcpy. nvcc adds a function that launches each kernel, __device_stub__…. */
static int stacks_is_library(const char *file, const char *symbol, int has_source)
{
    static const char *const prefixes[] = { "libc.so",   "libc-",     "libpthread",        "ld-", "libcuda.so",
                                            "libcudart", "libtacho-", "libToolsInjection", NULL };

    return text_begins_with_one(file, prefixes) || text_begins_with(symbol, "libcudart_static_") ||
           text_begins_with(symbol, "__cuda") || text_begins_with(symbol, device_stub) ||
           (!has_source && text_begins_with(symbol, "cuda") && symbol[4] >= 'A' && symbol[4] <= 'Z');
}

/* Whose code a frame is. Most of C++'s library (std::mutex) is in headers, and so in the program; so are libraries of
 * headers, and all crates of Rust. The name of a function of Rust starts with its crate, and that of the program has
 * the program's name. */
enum stacks_owner { OWNER_PROGRAM, OWNER_PACKAGE, OWNER_LANGUAGE, OWNERS };

/* "own::main", "<own::Node as core::fmt::Display>::fmt" */
static int stacks_is_crate(const char *symbol, const char *file)
{
    symbol += strspn(symbol, "<&");
    symbol += text_begins_with(symbol, "mut ") ? strlen("mut ") : 0;
    for (; *file && (*file == *symbol || (*file == '-' && *symbol == '_')); file++)
        symbol++;
    return !*file && text_begins_with(symbol, "::");
}

static int stacks_is_header(const char *source)
{
    static const char *const endings[] = { ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".ipp", ".tcc" };
    const char *dot = strrchr(path_base_name(source), '.');

    for (size_t i = 0; i < COUNT_OF(endings) && dot; i++)
        if (strcmp(dot, endings[i]) == 0)
            return 1;
    return !dot; /* <vector> */
}

static enum stacks_owner stacks_owner_of(const char *file, const char *symbol, const char *source)
{
    const char *header = stacks_is_header(source) ? strstr(source, "/include/") : NULL;

    if (text_ends_with(source, ".rs"))
        return text_begins_with(source, "/rustc/") || text_begins_with(source, "library/") ? OWNER_LANGUAGE
               : stacks_is_crate(symbol, file)                                             ? OWNER_PROGRAM
                                                                                           : OWNER_PACKAGE;
    if (text_begins_with(file, "libstdc++") || text_begins_with(file, "libc++") || (header && strstr(header, "/c++/")))
        return OWNER_LANGUAGE;
    return header ? OWNER_PACKAGE : OWNER_PROGRAM;
}

/* Whether a function is the host's side of a kernel. nvcc makes it: it has the name and the line of the kernel, and
 * calls the kernel's stub, "__device_stub__Z5sweepPKfPf(…)" for "sweep(float const*, float*)" or "void
 * sweep<float>(…)". */
static int is_host_side(const char *symbol, const char *stub)
{
    static const char anonymous[] = "(anonymous namespace)::";
    size_t end = strcspn(symbol, "<("), start;
    char name[256];

    while (text_begins_with(symbol + end, anonymous)) {
        symbol += end + sizeof anonymous - 1;
        end = strcspn(symbol, "<(");
    }
    for (start = end; start && symbol[start - 1] != ':' && symbol[start - 1] != ' ';)
        start--;
    if (end == start || end - start >= sizeof name - 4)
        return 0;
    snprintf(name, sizeof name, "%zu%.*s", end - start, (int)(end - start), symbol + start); /* as in a mangled name */
    return strstr(stub + sizeof device_stub - 1, name) != NULL;
}

uint32_t stack_caller(const struct stacks *stacks, uint32_t stack)
{
    const char *stub = NULL; /* the frame inside of this one, if it launches a kernel */
    uint32_t innermost[OWNERS] = { NO_KEY, NO_KEY, NO_KEY };
    int is_rust = 0;

    for (uint32_t at = stack; at != STACK_EMPTY; at = stack_parent(stacks, at)) {
        const int64_t *frame = stack_frame(stacks, stack_innermost(stacks, at));
        const char *file = path_base_name(report_string(stacks->report, frame[FRAME_MODULE], NULL)),
                   *symbol = report_string(stacks->report, frame[FRAME_SYMBOL], NULL), *inner = stub;
        stub = text_begins_with(symbol, device_stub) ? symbol : NULL;
        if (frame[FRAME_KIND] == FRAME_KERNEL ||
            stacks_is_library(file, symbol, frame[FRAME_SOURCE] != FRAME_NO_NAME) ||
            (inner && is_host_side(symbol, inner)))
            continue;
        const char *source = frame[FRAME_SOURCE] == FRAME_NO_NAME
                                 ? ""
                                 : report_string(stacks->report, frame[FRAME_SOURCE], NULL);
        enum stacks_owner owner = stacks_owner_of(file, symbol, source);
        is_rust |= text_ends_with(source, ".rs");
        if (is_rust && !*source) /* main() that the compiler made */
            owner = OWNER_LANGUAGE;
        if (owner == OWNER_PROGRAM)
            return stack_innermost(stacks, at);
        if (innermost[owner] == NO_KEY)
            innermost[owner] = stack_innermost(stacks, at);
    }
    return innermost[OWNER_PACKAGE] != NO_KEY ? innermost[OWNER_PACKAGE] : innermost[OWNER_LANGUAGE];
}

static void add_file_name(struct text *out, struct report *report, int64_t id)
{
    size_t length;
    const char *path = report_string(report, id, &length), *slash = memrchr(path, '/', length);
    const char *name = slash && slash + 1 < path + length ? slash + 1 : path;

    text_add_bytes(out, name, (size_t)(path + length - name));
}

void stack_key_name(struct text *out, const struct stacks *stacks, const int64_t *key)
{
    size_t length;

    if (key[FRAME_SYMBOL] != FRAME_NO_NAME) {
        const char *name = report_string(stacks->report, key[FRAME_SYMBOL], &length);
        text_add_bytes(out, name, length);
    } else if (key[FRAME_KIND] == FRAME_THREAD) {
        text_addf(out, "thread %lld", (long long)key[FRAME_MODULE]);
    } else if (key[FRAME_MODULE] == FRAME_NO_NAME) {
        text_add(out, "[no stack]");
    } else {
        size_t before = out->length;
        add_file_name(out, stacks->report, key[FRAME_MODULE]);
        if (out->length > before && out->bytes[before] == '[') /* [vdso] */
            return;
        out->length = before;
        text_add_char(out, '[');
        add_file_name(out, stacks->report, key[FRAME_MODULE]);
        text_add_char(out, ']');
    }
}

void stack_frame_name(struct text *out, const struct stacks *stacks, uint32_t frame)
{
    stack_key_name(out, stacks, stack_frame(stacks, frame));
}

int stack_frame_is_import(const struct stacks *stacks, uint32_t frame)
{
    const int64_t *key = stack_frame(stacks, frame);

    return key[FRAME_KIND] != FRAME_THREAD &&
           strstr(report_string(stacks->report, key[FRAME_MODULE], NULL), "importlib._bootstrap") != NULL;
}

void stack_frame_module(struct text *out, const struct stacks *stacks, uint32_t frame)
{
    const int64_t *key = stack_frame(stacks, frame);
    size_t length;

    if (key[FRAME_KIND] == FRAME_THREAD)
        return;
    const char *name = report_string(stacks->report, key[FRAME_MODULE], &length);
    text_add_bytes(out, name, length);
}

void stack_frame_label(struct text *out, const struct stacks *stacks, uint32_t frame)
{
    const int64_t *key = stack_frame(stacks, frame);

    stack_frame_name(out, stacks, frame);
    if (key[FRAME_KIND] != FRAME_PYTHON && key[FRAME_SOURCE] == FRAME_NO_NAME)
        return;
    text_add(out, " (");
    add_file_name(out, stacks->report, key[FRAME_SOURCE] == FRAME_NO_NAME ? key[FRAME_MODULE] : key[FRAME_SOURCE]);
    if (key[FRAME_LINE] != FRAME_NO_LINE)
        text_addf(out, ":%lld", (long long)key[FRAME_LINE]);
    text_add_char(out, ')');
}
