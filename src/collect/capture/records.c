/* Handlers of the records that processes write about themselves: see records.h. Records of sources go to the
 * sources. */
#include "records.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "capture.h"
#include "collect/core/record.h"
#include "collect/process/cause.h"
#include "symbols/symbols.h"

static int has_body(const struct collect_origin *origin, uint32_t words, uint32_t body_words)
{
    if (words >= WIRE_HEAD_WORDS + body_words)
        return 1;
    process_count_damaged(origin->process);
    return 0;
}

static void records_thread_name(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    size_t length;
    const char *text = record_text(record, words, 0, &length);
    origin->reader->name_id = writer_string(origin->collector->writer, text, length);
    if (origin->reader->tid == (uint32_t)origin->process->pid && length && length < sizeof origin->process->name) {
        memcpy(origin->process->name, text, length);
        origin->process->name[length] = 0;
    }
}

static void records_thread_end(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    origin->reader->end_ns = record_time(origin, record);
}

/* The last component of a path. */
static void records_copy_name(char *out, size_t size, const struct wire_record *record, uint32_t words,
                              uint32_t body_words)
{
    size_t length;
    const char *text = record_text(record, words, body_words, &length);
    for (size_t i = length; i-- > 0;)
        if (text[i] == '/') {
            text += i + 1;
            length -= i + 1;
            break;
        }
    snprintf(out, size, "%.*s", (int)length, text);
}

static void exec_begins(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 1))
        return;
    origin->process->exec_ns = record_time(origin, record);
    origin->process->exec_cpu_ns = record->body[0] <= INT64_MAX ? (int64_t)record->body[0] : -1;
    origin->process->exec_path_id = record_text_id(origin, record, words, 1);
    origin->process->exec_cause = cause_of(record->a);
    records_copy_name(origin->process->exec_name, sizeof origin->process->exec_name, record, words, 1);
}

static void exec_failed(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    origin->process->exec_ns = PROCESS_NO_TIME;
}

static void exits(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 1))
        return;
    origin->process->exit_seen = 1;
    origin->process->exit_status = (int)(record->body[0] & 0xff);
    if (words > WIRE_HEAD_WORDS + 1)
        process_set_cpu(origin->process, record->body[1]);
}

static void child_status(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 2))
        return;
    int status = (int)record->body[1];
    if (WIFEXITED(status) || WIFSIGNALED(status))
        children_end_from_agent(origin->process, (pid_t)record->body[0], record_time(origin, record), status,
                                record->a);
}

static void child(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    char name[64];
    if (!has_body(origin, words, 3))
        return;
    records_copy_name(name, sizeof name, record, words, 3);
    struct children_news news = {
        .pid = (pid_t)record->body[0],
        .time_ns = clock_map_time(&origin->collector->clock, record->body[2]),
        .what = (enum wire_child)record->body[1],
        .cause = cause_of(record->a),
        .path_id = name[0] ? record_text_id(origin, record, words, 3) : 0,
        .name = name,
    };
    children_add_from_agent(origin->process, &news);
}

static void module_row(const struct collect_origin *origin, const struct process_module *module, int64_t end_ns)
{
    struct row_TACHO_MODULE row = { 0 };
    ROW_SET(&row, TACHO_MODULE, start, module->start_ns);
    if (end_ns != PROCESS_NO_TIME)
        ROW_SET(&row, TACHO_MODULE, end, end_ns);
    ROW_SET(&row, TACHO_MODULE, globalPid, origin->process->global_pid);
    ROW_SET(&row, TACHO_MODULE, pathId, module->path_id);
    ROW_SET(&row, TACHO_MODULE, address, (int64_t)module->address);
    ROW_SET(&row, TACHO_MODULE, size, (int64_t)module->bytes);
    if (module->build_id)
        ROW_SET(&row, TACHO_MODULE, buildId, module->build_id);
    writer_append(origin->collector->writer, TABLE_TACHO_MODULE, &row);
}

#define BUILD_ID_WORDS 3

static int64_t records_build_id(const struct collect_origin *origin, const struct wire_record *record)
{
    char hex[2 * 8 * BUILD_ID_WORDS + 1];
    size_t bytes = record->a <= 8 * BUILD_ID_WORDS ? record->a : 0;
    const unsigned char *id = (const unsigned char *)(record->body + 2);
    for (size_t i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    return bytes ? writer_string(origin->collector->writer, hex, 2 * bytes) : 0;
}

static void module(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 2 + BUILD_ID_WORDS))
        return;
    struct process_module module = {
        .start_ns = record_time(origin, record),
        .path_id = record_text_id(origin, record, words, 2 + BUILD_ID_WORDS),
        .build_id = records_build_id(origin, record),
        .address = record->body[0],
        .bytes = record->body[1],
    };
    module_row(origin, &module, PROCESS_NO_TIME);
    process_add_module(origin->process, &module);
    char path[4096];
    record_copy_text(path, sizeof path, record, words, 2 + BUILD_ID_WORDS);
    const struct symbols_mapping mapping = {
        .address = module.address,
        .bytes = module.bytes,
        .path = path,
        .is_whole = 1,
        .build_id = (const unsigned char *)(record->body + 2),
        .build_id_bytes = record->a <= 8 * BUILD_ID_WORDS ? record->a : 0,
    };
    SOURCES_CALL(module_begin, origin->process, &mapping);
}

static void records_module_end(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct process_module module;
    if (has_body(origin, words, 1) && process_take_module(origin->process, record->body[0], &module)) {
        module_row(origin, &module, record_time(origin, record));
        SOURCES_CALL(module_end, origin->process, module.address, module.bytes);
    }
}

static void diagnostic(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    size_t length;
    const char *text = record_text(record, words, 0, &length);
    char copy[512];
    length = length < sizeof copy ? length : sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = 0;
    collector_diagnostic(origin->collector, record_time(origin, record), record->a, origin->process->global_pid, copy);
}

static void leaves(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    static const char *const texts[] = {
#define LIMIT_TEXT(name, text) [WIRE_LIMIT_##name] = text,
        WIRE_LIMITS(LIMIT_TEXT)
#undef LIMIT_TEXT
    };
    struct process *process = origin->process;
    char sentence[512];
    if (record->a >= WIRE_LIMIT_COUNT)
        return;
    process->has_left = 1;
    process->left_ns = record_time(origin, record);
    process->cause = record->a == WIRE_LIMIT_FILTER ? WIRE_CAUSE_FILTERED : WIRE_CAUSE_UNKNOWN;
    snprintf(sentence, sizeof sentence, "Recording of %s (pid %d) stopped: %s.", process->name, (int)process->pid,
             texts[record->a]);
    collector_diagnostic(origin->collector, record_time(origin, record), 2, process->global_pid, sentence);
}

static void capture_elsewhere(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct capture_recording *recording = &capture_of(origin->collector)->recording;
    record_copy_text(recording->elsewhere, sizeof recording->elsewhere, record, words, 0);
}

/* The following records of the handler lane wait until the thread's own lane has been read up to this place. */
static void records_place(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    if (words > WIRE_HEAD_WORDS)
        origin->reader->place = record->body[0];
}

#define ONE(type, read) { WIRE_##type, WIRE_##type, read }

const struct collect_records records_of_processes[] = {
    ONE(THREAD_NAME, records_thread_name),
    ONE(THREAD_END, records_thread_end),
    ONE(EXEC, exec_begins),
    ONE(EXEC_FAILED, exec_failed),
    ONE(EXIT, exits),
    ONE(CHILD, child),
    ONE(CHILD_STATUS, child_status),
    ONE(LEAVE, leaves),
    ONE(MODULE, module),
    ONE(MODULE_END, records_module_end),
    ONE(PLACE, records_place),
    ONE(DIAGNOSTIC, diagnostic),
    ONE(CAPTURE_ELSEWHERE, capture_elsewhere),
    { 0 },
};
