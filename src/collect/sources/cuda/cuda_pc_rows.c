/* Samples of warps (--pc-sampling) become rows of TACHO_PC_SAMPLES and TACHO_PC_SAMPLING.
 *
 * The agent sends counts several times a second; they are added up by instruction and reason, and written at the end of
 * the process, or when there are too many. Names of functions and of reasons come in records of other threads, perhaps
 * later than samples, so they are looked up when a row is written. */
#include <stdlib.h>

#include "abi/cupti_pc_sampling.h"
#include "base/text.h"
#include "collect/core/record.h"
#include "cuda_state.h"
#include "symbols/names/demangle.h"

#define ENTRIES_MAX (1u << 20) /* then rows are written, and counting begins anew */
#define FUNCTIONS_MAX (1u << 16)
#define CONTEXTS_MAX 64u
#define REASONS_MAX 256u
#define PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define NOT_ISSUED "_not_issued"

struct cuda_pc_rows_key {
    uint64_t crc, offset;
    uint32_t function, context, correlation, reason;
};

struct cuda_pc_rows_entry {
    struct cuda_pc_rows_key key;
    uint64_t samples;
    int used;
};

static uint64_t cuda_pc_rows_hash_key(struct cuda_pc_rows_key key)
{
    return hash_bytes(&key, sizeof key);
}

static int is_same_key(struct cuda_pc_rows_key a, struct cuda_pc_rows_key b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}
MAP(entry_map, struct cuda_pc_rows_entry, struct cuda_pc_rows_key, key, used, cuda_pc_rows_hash_key, is_same_key)

struct cuda_pc_rows_function {
    uint64_t key;  /* hash of the cubin and of the number in it, never 0 */
    int64_t mangled_id, demangled_id, short_id;
    struct cuda_function_lines lines;
    int has_lines; /* they were looked up */
    char *mangled; /* owned */
};
MAP(function_map, struct cuda_pc_rows_function, uint64_t, key, key, hash_number, map_is_same_number)

struct cuda_pc_rows_reason {
    int64_t name_id;  /* without prefix and suffix; 0: this number is not used */
    int is_not_issued;
    uint32_t partner; /* the number of the same reason with, or without, the suffix; 0: none */
};

struct cuda_pc_rows_context {
    struct row_TACHO_PC_SAMPLING row; /* all but what is counted below */
    uint32_t id;
    uint64_t total, dropped, foreign, full;
};

struct cuda_pc_rows {
    struct entry_map entries;
    struct function_map functions;
    struct cuda_cubin_map cubins;
    struct cuda_pc_rows_reason reasons[REASONS_MAX];
    struct cuda_pc_rows_context contexts[CONTEXTS_MAX];
    size_t context_count;
};

static struct cuda_pc_rows *cuda_pc_rows_state(struct cuda_process *cuda)
{
    if (!cuda->pc)
        cuda->pc = calloc(1, sizeof *cuda->pc);
    return cuda->pc;
}

static uint64_t function_key(uint64_t crc, uint32_t number)
{
    const uint64_t of[] = { crc, number };

    return hash_bytes(of, sizeof of) | 1;
}

/* ---- Contexts -------------------------------------------------------------------------------------------------- */

static struct cuda_pc_rows_context *cuda_pc_rows_context_of(struct cuda_process *cuda, uint32_t id)
{
    struct cuda_pc_rows *pc = cuda_pc_rows_state(cuda);

    for (size_t i = 0; pc && i < pc->context_count; i++)
        if (pc->contexts[i].id == id)
            return &pc->contexts[i];
    if (!pc || pc->context_count == CONTEXTS_MAX)
        return NULL;
    struct cuda_pc_rows_context *context = &pc->contexts[pc->context_count++];
    context->id = id;
    ROW_SET(&context->row, TACHO_PC_SAMPLING, globalPid, cuda->setup.global_pid);
    ROW_SET(&context->row, TACHO_PC_SAMPLING, contextId, id);
    return context;
}

CUDA_TOLD(cuda_pc_sampling_told)
{
    (void)tid;
    struct cuda_pc_rows_context *context = words >= WIRE_HEAD_WORDS + 2
                                               ? cuda_pc_rows_context_of(cuda, (uint32_t)record->body[0])
                                               : NULL;
    const char *mode = record->b == CUPTI_PC_SERIALIZED ? "serialized" : "continuous";
    uint64_t period = words >= WIRE_HEAD_WORDS + 2 ? record->body[1] : 0;
    char text[512];

    if (!context)
        return -1;
    ROW_SET(&context->row, TACHO_PC_SAMPLING, deviceId, (int64_t)(record->body[0] >> 32));
    ROW_SET(&context->row, TACHO_PC_SAMPLING, mode, writer_string(cuda->writer, mode, strlen(mode)));
    if (period >= CUPTI_PC_PERIOD_LEAST && period <= CUPTI_PC_PERIOD_MOST)
        ROW_SET(&context->row, TACHO_PC_SAMPLING, periodCycles, (int64_t)1 << period);
    if (!record->a)
        return 0;
    record_copy_text(text, sizeof text, record, words, 2);
    ROW_SET(&context->row, TACHO_PC_SAMPLING, result, record->a);
    ROW_SET(&context->row, TACHO_PC_SAMPLING, refusal, writer_string(cuda->writer, text, strlen(text)));
    return 0;
}

CUDA_TOLD(cuda_pc_totals_told)
{
    (void)tid;
    struct cuda_pc_rows_context *context = words >= WIRE_HEAD_WORDS + 5
                                               ? cuda_pc_rows_context_of(cuda, (uint32_t)record->body[0])
                                               : NULL;

    if (!context)
        return -1;
    context->total += record->body[1];
    context->dropped += record->body[2];
    context->foreign += record->body[3];
    context->full += record->body[4] != 0;
    cuda->counts.pc_full += record->body[4] != 0;
    return 0;
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

CUDA_TOLD(cuda_stall_reason_told)
{
    (void)tid;
    struct cuda_pc_rows *pc = cuda_pc_rows_state(cuda);
    char text[CUPTI_STALL_NAME_BYTES];

    if (!pc || record->a >= REASONS_MAX)
        return -1;
    record_copy_text(text, sizeof text, record, words, 0);
    const char *name = strncmp(text, PREFIX, strlen(PREFIX)) == 0 ? text + strlen(PREFIX) : text;
    size_t length = strlen(name), suffix = strlen(NOT_ISSUED);
    struct cuda_pc_rows_reason *reason = &pc->reasons[record->a];
    reason->is_not_issued = length > suffix && strcmp(name + length - suffix, NOT_ISSUED) == 0;
    reason->name_id = writer_string(cuda->writer, name, reason->is_not_issued ? length - suffix : length);
    for (uint32_t i = 0; i < REASONS_MAX; i++)
        if (i != record->a && reason->name_id && pc->reasons[i].name_id == reason->name_id) {
            reason->partner = i;
            pc->reasons[i].partner = record->a;
        }
    return 0;
}

static int64_t cuda_pc_rows_intern(struct cuda_process *cuda, const struct text *text)
{
    return writer_string(cuda->writer, text->length ? text->bytes : "", text->length);
}

static void name_function(struct cuda_process *cuda, struct cuda_pc_rows_function *function, const char *mangled)
{
    struct text demangled = { 0 }, bare = { 0 };

    symbol_demangle_kernel(mangled, &demangled);
    symbol_short(text_string(&demangled), &bare);
    function->mangled_id = writer_string(cuda->writer, mangled, strlen(mangled));
    function->demangled_id = cuda_pc_rows_intern(cuda, &demangled);
    function->short_id = cuda_pc_rows_intern(cuda, &bare);
    text_free(&demangled);
    text_free(&bare);
}

CUDA_TOLD(cuda_pc_function_told)
{
    static char text[WIRE_TEXT_MAX + 1]; /* large for a stack; one thread owns the writer */
    struct cuda_pc_rows *pc = cuda_pc_rows_state(cuda);

    (void)tid;
    if (!pc || words < WIRE_HEAD_WORDS + 2)
        return -1;
    uint64_t key = function_key(record->body[0], (uint32_t)record->body[1]);
    if (function_map_find(&pc->functions, key) || pc->functions.count >= FUNCTIONS_MAX)
        return 0;
    record_copy_text(text, sizeof text, record, words, 2);
    struct cuda_pc_rows_function function = { .key = key,
                                              .mangled = strdup(text),
                                              .lines = { .writer = cuda->writer } };
    name_function(cuda, &function, text);
    if (!function.mangled || !function_map_add(&pc->functions, &function))
        free(function.mangled);
    return 0;
}

CUDA_TOLD(cuda_cubin_told)
{
    (void)tid;
    return cuda_pc_rows_state(cuda) ? cuda_cubin_add(&cuda->pc->cubins, record, words) : -1;
}

/* ---- Samples --------------------------------------------------------------------------------------------------- */

static void write_samples(struct cuda_process *cuda);

static void cuda_pc_rows_count(struct cuda_process *cuda, const struct cuda_pc_rows_key *key, uint32_t samples)
{
    struct cuda_pc_rows *pc = cuda->pc;
    struct cuda_pc_rows_entry *entry = entry_map_find(&pc->entries, *key);

    if (!entry && pc->entries.count >= ENTRIES_MAX)
        write_samples(cuda);
    if (!entry)
        entry = entry_map_add(&pc->entries, &(struct cuda_pc_rows_entry){ .key = *key, .used = 1 });
    if (entry)
        entry->samples += samples;
}

CUDA_TOLD(cuda_pc_told)
{
    enum { HEAD = WIRE_HEAD_WORDS + 4 };
    (void)tid;
    if (words < HEAD || !cuda_pc_rows_state(cuda))
        return -1;
    for (uint32_t i = 0; i < words - HEAD; i++) {
        uint64_t word = record->body[4 + i];
        struct cuda_pc_rows_key key = {
            .crc = record->body[0],
            .function = (uint32_t)record->body[1],
            .context = (uint32_t)(record->body[1] >> 32),
            .offset = record->body[2],
            .correlation = (uint32_t)record->body[3],
            .reason = (uint32_t)(word >> 32),
        };
        if (key.reason >= REASONS_MAX)
            return -1;
        cuda_pc_rows_count(cuda, &key, (uint32_t)word);
    }
    return 0;
}

static void cuda_pc_rows_set_line(struct cuda_process *cuda, struct row_TACHO_PC_SAMPLES *row,
                                  struct cuda_pc_rows_function *function, const struct cuda_pc_rows_key *key)
{
    if (!function->has_lines)
        cuda_function_lines_read(&function->lines, &cuda->pc->cubins, key->crc, function->mangled);
    function->has_lines = 1;
    const struct cuda_pc_line *line = cuda_function_line(&function->lines, key->offset);
    if (!line)
        return;
    ROW_SET(row, TACHO_PC_SAMPLES, sourceFile, line->file_id);
    ROW_SET(row, TACHO_PC_SAMPLES, sourceLine, line->line);
}

static void set_function(struct cuda_process *cuda, struct row_TACHO_PC_SAMPLES *row,
                         const struct cuda_pc_rows_key *key)
{
    static const char unknown[] = "[unknown]";
    struct cuda_pc_rows_function *function = function_map_find(&cuda->pc->functions,
                                                               function_key(key->crc, key->function));
    int64_t none = function ? 0 : writer_string(cuda->writer, unknown, strlen(unknown));

    ROW_SET(row, TACHO_PC_SAMPLES, mangledName, function ? function->mangled_id : none);
    ROW_SET(row, TACHO_PC_SAMPLES, demangledName, function ? function->demangled_id : none);
    ROW_SET(row, TACHO_PC_SAMPLES, shortName, function ? function->short_id : none);
    if (function)
        cuda_pc_rows_set_line(cuda, row, function, key);
}

/* The samples of the same instruction and reason in cycles without an instruction are the entry of its partner. */
static uint64_t not_issued(const struct cuda_pc_rows *pc, const struct cuda_pc_rows_entry *entry)
{
    struct cuda_pc_rows_key key = entry->key;

    key.reason = pc->reasons[key.reason].partner;
    const struct cuda_pc_rows_entry *partner = key.reason ? entry_map_find(&pc->entries, key) : NULL;
    return partner ? partner->samples : 0;
}

static void write_entry(struct cuda_process *cuda, const struct cuda_pc_rows_entry *entry)
{
    const struct cuda_pc_rows_reason *reason = &cuda->pc->reasons[entry->key.reason];
    struct row_TACHO_PC_SAMPLES row = { 0 };

    if (reason->is_not_issued || !reason->name_id)
        return;
    ROW_SET(&row, TACHO_PC_SAMPLES, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, TACHO_PC_SAMPLES, contextId, entry->key.context);
    if (entry->key.correlation)
        ROW_SET(&row, TACHO_PC_SAMPLES, correlationId, entry->key.correlation);
    ROW_SET(&row, TACHO_PC_SAMPLES, cubinCrc, (int64_t)entry->key.crc);
    ROW_SET(&row, TACHO_PC_SAMPLES, pcOffset, (int64_t)entry->key.offset);
    ROW_SET(&row, TACHO_PC_SAMPLES, stallReason, reason->name_id);
    ROW_SET(&row, TACHO_PC_SAMPLES, samples, (int64_t)entry->samples);
    ROW_SET(&row, TACHO_PC_SAMPLES, notIssuedSamples, (int64_t)not_issued(cuda->pc, entry));
    set_function(cuda, &row, &entry->key);
    writer_append(cuda->writer, TABLE_TACHO_PC_SAMPLES, &row);
}

static void write_samples(struct cuda_process *cuda)
{
    const struct cuda_pc_rows_entry *entry = NULL;

    while ((entry = entry_map_next(&cuda->pc->entries, entry)))
        write_entry(cuda, entry);
    entry_map_clear(&cuda->pc->entries);
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static void write_context(struct cuda_process *cuda, struct cuda_pc_rows_context *context)
{
    ROW_SET(&context->row, TACHO_PC_SAMPLING, totalSamples, (int64_t)context->total);
    ROW_SET(&context->row, TACHO_PC_SAMPLING, droppedSamples, (int64_t)context->dropped);
    ROW_SET(&context->row, TACHO_PC_SAMPLING, foreignSamples, (int64_t)context->foreign);
    ROW_SET(&context->row, TACHO_PC_SAMPLING, bufferFull, (int64_t)context->full);
    writer_append(cuda->writer, TABLE_TACHO_PC_SAMPLING, &context->row);
}

void cuda_pc_rows_finish(struct cuda_process *cuda)
{
    if (!cuda->pc)
        return;
    write_samples(cuda);
    for (size_t i = 0; i < cuda->pc->context_count; i++)
        write_context(cuda, &cuda->pc->contexts[i]);
    cuda->pc->context_count = 0;
}

void cuda_pc_rows_free(struct cuda_process *cuda)
{
    struct cuda_pc_rows_function *function = NULL;

    if (!cuda->pc)
        return;
    while ((function = function_map_next(&cuda->pc->functions, function))) {
        free(function->lines.list);
        free(function->mangled);
    }
    function_map_free(&cuda->pc->functions);
    entry_map_free(&cuda->pc->entries);
    cuda_cubins_free(&cuda->pc->cubins);
    free(cuda->pc);
    cuda->pc = NULL;
}
