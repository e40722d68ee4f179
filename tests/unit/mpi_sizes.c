/* The shapes of MPI's functions: how much a call sends and receives, by hand-made words and a stand-in for MPI; and the
 * table of requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/mpi/mpi_library.h"
#include "agent/mpi/mpi_request.h"
#include "agent/mpi/mpi_sizes.h"

/* A type's handle is 1000 + its size; what is not significant has this handle, which nobody may ask about. */
enum { INT = 1004, DOUBLE = 1008, GARBAGE = 1 };
enum { COMM = 77, IN_DEGREE = 3, OUT_DEGREE = 2 };

struct mpi_library mpi;

uint64_t mpi_type_bytes(uint64_t type)
{
    assert_int_not_equal(type, GARBAGE);
    return type - 1000;
}

void mpi_comm_degrees(uint64_t handle, int32_t rank, int32_t *in, int32_t *out)
{
    assert_int_equal(handle, COMM);
    *in = IN_DEGREE;
    *out = OUT_DEGREE;
}

struct words {
    struct word_call call;
    uint64_t stack[8];
};

static void set_words(struct words *words, const uint64_t *from, uint32_t count)
{
    memset(words, 0xee, sizeof *words);
    words->call.stack = words->stack;
    for (uint32_t i = 0; i < count; i++)
        *word_call_at(&words->call, i) = from[i];
}

#define WORDS(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8
#define AT(array) ((uint64_t)(uintptr_t)(array))
#define ABOVE (UINT64_C(0xdead) << 32) /* an int's upper half has garbage */

static struct mpi_amounts amounts_of(uint32_t function, struct mpi_comm comm, const uint64_t *from, uint32_t count)
{
    struct words words;
    set_words(&words, from, count);
    return mpi_collective_bytes(&words.call, &mpi_shapes[function], &comm);
}

#define CHECK(name, comm, sends, receives, ...)                                                                      \
    do {                                                                                                             \
        struct mpi_amounts amounts = amounts_of(MPI_FUNCTION_##name, comm, WORDS(__VA_ARGS__));                      \
        assert_int_equal(amounts.sent, sends);                                                                       \
        assert_int_equal(amounts.received, receives);                                                                \
    } while (0)

static const struct mpi_comm four = { .number = 1, .size = 4, .rank = 2 };
static const struct mpi_comm remote = { .number = 2, .size = 3, .rank = 1, .is_inter = 1 };

static void collectives(void **state)
{
    const uint64_t x = 0x1000;
    CHECK(Barrier, four, WIRE_MPI_NO_SIZE, WIRE_MPI_NO_SIZE, COMM);
    CHECK(Bcast, four, 40, 0, x, ABOVE | 10, INT, 2, COMM);
    CHECK(Bcast, four, 0, 40, x, 10, INT, 1, COMM);
    CHECK(Allreduce, four, 24, 24, x, x, 3, DOUBLE, 0, COMM);
    CHECK(Reduce, four, 24, 0, x, x, 3, DOUBLE, 0, 1, COMM);
    CHECK(Reduce, four, 24, 24, x, x, 3, DOUBLE, 0, 2, COMM);
    CHECK(Gather, four, 8, 0, x, 2, INT, x, 9, GARBAGE, 0, COMM);
    CHECK(Gather, four, 8, 32, x, 2, INT, x, 2, INT, 2, COMM);
    CHECK(Scatter, four, 0, 8, x, 9, GARBAGE, x, 2, INT, 0, COMM);
    CHECK(Scatter, four, 32, 8, x, 2, INT, x, 2, INT, 2, COMM);
    CHECK(Allgather, four, 8, 32, x, 2, INT, x, 2, INT, COMM);
    CHECK(Alltoall, four, 32, 32, x, 2, INT, x, 2, INT, COMM);
    CHECK(Reduce_scatter_block, four, 96, 24, x, x, 3, DOUBLE, 0, COMM);
    CHECK(Ireduce_scatter_block, four, 96, 24, x, x, 3, DOUBLE, 0, COMM, x);
    CHECK(Allreduce_c, four, UINT64_C(8) << 33, UINT64_C(8) << 33, x, x, UINT64_C(1) << 33, DOUBLE, 0, COMM);
    CHECK(Neighbor_allgather, four, 8, 24, x, 2, INT, x, 2, INT, COMM);
    CHECK(Neighbor_alltoall, four, 16, 24, x, 2, INT, x, 2, INT, COMM);
}

static void arrays_of_counts(void **state)
{
    const int32_t counts[] = { 1, 2, 3, 4 };
    const int64_t large[] = { 1, 2, INT64_C(1) << 33, 4 };
    const uint64_t types[] = { INT, DOUBLE, INT, DOUBLE };
    const uint64_t x = 0x1000;
    CHECK(Gatherv, four, 12, 40, x, 3, INT, x, AT(counts), x, INT, 2, COMM);
    CHECK(Gatherv, four, 12, 0, x, 3, INT, x, GARBAGE, x, GARBAGE, 1, COMM);
    CHECK(Allgatherv, four, 12, 40, x, 3, INT, x, AT(counts), x, INT, COMM);
    CHECK(Alltoallv, four, 40, 80, x, AT(counts), x, INT, x, AT(counts), x, DOUBLE, COMM);
    CHECK(Alltoallw, four, 4 + 16 + 12 + 32, 4 + 16 + 12 + 32, x, AT(counts), x, AT(types), x, AT(counts), x, AT(types),
          COMM);
    CHECK(Reduce_scatter, four, 40, 12, x, x, AT(counts), INT, 0, COMM);
    CHECK(Gatherv_c, four, 4, 4 * (7 + (UINT64_C(1) << 33)), x, 1, INT, x, AT(large), x, INT, 2, COMM);
    CHECK(Neighbor_alltoallv, four, 4 + 8, 4 + 8 + 12, x, AT(counts), x, INT, x, AT(counts), x, INT, COMM);
}

static void in_place(void **state)
{
    const int32_t counts[] = { 1, 2, 3, 4 };
    const uint64_t x = 0x1000, here = (uint64_t)mpi.flavour.in_place;
    CHECK(Allreduce, four, 12, 12, here, x, 3, INT, 0, COMM);
    CHECK(Allgather, four, 8, 32, here, 5, GARBAGE, x, 2, INT, COMM);
    CHECK(Allgatherv, four, 12, 40, here, 5, GARBAGE, x, AT(counts), x, INT, COMM);
    CHECK(Alltoall, four, 32, 32, here, 5, GARBAGE, x, 2, INT, COMM);
    CHECK(Alltoallv, four, 40, 40, here, GARBAGE, x, GARBAGE, x, AT(counts), x, INT, COMM);
    CHECK(Gather, four, 0, 32, here, 5, GARBAGE, x, 2, INT, 2, COMM);
    CHECK(Scatter, four, 32, 0, x, 2, INT, here, 5, GARBAGE, 2, COMM);
}

/* The root's group sends to the other one; all but the root there say MPI_PROC_NULL. */
static void intercommunicators(void **state)
{
    const uint64_t x = 0x1000, is_root = (uint32_t)mpi.flavour.root, nobody = (uint32_t)mpi.flavour.proc_null;
    CHECK(Bcast, remote, 40, 0, x, 10, INT, is_root, COMM);
    CHECK(Bcast, remote, 0, 0, x, 10, GARBAGE, nobody, COMM);
    CHECK(Bcast, remote, 0, 40, x, 10, INT, 0, COMM);
    CHECK(Alltoall, remote, 24, 24, x, 2, INT, x, 2, INT, COMM);
}

static void messages(void **state)
{
    struct words words;
    set_words(&words, WORDS(0x1000, ABOVE | 6, DOUBLE, 1, 2, COMM));
    assert_int_equal(mpi_bytes_sent(&words.call, &mpi_shapes[MPI_FUNCTION_Send]), 48);
    assert_int_equal(mpi_bytes_wanted(&words.call, &mpi_shapes[MPI_FUNCTION_Send]), WIRE_MPI_NO_SIZE);
    set_words(&words, WORDS(0x1000, (uint32_t)-1, DOUBLE, 1, 2, COMM));
    assert_int_equal(mpi_bytes_sent(&words.call, &mpi_shapes[MPI_FUNCTION_Send]), 0);
    set_words(&words, WORDS(0x1000, 3, 4, INT, 1, 2, COMM, 0, 0x2000));
    assert_int_equal(mpi_bytes_sent(&words.call, &mpi_shapes[MPI_FUNCTION_Psend_init]), 48);
    set_words(&words, WORDS(0x1000, 2, INT, 1, 7, 0x2000, 5, DOUBLE, 3, 8, COMM, 0x3000));
    assert_int_equal(mpi_bytes_sent(&words.call, &mpi_shapes[MPI_FUNCTION_Sendrecv]), 8);
    assert_int_equal(mpi_bytes_wanted(&words.call, &mpi_shapes[MPI_FUNCTION_Sendrecv]), 40);
    set_words(&words, WORDS(0, 0, 0x1000, 5, INT, 0x3000));
    assert_int_equal(mpi_bytes_sent(&words.call, &mpi_shapes[MPI_FUNCTION_File_write_at]), 20);
}

/* Places that the parameters must have in every function: a row that names one twice or beyond the last is wrong. */
static void shapes_are_plausible(void **state)
{
    static const uint8_t words[] = {
#define MPI_CALL(name, words, ...) words,
#include "wire/mpi_calls.def"
#undef MPI_CALL
    };
    for (uint32_t i = 0; i < MPI_FUNCTION_COUNT; i++) {
        const struct mpi_shape *shape = &mpi_shapes[i];
        const uint8_t places[] = { shape->send_buffer, shape->send_count, shape->receive_buffer, shape->receive_count,
                                   shape->peer,        shape->tag,        shape->source,         shape->comm,
                                   shape->new_comm,    shape->root,       shape->request,        shape->requests,
                                   shape->status,      shape->statuses,   shape->flag,           shape->indices };
        for (size_t k = 0; k < sizeof places; k++)
            assert_true(places[k] <= words[i]);
        if (shape->table == MPI_TABLE_COLLECTIVE)
            assert_true(shape->comm);
        if (shape->send_count && shape->table != MPI_TABLE_OTHER)
            assert_true(shape->send_type && shape->comm);
    }
}

static void requests(void **state)
{
    uint32_t first = mpi_request_add(0x500, MPI_REQUEST_RECEIVES);
    assert_int_not_equal(first, 0);
    assert_int_equal(mpi_request_of(0x500).number, first);
    assert_int_equal(mpi_request_of(0x500).bits, MPI_REQUEST_RECEIVES);
    assert_int_equal(mpi_request_of(0x501).number, 0);
    uint32_t second = mpi_request_add(0x500, 0); /* the end of the first was not seen */
    assert_int_equal(mpi_request_of(0x500).number, second);
    mpi_request_remove(0x500, second);
    assert_int_equal(mpi_request_of(0x500).number, 0);

    uint32_t sends[3];
    for (int i = 0; i < 3; i++)
        sends[i] = mpi_request_add(0x600, MPI_REQUEST_SHARES);
    for (int i = 0; i < 3; i++) { /* the oldest first */
        assert_int_equal(mpi_request_of(0x600).number, sends[i]);
        mpi_request_remove(0x600, sends[i]);
    }
    assert_int_equal(mpi_request_of(0x600).number, 0);

    int kept = 0;
    for (uint64_t handle = 1; handle <= 100000; handle++) /* more than there is room for */
        kept += mpi_request_add(handle * 64, 0) != 0;
    assert_in_range(kept, 1000, 16384);
    mpi_requests_forget();
    assert_int_equal(mpi_request_of(64).number, 0);

    mpi_message_add(0x700, 5);
    assert_int_equal(mpi_request_of(0x700).number, 0);
    assert_int_equal(mpi_message_take(0x700), 5);
    assert_int_equal(mpi_message_take(0x700), 0);
}

int main(void)
{
    mpi.flavour = (struct mpi_flavour){ .handle_bytes = 8, .in_place = 1, .root = -4, .proc_null = -2 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives),
        cmocka_unit_test(arrays_of_counts),
        cmocka_unit_test(in_place),
        cmocka_unit_test(messages),
        cmocka_unit_test(intercommunicators),
        cmocka_unit_test(requests),
        cmocka_unit_test(shapes_are_plausible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
