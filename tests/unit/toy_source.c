/* A source is one file and one row: this one counts pokes. Its row is toy_source.def; its part of the agent and its
 * part of the collector are here, and no other file names it. The agent records in this process, the collector reads
 * what it wrote (fuzz/agent_host.c), and the test looks at the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fuzz/agent_host.h"
#include "agent/core/source.h"
#include "analyze/engine/event_columns.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"

enum wire_toy_type {
    WIRE_TOY_POKE = WIRE_FIRST_TOY, /* body: [how hard] */
};
WIRE_TYPES_END_AT(TOY, WIRE_TOY_POKE);

struct wire_toy_shared {
    _Alignas(64) uint64_t strength;
};
WIRE_SHARED(TOY, struct wire_toy_shared, wire_toy)

/* ---- The agent's part ------------------------------------------------------------------------------------------ */

static unsigned attached_count;

static void attached(enum wire_origin origin)
{
    attached_count++;
}

static void poke(uint64_t how_hard)
{
    struct agent_thread *thread = agent_enter(WIRE_BIT(TOY));
    struct agent_lane *lane;
    struct wire_record *record = thread ? emit_begin(thread, &lane, WIRE_SOURCE_TOY, WIRE_TOY_POKE, WIRE_HEAD_WORDS + 1)
                                        : NULL;
    if (!record)
        return;
    record->ticks = agent_ticks();
    record->body[0] = how_hard * wire_toy(agent.arena)->strength;
    emit_commit(lane, record);
}

const struct agent_source agent_source_toy = { .attached = attached };

/* ---- The collector's part -------------------------------------------------------------------------------------- */

struct toy {
    int64_t rows;
};

static void arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_toy(texts->arena)->strength = 10;
}

static void poked(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct toy *toy = origin->collector->state[COLLECT_SOURCE_TOY];
    struct row_GENERIC_EVENTS row = { 0 };
    if (words < WIRE_HEAD_WORDS + 1) {
        origin->process->counts[WIRE_SOURCE_TOY].damaged++;
        return;
    }
    ROW_SET(&row, GENERIC_EVENTS, genericEventId, ++toy->rows);
    ROW_SET(&row, GENERIC_EVENTS, rawTimestamp, (int64_t)record->ticks);
    ROW_SET(&row, GENERIC_EVENTS, timestamp, record_time(origin, record));
    ROW_SET(&row, GENERIC_EVENTS, typeId, (int64_t)record->body[0]);
    ROW_SET(&row, GENERIC_EVENTS, globalTid, process_global_tid(origin->process, origin->reader->tid));
    writer_append(origin->collector->writer, TABLE_GENERIC_EVENTS, &row);
    origin->process->counts[WIRE_SOURCE_TOY].recorded++;
}

static const struct collect_records records[] = { { WIRE_TOY_POKE, WIRE_TOY_POKE, poked }, { 0 } };

const struct collect_source collect_source_toy = { .state_bytes = sizeof(struct toy),
                                                   .records = records,
                                                   .arena = arena };

/* ---- The test -------------------------------------------------------------------------------------------------- */

static int64_t count_in_report(struct report *report)
{
    static const char *const names[] = { "source", "fate", "count" };
    struct report_columns rows;
    struct error err;
    int64_t count = 0;
    assert_int_equal(columns_read(report, "TACHO_COUNT", names, 3, &rows, &err), 0);
    for (size_t i = 0; i < rows.rows; i++)
        if (strcmp(report_string(report, rows.values[0][i], NULL), "toy") == 0 &&
            strcmp(report_string(report, rows.values[1][i], NULL), "recorded") == 0)
            count += rows.values[2][i];
    report_columns_free(&rows);
    return count;
}

static void events_of_a_source_in_one_file_are_in_the_report(void **state)
{
    const struct collect_options options = { .range = COLLECT_RANGE_NONE };
    char path[] = "/tmp/tacho-unit-XXXXXX";
    close(mkstemp(path));
    host_write_to(path);
    host_begin(&options, WIRE_BIT(TOY), 4);
    assert_int_equal(attached_count, 1);
    for (uint64_t how_hard = 7; how_hard < 10; how_hard++)
        poke(how_hard);
    assert_int_equal(host_end(), 0);
    host_begin(&options, WIRE_BIT(NVTX), 4);
    poke(99); /* nobody asked for these */
    assert_int_equal(host_end(), 0);
    host_close();
    static const char *const names[] = { "genericEventId", "typeId" };
    struct report_columns rows;
    struct report *report;
    struct error err;
    assert_int_equal(report_open(path, &report, &err), 0);
    assert_int_equal(columns_read(report, "GENERIC_EVENTS", names, 2, &rows, &err), 0);
    assert_int_equal(rows.rows, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rows.values[0][i], i + 1);
        assert_int_equal(rows.values[1][i], 10 * (i + 7));
    }
    report_columns_free(&rows);
    assert_int_equal(count_in_report(report), 3);
    report_close(report);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_a_source_in_one_file_are_in_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
