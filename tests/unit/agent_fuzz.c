/* The agent's entry points, called as no program should: some hundred programs of random calls, the same every time;
 * and one call that comes while another is stopped where no program can hold it. In a sanitized build the agent is
 * sanitized here, which it never is as a guest. scripts/fuzz goes on from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/core/agent.h"
#include "agent/cuda/cuda_agent.h"
#include "wire/wire_openacc.h"
#include "wire/wire_oshmem.h"
#include "wire/wire_ucx.h"

#include "../fuzz/fuzz_agent.c"

#define PROGRAMS 400
#define PROGRAM_BYTES 1024

static uint64_t random_state = 11;
static uint8_t random_byte(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint8_t)(random_state >> 24);
}

static void whatever_is_called_the_records_make_sense(void **state)
{
    static uint8_t program[PROGRAM_BYTES];
    for (int i = 0; i < PROGRAMS; i++) {
        for (size_t byte = 0; byte < sizeof program; byte++)
            program[byte] = random_byte();
        assert_int_equal(LLVMFuzzerTestOneInput(program, sizeof program), 0);
    }
}

int InitializeInjection(void);

/* A thread that lets the program have CUPTI (--cuda-yield) was stopped, as a debugger does it, and cuInit() does
 * not wait for it for long. */
static void cuda_that_cannot_be_started_is_told(void **state)
{
    const struct collect_options options = { .trace_fork_before_exec = 1, .range = COLLECT_RANGE_NONE };
    host_begin(&options, WIRE_BIT(CUDA), 4);
    assert_int_equal(cuda_lock(), 1);
    assert_int_equal(InitializeInjection(), 1);
    cuda_unlock();
    host_drain();
    assert_true(host_was_warned("CUDA is not recorded: another thread kept CUPTI locked for too long."));
    assert_int_equal(host_end(), 0);
}

/* ---- Records that a program has overwritten -------------------------------------------------------------------- */

/* Writes a record with a head and as many words, all of this value. */
static void emit_raw(enum wire_source source, uint32_t type, uint16_t a, uint16_t b, uint32_t body_words,
                     uint64_t value)
{
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(agent_thread(), &lane, source, type, WIRE_HEAD_WORDS + body_words);
    assert_non_null(record);
    record->a = a;
    record->b = b;
    record->flags = (uint8_t)value;
    record->ticks = value;
    for (uint32_t i = 0; i < body_words; i++)
        record->body[i] = value;
    emit_commit(lane, record);
}

static void overwritten_records_of_openacc_are_counted(void **state)
{
    static const uint64_t values[] = { 0, 1, INT64_MAX, UINT64_MAX, 0x4141414141414141 };
    const struct collect_options options = { .range = COLLECT_RANGE_NONE };
    uint64_t damaged = 0;
    host_begin(&options, WIRE_BIT(OPENACC), 64);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        for (uint16_t number = 0; number < 30; number++)
            for (uint32_t words = 0; words < 12; words++) {
                int is_begin = number > 0 && number < 25 &&
                               (number <= 9 ? number != 2 && number != 4 : number % 2 == 0);
                uint16_t depth = (uint16_t)(words % 10);
                emit_raw(WIRE_SOURCE_OPENACC, WIRE_OPENACC_BEGIN, number, depth, words, values[i]);
                damaged += words < 1 || !is_begin || depth >= WIRE_OPENACC_DEPTH;
                emit_raw(WIRE_SOURCE_OPENACC, WIRE_OPENACC_EVENT, number, depth, words, values[i]);
                damaged += words < WIRE_OPENACC_BODY_WORDS || !is_begin;
            }
    assert_int_equal(host_end(), damaged);
}

static void overwritten_records_of_ucx_are_counted(void **state)
{
    static const uint64_t values[] = { 0, 1, INT64_MAX, UINT64_MAX };
    const struct collect_options options = { .range = COLLECT_RANGE_NONE };
    uint64_t damaged = 0, recorded = 0;
    host_begin(&options, WIRE_BIT(UCX), 64);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        for (uint32_t words = 0; words < 7; words++) {
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_WORKER, (uint16_t)words % 2, 0, words, values[i]);
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_PEER, 0, 0, words, values[i]);
            damaged += 2 * (words < 2 || values[i] == 0); /* a handle is not NULL */
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_CALL, UCX_FUNCTION_ucp_tag_send_nbx, 0, words, values[i]);
            damaged += words < 5;
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_CALL, UCX_FUNCTION_ucp_worker_progress, 0, words, values[i]);
            damaged += words < 1;
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_CALL, UCX_FUNCTION_ucp_address_get_uuid, 0, words, values[i]);
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_CALL, UCX_FUNCTION_COUNT, 0, words, values[i]);
            emit_raw(WIRE_SOURCE_UCX, WIRE_UCX_CALL, UINT16_MAX, 0, words, values[i]);
            damaged += 3;
            recorded += words >= 5;
        }
    assert_true(recorded > 0);
    assert_int_equal(host_end(), damaged);
}

static void overwritten_records_of_openshmem_are_counted(void **state)
{
    static const uint64_t values[] = { 0, 1, INT64_MAX, UINT64_MAX };
    const struct collect_options options = { .range = COLLECT_RANGE_NONE };
    uint64_t damaged = 0;
    host_begin(&options, WIRE_BIT(OSHMEM), 64);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        for (uint32_t words = 0; words < 5; words++) {
            emit_raw(WIRE_SOURCE_OSHMEM, WIRE_OSHMEM_CALL, OSHMEM_FUNCTION_shmem_long_put, 0, words, values[i]);
            damaged += words < (values[i] ? 3 : 1); /* the flags promise more words */
            emit_raw(WIRE_SOURCE_OSHMEM, WIRE_OSHMEM_CALL, OSHMEM_FUNCTION_COUNT, 0, words, values[i]);
            emit_raw(WIRE_SOURCE_OSHMEM, WIRE_OSHMEM_CALL, UINT16_MAX, 0, words, values[i]);
            damaged += 2;
        }
    assert_int_equal(host_end(), damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overwritten_records_of_openshmem_are_counted),
        cmocka_unit_test(overwritten_records_of_ucx_are_counted),
        cmocka_unit_test(overwritten_records_of_openacc_are_counted),
        cmocka_unit_test(cuda_that_cannot_be_started_is_told),
        cmocka_unit_test(whatever_is_called_the_records_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
