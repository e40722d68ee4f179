/* Parses one record of a perf ring: see perf_record.h. The order of a sample's parts is that of linux/perf_event.h. */
#include "perf_record.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif
#define PROTECTION_EXECUTE 4u
#define BUILD_ID_BYTES 20u

/* The rest of a record. After the first read that does not fit, all reads fail. */
struct perf_record_cursor {
    const unsigned char *at;
    size_t left;
    int failed;
};

static const void *perf_record_take(struct perf_record_cursor *cursor, size_t bytes)
{
    static const uint64_t nothing[8];
    if (bytes > cursor->left) {
        cursor->failed = 1;
        cursor->left = 0;
        return bytes <= sizeof nothing ? nothing : NULL;
    }
    const void *taken = cursor->at;
    cursor->at += bytes;
    cursor->left -= bytes;
    return taken;
}

static uint64_t perf_record_take_word(struct perf_record_cursor *cursor)
{
    uint64_t word;
    memcpy(&word, perf_record_take(cursor, sizeof word), sizeof word);
    return word;
}

static void take_halves(struct perf_record_cursor *cursor, uint32_t *low, uint32_t *high)
{
    uint32_t halves[2];
    memcpy(halves, perf_record_take(cursor, sizeof halves), sizeof halves);
    *low = halves[0];
    *high = halves[1];
}

/* Takes `count` items; NULL and failed if there are fewer. */
static const void *take_items(struct perf_record_cursor *cursor, uint64_t count, size_t item_bytes)
{
    if (count > cursor->left / item_bytes) {
        cursor->failed = 1;
        cursor->left = 0;
        return NULL;
    }
    return perf_record_take(cursor, (size_t)count * item_bytes);
}

/* Takes all that is left as a text, which must have a NUL. */
static const char *perf_record_take_text(struct perf_record_cursor *cursor)
{
    if (!memchr(cursor->at, 0, cursor->left)) {
        cursor->failed = 1;
        return "";
    }
    const char *text = (const char *)cursor->at;
    cursor->left = 0;
    return text;
}

/* ---- Samples --------------------------------------------------------------------------------------------------- */

static void parse_registers(struct perf_record_cursor *cursor, const struct perf_layout *layout,
                            struct perf_sample *sample)
{
    uint64_t abi = perf_record_take_word(cursor);
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    const uint64_t *registers = take_items(cursor, (uint64_t)__builtin_popcountll(layout->registers),
                                           sizeof *registers);
    if (abi == PERF_SAMPLE_REGS_ABI_64) /* stacks of 32-bit programs are not unwound */
        sample->registers = registers;
}

static void parse_stack(struct perf_record_cursor *cursor, struct perf_sample *sample)
{
    uint64_t room = perf_record_take_word(cursor);
    if (room == 0 || cursor->failed)
        return;
    const unsigned char *stack = take_items(cursor, room, 1);
    uint64_t copied = perf_record_take_word(cursor);
    if (cursor->failed || copied > room) {
        cursor->failed = 1;
        return;
    }
    sample->stack = stack;
    sample->stack_bytes = (size_t)copied;
    sample->stack_room = (size_t)room;
}

static void parse_sample(struct perf_record_cursor *cursor, const struct perf_layout *layout, struct perf_record *out)
{
    struct perf_sample *sample = &out->sample;
    uint32_t reserved;
    if (layout->sample_type & PERF_SAMPLE_IP)
        sample->ip = perf_record_take_word(cursor);
    if (layout->sample_type & PERF_SAMPLE_TID)
        take_halves(cursor, &out->pid, &out->tid);
    if (layout->sample_type & PERF_SAMPLE_TIME)
        out->time_ns = perf_record_take_word(cursor);
    if (layout->sample_type & PERF_SAMPLE_CPU)
        take_halves(cursor, &out->cpu, &reserved);
    if (layout->sample_type & PERF_SAMPLE_PERIOD)
        sample->period = perf_record_take_word(cursor);
    if (layout->sample_type & PERF_SAMPLE_CALLCHAIN) {
        sample->chain_count = (size_t)perf_record_take_word(cursor);
        sample->chain = take_items(cursor, sample->chain_count, sizeof *sample->chain);
    }
    if (layout->sample_type & PERF_SAMPLE_BRANCH_STACK) {
        sample->branch_count = (size_t)perf_record_take_word(cursor);
        sample->branches = take_items(cursor, sample->branch_count, sizeof *sample->branches);
    }
    if (layout->sample_type & PERF_SAMPLE_REGS_USER)
        parse_registers(cursor, layout, sample);
    if (layout->sample_type & PERF_SAMPLE_STACK_USER)
        parse_stack(cursor, sample);
    out->kind = layout->kind;
}

static int parse_any_sample(struct perf_record_cursor *cursor, const struct perf_layout *layouts, size_t count,
                            struct perf_record *out)
{
    uint64_t id = perf_record_take_word(cursor);
    for (size_t i = 0; i < count; i++)
        if (layouts[i].id == id) {
            parse_sample(cursor, &layouts[i], out);
            return cursor->failed ? -1 : 0;
        }
    return -1;
}

/* ---- Other records --------------------------------------------------------------------------------------------- */

/* Behind every record that is not a sample: thread, time, CPU, event. */
static void parse_identity(struct perf_record_cursor *cursor, struct perf_record *out)
{
    enum { BYTES = 32 };
    uint32_t reserved;
    if (cursor->left < BYTES) {
        cursor->failed = 1;
        return;
    }
    struct perf_record_cursor identity = { cursor->at + cursor->left - BYTES, BYTES, 0 };
    take_halves(&identity, &out->pid, &out->tid);
    out->time_ns = perf_record_take_word(&identity);
    take_halves(&identity, &out->cpu, &reserved);
    cursor->left -= BYTES;
}

static void parse_mapping(struct perf_record_cursor *cursor, struct perf_record *out)
{
    struct perf_mapping *mapping = &out->mapping;
    uint32_t pid, tid, protection, flags;
    take_halves(cursor, &pid, &tid);
    mapping->address = perf_record_take_word(cursor);
    mapping->bytes = perf_record_take_word(cursor);
    mapping->offset = perf_record_take_word(cursor);
    const unsigned char *file = perf_record_take(cursor, 24); /* device, inode and its generation; or the build-id */
    take_halves(cursor, &protection, &flags);
    if (out->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        mapping->build_id_bytes = file[0] <= BUILD_ID_BYTES ? file[0] : 0;
        mapping->build_id = mapping->build_id_bytes ? file + 4 : NULL;
    } else {
        uint32_t device[2];
        memcpy(device, file, sizeof device);
        mapping->device = makedev(device[0], device[1]);
        memcpy(&mapping->inode, file + 8, sizeof mapping->inode);
    }
    mapping->is_code = !!(protection & PROTECTION_EXECUTE);
    mapping->path = perf_record_take_text(cursor);
    out->pid = pid;
    out->tid = tid;
}

static void perf_record_parse_name(struct perf_record_cursor *cursor, struct perf_record *out)
{
    take_halves(cursor, &out->pid, &out->tid);
    out->name = perf_record_take_text(cursor);
}

/* FORK and EXIT: pid, its parent; tid, its parent; time. */
static void parse_task(struct perf_record_cursor *cursor, struct perf_record *out)
{
    take_halves(cursor, &out->pid, &out->other_pid);
    take_halves(cursor, &out->tid, &out->other_tid);
    out->time_ns = perf_record_take_word(cursor);
}

static void parse_switch_cpu_wide(struct perf_record_cursor *cursor, struct perf_record *out)
{
    take_halves(cursor, &out->other_pid, &out->other_tid);
}

static void parse_lost(struct perf_record_cursor *cursor, struct perf_record *out)
{
    perf_record_take_word(cursor); /* the event */
    out->lost = perf_record_take_word(cursor);
}

static void parse_lost_samples(struct perf_record_cursor *cursor, struct perf_record *out)
{
    out->lost = perf_record_take_word(cursor);
}

static void (*const parsers[])(struct perf_record_cursor *cursor, struct perf_record *out) = {
    [PERF_RECORD_MMAP2] = parse_mapping,
    [PERF_RECORD_COMM] = perf_record_parse_name,
    [PERF_RECORD_FORK] = parse_task,
    [PERF_RECORD_EXIT] = parse_task,
    [PERF_RECORD_LOST] = parse_lost,
    [PERF_RECORD_LOST_SAMPLES] = parse_lost_samples,
    [PERF_RECORD_SWITCH_CPU_WIDE] = parse_switch_cpu_wide,
};

int perf_record_parse(const struct perf_layout *layouts, size_t layout_count, const void *bytes, size_t size,
                      struct perf_record *out)
{
    struct perf_event_header header;
    memset(out, 0, sizeof *out);
    if (size < sizeof header)
        return -1;
    memcpy(&header, bytes, sizeof header);
    if (header.size != size)
        return -1;
    out->type = header.type;
    out->misc = header.misc;
    struct perf_record_cursor cursor = { (const unsigned char *)bytes + sizeof header, size - sizeof header, 0 };
    if (header.type == PERF_RECORD_SAMPLE)
        return parse_any_sample(&cursor, layouts, layout_count, out);
    parse_identity(&cursor, out);
    if (!cursor.failed && header.type < COUNT_OF(parsers) && parsers[header.type])
        parsers[header.type](&cursor, out);
    return cursor.failed ? -1 : 0;
}
