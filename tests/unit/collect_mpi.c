/* Records of MPI calls, made by hand, become the right rows: blocking, with requests, persistent, read out of order,
 * and when they are nonsense. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "base/text.h"
#include "collect/sources/mpi/mpi_records.h"
#include "made_report.h"

#define GLOBAL_TID ((int64_t)1 << 48 | (int64_t)77 << 24 | 77)
enum { WORLD = 0x44, WORLD_NUMBER = 1, NONE = WIRE_MPI_NO_RANK };

struct capture {
    struct clock_map clock;
    struct mpi_names names;
    struct mpi_process process;
    uint32_t rows, damaged;
};

/* Report time is ticks - 1000. */
static void begin(struct capture *capture)
{
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    memset(capture, 0, sizeof *capture);
    assert_int_equal(clock_map_init(&capture->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    capture->process.writer = start();
    capture->process.clock = &capture->clock;
    capture->process.names = &capture->names;
    capture->process.rank = 2;
}

static struct report *end(struct capture *capture)
{
    struct writer *writer = capture->process.writer;
    mpi_process_finish(&capture->process);
    clock_map_free(&capture->clock);
    return finish(writer);
}

struct given {
    uint32_t type, function, flags, triples;
    uint64_t ticks;
    uint64_t body[16];
    uint32_t count;
};

/* The record has exactly these words: a sanitizer sees a read beyond them. */
static void give(struct capture *capture, struct given given)
{
    uint32_t words = WIRE_HEAD_WORDS + given.count, rows = 0;
    struct wire_record *record = malloc(words * 8u);
    assert_non_null(record);
    record->type = (uint8_t)given.type;
    record->flags = (uint8_t)given.flags;
    record->words = (uint16_t)words;
    record->a = (uint16_t)given.function;
    record->b = (uint16_t)given.triples;
    record->ticks = given.ticks;
    memcpy(record->body, given.body, given.count * 8u);
    int result = given.type == WIRE_MPI_COMMUNICATOR
                     ? mpi_record_communicator(&capture->process, record, words)
                     : mpi_record_call(&capture->process, GLOBAL_TID, record, words, &rows);
    capture->rows += result == 0 ? rows : 0;
    capture->damaged += result != 0;
    free(record);
}

static void give_world(struct capture *capture)
{
    give(capture, (struct given){ WIRE_MPI_COMMUNICATOR, .ticks = 1001, .count = 7,
                                  .body = { WORLD_NUMBER, WORLD, 0, wire_mpi_pair(4, 2), 0, wire_mpi_pair(11, 10),
                                            wire_mpi_pair(13, 12) } });
}

static void give_p2p(struct capture *capture, uint32_t function, uint32_t flags, uint64_t ticks, uint64_t bytes,
                     int32_t peer, int32_t tag, uint64_t request)
{
    give(capture, (struct given){ WIRE_MPI_P2P,
                                  function,
                                  flags,
                                  0,
                                  ticks,
                                  { 5, bytes, wire_mpi_pair(peer, tag), wire_mpi_pair(WORLD_NUMBER, 0), WORLD, request,
                                    request ? 0x900 + request : 0 },
                                  7 });
}

static void give_wait(struct capture *capture, uint32_t function, uint32_t kind, uint64_t ticks, uint64_t request,
                      uint64_t bytes, int32_t source, int32_t tag)
{
    give(capture, (struct given){ WIRE_MPI_START_WAIT,
                                  function,
                                  kind,
                                  1,
                                  ticks,
                                  { 5, 0x900 + request, request, bytes, wire_mpi_pair(source, tag) },
                                  5 });
}

static void expect(struct report *report, const char *table, const char *const *names, size_t count,
                   const char *expected)
{
    struct report_columns columns = { 0 };
    struct error err = { 0 };
    struct text got = { 0 };
    assert_int_equal(columns_read(report, table, names, count, &columns, &err), 0);
    for (size_t row = 0; row < columns.rows; row++)
        for (size_t i = 0; i < count; i++) {
            if (columns_is_null(&columns, i, row))
                text_add(&got, "-");
            else if (strcmp(names[i], "textId") == 0 || strcmp(names[i], "members") == 0)
                text_add(&got, report_string(report, columns.values[i][row], NULL));
            else
                text_addf(&got, "%" PRId64, columns.values[i][row]);
            text_add_char(&got, i + 1 < count ? ' ' : '\n');
        }
    assert_string_equal(text_string(&got), expected);
    report_columns_free(&columns);
    text_free(&got);
}

static const char *const p2p[] = { "start", "end", "textId", "commHandle", "tag", "remoteRank", "size", "requestEnd" };
static const char *const messages[] = { "start", "end", "rank", "isReceived", "peer", "tag", "size" };

#define EXPECT(report, table, names, text) expect(report, table, names, COUNT_OF(names), text)

enum {
    EVENT = WIRE_MPI_IS_EVENT,
    SENT = EVENT | WIRE_MPI_SENDS,
    RECEIVED = EVENT | WIRE_MPI_RECEIVES,
    PENDING = WIRE_MPI_IS_PENDING,
    PERSISTS = PENDING | WIRE_MPI_PERSISTS
};

static void requests_get_what_arrived(void **state)
{
    struct capture capture;
    begin(&capture);
    give_world(&capture);
    give_p2p(&capture, MPI_FUNCTION_Send, SENT, 1010, 80, 1, 7, 0);
    give_p2p(&capture, MPI_FUNCTION_Irecv, RECEIVED | PENDING, 1020, WIRE_MPI_NO_SIZE, -2, -1, 1);
    give_p2p(&capture, MPI_FUNCTION_Isend, SENT | PENDING, 1030, 16, 3, 8, 2);
    give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1040, 1, 24, 0, 9);
    give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1050, 2, WIRE_MPI_NO_SIZE, NONE, 0);
    give_p2p(&capture, MPI_FUNCTION_Irecv, RECEIVED | PENDING, 1060, WIRE_MPI_NO_SIZE, 1, 5, 3);
    give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1070, 3, WIRE_MPI_CANCELLED, -1, -1);
    give_p2p(&capture, MPI_FUNCTION_Irecv, RECEIVED | PENDING, 1080, WIRE_MPI_NO_SIZE, 1, 6, 4); /* never completed */
    give_p2p(&capture, MPI_FUNCTION_Send, EVENT, 1090, 36, NONE, 6, 0);                          /* to MPI_PROC_NULL */
    assert_int_equal(capture.rows, 9);
    assert_int_equal(capture.damaged, 0);
    struct report *report = end(&capture);
    EXPECT(report, "MPI_P2P_EVENTS", p2p,
           "10 15 MPI_Send 68 7 1 80 -\n20 25 MPI_Irecv 68 9 0 24 45\n30 35 MPI_Isend 68 8 3 16 55\n"
           "60 65 MPI_Irecv 68 5 1 - 75\n90 95 MPI_Send 68 6 - 36 -\n80 85 MPI_Irecv 68 6 1 - -\n");
    EXPECT(report, "TACHO_MPI_MESSAGE", messages,
           "10 15 2 0 11 7 80\n20 45 2 1 10 9 24\n30 55 2 0 13 8 16\n80 - 2 1 11 6 -\n");
    report_close(report);
}

static void a_persistent_request_is_a_message_each_time(void **state)
{
    struct capture capture;
    begin(&capture);
    give_world(&capture);
    give_p2p(&capture, MPI_FUNCTION_Send_init, SENT | PERSISTS, 1010, 8, 1, 7, 5);
    for (uint64_t at = 1100; at < 1300; at += 100) {
        give_wait(&capture, MPI_FUNCTION_Start, WIRE_MPI_STARTED, at, 5, WIRE_MPI_NO_SIZE, NONE, 0);
        give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, at + 50, 5, WIRE_MPI_NO_SIZE, NONE, 0);
    }
    give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1900, 5, WIRE_MPI_NO_SIZE, NONE, 0); /* not active */
    struct report *report = end(&capture);
    EXPECT(report, "MPI_P2P_EVENTS", p2p, "10 15 MPI_Send_init 68 7 1 8 -\n");
    EXPECT(report, "TACHO_MPI_MESSAGE", messages, "100 155 2 0 11 7 8\n200 255 2 0 11 7 8\n");
    report_close(report);
}

/* Another thread's chunk may be read first. */
static void records_of_several_threads_come_in_any_order(void **state)
{
    struct capture capture;
    begin(&capture);
    give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1040, 1, 24, 3, 9);
    give_p2p(&capture, MPI_FUNCTION_Irecv, RECEIVED | PENDING, 1020, WIRE_MPI_NO_SIZE, -2, -1, 1);
    give_world(&capture);
    struct report *report = end(&capture);
    EXPECT(report, "MPI_P2P_EVENTS", p2p, "20 25 MPI_Irecv 68 9 3 24 45\n");
    EXPECT(report, "TACHO_MPI_MESSAGE", messages, "20 45 2 1 13 9 24\n");
    report_close(report);
}

static void both_halves_of_a_call(void **state)
{
    static const char *const halves[] = { "remoteRank", "size", "receivedSize", "receivedFrom", "receivedTag" };
    struct capture capture;
    begin(&capture);
    give_world(&capture);
    give_p2p(&capture, MPI_FUNCTION_Isendrecv, SENT | PENDING, 1010, 8, 1, 7, 1);
    give_p2p(&capture, MPI_FUNCTION_Isendrecv, WIRE_MPI_RECEIVES | PENDING, 1010, WIRE_MPI_NO_SIZE, 3, 7, 1);
    give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1040, 1, 24, 3, 9);
    assert_int_equal(capture.rows, 2);
    struct report *report = end(&capture);
    EXPECT(report, "MPI_P2P_EVENTS", halves, "1 8 24 3 9\n");
    EXPECT(report, "TACHO_MPI_MESSAGE", messages, "10 45 2 0 11 7 8\n10 45 2 1 13 9 24\n");
    report_close(report);
}

/* The program can write anything into its records. */
static void nonsense_is_counted(void **state)
{
    struct capture capture;
    uint32_t seed = 1;
    begin(&capture);
    give(&capture, (struct given){ WIRE_MPI_OTHER, 60000, .count = 1 });
    give(&capture, (struct given){ WIRE_MPI_P2P, MPI_FUNCTION_Send, .count = 3 });
    give(&capture, (struct given){ WIRE_MPI_COLLECTIVE, MPI_FUNCTION_Bcast, .count = 6 });
    give(&capture, (struct given){ WIRE_MPI_START_WAIT, MPI_FUNCTION_Wait, .triples = 5, .count = 4 });
    give(&capture, (struct given){ WIRE_MPI_DONE, .triples = 60000, .count = 3 });
    give(&capture, (struct given){ WIRE_MPI_COMMUNICATOR, .count = 4, .body = { 1 } });
    give(&capture, (struct given){ WIRE_MPI_COMMUNICATOR, .count = 5, .body = { 1, 1, 0, wire_mpi_pair(-5, 0) } });
    give(&capture,
         (struct given){ WIRE_MPI_COMMUNICATOR, .count = 6, .body = { 1, 1, 0, wire_mpi_pair(1 << 30, 0), 99 } });
    assert_int_equal(capture.damaged, 8);
    for (uint32_t i = 0; i < 50000; i++) {
        struct given given = { .type = WIRE_MPI_OTHER + i % 6 };
        uint32_t *numbers[] = { &given.function, &given.flags, &given.triples };
        for (size_t k = 0; k < 3; k++)
            *numbers[k] = (seed = seed * 1664525 + 1013904223) >> 26;
        given.count = (seed = seed * 1664525 + 1013904223) >> 28;
        for (size_t k = 0; k < 16; k++)
            given.body[k] = (seed = seed * 1664525 + 1013904223) >> 29;
        give(&capture, given);
    }
    report_close(end(&capture));
}

/* A program that overwrites its records must not take all memory: what is kept has a bound, and later calls count. */
static void what_is_kept_has_a_bound(void **state)
{
    struct capture capture;
    begin(&capture);
    for (uint64_t i = 0; i < MPI_KEPT_MAX + 10; i++) {
        give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1040, 100 + i, WIRE_MPI_NO_SIZE, NONE, 0);
        give(&capture,
             (struct given){ WIRE_MPI_COMMUNICATOR, .count = 6, .body = { 100 + i, 1, 0, wire_mpi_pair(9, 0) } });
    }
    assert_in_range(capture.process.early.count, 1, MPI_KEPT_MAX);
    assert_in_range(capture.process.communicators.count, 1, MPI_KEPT_MAX);
    mpi_event_map_clear(&capture.process.early);
    for (uint64_t i = 0; i < MPI_KEPT_MAX + 10; i++)
        give_p2p(&capture, MPI_FUNCTION_Isend, SENT | PENDING, 1010, 8, 1, 7, 100 + i);
    assert_int_equal(capture.process.pending.count, MPI_KEPT_MAX);
    assert_int_equal(capture.process.waiting_count, 10);
    for (uint64_t i = 0; i < MPI_KEPT_MAX; i++)
        give_wait(&capture, MPI_FUNCTION_Wait, WIRE_MPI_COMPLETED, 1040, 100 + i, WIRE_MPI_NO_SIZE, NONE, 0);
    assert_int_equal(capture.process.pending.count, 0);
    assert_int_equal(capture.process.waiting_count, 10);
    assert_int_equal(capture.damaged, 0);
    report_close(end(&capture));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_get_what_arrived),
        cmocka_unit_test(a_persistent_request_is_a_message_each_time),
        cmocka_unit_test(records_of_several_threads_come_in_any_order),
        cmocka_unit_test(both_halves_of_a_call),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(what_is_kept_has_a_bound),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
