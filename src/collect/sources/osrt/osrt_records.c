/* Records of OS calls to rows of OSRT_API: see osrt_records.h. Names are interned once per function, not once per
 * call. */
#include "osrt_records.h"

#include <string.h>

#define EVENT_CLASS_OSRT 27 /* nsys's number of OS runtime events */

static const char *const osrt_records_names[OSRT_FUNCTION_COUNT + 1] = {
    [OSRT_FUNCTION_COUNT] = "(other functions)",
#define OS(type, symbol, shown, parameters, arguments, fails) [OSRT_##symbol] = #shown,
#define OS_OWN(type, symbol, shown, parameters, arguments, fails) [OSRT_##symbol] = #shown,
#include "wire/libc_calls.def"
#undef OS
#undef OS_OWN
};

void osrt_init(struct osrt *osrt, struct writer *writer, const struct clock_map *clock)
{
    memset(osrt, 0, sizeof *osrt);
    osrt->writer = writer;
    osrt->clock = clock;
}

int64_t osrt_name_id(struct osrt *osrt, uint32_t function)
{
    int64_t *id = &osrt->name_ids[function];
    if (*id == 0)
        *id = writer_string(osrt->writer, osrt_records_names[function], strlen(osrt_records_names[function]));
    return *id;
}

/* Reserves a row with the columns that every call has; the caller adds the rest and commits. */
static struct row_OSRT_API *begin_row(struct osrt *osrt, int64_t global_tid, uint32_t function, int64_t start_ns,
                                      int64_t end_ns)
{
    int64_t name = osrt_name_id(osrt, function); /* first: a new string may make the writer submit its batches */
    size_t count = 1;
    struct row_OSRT_API *row = writer_reserve(osrt->writer, TABLE_OSRT_API, &count);
    row->present = 0;
    ROW_SET(row, OSRT_API, start, start_ns);
    ROW_SET(row, OSRT_API, end, end_ns);
    ROW_SET(row, OSRT_API, eventClass, EVENT_CLASS_OSRT);
    ROW_SET(row, OSRT_API, globalTid, global_tid);
    ROW_SET(row, OSRT_API, nameId, name);
    ROW_SET(row, OSRT_API, callchainId, 0);
    return row;
}

/* Functions whose records may name the thread that held the lock. */
static int is_lock(uint32_t function)
{
    static const uint16_t locks[] = {
        OSRT_pthread_mutex_lock,
        OSRT_pthread_mutex_timedlock,
        OSRT_pthread_mutex_clocklock,
        OSRT_mtx_lock,
        OSRT_mtx_timedlock,
        OSRT_pthread_rwlock_rdlock,
        OSRT_pthread_rwlock_timedrdlock,
        OSRT_pthread_rwlock_clockrdlock,
        OSRT_pthread_rwlock_wrlock,
        OSRT_pthread_rwlock_timedwrlock,
        OSRT_pthread_rwlock_clockwrlock,
    };
    for (size_t i = 0; i < COUNT_OF(locks); i++)
        if (locks[i] == function)
            return 1;
    return 0;
}

int osrt_record(struct osrt *osrt, int64_t global_tid, const struct wire_record *record, uint32_t words,
                struct call_chains chains)
{
    uint32_t function = record->a;
    if (words < WIRE_HEAD_WORDS + 2 || function >= OSRT_FUNCTION_COUNT)
        return -1;
    uint64_t ticks = record->ticks, duration = record->body[0] >> 16;
    int64_t error = record->body[0] & 0xffff;
    int64_t start_ns = clock_map_time(osrt->clock, ticks), end_ns = clock_map_time(osrt->clock, ticks + duration);
    struct row_OSRT_API *row = begin_row(osrt, global_tid, function, start_ns, end_ns);
    int64_t value = (int64_t)record->body[1], holder = value >> 32;
    if (holder > 0 && holder < 1 << 24 && is_lock(function)) {
        ROW_SET(row, OSRT_API, lockHolder, (global_tid & ~INT64_C(0xffffff)) | holder);
        value = (int32_t)value;
    }
    if (words > WIRE_HEAD_WORDS + 2)
        ROW_SET(row, OSRT_API, lockAddress, (int64_t)record->body[2]);
    ROW_SET(row, OSRT_API, returnValue, value);
    ROW_SET(row, OSRT_API, nestingLevel, record->b);
    ROW_SET(row, OSRT_API, callchainId, chains.native);
    if (chains.lock)
        ROW_SET(row, OSRT_API, lockCallchainId, chains.lock);
    if (chains.interpreted)
        ROW_SET(row, OSRT_API, pythonCallchainId, chains.interpreted);
    if (error)
        ROW_SET(row, OSRT_API, errnoValue, error);
    writer_commit(osrt->writer, TABLE_OSRT_API, 1);
    return 0;
}

int osrt_incomplete(struct osrt *osrt, int64_t global_tid, uint32_t function, uint64_t start_ticks, int64_t end_ns)
{
    if (function >= OSRT_FUNCTION_COUNT || start_ticks == 0)
        return -1;
    int64_t start_ns = clock_map_time(osrt->clock, start_ticks);
    if (start_ns > end_ns)
        end_ns = start_ns;
    struct row_OSRT_API *row = begin_row(osrt, global_tid, function, start_ns, end_ns);
    ROW_SET(row, OSRT_API, returnValue, 0);
    ROW_SET(row, OSRT_API, nestingLevel, 0); /* the slot has the outermost call */
    ROW_SET(row, OSRT_API, incomplete, 1);
    writer_commit(osrt->writer, TABLE_OSRT_API, 1);
    return 0;
}
