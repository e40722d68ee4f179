/* Sums TACHO_COUNT, which has rows for each process. One row a source says what its events are called, which tables are
 * made of them, and what their loss does to figures. */
#include "event_counts.h"

#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/human.h"
#include "base/number.h"
#include "report/schema/chain_tables.h"

#define PROCESSES "processes"

struct loss_words {
    const char *source;          /* in TACHO_COUNT */
    const char *events, *fate;   /* in a sentence: "CPU samples", "lost" */
    const char *figures, *after; /* the error, around its size: "sample counts", "low"; without a size: NULL */
    const char *tables[8];       /* made of its events; one that ends with * stands for all that begin so */
    /* Sources whose events share a buffer. The lost events may all be of any one of them. */
    struct {
        const char *source, *figures;
    } shared_by[LOSS_BOUNDS_MAX];
};

#define OF_AGENTS "NVTX_*", "OSRT_*", "CUPTI_*", "TACHO_TORCH_*", "CUDA_*", "OPENMP_*"

static const struct loss_words words[] = {
    { "nvtx",
      "NVTX events",
      "lost",
      "counts",
      "low",
      { "NVTX_*", "TACHO_COUNTER", "TACHO_SYNC", "TACHO_RESOURCE" },
      { { 0 } } },
    { "osrt", "OS calls", "lost", "counts", "low", { "OSRT_*" }, { { 0 } } },
    { "cuda", "CUDA records", "lost", "counts", "low", { "CUPTI_*", "CUDA_*" }, { { 0 } } },
    { "libraries", "library calls", "lost", "counts", "low", { "NVTX_*" }, { { 0 } } },
    { "mpi", "MPI calls", "lost", "counts", "low", { "MPI_*", "TACHO_MPI_MESSAGE" }, { { 0 } } },
    { "mpi-requests",
      "ends of MPI requests",
      "lost",
      NULL,
      "of the messages have no end, and receives no size",
      { "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "TACHO_MPI_MESSAGE" },
      { { 0 } } },
    { "pytorch", "PyTorch records", "lost", "counts", "low", { "TACHO_TORCH_*" }, { { 0 } } },
    { "oshmem", "OpenSHMEM calls", "lost", "counts", "low", { "TACHO_OSHMEM" }, { { 0 } } },
    { "ucx", "UCX calls", "lost", "counts", "low", { "UCP_*" }, { { 0 } } },
    { "openacc", "OpenACC events", "lost", "counts", "low", { "CUPTI_ACTIVITY_KIND_OPENACC_*" }, { { 0 } } },
    { "openmp", "OpenMP records", "lost", "counts", "low", { "OPENMP_*" }, { { 0 } } },
    { "samples", "CPU samples", "lost", "sample counts", "low", { "COMPOSITE_EVENTS", "SAMPLING_*" }, { { 0 } } },
    { "heap", "allocations and frees", "lost", "bytes", "wrong", { "TACHO_HEAP_*" }, { { 0 } } },
    { "nccl", "NCCL events", "lost", "counts", "low", { "TACHO_NCCL_*" }, { { 0 } } },
    { "steps", "times of steps", "lost", "counts", "low", { "TACHO_STEP_TIME" }, { { 0 } } },
    { "perf records",
      "perf records",
      "lost",
      "sample counts",
      "low",
      { "COMPOSITE_EVENTS", "SAMPLING_*", "SCHED_EVENTS" },
      { { "samples", "sample counts" }, { "switches", "switch counts" } } },
    { "switches", "context switches", "lost", "counts", "low", { "SCHED_EVENTS" }, { { 0 } } },
    { "python-sampling", "Python samples", "lost", "sample counts", "low", { "TACHO_PYTHON_*" }, { { 0 } } },
    { "counters", "counter values", "lost", "sums", "low", { "PMU_*" }, { { 0 } } },
    { COUNTED_STACKS,
      "call stacks",
      "lost",
      NULL,
      "of the events have none",
      { "OSRT_CALLCHAINS", "SAMPLING_CALLCHAINS", "CUDA_CALLCHAINS" },
      { { 0 } } },
    { COUNTED_STACK_FRAMES,
      "stack frames",
      "lost",
      "events have no stack, or a part of it",
      NULL,
      { "OSRT_CALLCHAINS", "SAMPLING_CALLCHAINS", "CUDA_CALLCHAINS", "SYSCALL_CALLCHAINS", "TACHO_PYTHON_CALLCHAINS",
        "TACHO_OPENMP_CALLCHAINS", "TACHO_MPI_CALLCHAINS", "TACHO_HEAP_CALLCHAINS" },
      { { 0 } } },
    { "notes",
      "records about processes, threads and modules",
      "lost",
      NULL,
      "of the names are missing",
      { "TACHO_PROCESS", "TACHO_THREAD", "TACHO_MODULE", "ThreadNames" },
      { { 0 } } },
    { PROCESSES,
      "processes",
      "not traced",
      "their calls, ranges and GPU work are missing",
      NULL,
      { OF_AGENTS },
      { { 0 } } },
};

/* Events with a truncated stack. add_incomplete() leaves out a hundredth of the events or less: so few change no share
 * that anybody compares. */
static const struct loss_words incomplete_words[] = {
    { "samples",
      "CPU samples",
      "have a truncated stack",
      "total times of callers",
      "low",
      { "SAMPLING_CALLCHAINS" },
      { { 0 } } },
    { "python-sampling",
      "Python samples",
      "have a truncated stack",
      "total times of callers",
      "low",
      { "TACHO_PYTHON_CALLCHAINS" },
      { { 0 } } },
};

/* A source without words is a table of that name that a full disk cut. */
static const struct loss_words of_a_table = { .fate = "lost", .figures = "counts", .after = "low" };

/* Processes that never ran a line of their program, or that no agent can enter, have no events that anybody expects. */
static const char *const noted_causes[] = { "not-attached" };

int loss_is_of_processes(const struct loss *loss)
{
    return strcmp(loss->source, PROCESSES) == 0;
}

static const struct loss_words *words_of(const char *source)
{
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].source, source) == 0)
            return &words[i];
    return &of_a_table;
}

static struct counted_source *event_counts_find_source(struct event_counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->source_count; i++)
        if (strcmp(counts->sources[i].name, name) == 0)
            return &counts->sources[i];
    if (counts->source_count == COUNTED_SOURCES_MAX)
        return NULL;
    counts->sources[counts->source_count] = (struct counted_source){ .name = name };
    return &counts->sources[counts->source_count++];
}

const struct counted_source *event_counts_find(const struct event_counts *counts, const char *source)
{
    for (size_t i = 0; i < counts->source_count; i++)
        if (strcmp(counts->sources[i].name, source) == 0)
            return &counts->sources[i];
    return NULL;
}

static struct loss *find_loss(struct event_counts *counts, const char *source, int is_note)
{
    for (size_t i = 0; i < counts->loss_count; i++)
        if (strcmp(counts->losses[i].source, source) == 0 && counts->losses[i].is_note == is_note)
            return &counts->losses[i];
    if (counts->loss_count == LOSSES_MAX)
        return NULL;
    counts->losses[counts->loss_count] = (struct loss){ .words = words_of(source),
                                                        .source = source,
                                                        .is_note = is_note };
    return &counts->losses[counts->loss_count++];
}

static int is_noted(const char *source, const char *cause)
{
    for (size_t i = 0; i < COUNT_OF(noted_causes); i++)
        if (strcmp(source, PROCESSES) == 0 && strcmp(noted_causes[i], cause) == 0)
            return 1;
    return 0;
}

/* Causes beyond the limit are in the sum. */
static void event_counts_add_loss(struct event_counts *counts, const char *source, const char *cause, uint64_t count)
{
    struct loss *loss = find_loss(counts, source, is_noted(source, cause));
    size_t at = 0;

    if (!loss)
        return;
    loss->lost += count;
    while (at < loss->cause_count && strcmp(loss->causes[at].name, cause) != 0)
        at++;
    if (at == LOSS_CAUSES_MAX)
        return;
    loss->cause_count += at == loss->cause_count;
    loss->causes[at].name = cause;
    loss->causes[at].count += count;
}

/* Rows of a key add up, and what a full disk took is subtracted. */
static void event_counts_add_row(struct event_counts *counts, const char *source, const char *fate, const char *cause,
                                 int64_t count)
{
    struct counted_source *of = event_counts_find_source(counts, source);
    const struct {
        const char *fate;
        uint64_t *sum;
    } fates[] = {
        { "recorded", of ? &of->recorded : NULL },      { "below-threshold", of ? &of->below_threshold : NULL },
        { "untimed", of ? &of->untimed : NULL },        { "lost", of ? &of->lost : NULL },
        { "empty-poll", of ? &of->empty_polls : NULL }, { "left-out", of ? &of->left_out : NULL },
    };

    for (size_t i = 0; of && i < COUNT_OF(fates); i++)
        if (strcmp(fates[i].fate, fate) == 0)
            *fates[i].sum += (uint64_t)count;
    if (of && strcmp(cause, "recovered") == 0)
        of->recovered += (uint64_t)count;
    if (of && strcmp(cause, "cut") == 0)
        of->incomplete += (uint64_t)count;
    if (strcmp(fate, "lost") == 0 && count > 0)
        event_counts_add_loss(counts, source, cause, (uint64_t)count);
}

/* How many processes there were, recorded or not. */
static int event_counts_processes(struct report *report, uint64_t *count, struct error *err)
{
    static const char *const names[] = { "globalPid", NULL };
    struct keys keys = { .width = 1 };
    struct row_cursor rows = { 0 };
    int code = row_cursor_open(&rows, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (keys_add(&keys, (int64_t[]){ row_int_or(&rows, 0, 0) }) == NO_KEY &&
            (code = error_short_memory(err, "for the processes")) != 0)
            goto done;
    *count = keys.count;
done:
    keys_free(&keys);
    row_cursor_close(&rows);
    return code;
}

static int event_counts_matches(const char *pattern, const char *table)
{
    size_t length = strlen(pattern);

    return pattern[length - 1] == '*' ? strncmp(pattern, table, length - 1) == 0 : strcmp(pattern, table) == 0;
}

static int is_made_of(const char *table, const struct loss_words *of)
{
    for (const char *const *pattern = of->tables; *pattern; pattern++)
        if (event_counts_matches(*pattern, table))
            return 1;
    return 0;
}

/* A part of a capture, as `tacho export` writes it, counts stacks, but no other events (export/cut.c). */
static int is_of_part(const struct event_counts *counts)
{
    for (size_t i = 0; i < counts->source_count; i++)
        if (counts->sources[i].recorded && strcmp(counts->sources[i].name, COUNTED_STACKS) != 0)
            return 0;
    return 1;
}

/* The events of a source. Those of a part of a capture are the rows of its tables, without the frames of stacks. */
static uint64_t event_counts_recorded_of(const struct event_counts *counts, const struct report *report,
                                         const char *source)
{
    const struct counted_source *found = source ? event_counts_find(counts, source) : NULL;
    uint64_t rows = 0;

    if (!source || !is_of_part(counts))
        return found ? found->recorded : 0;
    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        rows += is_made_of(table->name, words_of(source)) && chain_table_find(table->name) < 0 ? table->rows : 0;
    }
    return rows;
}

/* Rows that a full disk took are counted, but not those that it left. */
static int is_of_rows(const struct loss *loss)
{
    return loss->words == &of_a_table || strcmp(loss->source, COUNTED_STACK_FRAMES) == 0;
}

static uint64_t rows_left(const struct loss *loss, const struct report *report)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < report_table_count(report); i++) {
        const struct report_table *table = report_table_at(report, i);
        rows += loss_concerns(loss, table->name) ? table->rows : 0;
    }
    return rows;
}

/* Counts of a report that ended early, or was tampered with, may be anything. */
static uint64_t total_with(uint64_t lost, uint64_t others)
{
    uint64_t total = lost + others;

    return total < lost ? lost : total;
}

/* How wrong figures can be. All lost events of a shared buffer may be of the same source, whichever that is. */
static void set_bounds(struct loss *loss, const struct event_counts *counts, const struct report *report)
{
    for (size_t i = 0; i < LOSS_BOUNDS_MAX; i++) {
        uint64_t recorded = event_counts_recorded_of(counts, report, loss->words->shared_by[i].source);
        if (!recorded)
            continue;
        loss->bounds[loss->bound_count++] = (struct loss_bound){ loss->words->shared_by[i].figures,
                                                                 total_with(loss->lost, recorded) };
        loss->total = total_with(loss->total, recorded);
    }
    if (!loss->bound_count)
        loss->bounds[loss->bound_count++] = (struct loss_bound){ loss->words->figures, loss->total };
}

/* Of how many events each loss is one. */
static int set_totals(struct event_counts *counts, struct report *report, struct error *err)
{
    int code;

    for (size_t i = 0; i < counts->loss_count; i++) {
        struct loss *loss = &counts->losses[i];
        if (loss_is_of_processes(loss)) {
            if ((code = event_counts_processes(report, &loss->total, err)) != 0)
                return code;
            loss->total = loss->total < loss->lost ? loss->lost : loss->total;
        } else {
            loss->total = total_with(loss->lost, is_of_rows(loss)
                                                     ? rows_left(loss, report)
                                                     : event_counts_recorded_of(counts, report, loss->source));
        }
        if (!loss->is_note)
            set_bounds(loss, counts, report);
    }
    return 0;
}

/* The collector counts these stacks among those of all sources, and once more by themselves. */
static int read_cut_samples(uint64_t *cut, struct report *report, struct error *err)
{
    static const char *const names[] = { "cutStacks", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_CAPTURE", names, err);

    *cut = 0;
    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        *cut += (uint64_t)row_int_or(&rows, 0, 0); /* of a set, a row a report */
    row_cursor_close(&rows);
    return 0;
}

/* A part of a capture gets none: it does not count its samples, and cutStacks is that of the whole capture. Nor do a
 * few samples, of which one alone is more than a hundredth. */
static void add_incomplete(struct event_counts *counts, uint64_t cut_samples)
{
    enum { LEAST_SHARE = 100 };

    for (size_t i = 0; i < COUNT_OF(incomplete_words); i++) {
        const struct loss_words *of = &incomplete_words[i];
        const struct counted_source *source = event_counts_find(counts, of->source);
        uint64_t recorded = source ? source->recorded : 0, incomplete = strcmp(of->source, "samples") == 0 ? cut_samples
                                                                        : source ? source->incomplete
                                                                                 : 0;
        if (recorded < LEAST_SHARE || incomplete > recorded || incomplete <= recorded / LEAST_SHARE ||
            counts->loss_count == LOSSES_MAX)
            continue;
        counts->losses[counts->loss_count++] = (struct loss){ .words = of,
                                                              .source = of->source,
                                                              .lost = incomplete,
                                                              .total = recorded,
                                                              .is_note = 1,
                                                              .bounds = { { of->figures, recorded } },
                                                              .bound_count = 1 };
    }
}

int event_counts_read(struct event_counts *counts, struct report *report, struct error *err)
{
    enum { SOURCE, FATE, CAUSE, COUNT };
    static const char *const names[] = { "source", "fate", "cause", "count", NULL };
    struct row_cursor rows;
    uint64_t cut_samples;
    int code;

    *counts = (struct event_counts){ 0 };
    if ((code = row_cursor_open(&rows, report, "TACHO_COUNT", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        event_counts_add_row(counts, report_string(report, row_int_or(&rows, SOURCE, -1), NULL),
                             report_string(report, row_int_or(&rows, FATE, -1), NULL),
                             report_string(report, row_int_or(&rows, CAUSE, -1), NULL), row_int_or(&rows, COUNT, 0));
    row_cursor_close(&rows);
    if ((code = set_totals(counts, report, err)) != 0 || (code = read_cut_samples(&cut_samples, report, err)) != 0)
        return code;
    add_incomplete(counts, cut_samples);
    return 0;
}

int loss_concerns(const struct loss *loss, const char *table)
{
    if (loss->is_note && loss_is_of_processes(loss))
        return 0;
    if (loss->words == &of_a_table)
        return strcmp(loss->source, table) == 0;
    return is_made_of(table, loss->words);
}

int counted_source_concerns(const char *source, const char *table)
{
    const struct loss_words *of = words_of(source);

    return of == &of_a_table ? strcmp(source, table) == 0 : is_made_of(table, of);
}

/* Rounded up: "up to" must not be less than it is. Counts of a tampered file may be anything. */
static uint64_t tenths_of_percent(uint64_t lost, uint64_t total)
{
    enum { WHOLE = 1000 };

    if (total == 0 || total > UINT64_MAX / (2 * WHOLE))
        return WHOLE;
    return (lost * WHOLE + total - 1) / total;
}

int loss_is_small(const struct loss *loss)
{
    enum { SMALL = 50 };

    for (size_t i = 0; i < loss->bound_count && !loss->is_note; i++)
        if (tenths_of_percent(loss->lost, loss->bounds[i].total) > SMALL)
            return 0;
    return 1;
}

/* " (ring full)", or " (ring full 90, damaged 4)" */
static void event_counts_add_causes(struct text *out, const struct loss *loss)
{
    for (size_t i = 0; i < loss->cause_count; i++) {
        text_add(out, i ? ", " : " (");
        for (const char *c = loss->causes[i].name; *c; c++)
            text_add_char(out, *c == '-' ? ' ' : *c);
        if (loss->cause_count > 1) {
            text_add_char(out, ' ');
            human_count(out, loss->causes[i].count);
        }
    }
    text_add(out, loss->cause_count ? ")" : "");
}

/* "sample counts up to 0.3 % low" */
static void add_bound(struct text *out, const struct loss *loss, const struct loss_bound *bound)
{
    text_add(out, bound->figures ? bound->figures : "");
    if (!loss->words->after)
        return;
    text_add(out, bound->figures ? " up to " : "up to ");
    number_add_decimal(out, tenths_of_percent(loss->lost, bound->total), 1, 0);
    text_addf(out, " %% %s", loss->words->after);
}

void loss_add(struct text *out, const struct loss *loss)
{
    human_count(out, loss->lost);
    text_add(out, " of ");
    human_count(out, loss->total);
    if (loss->words == &of_a_table)
        text_addf(out, " rows of %s", loss->source);
    else
        text_addf(out, " %s", loss->words->events);
    text_addf(out, " %s", loss->words->fate);
    event_counts_add_causes(out, loss);
    for (size_t i = 0; i < loss->bound_count; i++) {
        text_add(out, i ? ", " : ": ");
        add_bound(out, loss, &loss->bounds[i]);
    }
}
