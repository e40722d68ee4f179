/* The rule lock_contention: locks that threads wait for while another thread holds them.
 *
 * OSRT_API has the lock of each wait and the thread that held it when the wait began. A lock whose waits take enough of
 * the time is a finding; only for these are call chains and samples read, to say where threads waited and what the
 * holder did. A thread whose wait ends has the lock, until another's wait for it ends or begins with another holder. Of
 * a reader-writer lock only a writer is known as the holder: readers share it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/stacks/call_origins.h"
#include "analyze/model/stacks/thread_spans.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/path.h"
#include "rule.h"
#include "tally.h"

#define LEAST_NS INT64_C(1000000)
#define LEAST_CALL_NS INT64_C(50000)    /* calls of holders: shorter ones say little */
enum { LEAST_PERCENT = 5, MOST_EVIDENCE = 20000 }; /* turns of a lock for which the holder's doings are looked up */
enum { NEARLY_ALL_PERCENT = 90 };                  /* of the waits: a holder of less is shown with its time */
enum { NOT_KNOWN = 0, READERS = -1 };              /* in place of the thread that holds a lock */

/* Questions of the tally. The activity of each holder is a question of its own, below 0: see did(). */
enum { WHO_WAITED, WHERE, HELD_BY };

/* Keys of locks: the process, and the address; without one, the function (negative). */
enum { KEY_PROCESS, KEY_LOCK, KEY_PARTS };

/* Keys of calls: the function, and the lock that it waits for, or NO_LOCK. */
enum { DOING_NAME, DOING_LOCK, DOING_PARTS, NO_LOCK = -1 };

struct lock {
    int64_t impact_ns, until_ns; /* wall time with a wait, up to the end of the last one so far */
    int64_t total_ns, longest_ns, longest_start_ns, longest_thread, count;
    int64_t call;                /* the name of the function of the longest wait */
    int64_t variable;            /* the chain of the variable that it is in; 0: not known */
    int is_found;
};

struct lock_waits_search {
    struct rule_search base;
    struct os_calls waits, calls; /* for locks; calls that took long; both of all threads */
    uint32_t *lock_of;            /* owned; the lock of each wait */
    int knows_holders;            /* of at least one wait: the C library keeps them */
    struct keys keys;             /* of KEY_PARTS */
    struct keys call_keys;        /* of DOING_PARTS */
    struct lock *locks;           /* owned; by key */
    size_t room;
    struct call_origins origins;  /* these and all below: only if a lock is found */
    struct thread_spans samples;
    struct thread_names names;
    struct thread_lives lives;
    struct tally tally;
};

static void lock_waits_search_free(void *context)
{
    struct lock_waits_search *search = context;

    os_calls_free(&search->waits);
    os_calls_free(&search->calls);
    free(search->lock_of);
    keys_free(&search->keys);
    keys_free(&search->call_keys);
    free(search->locks);
    call_origins_close(&search->origins);
    thread_spans_free(&search->samples);
    thread_names_free(&search->names);
    thread_lives_free(&search->lives);
    tally_free(&search->tally);
}

/* ---- locks and their waits ------------------------------------------------------------------------------------- */

static void lock_waits_add_wait(struct lock *lock, const struct os_call *wait)
{
    int64_t time = saturating_duration(wait->start_ns, wait->end_ns),
            from = wait->start_ns > lock->until_ns ? wait->start_ns : lock->until_ns;

    if (from < wait->end_ns) {
        lock->impact_ns = saturating_add(lock->impact_ns, saturating_duration(from, wait->end_ns));
        lock->until_ns = wait->end_ns;
    }
    lock->total_ns = saturating_add(lock->total_ns, time);
    lock->count++;
    lock->variable = wait->variable ? wait->variable : lock->variable;
    if (time > lock->longest_ns) {
        lock->longest_ns = time;
        lock->longest_start_ns = wait->start_ns;
        lock->longest_thread = wait->thread;
        lock->call = wait->name;
    }
}

static int find_lock(struct lock_waits_search *search, const struct os_call *wait, uint32_t *out)
{
    const int64_t key[KEY_PARTS] = { global_process(wait->thread), wait->lock ? wait->lock : -1 - wait->name };
    uint32_t number = keys_add(&search->keys, key);

    if (number == NO_KEY ||
        array_reserve_zeroed(&search->locks, &search->room, number + 1u, sizeof *search->locks) != 0)
        return ERR_NO_MEMORY;
    if (search->locks[number].count == 0)
        search->locks[number].until_ns = INT64_MIN;
    *out = number;
    return 0;
}

/* Whether the request asks for this wait: the waits of all others say who holds a lock. */
static int is_asked(const struct lock_waits_search *search, const struct os_call *wait)
{
    return filter_thread(&search->base.filter, wait->thread, wait->start_ns, wait->end_ns);
}

/* Adds up the waits of each lock, in the order of time. */
static int lock_waits_sum_up(struct lock_waits_search *search)
{
    search->lock_of = malloc((search->waits.count + 1) * sizeof *search->lock_of);
    if (!search->lock_of)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < search->waits.count; i++) {
        if (find_lock(search, &search->waits.list[i], &search->lock_of[i]) != 0)
            return ERR_NO_MEMORY;
        search->knows_holders |= search->waits.list[i].holder != NOT_KNOWN;
        if (is_asked(search, &search->waits.list[i]))
            lock_waits_add_wait(&search->locks[search->lock_of[i]], &search->waits.list[i]);
    }
    return 0;
}

/* Marks the locks that are waited for long enough; the number of them. */
static size_t choose_locks(struct lock_waits_search *search)
{
    size_t found = 0;

    for (uint32_t i = 0; i < search->keys.count; i++) {
        struct lock *lock = &search->locks[i];
        lock->is_found = lock->impact_ns >= LEAST_NS && rule_is_enough(&search->base, lock->impact_ns);
        found += (size_t)lock->is_found;
    }
    return found;
}

/* ---- who held a lock, and what the holder did ------------------------------------------------------------------ */

static int lock_waits_answer(struct lock_waits_search *search, uint32_t lock, int64_t question, int64_t is,
                             int64_t detail, int64_t ns)
{
    return tally_add(&search->tally, (int64_t[TALLY_PARTS]){ lock, question, is, detail }, ns);
}

/* The question of the tally: what this thread did while it held the lock. */
static int64_t did(int64_t holder)
{
    return -1 - holder;
}

static int64_t lock_waits_overlap(int64_t from, int64_t to, int64_t start_ns, int64_t end_ns)
{
    from = start_ns > from ? start_ns : from;
    to = end_ns < to ? end_ns : to;
    return from < to ? saturating_duration(from, to) : 0;
}

/* A time in which one thread holds a lock and the same threads wait for it: from one begin or end of a wait to the
 * next. */
struct turn {
    int64_t lock, holder; /* a thread, NOT_KNOWN or READERS */
    int64_t from_ns, to_ns;
    int64_t queue, asked; /* threads that wait; those whose waits the request asks for */
    uint64_t number;      /* of the lock's turns */
};

static int add_did(struct lock_waits_search *search, const struct turn *turn, uint32_t frame, int64_t call,
                   int64_t from, int64_t to)
{
    int64_t ns = lock_waits_overlap(turn->from_ns, turn->to_ns, from, to);

    return ns > 0 ? lock_waits_answer(search, (uint32_t)turn->lock, did(turn->holder), frame, call,
                                      saturating_multiply(ns, turn->asked))
                  : 0;
}

/* Calls and samples of the holder in its turn. A sample in a call, or of time that a call explains, does not happen:
 * samples are of running threads. */
static int add_doings(struct lock_waits_search *search, const struct turn *turn)
{
    size_t behind, i = os_calls_from(&search->calls, turn->holder, turn->from_ns, &behind);

    for (; i < behind; i++) {
        const struct os_call *call = &search->calls.list[search->calls.by_thread[i]];
        struct call_origin origin;
        uint32_t lock, key;
        if (call->start_ns >= turn->to_ns)
            break;
        if (call->kind == OS_CALL_LOCK && find_lock(search, call, &lock) != 0)
            return ERR_NO_MEMORY;
        key = keys_add(&search->call_keys,
                       (int64_t[DOING_PARTS]){ call->name, call->kind == OS_CALL_LOCK ? (int64_t)lock : NO_LOCK });
        if (key == NO_KEY || call_origins_find(&search->origins, call->chain, call->python, &origin) != 0 ||
            add_did(search, turn, origin.frame, key, call->start_ns, call->end_ns) != 0)
            return ERR_NO_MEMORY;
    }
    i = thread_spans_from(&search->samples, turn->holder, turn->from_ns, &behind);
    for (; i < behind && search->samples.list[i].start_ns < turn->to_ns; i++) {
        const struct thread_span *sample = &search->samples.list[i];
        uint32_t frame = stack_caller(&search->origins.stacks, (uint32_t)sample->chain);
        if (frame != NO_KEY && add_did(search, turn, frame, -1, sample->start_ns, sample->end_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int add_turn(struct lock_waits_search *search, struct turn *turn)
{
    const struct lock *lock = &search->locks[turn->lock];
    uint64_t stride = (uint64_t)lock->count / MOST_EVIDENCE | 1; /* odd: begins and ends of waits may alternate */
    int64_t ns = saturating_duration(turn->from_ns, turn->to_ns);

    if (turn->holder == NOT_KNOWN || !turn->asked || ns <= 0)
        return 0;
    if (lock_waits_answer(search, (uint32_t)turn->lock, HELD_BY, turn->holder, 0,
                          saturating_multiply(ns, turn->asked)) != 0)
        return ERR_NO_MEMORY;
    return turn->holder != READERS && turn->number++ % stride == 0 ? add_doings(search, turn) : 0;
}

/* Whether the function of a wait has this in its name: "rdlock", "wrlock". */
static int is_wait_in(const struct lock_waits_search *search, const struct os_call *wait, const char *part)
{
    return strstr(report_string(search->base.report, wait->name, NULL), part) != NULL;
}

/* A wait begins. Its holder is known, or stays the one that the threads before it in the queue wait for. A writer that
 * waits for no other writer waits for readers. */
static void join_queue(const struct lock_waits_search *search, struct turn *turn, const struct os_call *wait, int asked)
{
    int64_t holder = wait->holder;

    if (holder == NOT_KNOWN && search->knows_holders && wait->lock && is_wait_in(search, wait, "wrlock"))
        holder = READERS;
    if (holder != NOT_KNOWN || turn->queue == 0 || turn->holder == wait->thread)
        turn->holder = holder;
    turn->queue++;
    turn->asked += asked;
}

/* A wait ends: the thread has the lock, unless it gave up. Without an address it may be another lock. */
static void leave_queue(const struct lock_waits_search *search, struct turn *turn, const struct os_call *wait,
                        int asked)
{
    if (wait->lock && (wait->result == 0 || wait->result == EOWNERDEAD))
        turn->holder = is_wait_in(search, wait, "rdlock") ? READERS : wait->thread;
    turn->queue--;
    turn->asked -= asked;
}

/* The waits for locks that are findings, by lock, and then in the order in which they begin, or end. */
struct moments {
    uint32_t *order; /* owned; indices of waits */
    int64_t *time;   /* owned; by index of the wait */
};

static int lock_waits_put_in_order(struct moments *moments, const struct lock_waits_search *search, const int64_t *lock,
                                   int of_ends, size_t *count)
{
    size_t waits = search->waits.count;

    moments->order = malloc((waits + 1) * sizeof *moments->order);
    moments->time = malloc((waits + 1) * sizeof *moments->time);
    if (!moments->order || !moments->time || waits >= UINT32_MAX)
        return ERR_NO_MEMORY;
    *count = 0;
    for (size_t i = 0; i < waits; i++) {
        moments->time[i] = of_ends ? search->waits.list[i].end_ns : search->waits.list[i].start_ns;
        if (search->locks[lock[i]].is_found)
            moments->order[(*count)++] = (uint32_t)i;
    }
    return order_by_thread(moments->order, *count, lock, moments->time);
}

/* A wait begins or ends: the turn before is over. */
static int lock_waits_take_turn(struct lock_waits_search *search, struct turn *turn, size_t at, int64_t time_ns,
                                int is_end)
{
    const struct os_call *wait = &search->waits.list[at];

    if (turn->lock != search->lock_of[at])
        *turn = (struct turn){ .lock = search->lock_of[at], .from_ns = time_ns };
    turn->to_ns = time_ns;
    if (add_turn(search, turn) != 0)
        return ERR_NO_MEMORY;
    turn->from_ns = time_ns;
    (is_end ? leave_queue : join_queue)(search, turn, wait, is_asked(search, wait));
    return 0;
}

/* Follows each lock from turn to turn. Waits that end at a moment do so before others begin. */
static int lock_waits_take_turns(struct lock_waits_search *search, const struct moments *begins,
                                 const struct moments *ends, size_t count)
{
    struct turn turn = { .lock = -1 };

    for (size_t begin = 0, end = 0; end < count;) {
        size_t first = begin < count ? begins->order[begin] : 0, last = ends->order[end];
        int is_end = begin == count || search->lock_of[last] < search->lock_of[first] ||
                     (search->lock_of[last] == search->lock_of[first] && ends->time[last] <= begins->time[first]);
        if (lock_waits_take_turn(search, &turn, is_end ? last : first, is_end ? ends->time[last] : begins->time[first],
                                 is_end) != 0)
            return ERR_NO_MEMORY;
        end += (size_t)is_end;
        begin += (size_t)!is_end;
    }
    return 0;
}

static int explain_holders(struct lock_waits_search *search)
{
    struct moments begins = { 0 }, ends = { 0 };
    int64_t *lock = malloc((search->waits.count + 1) * sizeof *lock);
    size_t count;
    int code = ERR_NO_MEMORY;

    if (!lock)
        goto done;
    for (size_t i = 0; i < search->waits.count; i++)
        lock[i] = search->lock_of[i];
    if ((code = lock_waits_put_in_order(&begins, search, lock, 0, &count)) != 0 ||
        (code = lock_waits_put_in_order(&ends, search, lock, 1, &count)) != 0)
        goto done;
    code = lock_waits_take_turns(search, &begins, &ends, count);
done:
    free(lock);
    free(begins.order);
    free(begins.time);
    free(ends.order);
    free(ends.time);
    return code;
}

/* ---- who waited, and where ------------------------------------------------------------------------------------- */

static int explain_wait(struct lock_waits_search *search, size_t at)
{
    const struct os_call *wait = &search->waits.list[at];
    int64_t ns = saturating_duration(wait->start_ns, wait->end_ns);
    struct call_origin origin;

    if (call_origins_find(&search->origins, wait->chain, wait->python, &origin) != 0 ||
        lock_waits_answer(search, search->lock_of[at], WHO_WAITED, wait->thread, 0, ns) != 0)
        return ERR_NO_MEMORY;
    return origin.frame != NO_KEY ? lock_waits_answer(search, search->lock_of[at], WHERE, origin.frame, 0, ns) : 0;
}

static int explain_waits(struct lock_waits_search *search)
{
    for (size_t i = 0; i < search->waits.count; i++)
        if (search->locks[search->lock_of[i]].is_found && is_asked(search, &search->waits.list[i]) &&
            explain_wait(search, i) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int read_context(struct lock_waits_search *search, struct error *err)
{
    struct report *report = search->base.report;
    const struct filter everyone = { .span = &search->base.rule.span }; /* a holder may be any thread */
    struct os_call_choice long_calls;
    int code;

    for (int kind = 0; kind < OS_CALL_KINDS; kind++)
        long_calls.least_ns[kind] = LEAST_CALL_NS;
    if ((code = os_calls_read(&search->calls, report, &long_calls, &everyone, err)) != 0 ||
        (code = call_origins_open(&search->origins, report, err)) != 0 ||
        (code = stacks_join_samples(&search->origins.stacks, STACKS_WITH_LINES, &everyone, err)) != 0 ||
        (code = thread_names_read(&search->names, report, err)) != 0 ||
        (code = thread_lives_read(&search->lives, report, err)) != 0)
        return code;
    return thread_spans_samples(&search->samples, &search->origins.stacks) != 0
               ? error_short_memory(err, "for the samples of threads")
               : 0;
}

static int lock_waits_explain(struct lock_waits_search *search, struct error *err)
{
    int code = read_context(search, err);

    if (code != 0)
        return code;
    return explain_holders(search) != 0 || explain_waits(search) != 0
               ? error_short_memory(err, "for the waits for locks")
               : 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, TOTAL, SHARE, WAITS, LONGEST, START, THREADS, PLACES, PID, TID, HELD, FIGURES };
enum { LOCK = FIGURES, WAITED_IN, HOLDER, DID, CALL, CELLS };
static const struct table_column lock_waits_columns[CELLS] = {
    { "Impact", CELL_INT, UNIT_NS, 0 },        { "Waited", CELL_INT, UNIT_NS, 0 },
    { "Share", CELL_REAL, UNIT_PERCENT, 1 },   { "Waits", CELL_INT, UNIT_NONE, 0 },
    { "Longest", CELL_INT, UNIT_NS, 0 },       { "Start", CELL_INT, UNIT_TIME, 0 },
    { "Threads", CELL_INT, UNIT_NONE, 0 },     { "Places", CELL_INT, UNIT_NONE, 0 },
    { "PID", CELL_INT, UNIT_ID, 0 },           { "TID", CELL_INT, UNIT_ID, 0 },
    { "Held", CELL_INT, UNIT_NS, 0 },          { "Lock", CELL_TEXT, UNIT_NONE, 0 },
    { "Waited In", CELL_TEXT, UNIT_NONE, 0 },  { "Held By", CELL_TEXT, UNIT_NONE, 0 },
    { "Holder Did", CELL_TEXT, UNIT_NONE, 0 }, { "Call", CELL_TEXT, UNIT_NONE, 0 },
};

/* The time that the lock's waiters are known to have lived. */
static int64_t waiters_time(const struct lock_waits_search *search, uint32_t lock)
{
    const struct tally *tally = &search->tally;
    int64_t sum = 0;

    for (uint32_t i = 0; i < tally->keys.count; i++) {
        const int64_t *key = keys_get(&tally->keys, i);
        if (key[TALLY_GROUP] == lock && key[TALLY_QUESTION] == WHO_WAITED)
            sum = saturating_add(sum, thread_lives_time(&search->lives, key[TALLY_ANSWER], &search->base.time));
    }
    return sum;
}

/* The frame that stands for the variable that the lock is in; NO_KEY: not known. */
static uint32_t variable_frame(struct lock_waits_search *search, int64_t chain)
{
    uint32_t stack = chain ? stack_chains_find(&search->origins.chains, chain, &search->origins.hints[0]) : STACK_EMPTY;
    uint32_t frame = stack != STACK_EMPTY ? stack_innermost(&search->origins.stacks, stack) : NO_KEY;

    return frame != NO_KEY && stack_frame(&search->origins.stacks, frame)[FRAME_SYMBOL] != FRAME_NO_NAME ? frame
                                                                                                         : NO_KEY;
}

/* "queue_lock (program)" for a lock whose variable is known. Returns whether it is. */
static int lock_waits_add_variable(struct text *out, struct lock_waits_search *search, int64_t chain)
{
    uint32_t frame = variable_frame(search, chain);

    if (frame == NO_KEY)
        return 0;
    const char *path = report_string(search->base.report, stack_frame(&search->origins.stacks, frame)[FRAME_MODULE],
                                     NULL);
    stack_frame_name(out, &search->origins.stacks, frame);
    text_addf(out, " (%s)", path_base_name(path));
    return 1;
}

/* "program+0x4060" for a lock at this place of a file, else its address. */
static int lock_waits_add_address(struct text *out, struct lock_waits_search *search, const int64_t *key,
                                  struct error *err)
{
    enum { PROCESS, PATH, ADDRESS, SIZE };
    static const char *const names[] = { "globalPid", "pathId", "address", "size", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, search->base.report, "TACHO_MODULE", names, err);

    if (code != 0)
        return code;
    while (key[KEY_LOCK] > 0 && row_cursor_next(&rows)) {
        uint64_t offset = (uint64_t)key[KEY_LOCK] - (uint64_t)row_int_or(&rows, ADDRESS, 0);
        const char *path = report_string(search->base.report, row_int(&rows, PATH), NULL);
        if (row_int(&rows, PROCESS) != key[KEY_PROCESS] || row_is_null(&rows, ADDRESS) ||
            offset >= (uint64_t)row_int_or(&rows, SIZE, 0))
            continue;
        text_addf(out, "%s+0x%llx", path_base_name(path), (unsigned long long)offset);
        goto close_rows;
    }
    if (key[KEY_LOCK] > 0)
        text_addf(out, "0x%llx", (unsigned long long)key[KEY_LOCK]);
    else
        text_addf(out, "of %s", report_string(search->base.report, -1 - key[KEY_LOCK], NULL));
close_rows:
    row_cursor_close(&rows);
    return 0;
}

/* "usleep", or "pthread_mutex_lock (queue_lock)" */
static void add_call_name(struct text *out, struct lock_waits_search *search, const int64_t *call)
{
    uint32_t frame = call[DOING_LOCK] != NO_LOCK ? variable_frame(search, search->locks[call[DOING_LOCK]].variable)
                                                 : NO_KEY;

    text_add(out, report_string(search->base.report, call[DOING_NAME], NULL));
    if (frame == NO_KEY)
        return;
    text_add(out, " (");
    stack_frame_name(out, &search->origins.stacks, frame);
    text_add(out, ")");
}

/* "usleep in work (file.c:12)", or "work (file.c:12)" for a thread that ran. */
static void add_doing(struct text *out, struct lock_waits_search *search, const int64_t *key)
{
    if (key[TALLY_DETAIL] >= 0)
        add_call_name(out, search, keys_get(&search->call_keys, (uint32_t)key[TALLY_DETAIL]));
    if (key[TALLY_DETAIL] >= 0 && key[TALLY_ANSWER] != NO_KEY)
        text_add(out, " in ");
    if (key[TALLY_ANSWER] != NO_KEY)
        stack_frame_label(out, &search->origins.stacks, (uint32_t)key[TALLY_ANSWER]);
}

/* The answer with the most time; NULL: there is none. */
static const int64_t *lock_waits_largest(const struct lock_waits_search *search, uint32_t lock, int64_t question)
{
    uint32_t key = tally_largest(&search->tally, lock, question).key;

    return key != NO_KEY ? keys_get(&search->tally.keys, key) : NULL;
}

/* The text of a cell. */
static void lock_waits_add_answer(struct text *out, struct lock_waits_search *search, uint32_t lock, int cell)
{
    const int64_t *key = lock_waits_largest(search, lock, cell == WAITED_IN ? WHERE : HELD_BY);

    if (key && cell == DID)
        key = key[TALLY_ANSWER] != READERS ? lock_waits_largest(search, lock, did(key[TALLY_ANSWER])) : NULL;
    if (key && cell == WAITED_IN)
        stack_frame_label(out, &search->origins.stacks, (uint32_t)key[TALLY_ANSWER]);
    else if (key && cell == HOLDER && key[TALLY_ANSWER] == READERS)
        text_add(out, "readers");
    else if (key && cell == HOLDER)
        thread_name_label(out, &search->names, search->base.report, key[TALLY_ANSWER]);
    else if (key)
        add_doing(out, search, key);
}

static int lock_waits_add_texts(struct lock_waits_search *search, struct table *table, struct table_cell *row,
                                uint32_t lock, struct error *err)
{
    struct text text = { 0 };
    int code = 0;

    if (!lock_waits_add_variable(&text, search, search->locks[lock].variable) &&
        (code = lock_waits_add_address(&text, search, keys_get(&search->keys, lock), err)) != 0)
        goto free_text;
    if ((code = cell_set_built(table, &row[LOCK], &text)) != 0 ||
        (code = cell_set_pooled(table, &row[CALL], search->base.report, search->locks[lock].call)) != 0)
        goto free_text;
    for (int cell = WAITED_IN; cell <= DID; cell++) {
        text_clear(&text);
        lock_waits_add_answer(&text, search, lock, cell);
        if ((code = cell_set_built(table, &row[cell], &text)) != 0)
            goto free_text;
    }
free_text:
    text_free(&text);
    return code;
}

static int lock_waits_add_row(struct lock_waits_search *search, struct table *table, uint32_t number, struct error *err)
{
    const struct lock *lock = &search->locks[number];
    int64_t lived = waiters_time(search, number);
    struct tally_largest held = tally_largest(&search->tally, number, HELD_BY);
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], lock->impact_ns);
    cell_set_int(&row[TOTAL], lock->total_ns);
    if (lived > 0)
        cell_set_real(&row[SHARE], 100.0 * (double)lock->total_ns / (double)lived);
    cell_set_int(&row[WAITS], lock->count);
    cell_set_int(&row[LONGEST], lock->longest_ns);
    cell_set_int(&row[START], lock->longest_start_ns);
    cell_set_int(&row[THREADS], tally_largest(&search->tally, number, WHO_WAITED).answers);
    cell_set_int(&row[PLACES], tally_largest(&search->tally, number, WHERE).answers);
    cell_set_int(&row[PID], global_pid_number(lock->longest_thread));
    cell_set_int(&row[TID], global_tid_number(lock->longest_thread));
    if (held.key != NO_KEY)
        cell_set_int(&row[HELD], held.ns);
    return lock_waits_add_texts(search, table, row, number, err);
}

static int lock_waits_read_waits(void *context, struct error *err)
{
    const struct os_call_choice locks = os_calls_of(OS_CALL_LOCK);
    struct lock_waits_search *search = context;

    return os_calls_read(&search->waits, search->base.report, &locks,
                         &(struct filter){ .span = &search->base.rule.span }, err);
}

static int lock_waits_fill(void *context, struct table *table, struct error *err)
{
    struct lock_waits_search *search = context;
    int code;

    if (lock_waits_sum_up(search) != 0)
        return ERR_NO_MEMORY;
    if (choose_locks(search) == 0)
        return 0;
    if ((code = lock_waits_explain(search, err)) != 0)
        return code;
    for (uint32_t i = 0; i < search->keys.count; i++)
        if (search->locks[i].is_found && (code = lock_waits_add_row(search, table, i, err)) != 0)
            return code;
    return 0;
}

static int lock_contention(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    static const struct rule_steps steps = { lock_waits_columns,    CELLS,
                                             LEAST_PERCENT,         "the waits for locks",
                                             lock_waits_read_waits, lock_waits_fill,
                                             lock_waits_search_free };
    struct lock_waits_search search = {
        .base.report = report, .keys.width = KEY_PARTS, .call_keys.width = DOING_PARTS, .tally = TALLY_NONE
    };

    return rule_run(&steps, &search.base, request, out, err);
}

/* "; held by worker (2100), which was in crunch (mx.c:9)", or "; held for 250 ms of it by worker …" */
static void add_holder(struct text *out, const struct table_cell *row)
{
    if (row[HELD].kind != CELL_INT)
        return;
    text_add(out, "; held ");
    if ((double)row[HELD].integer < (double)row[TOTAL].integer * NEARLY_ALL_PERCENT / 100) {
        text_add(out, "for ");
        human_time(out, row[HELD].integer);
        text_add(out, " of it ");
    }
    rule_add_text(out, "by ", &row[HOLDER]);
    rule_add_text(out, ", which was in ", &row[DID]);
}

/* "lock mx+0x4060: 3 threads waited 756 ms in work (mx.c:15), 40 times, 71 % of their time; held by worker (2100),
 * which was in crunch (mx.c:9)" */
static void lock_waits_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    rule_add_text(out, "lock ", &row[LOCK]);
    text_addf(out, ": %lld thread%s waited ", (long long)row[THREADS].integer, row[THREADS].integer == 1 ? "" : "s");
    human_time(out, row[TOTAL].integer);
    rule_add_text(out, row[PLACES].integer > 1 ? ", mostly in " : " in ", &row[WAITED_IN]);
    text_add(out, row[WAITS].integer == 1 ? ", once" : ", ");
    if (row[WAITS].integer > 1) {
        human_count(out, (uint64_t)row[WAITS].integer);
        text_add(out, " times");
    }
    if (row[SHARE].kind == CELL_REAL)
        text_addf(out, ", %.0f %% of their time", row[SHARE].real);
    add_holder(out, row);
}

/* Locks that the program can not hold for less: a part of the lock or of the call, and what to do. */
static const struct {
    int cell;
    const char *part, *advice;
} lock_waits_kinds[] = {
    { LOCK, "libcuda.so",
      "The lock is the CUDA driver's: threads call it at the same time. Launch from fewer threads, or "
      "less often (CUDA graphs, larger kernels and copies)." },
    { LOCK, "libpython",
      "The lock is Python's own: the rule gil_contention says which thread holds the GIL, and where." },
    { LOCK, "libc.so",
      "The lock is the C library's, such as that of a stream: call it from fewer threads, or less often "
      "and with more data at once." },
    { CALL, "pthread_rwlock_",
      "Readers and writers wait here for one another. Hold the lock for less, above all for writing: move work and I/O "
      "out of the critical section, split the data so that each part has its own lock, or build a new copy without the "
      "lock and swap a pointer to it." },
};

static const char *lock_waits_advise(const struct table *table, size_t row)
{
    for (size_t i = 0; i < COUNT_OF(lock_waits_kinds); i++) {
        const struct table_cell *cell = &table_row(table, row)[lock_waits_kinds[i].cell];
        if (cell->kind == CELL_TEXT &&
            memmem(cell->text.bytes, cell->text.length, lock_waits_kinds[i].part, strlen(lock_waits_kinds[i].part)))
            return lock_waits_kinds[i].advice;
    }
    return rule_lock_contention.rule->advice;
}

const struct analysis rule_lock_contention = {
    .name = "lock_contention",
    .title = "Contended Locks",
    .usage = RULE_OPTIONS "[:threshold=<percent>][:process=<pid>][:thread=<tid>]",
    .help = "Locks that threads wait for while another thread holds them: mutexes, reader-writer locks, spin locks, "
            "stream and file locks. A lock is a finding if threads waited for it in at least threshold (5) percent of "
            "the capture's time, and for 1 ms. Impact is the wall time in which at least one thread waited for it. "
            "Condition variables and semaphores are left out: waiting for these is often waiting for work "
            "(thread_wait_sum has them).",
    .needs = { { "OS calls", TABLES("OSRT_API") } },
    .run = lock_contention,
    .rule = ANALYSIS_RULE(
            .finding = lock_waits_say, .advise = lock_waits_advise,
            .advice = "Threads wait here for one another. Hold the lock for less: move work and I/O out of the "
                      "critical section, split the data so that each part has its own lock, use a reader-writer lock "
                      "or an atomic operation, or give each thread its own copy and merge the results.",
            .praise = "No lock kept threads waiting for a relevant share of the time."),
};
