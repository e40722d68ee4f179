/* Sizes of messages: see mpi_sizes.h. */
#include "mpi_sizes.h"

#include "mpi_library.h"

/* One side of a call. */
struct mpi_sizes_side {
    uint8_t buffer, count, counts, type, types, times;
};

static int64_t count_at(const struct word_call *call, const struct mpi_shape *shape, uint8_t place)
{
    uint64_t word = mpi_word(call, place);
    return shape->is_large ? (int64_t)word : (int32_t)word;
}

static uint64_t mpi_sizes_product(int64_t count, uint64_t bytes)
{
    uint64_t result;
    return count > 0 && !__builtin_mul_overflow((uint64_t)count, bytes, &result) ? result : 0;
}

static uint64_t message_bytes(const struct word_call *call, const struct mpi_shape *shape, uint8_t count, uint8_t type)
{
    if (!count || !type)
        return WIRE_MPI_NO_SIZE;
    int64_t items = count_at(call, shape, count);
    uint64_t bytes = items > 0 ? mpi_sizes_product(items, mpi_type_bytes(mpi_handle(mpi_word(call, type)))) : 0;
    return shape->partitions ? mpi_sizes_product(mpi_int(call, shape->partitions), bytes) : bytes;
}

uint64_t mpi_bytes_sent(const struct word_call *call, const struct mpi_shape *shape)
{
    return message_bytes(call, shape, shape->send_count, shape->send_type);
}

uint64_t mpi_bytes_wanted(const struct word_call *call, const struct mpi_shape *shape)
{
    return message_bytes(call, shape, shape->receive_count, shape->receive_type);
}

/* ---- Collectives ----------------------------------------------------------------------------------------------- */

struct scene {
    const struct word_call *call;
    const struct mpi_shape *shape;
    const struct mpi_comm *comm;
};

static int64_t mpi_sizes_entry_of(const struct scene *scene, uint64_t counts, int64_t index)
{
    if (!counts)
        return 0;
    if (scene->shape->is_large)
        return ((const int64_t *)counts)[index];
    return ((const int32_t *)counts)[index];
}

static int64_t times_of(const struct scene *scene, uint8_t times)
{
    int32_t in = 0, out = 0;
    if (times == MPI_ONCE)
        return 1;
    if (times == MPI_RANKS_TIMES)
        return scene->comm->size;
    mpi_comm_degrees(mpi_handle(mpi_word(scene->call, scene->shape->comm)), scene->comm->rank, &in, &out);
    return times == MPI_OUT_TIMES || times == MPI_OUT_SUM ? out : in;
}

/* The bytes of one entry of an array of counts. */
static uint64_t mpi_sizes_part(const struct scene *scene, const struct mpi_sizes_side *side, int64_t index)
{
    int64_t count = mpi_sizes_entry_of(scene, mpi_word(scene->call, side->counts), index);
    if (count <= 0)
        return 0;
    uint64_t type = side->types ? mpi_load_handle(mpi_word(scene->call, side->types), (uint64_t)index)
                                : mpi_handle(mpi_word(scene->call, side->type));
    return mpi_sizes_product(count, mpi_type_bytes(type));
}

/* One type serves all entries: adds up the counts first. */
static uint64_t sum_of_counts(const struct scene *scene, const struct mpi_sizes_side *side, int64_t entries)
{
    int64_t items = 0;
    for (int64_t i = 0; i < entries; i++) {
        int64_t count = mpi_sizes_entry_of(scene, mpi_word(scene->call, side->counts), i);
        items += count > 0 ? count : 0;
    }
    return items ? mpi_sizes_product(items, mpi_type_bytes(mpi_handle(mpi_word(scene->call, side->type)))) : 0;
}

static uint64_t side_bytes(const struct scene *scene, const struct mpi_sizes_side *side)
{
    if (!side->count && !side->counts)
        return WIRE_MPI_NO_SIZE;
    if (side->count)
        return mpi_sizes_product(times_of(scene, side->times),
                                 message_bytes(scene->call, scene->shape, side->count, side->type));
    if (side->times == MPI_OWN_PART)
        return scene->comm->rank >= 0 ? mpi_sizes_part(scene, side, scene->comm->rank) : 0;
    int64_t entries = side->times == MPI_ONCE ? scene->comm->size : times_of(scene, side->times);
    if (!side->types)
        return sum_of_counts(scene, side, entries);
    uint64_t sum = 0;
    for (int64_t i = 0; i < entries; i++)
        sum += mpi_sizes_part(scene, side, i);
    return sum;
}

/* With MPI_IN_PLACE the receiving side says what is sent. Reductions have one count for both sides. */
static uint64_t bytes_sent(const struct scene *scene, const struct mpi_sizes_side *send,
                           const struct mpi_sizes_side *receive)
{
    const struct mpi_shape *shape = scene->shape;
    int is_same = send->count == receive->count && send->counts == receive->counts;
    if (is_same || !send->buffer || (int64_t)mpi_word(scene->call, send->buffer) != mpi.flavour.in_place)
        return side_bytes(scene, send);
    if (shape->receives == MPI_ROOT_ONLY)
        return 0;
    struct mpi_sizes_side own = *receive;
    own.times = receive->counts && !send->counts ? MPI_OWN_PART : send->times;
    return side_bytes(scene, &own);
}

enum part_of_root { IS_ROOT, IS_OTHER, IS_NEITHER };

static enum part_of_root mpi_sizes_place_of(const struct scene *scene)
{
    if (!scene->shape->root)
        return IS_ROOT;
    int32_t root = mpi_int(scene->call, scene->shape->root);
    if (!scene->comm->is_inter)
        return root == scene->comm->rank ? IS_ROOT : IS_OTHER;
    return root == mpi.flavour.root ? IS_ROOT : root == mpi.flavour.proc_null ? IS_NEITHER : IS_OTHER;
}

static int takes_part(uint8_t who, enum part_of_root place, int is_inter)
{
    if (place == IS_NEITHER)
        return 0;
    if (who == MPI_ALL) /* of an intercommunicator, the root's group only has the root */
        return !is_inter || place == IS_OTHER;
    return (who == MPI_ROOT_ONLY) == (place == IS_ROOT);
}

struct mpi_amounts mpi_collective_bytes(const struct word_call *call, const struct mpi_shape *shape,
                                        const struct mpi_comm *comm)
{
    const struct scene scene = { call, shape, comm };
    const struct mpi_sizes_side send = { shape->send_buffer, shape->send_count, shape->send_counts,
                                         shape->send_type,   shape->send_types, shape->send_times };
    const struct mpi_sizes_side receive = { shape->receive_buffer, shape->receive_count, shape->receive_counts,
                                            shape->receive_type,   shape->receive_types, shape->receive_times };
    enum part_of_root place = mpi_sizes_place_of(&scene);
    int rooted_inter = comm->is_inter && shape->root;
    struct mpi_amounts amounts = { 0, 0 };
    if (takes_part(shape->sends, place, rooted_inter))
        amounts.sent = bytes_sent(&scene, &send, &receive);
    int keeps_own = receive.buffer && shape->sends == MPI_ROOT_ONLY &&
                    (int64_t)mpi_word(call, receive.buffer) == mpi.flavour.in_place;
    if (takes_part(shape->receives, place, rooted_inter) && !keeps_own)
        amounts.received = side_bytes(&scene, &receive);
    return amounts;
}
