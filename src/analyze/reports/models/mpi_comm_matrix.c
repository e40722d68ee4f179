/* mpi_comm_matrix: how many messages, and how many bytes, each rank sent to each other. A row is a cell of the matrix
 * that is not empty.
 *
 * Captures of Tacho have a table of messages. In those of nsys, messages are found in calls, as follows.
 *
 * Only senders count, so that a message is counted once when both ends were recorded. A peer is a rank of the
 * communicator; its members say which rank of MPI_COMM_WORLD that is. A persistent request sends with each start: the
 * start names the request, and the call that made it has peer and size. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/filter.h"
#include "analyze/model/ranks/mpi_ranks.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/map.h"

/* The object that a handle denotes for a rank or process from a time on. Handles are reused. */
struct meaning {
    int64_t owner, handle, from_ns;
    size_t index; /* index of the communicator or the message */
};

struct mpi_comm_matrix_communicator {
    int64_t *members; /* ranks of MPI_COMM_WORLD; owned */
    size_t count;
};

/* The message that a persistent request moves with each start. */
struct message {
    int64_t peer, bytes;
    int is_sent; /* 0: it is received, or a collective */
};

struct meanings {
    struct meaning *list; /* owned */
    size_t count, room;
};

/* The role of calls of one name. */
enum mpi_comm_matrix_role { NO_MESSAGE = 1, SENDS, MAKES_SENDER, MAKES_REQUEST, STARTS_REQUEST };
struct named_role {
    uint64_t name; /* string id + 1 */
    enum mpi_comm_matrix_role role;
};
MAP(role_map, struct named_role, uint64_t, name, role, hash_number, map_is_same_number)

struct mpi_comm_matrix_pair {
    int64_t rank, peer;
};
struct mpi_comm_matrix_sent {
    struct mpi_comm_matrix_pair pair;
    int64_t messages; /* never 0 */
    int64_t bytes, least, most;
};
static inline uint64_t hash_pair(struct mpi_comm_matrix_pair pair)
{
    return hash_number((uint64_t)pair.rank * 0x9e3779b97f4a7c15u + (uint64_t)pair.peer);
}
static inline int is_same_pair(struct mpi_comm_matrix_pair a, struct mpi_comm_matrix_pair b)
{
    return a.rank == b.rank && a.peer == b.peer;
}
MAP(sent_map, struct mpi_comm_matrix_sent, struct mpi_comm_matrix_pair, pair, messages, hash_pair, is_same_pair)

static const char messages_table[] = "TACHO_MPI_MESSAGE";

struct matrix {
    struct report *report;
    struct filter filter;
    struct role_map roles;
    struct mpi_ranks ranks;
    struct meanings of_communicators;                   /* owner: rank */
    struct mpi_comm_matrix_communicator *communicators; /* owned */
    size_t communicator_count, communicator_room;
    struct meanings of_requests;                        /* owner: process */
    struct message *messages;                           /* owned */
    size_t message_count, message_room;
    struct sent_map cells;
};

static int compare_meanings(const void *left, const void *right)
{
    const struct meaning *a = left, *b = right;
    int order = COMPARE(a->owner, b->owner) ?: COMPARE(a->handle, b->handle);

    return order ?: COMPARE(a->from_ns, b->from_ns) ?: COMPARE(a->index, b->index);
}

static int add_meaning(struct meanings *meanings, struct meaning meaning)
{
    return ARRAY_PUSH(meanings->list, meanings->room, meanings->count, meaning);
}

static void sort_meanings(struct meanings *meanings)
{
    if (meanings->count)
        qsort(meanings->list, meanings->count, sizeof *meanings->list, compare_meanings);
}

/* The newest that is not later than a time; NULL if there is none. */
static const struct meaning *find_meaning(const struct meanings *meanings, int64_t owner, int64_t handle, int64_t at_ns)
{
    const struct meaning wanted = { owner, handle, at_ns, SIZE_MAX };
    size_t after = BISECT(0, meanings->count, i, compare_meanings(&meanings->list[i], &wanted) <= 0);
    const struct meaning *found = after ? &meanings->list[after - 1] : NULL;
    return found && found->owner == owner && found->handle == handle ? found : NULL;
}

/* Ignores the prefix "MPI_" and, for large counts, the suffix "_c". */
static enum mpi_comm_matrix_role role_of_name(const char *name)
{
    static const struct {
        const char *name;
        enum mpi_comm_matrix_role role;
    } roles[] = {
        { "Send", SENDS },
        { "Bsend", SENDS },
        { "Ssend", SENDS },
        { "Rsend", SENDS },
        { "Isend", SENDS },
        { "Ibsend", SENDS },
        { "Issend", SENDS },
        { "Irsend", SENDS },
        { "Sendrecv", SENDS },
        { "Sendrecv_replace", SENDS },
        { "Isendrecv", SENDS },
        { "Isendrecv_replace", SENDS },
        { "Send_init", MAKES_SENDER },
        { "Bsend_init", MAKES_SENDER },
        { "Ssend_init", MAKES_SENDER },
        { "Rsend_init", MAKES_SENDER },
        { "Psend_init", MAKES_SENDER },
        { "Start", STARTS_REQUEST },
        { "Startall", STARTS_REQUEST },
    };
    size_t length = strlen(name);

    if (strncmp(name, "MPI_", 4) != 0)
        return NO_MESSAGE;
    name += 4;
    length -= 4;
    if (length > 2 && strcmp(name + length - 2, "_c") == 0)
        length -= 2;
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (strncmp(roles[i].name, name, length) == 0 && !roles[i].name[length])
            return roles[i].role;
    return length > 5 && strncmp(name + length - 5, "_init", 5) == 0 ? MAKES_REQUEST : NO_MESSAGE;
}

static int find_role(struct matrix *matrix, int64_t name, enum mpi_comm_matrix_role *role)
{
    struct named_role *known = role_map_find(&matrix->roles, (uint64_t)name + 1);

    if (!known) {
        struct named_role found = { (uint64_t)name + 1, role_of_name(report_string(matrix->report, name, NULL)) };
        if (!(known = role_map_add(&matrix->roles, &found)))
            return ERR_NO_MEMORY;
    }
    *role = known->role;
    return 0;
}

/* "0,2,4": ranks in the order of the communicator. A word that is no number has no rank in this world. */
static int mpi_comm_matrix_read_members(struct mpi_comm_matrix_communicator *communicator, const char *text)
{
    size_t room = 0;

    while (*text) {
        size_t length = strcspn(text, ",");
        char *end;
        long long rank = strtoll(text, &end, 10);
        if (ARRAY_PUSH(communicator->members, room, communicator->count,
                       end == text + length && end > text && rank >= 0 ? rank : MPI_RANK_UNKNOWN) != 0)
            return ERR_NO_MEMORY;
        text += length + (text[length] == ',');
    }
    return 0;
}

enum { COMM_RANK, COMM_TIME, COMM_HANDLE, COMM_MEMBERS };

static int mpi_comm_matrix_add_communicator(struct matrix *matrix, const struct row_cursor *rows)
{
    size_t index = matrix->communicator_count;
    struct meaning meaning = { row_int_or(rows, COMM_RANK, MPI_RANK_UNKNOWN), row_int(rows, COMM_HANDLE),
                               row_int_or(rows, COMM_TIME, INT64_MIN), index };

    if (array_reserve(&matrix->communicators, &matrix->communicator_room, index + 1, sizeof *matrix->communicators) !=
        0)
        return ERR_NO_MEMORY;
    matrix->communicators[matrix->communicator_count++] = (struct mpi_comm_matrix_communicator){ 0 };
    const char *members = report_string(matrix->report, row_int(rows, COMM_MEMBERS), NULL);
    if (mpi_comm_matrix_read_members(&matrix->communicators[index], members) != 0)
        return ERR_NO_MEMORY;
    return add_meaning(&matrix->of_communicators, meaning);
}

static int mpi_comm_matrix_read_communicators(struct matrix *matrix, struct error *err)
{
    static const char *const names[] = { "rank", "timestamp", "commHandle", "members", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, matrix->report, "MPI_COMMUNICATORS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, COMM_HANDLE) || row_is_null(&rows, COMM_MEMBERS))
            continue;
        if ((code = mpi_comm_matrix_add_communicator(matrix, &rows)) != 0)
            break;
    }
    row_cursor_close(&rows);
    sort_meanings(&matrix->of_communicators);
    return code;
}

static int count_message(struct matrix *matrix, struct mpi_comm_matrix_pair pair, int64_t bytes)
{
    struct mpi_comm_matrix_sent *cell = sent_map_find(&matrix->cells, pair);

    if (!cell) {
        struct mpi_comm_matrix_sent first = { pair, 1, bytes, bytes, bytes };
        return sent_map_add(&matrix->cells, &first) ? 0 : ERR_NO_MEMORY;
    }
    cell->messages++;
    cell->bytes = saturating_add(cell->bytes, bytes);
    cell->least = bytes < cell->least ? bytes : cell->least;
    cell->most = bytes > cell->most ? bytes : cell->most;
    return 0;
}

enum { START, END, THREAD, NAME, REQUEST, COMM, PEER, SIZE };
static const char *const mpi_comm_matrix_column_names[] = { "start",      "end",           "globalTid",
                                                            "textId",     "requestHandle", "commHandle",
                                                            "remoteRank", "size",          NULL };

static int mpi_comm_matrix_passes(const struct matrix *matrix, const struct row_cursor *rows)
{
    int64_t start = row_int(rows, START);

    return filter_thread(&matrix->filter, row_int_or(rows, THREAD, 0), start, row_int_or(rows, END, start));
}

/* The rank in MPI_COMM_WORLD that a row names as its peer. */
static int64_t find_peer(const struct matrix *matrix, const struct row_cursor *rows, int64_t rank)
{
    const struct meaning *found = row_is_null(rows, COMM) ? NULL
                                                          : find_meaning(&matrix->of_communicators, rank,
                                                                         row_int(rows, COMM), row_int(rows, START));
    int64_t peer = row_int(rows, PEER);

    if (!found || peer < 0 || (uint64_t)peer >= matrix->communicators[found->index].count)
        return MPI_RANK_UNKNOWN;
    return matrix->communicators[found->index].members[peer];
}

static int add_request(struct matrix *matrix, const struct row_cursor *rows, struct message message)
{
    struct meaning meaning = { global_process(row_int_or(rows, THREAD, 0)), row_int(rows, REQUEST),
                               row_int(rows, START), matrix->message_count };

    if (ARRAY_PUSH(matrix->messages, matrix->message_room, matrix->message_count, message) != 0)
        return ERR_NO_MEMORY;
    return add_meaning(&matrix->of_requests, meaning);
}

/* A call of MPI_P2P_EVENTS or MPI_COLLECTIVES_EVENTS. One without a peer sends nothing (MPI_PROC_NULL). */
static int mpi_comm_matrix_take_call(struct matrix *matrix, const struct row_cursor *rows)
{
    int64_t rank = mpi_rank_of(&matrix->ranks, row_int_or(rows, THREAD, 0));
    struct message message = { .peer = MPI_RANK_UNKNOWN };
    enum mpi_comm_matrix_role role;

    if (find_role(matrix, row_int_or(rows, NAME, -1), &role) != 0)
        return ERR_NO_MEMORY;
    if ((role == SENDS || role == MAKES_SENDER) && !row_is_null(rows, PEER))
        message = (struct message){ find_peer(matrix, rows, rank), row_int_or(rows, SIZE, 0), 1 };
    if (role == SENDS && message.is_sent && mpi_comm_matrix_passes(matrix, rows))
        return count_message(matrix, (struct mpi_comm_matrix_pair){ rank, message.peer }, message.bytes);
    if ((role == MAKES_SENDER || role == MAKES_REQUEST) && !row_is_null(rows, REQUEST))
        return add_request(matrix, rows, message);
    return 0;
}

/* A call of MPI_START_WAIT_EVENTS. */
static int take_start(struct matrix *matrix, const struct row_cursor *rows)
{
    int64_t thread = row_int_or(rows, THREAD, 0);
    enum mpi_comm_matrix_role role;

    if (find_role(matrix, row_int_or(rows, NAME, -1), &role) != 0)
        return ERR_NO_MEMORY;
    if (role != STARTS_REQUEST || row_is_null(rows, REQUEST) || !mpi_comm_matrix_passes(matrix, rows))
        return 0;
    const struct meaning *found = find_meaning(&matrix->of_requests, global_process(thread), row_int(rows, REQUEST),
                                               row_int(rows, START));
    const struct message *message = found ? &matrix->messages[found->index] : NULL;
    if (!message || !message->is_sent)
        return 0;
    return count_message(matrix, (struct mpi_comm_matrix_pair){ mpi_rank_of(&matrix->ranks, thread), message->peer },
                         message->bytes);
}

static int take_table(struct matrix *matrix, const char *table,
                      int (*take)(struct matrix *matrix, const struct row_cursor *rows), struct error *err)
{
    struct row_cursor rows;
    int code = row_cursor_open(&rows, matrix->report, table, mpi_comm_matrix_column_names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if ((code = take(matrix, &rows)) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

/* The whole matrix of a capture that has a table of messages. */
static int take_messages(struct matrix *matrix, struct error *err)
{
    enum { SENT_START, SENT_END, SENT_THREAD, SENT_RANK, SENT_PEER, SENT_SIZE, IS_RECEIVED };
    static const char *const names[] = { "start", "end", "globalTid", "rank", "peer", "size", "isReceived", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, matrix->report, messages_table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t start = row_int(&rows, SENT_START), thread = row_int_or(&rows, SENT_THREAD, 0);
        struct mpi_comm_matrix_pair pair = { row_int_or(&rows, SENT_RANK, MPI_RANK_UNKNOWN),
                                             row_int_or(&rows, SENT_PEER, MPI_RANK_UNKNOWN) };
        if (row_int_or(&rows, IS_RECEIVED, 0) ||
            !filter_thread(&matrix->filter, thread, start, row_int_or(&rows, SENT_END, start)))
            continue;
        if ((code = count_message(matrix, pair, row_int_or(&rows, SENT_SIZE, 0))) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

static int mpi_comm_matrix_take_calls(struct matrix *matrix, struct error *err)
{
    int code = mpi_ranks_read(&matrix->ranks, matrix->report, err);

    if (code != 0)
        return code;
    if ((code = mpi_comm_matrix_read_communicators(matrix, err)) != 0)
        return code;
    if ((code = take_table(matrix, "MPI_P2P_EVENTS", mpi_comm_matrix_take_call, err)) != 0)
        return code;
    if ((code = take_table(matrix, "MPI_COLLECTIVES_EVENTS", mpi_comm_matrix_take_call, err)) != 0)
        return code;
    sort_meanings(&matrix->of_requests);
    return take_table(matrix, "MPI_START_WAIT_EVENTS", take_start, err);
}

enum { CELL_RANK, CELL_PEER, CELL_MESSAGES, CELL_BYTES, CELL_MEAN, CELL_LEAST, CELL_MOST, CELLS };

static int mpi_comm_matrix_compare_rows(const struct table_cell *a, const struct table_cell *b, void *context)
{
    for (int i = CELL_RANK; i <= CELL_PEER; i++) {
        int64_t left = a[i].kind == CELL_NONE ? INT64_MAX : a[i].integer;
        int64_t right = b[i].kind == CELL_NONE ? INT64_MAX : b[i].integer;
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static int mpi_comm_matrix_fill_table(struct matrix *matrix, struct table *table)
{
    for (struct mpi_comm_matrix_sent *cell = NULL; (cell = sent_map_next(&matrix->cells, cell)) != NULL;) {
        struct table_cell *cells = table_add_row(table);
        if (!cells)
            return ERR_NO_MEMORY;
        if (cell->pair.rank != MPI_RANK_UNKNOWN)
            cell_set_int(&cells[CELL_RANK], cell->pair.rank);
        if (cell->pair.peer != MPI_RANK_UNKNOWN)
            cell_set_int(&cells[CELL_PEER], cell->pair.peer);
        cell_set_int(&cells[CELL_MESSAGES], cell->messages);
        cell_set_int(&cells[CELL_BYTES], cell->bytes);
        cell_set_real(&cells[CELL_MEAN], (double)cell->bytes / (double)cell->messages);
        cell_set_int(&cells[CELL_LEAST], cell->least);
        cell_set_int(&cells[CELL_MOST], cell->most);
    }
    table_sort(table, mpi_comm_matrix_compare_rows, NULL);
    return 0;
}

static void matrix_free(struct matrix *matrix)
{
    filter_close(&matrix->filter);
    role_map_free(&matrix->roles);
    mpi_ranks_free(&matrix->ranks);
    sent_map_free(&matrix->cells);
    for (size_t i = 0; i < matrix->communicator_count; i++)
        free(matrix->communicators[i].members);
    free(matrix->communicators);
    free(matrix->messages);
    free(matrix->of_communicators.list);
    free(matrix->of_requests.list);
}

static int mpi_comm_matrix(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [CELL_RANK] = { "Rank", CELL_INT, UNIT_ID, 0 },           [CELL_PEER] = { "PeerRank", CELL_INT, UNIT_ID, 0 },
        [CELL_MESSAGES] = { "Messages", CELL_INT, UNIT_NONE, 0 }, [CELL_BYTES] = { "Total", CELL_INT, UNIT_BYTES, 0 },
        [CELL_MEAN] = { "Avg", CELL_REAL, UNIT_BYTES, 1 },        [CELL_LEAST] = { "Min", CELL_INT, UNIT_BYTES, 0 },
        [CELL_MOST] = { "Max", CELL_INT, UNIT_BYTES, 0 },
    };
    struct matrix matrix = { .report = report };
    struct table *table = table_new(columns, CELLS);
    int code;

    if ((code = filter_open(&matrix.filter, report, request, err)) != 0)
        goto done;
    code = report_rows(report, messages_table) ? take_messages(&matrix, err) : mpi_comm_matrix_take_calls(&matrix, err);
    if (code != 0)
        goto done;
    code = table ? mpi_comm_matrix_fill_table(&matrix, table) : ERR_NO_MEMORY;
done:
    matrix_free(&matrix);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_mpi_comm_matrix = {
    .name = "mpi_comm_matrix",
    .title = "MPI Communication Matrix",
    .help =
        "Messages and bytes that each MPI rank sent to each other rank, by point-to-point calls. Ranks are those of "
        "MPI_COMM_WORLD; a peer that has no rank there is left empty.",
    .needs = { { "MPI message data", TABLES("MPI_P2P_EVENTS") } },
    .run = mpi_comm_matrix,
};
