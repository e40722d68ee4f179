/* Calls that can wait: see os_calls.h. The table is scanned in parallel, and only the chosen calls are kept: most calls
 * of a large capture are short ones of other kinds. */
#include "os_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/order.h"
#include "base/array.h"

/* ---- kinds ----------------------------------------------------------------------------------------------------- */

static const struct kind_names {
    enum os_call_kind kind;
    enum os_call_bytes bytes;
    const char *names; /* with a space before and after each */
} os_calls_kind_names[] = {
    { OS_CALL_LOCK, OS_CALL_NO_BYTES,
      " pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock pthread_rwlock_rdlock"
      " pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock pthread_rwlock_wrlock pthread_rwlock_timedwrlock"
      " pthread_rwlock_clockwrlock pthread_spin_lock mtx_lock mtx_timedlock flockfile flock lockf " },
    { OS_CALL_IO, OS_CALL_READS,
      " read pread pread64 readv preadv preadv64 preadv2 preadv64v2 recv recvfrom recvmsg getline getdelim mq_receive"
      " mq_timedreceive msgrcv " },
    { OS_CALL_IO, OS_CALL_WRITES,
      " write pwrite pwrite64 writev pwritev pwritev64 pwritev2 pwritev64v2 vmsplice send sendto sendmsg " },
    { OS_CALL_IO, OS_CALL_COPIES, " sendfile sendfile64 splice tee copy_file_range " },
    { OS_CALL_IO, OS_CALL_NO_BYTES,
      " open open64 openat openat64 creat creat64 close fsync fdatasync sync syncfs sync_file_range msync fallocate"
      " fallocate64 posix_fallocate posix_fallocate64 readahead truncate truncate64 ftruncate ftruncate64 rename"
      " renameat renameat2 unlink unlinkat mkdir rmdir opendir mount umount2 connect shutdown sendmmsg recvmmsg"
      " getaddrinfo getnameinfo gethostbyname gethostbyname2 gethostbyaddr fopen fopen64 freopen freopen64 fclose"
      " fcloseall fflush fflush_unlocked fread fread_unlocked fwrite fwrite_unlocked fgets fgets_unlocked fputs"
      " fputs_unlocked puts fseek fseeko fseeko64 fgetwc fgetws fputwc fputws fgetc getc getchar fputc putc putchar"
      " mq_send mq_timedsend msgsnd aio_suspend aio_suspend64 " },
    { OS_CALL_EVENTS, OS_CALL_NO_BYTES,
      " poll ppoll select pselect epoll_wait epoll_pwait epoll_pwait2 accept accept4 sigwait sigwaitinfo sigtimedwait"
      " pause sigsuspend " },
    { OS_CALL_WAIT, OS_CALL_NO_BYTES,
      " sleep usleep nanosleep clock_nanosleep thrd_sleep pthread_join pthread_timedjoin_np pthread_clockjoin_np"
      " thrd_join pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait cnd_timedwait"
      " pthread_barrier_wait sem_wait sem_timedwait sem_clockwait semop semtimedop syscall " },
    { OS_CALL_START, OS_CALL_NO_BYTES, " fork vfork posix_spawn posix_spawnp system popen " },
    { OS_CALL_CHILD, OS_CALL_NO_BYTES, " wait waitpid wait3 wait4 waitid pclose " },
    { OS_CALL_LOAD, OS_CALL_NO_BYTES, " dlopen dlmopen " },
};

static const struct kind_names *os_calls_find_names(const char *name, size_t length)
{
    char wanted[64];

    if (!length || length + 3 > sizeof wanted)
        return NULL;
    wanted[0] = ' ';
    memcpy(wanted + 1, name, length);
    memcpy(wanted + 1 + length, " ", 2);
    for (size_t i = 0; i < COUNT_OF(os_calls_kind_names); i++)
        if (strstr(os_calls_kind_names[i].names, wanted))
            return &os_calls_kind_names[i];
    return NULL;
}

enum os_call_kind os_call_kind(const char *name, size_t length)
{
    const struct kind_names *names = os_calls_find_names(name, length);

    return names ? names->kind : OS_CALL_OTHER;
}

enum os_call_bytes os_call_bytes(const char *name, size_t length)
{
    const struct kind_names *names = os_calls_find_names(name, length);

    return names ? names->bytes : OS_CALL_NO_BYTES;
}

int os_call_counts_bytes(const char *name)
{
    return os_call_bytes(name, strlen(name)) != OS_CALL_NO_BYTES;
}

/* ---- the scan -------------------------------------------------------------------------------------------------- */

enum { START, END, CLASS, THREAD, NAME, LEVEL, CHAIN, PYTHON, HOLDER, LOCK, VARIABLE, RESULT, COLUMNS };

/* The calls that one worker found, and the chunks of the table that they are from, so that all calls can be put in the
 * table's order, which is nearly that of time. Also the kinds of the names that it met last. */
struct os_calls_piece {
    uint64_t first_row;
    const struct os_calls_found *found;
    size_t first, count;
};
enum { KNOWN_NAMES = 64 };
struct os_calls_found {
    struct os_call *list;          /* owned */
    size_t count, room;
    struct os_calls_piece *pieces; /* owned */
    size_t piece_count, piece_room;
    struct {
        uint64_t name;             /* + 1; 0: none */
        enum os_call_kind kind;
    } known[KNOWN_NAMES];
};

struct call_scan {
    struct report *report;
    const struct os_call_choice *choice;
    const struct filter *filter;
    struct os_calls_found *found; /* one for each worker */
};

static enum os_call_kind os_calls_kind_of(const struct call_scan *scan, struct os_calls_found *found, int64_t name)
{
    size_t place = (uint64_t)name % KNOWN_NAMES;

    if (found->known[place].name != (uint64_t)name + 1) {
        size_t length;
        const char *bytes = report_string(scan->report, name, &length);
        found->known[place].name = (uint64_t)name + 1;
        found->known[place].kind = os_call_kind(bytes, length);
    }
    return found->known[place].kind;
}

static inline int64_t value_or_0(const struct report_block *block, int column, size_t row)
{
    return block_is_null(block, (size_t)column, row) ? 0 : block->values[column][row];
}

static int os_calls_add_call(struct os_calls_found *found, const struct report_block *block, size_t row,
                             enum os_call_kind kind)
{
    return ARRAY_PUSH(found->list, found->room, found->count,
                      (struct os_call){
                          .thread = block->values[THREAD][row],
                          .start_ns = block->values[START][row],
                          .end_ns = block->values[END][row],
                          .name = block->values[NAME][row],
                          .chain = value_or_0(block, CHAIN, row),
                          .python = value_or_0(block, PYTHON, row),
                          .holder = value_or_0(block, HOLDER, row),
                          .lock = value_or_0(block, LOCK, row),
                          .variable = value_or_0(block, VARIABLE, row),
                          .result = value_or_0(block, RESULT, row),
                          .kind = kind,
                      });
}

static int os_calls_visit(void *context, int worker, const struct report_block *block)
{
    struct call_scan *scan = context;
    struct os_calls_found *found = &scan->found[worker];
    size_t first = found->count;

    for (size_t row = 0; row < block->rows; row++) {
        int64_t start = block->values[START][row], end = block->values[END][row];
        if (block_is_null(block, END, row) || block_is_null(block, THREAD, row) || block_is_null(block, NAME, row) ||
            end <= start || value_or_0(block, LEVEL, row) || value_or_0(block, CLASS, row) != EVENT_CLASS_OSRT)
            continue;
        enum os_call_kind kind = os_calls_kind_of(scan, found, block->values[NAME][row]);
        if (scan->choice->least_ns[kind] == OS_CALL_NEVER ||
            saturating_duration(start, end) < scan->choice->least_ns[kind] ||
            !filter_thread(scan->filter, block->values[THREAD][row], start, end))
            continue;
        if (os_calls_add_call(found, block, row, kind) != 0)
            return ERR_NO_MEMORY;
    }
    return ARRAY_PUSH(found->pieces, found->piece_room, found->piece_count,
                      (struct os_calls_piece){ block->first_row, found, first, found->count - first });
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int by_first_row(const void *a, const void *b)
{
    const struct os_calls_piece *x = a, *y = b;

    return COMPARE(x->first_row, y->first_row);
}

/* All that the workers found, in the table's order. */
static int join_found(struct os_calls *calls, const struct os_calls_found *found, int workers)
{
    size_t count = 0, pieces = 0;

    for (int worker = 0; worker < workers; worker++) {
        count += found[worker].count;
        pieces += found[worker].piece_count;
    }
    struct os_calls_piece *all = malloc((pieces + 1) * sizeof *all);
    calls->list = malloc((count + 1) * sizeof *calls->list);
    if (!all || !calls->list || count >= UINT32_MAX) {
        free(all);
        return ERR_NO_MEMORY;
    }
    pieces = 0;
    for (int worker = 0; worker < workers; worker++)
        for (size_t i = 0; i < found[worker].piece_count; i++)
            all[pieces++] = found[worker].pieces[i];
    qsort(all, pieces, sizeof *all, by_first_row);
    for (size_t i = 0; i < pieces; i++) {
        if (all[i].count)
            memcpy(calls->list + calls->count, all[i].found->list + all[i].first, all[i].count * sizeof *calls->list);
        calls->count += all[i].count;
    }
    free(all);
    return 0;
}

static int is_in_order(const struct os_calls *calls)
{
    size_t i = 1;

    while (i < calls->count && calls->list[i - 1].start_ns <= calls->list[i].start_ns)
        i++;
    return i >= calls->count;
}

/* Sorts the list by time: that of a program with one thread is, and calls take much memory to move. */
static int sort_list(struct os_calls *calls, uint32_t *order, int64_t *start)
{
    if (is_in_order(calls))
        return 0;
    struct os_call *sorted = malloc((calls->count + 1) * sizeof *sorted);
    if (!sorted)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < calls->count; i++) {
        order[i] = (uint32_t)i;
        start[i] = calls->list[i].start_ns;
    }
    if (order_by_time(order, calls->count, start) != 0) {
        free(sorted);
        return ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < calls->count; i++)
        sorted[i] = calls->list[order[i]];
    free(calls->list);
    calls->list = sorted;
    return 0;
}

static int os_calls_put_in_order(struct os_calls *calls)
{
    size_t count = calls->count;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    int64_t *thread = malloc((count + 1) * sizeof *thread), *start = malloc((count + 1) * sizeof *start);
    int code = ERR_NO_MEMORY;

    if (!order || !thread || !start || sort_list(calls, order, start) != 0)
        goto done;
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        thread[i] = calls->list[i].thread;
        start[i] = calls->list[i].start_ns;
    }
    if ((code = order_by_thread(order, count, thread, start)) != 0)
        goto done;
    calls->by_thread = order;
    order = NULL;
done:
    free(order);
    free(thread);
    free(start);
    return code;
}

int os_calls_read(struct os_calls *calls, struct report *report, const struct os_call_choice *choice,
                  const struct filter *filter, struct error *err)
{
    static const char *const names[COLUMNS] = { "start",      "end",          "eventClass",      "globalTid",
                                                "nameId",     "nestingLevel", "callchainId",     "pythonCallchainId",
                                                "lockHolder", "lockAddress",  "lockCallchainId", "returnValue" };
    const struct report_table *table = report_table(report, "OSRT_API");
    int workers = report_workers(report), columns[COLUMNS], code;
    struct call_scan scan = { report, choice, filter, NULL };

    *calls = (struct os_calls){ 0 };
    if (!table || !table->rows)
        return 0;
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = report_column(table, names[i]);
    if (!(scan.found = calloc((size_t)workers, sizeof *scan.found)))
        return error_short_memory(err, "for the calls of threads");
    if ((code = report_scan(report, table, columns, COLUMNS, filter->span, os_calls_visit, &scan, err)) != 0)
        goto done;
    if (join_found(calls, scan.found, workers) != 0 || os_calls_put_in_order(calls) != 0)
        code = error_short_memory(err, "for the calls of threads");
done:
    for (int worker = 0; worker < workers; worker++) {
        free(scan.found[worker].list);
        free(scan.found[worker].pieces);
    }
    free(scan.found);
    return code;
}

void os_calls_free(struct os_calls *calls)
{
    free(calls->list);
    free(calls->by_thread);
    *calls = (struct os_calls){ 0 };
}

size_t os_calls_from(const struct os_calls *calls, int64_t thread, int64_t time_ns, size_t *behind)
{
    size_t first = BISECT(0, calls->count, i,
                          calls->list[calls->by_thread[i]].thread < thread ||
                              (calls->list[calls->by_thread[i]].thread == thread &&
                               calls->list[calls->by_thread[i]].end_ns <= time_ns));

    *behind = BISECT(first, calls->count, i, calls->list[calls->by_thread[i]].thread <= thread);
    return first;
}
