/* What matters most of a capture, for the eyes of whoever waits for the prompt. */
#include "summary.h"

#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "base/number.h"
#include "base/saturating.h"
#include "cmd/command.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "summary_cuda.h"
#include "summary_torch.h"

/* Calls that are waiting, not work: for locks, other threads and processes, time, and for something to come. */
/* clang-format off */
static const char *const waiting_calls[] = {
    "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2", "pthread_cond_wait",
    "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_mutex_lock", "pthread_mutex_timedlock",
    "pthread_mutex_clocklock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock", "pthread_barrier_wait", "pthread_join", "pthread_timedjoin_np", "pthread_spin_lock",
    "sem_wait", "sem_timedwait", "sem_clockwait", "sleep", "usleep", "nanosleep", "clock_nanosleep", "pause",
    "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait", "wait", "wait3", "wait4", "waitpid", "waitid", "accept",
    "accept4", "flock", "lockf", "thrd_join", "thrd_sleep", "mtx_lock", "cnd_wait", "cnd_timedwait", NULL,
};
/* clang-format on */

enum { NVTX_TABLE, OSRT_TABLE, TOP_TABLES };
static const struct {
    const char *analysis, *heading;
} top_tables[TOP_TABLES] = {
    [NVTX_TABLE] = { "nvtx_sum", "NVTX ranges" },
    [OSRT_TABLE] = { "osrt_sum", "OS runtime calls" },
};

/* What says most comes first. */
static const struct {
    const char *table, *analysis, *heading;
} samples_of[] = {
    { "TACHO_PYTHON_SAMPLE", "python_sample_sum", "Python, by function without what it calls" },
    { "COMPOSITE_EVENTS", "cpu_sample_sum", "CPU, by function without what it calls" },
};

/* Columns of the summary tables. */
enum { SHARE, TOTAL, COUNT };

struct tables {
    struct table *top[TOP_TABLES];
    struct table *operators; /* of PyTorch, by time on GPUs where those did any work; NULL: none */
    struct table *functions; /* by samples in themselves; NULL: none */
    size_t sampled;          /* of samples_of: what they are functions of */
    struct closing_cuda cuda;
};

static const char *bold(const struct closing *closing)
{
    return closing->colours ? "\033[1m" : "";
}

static const char *plain(const struct closing *closing)
{
    return closing->colours ? "\033[0m" : "";
}

/* If it was not the program that ended the capture. */
static void add_why_over(struct text *out, const struct collect_result *result)
{
    static const char *const whys[] = {
        [COLLECT_OVER_PROGRAM] = "",
        [COLLECT_OVER_DURATION] = " (--duration)",
        [COLLECT_OVER_RANGE] = ", with the end of the capture range",
    };

    if (result->ending != COLLECT_RUNNING && (!result->kill_sent || result->over == COLLECT_OVER_PROGRAM))
        return;
    if (result->ending != COLLECT_RUNNING) {
        text_add(out, ": the capture was over");
        if (result->captured_ns > 0) {
            text_add(out, " after ");
            human_time(out, result->captured_ns);
        }
    }
    text_add(out, whys[result->over]);
}

/* "1 process runs on: sleep (pid 7)" */
static void add_left(struct text *out, const struct collect_result *result)
{
    if (result->left_count == 0)
        return;
    text_addf(out, "  %zu process%s:", result->left_count, result->left_count == 1 ? " runs on" : "es run on");
    for (size_t i = 0; i < result->left_count && i < COLLECT_LEFT_MAX; i++) {
        const struct collect_left *left = &result->left[i];
        text_add(out, i ? ", " : " ");
        display_add(out, left->name, strlen(left->name), 0);
        text_addf(out, " (pid %d)", left->pid);
    }
    text_add(out, result->left_count > COLLECT_LEFT_MAX ? ", …\n" : "\n");
}

static void add_ending(struct text *out, const struct closing *closing)
{
    const struct collect_result *result = closing->result;

    text_addf(out, "tacho: %s", bold(closing));
    display_add(out, closing->program, strlen(closing->program), 40);
    text_add(out, plain(closing));
    if (result->ending == COLLECT_RUNNING && result->kill_sent)
        text_addf(out, " runs on in spite of %s (--kill); the capture ended", collect_signal_name(result->kill_sent));
    else if (result->ending == COLLECT_RUNNING)
        text_add(out, " runs on; the capture ended");
    else if (result->kill_sent)
        text_addf(out, " was ended by tacho with %s (--kill)", collect_signal_name(result->kill_sent));
    else if (result->ending == COLLECT_SIGNALLED)
        text_addf(out, " was ended by signal %d (%s)", result->signal, strsignal(result->signal));
    else
        text_addf(out, " ended with status %d", result->exit_status);
    text_add(out, " after ");
    human_time(out, result->wall_ns);
    add_why_over(out, result);
    text_add(out, "; CPU time ");
    human_time(out, result->cpu_ns);
    text_addf(out, "; %llu program%s, %llu thread%s\n", (unsigned long long)result->process_count,
              result->process_count == 1 ? "" : "s", (unsigned long long)result->thread_count,
              result->thread_count == 1 ? "" : "s");
}

/* The cell's text at the right end of so many columns; the cell is empty afterwards. */
static void add_right(struct text *out, struct text *cell, size_t columns)
{
    struct text clean = { 0 };
    size_t taken = display_add(&clean, text_string(cell), cell->length, 0);

    text_add_repeat(out, ' ', taken < columns ? columns - taken : 0);
    text_add(out, text_string(&clean));
    text_free(&clean);
    text_clear(cell);
}

static void add_top(struct text *out, const struct closing *closing, const struct table *table, const char *heading,
                    size_t rows)
{
    size_t name = table_column_count(table) - 1, count = table_row_count(table);

    text_addf(out, "  %s%s%s", bold(closing), heading, plain(closing));
    if (count > rows)
        text_addf(out, " (%zu of %zu)", rows, count);
    text_add_char(out, '\n');
    for (size_t i = 0; i < rows && i < count; i++) {
        const struct table_cell *row = table_row(table, i);
        struct text cell = { 0 };
        number_add_fixed(&cell, row[SHARE].kind == CELL_REAL ? row[SHARE].real : 0, 1, 0);
        add_right(out, &cell, 9);
        text_add(out, " %");
        human_time(&cell, row[TOTAL].integer);
        add_right(out, &cell, 12);
        human_count(&cell, (uint64_t)row[COUNT].integer);
        add_right(out, &cell, 14);
        text_add(out, " ×  ");
        display_add(out, row[name].text.bytes, row[name].text.length, 60);
        text_add_char(out, '\n');
        text_free(&cell);
    }
}

static int is_waiting(const struct table_cell *name)
{
    for (const char *const *call = waiting_calls; *call; call++)
        if (strlen(*call) == name->text.length && memcmp(*call, name->text.bytes, name->text.length) == 0)
            return 1;
    return 0;
}

/* The sum of all waiting, over all threads, and the three largest parts. */
static void add_waits(struct text *out, const struct table *table)
{
    size_t name = table_column_count(table) - 1;
    struct text largest = { 0 };
    int64_t sum = 0;
    int named = 0;

    for (size_t i = 0; i < table_row_count(table); i++) {
        const struct table_cell *row = table_row(table, i);
        if (!is_waiting(&row[name]))
            continue;
        sum = saturating_add(sum, row[TOTAL].integer);
        if (named++ < 3) {
            text_add(&largest, named > 1 ? ", " : ": ");
            text_add_bytes(&largest, row[name].text.bytes, row[name].text.length);
            text_add_char(&largest, ' ');
            human_time(&largest, row[TOTAL].integer);
        }
    }
    if (named) {
        text_add(out, "  waiting, all threads together ");
        human_time(out, sum);
        text_add(out, text_string(&largest));
        text_add(out, named > 3 ? ", …\n" : "\n");
    }
    text_free(&largest);
}

static uint64_t lost_of(const struct collect_counts *counts)
{
    static const struct {
        const char *fate;
    } fates[] = {
#define FATE_ROW(name, fate, cause) { fate },
        WIRE_FATES(FATE_ROW)
#undef FATE_ROW
    };
    uint64_t lost = counts->lost_damaged;

    for (int i = 0; i < WIRE_FATE_COUNT; i++)
        if (strcmp(fates[i].fate, "lost") == 0)
            lost += counts->fates[i];
    return lost;
}

/* What is worth knowing of samples, in brackets. */
static void add_stacks(struct text *out, const struct collect_cpu_result *cpu)
{
    const char *before = " (";

    if (cpu->method == COLLECT_BY_TIMER) {
        text_addf(out, "%sby timers", before);
        before = ", ";
    }
    if (cpu->cut + cpu->broken) {
        text_add(out, before);
        human_count(out, cpu->cut + cpu->broken);
        text_add(out, cpu->cut + cpu->broken == 1 ? " stack cut short" : " stacks cut short");
        before = ", ";
    }
    if (cpu->throttled) {
        text_add(out, before);
        human_count(out, cpu->throttled);
        text_add(out, " times slowed down by the kernel");
        before = ", ";
    }
    text_add(out, strcmp(before, ", ") == 0 ? ")" : "");
}

static void add_events(struct text *out, const struct closing *closing)
{
    const struct collect_python_result *python = &closing->result->python;
    uint64_t lost = closing->result->cpu.lost_records + closing->result->lost_disk;
    const char *before = "";

    text_add(out, "  events:");
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_counts *counts = &closing->result->counts[i];
        if (!(closing->sources & 1u << i) && !counts->recorded && !lost_of(counts))
            continue;
        text_addf(out, "%s %s ", before, wire_source_name(i));
        before = ";";
        human_count(out, counts->recorded);
        if (i == WIRE_SOURCE_SAMPLES)
            add_stacks(out, &closing->result->cpu);
        if (counts->fates[WIRE_BELOW_THRESHOLD] || counts->fates[WIRE_UNTIMED]) {
            text_add(out, " (+ ");
            human_count(out, counts->fates[WIRE_BELOW_THRESHOLD] + counts->fates[WIRE_UNTIMED]);
            text_add(out, " short or uncontended, counted only)");
        }
        lost += lost_of(counts);
    }
    if (closing->python || python->samples || python->torn) {
        text_addf(out, "%s python samples ", before);
        before = ";";
        human_count(out, python->samples);
        lost += python->torn;
    }
    if (closing->result->cpu.counters) {
        text_addf(out, "%s counter values ", before);
        before = ";";
        human_count(out, closing->result->cpu.counters);
    }
    text_add(out, lost ? "; LOST " : *before ? "; none lost\n" : " none were asked for\n");
    if (lost) {
        human_count(out, lost);
        text_add(out, ": tacho info says why\n");
    }
    if (closing->result->unrecorded) {
        text_add(out, "  NOT RECORDED: ");
        human_count(out, closing->result->unrecorded);
        text_add(out, closing->result->unrecorded == 1 ? " process; tacho info says why\n"
                                                       : " processes; tacho info says why\n");
    }
}

static void add_cost(struct text *out, const struct collect_result *result)
{
    text_add(out, "  ");
    if (result->cost_ns > 0) {
        text_add(out, "profiling cost about ");
        human_time(out, result->cost_ns);
        text_add(out, " of CPU time");
    }
    if (result->cost_ns > 0 && result->cpu_ns > 0) {
        text_add(out, " (");
        number_add_fixed(out, 100.0 * (double)result->cost_ns / (double)result->cpu_ns, 1, 0);
        text_add(out, " %)");
    }
    if (result->start_cost_ns > result->cost_ns / 2) {
        text_add(out, ", most of it for the start of ");
        human_count(out, result->process_count);
        text_add(out, result->process_count == 1 ? " program" : " programs");
    }
    if (result->python.samples && result->captured_ns > 0) {
        text_add(out, result->cost_ns > 0 ? "; beside it, sampling Python took " : "sampling Python took ");
        number_add_fixed(out, 100.0 * (double)result->python.cpu_ns / (double)result->captured_ns, 1, 0);
        text_add(out, " % of a CPU");
    }
    text_add(out, result->cost_ns > 0 || result->python.samples ? "; the report was ready " : "the report was ready ");
    human_time(out, result->finish_ns);
    text_add(out, result->ending == COLLECT_RUNNING ? " after the capture\n" : " after the program\n");
}

static void add_warnings(struct text *out, const struct collect_result *result, size_t shown)
{
    for (size_t i = 0; i < shown; i++) {
        text_add(out, "  note: ");
        display_add(out, result->warnings[i], strlen(result->warnings[i]), 0);
        text_add_char(out, '\n');
    }
    if (result->warning_count > shown)
        text_addf(out, "  note: %zu more are in the report: tacho info\n", result->warning_count - shown);
}

/* NULL: there is nothing in it. */
static struct table *load_table(struct report *report, const char *analysis)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;

    if (!report || analysis_run(analysis_find(analysis), report, &request, &table, &err) != 0)
        return NULL;
    if (table_row_count(table))
        return table;
    table_delete(table);
    return NULL;
}

static void load_functions(struct report *report, struct tables *tables)
{
    enum { MOST_COUNTED = 1000000 }; /* nobody waits for more */

    for (size_t i = 0; report && !tables->functions && i < sizeof samples_of / sizeof *samples_of; i++) {
        const struct report_table *samples = report_table(report, samples_of[i].table);
        if (samples && samples->rows && samples->rows <= MOST_COUNTED)
            tables->functions = load_table(report, samples_of[i].analysis);
        tables->sampled = i;
    }
}

static void load_tables(const struct closing *closing, struct tables *tables)
{
    for (size_t i = 0; i < TOP_TABLES; i++)
        tables->top[i] = load_table(closing->report, top_tables[i].analysis);
    summary_cuda_read(&tables->cuda, closing->report);
    tables->operators = summary_operators(closing->report, tables->cuda.busy.device_count > 0);
    /* ranges that are the operators once more */
    if (tables->operators && !closing->result->counts[WIRE_SOURCE_NVTX].recorded) {
        table_delete(tables->top[NVTX_TABLE]);
        tables->top[NVTX_TABLE] = NULL;
    }
}

/* The functions in which most samples were taken, without what they called. */
static void add_functions(struct text *out, const struct table *table, const char *heading)
{
    enum { SELF = 0, FUNCTION = 4, NAMED = 3 };
    size_t count = table_row_count(table);

    text_addf(out, "  %s:", heading);
    for (size_t i = 0; i < NAMED && i < count; i++) {
        const struct table_cell *row = table_row(table, i);
        text_add(out, i ? ", " : " ");
        display_add(out, row[FUNCTION].text.bytes, row[FUNCTION].text.length, 40);
        text_add_char(out, ' ');
        number_add_fixed(out, row[SELF].real, 1, 0);
        text_add(out, " %");
    }
    text_add(out, count > NAMED ? ", …\n" : "\n");
}

/* The first rows of a table in one line, where there is no room for more. */
static void add_brief(struct text *out, const struct table *table, const char *heading)
{
    enum { NAMED = 3 };
    size_t name = table_column_count(table) - 1, count = table_row_count(table);

    text_addf(out, "  %s:", heading);
    for (size_t i = 0; i < NAMED && i < count; i++) {
        const struct table_cell *row = table_row(table, i);
        text_add(out, i ? ", " : " ");
        display_add(out, row[name].text.bytes, row[name].text.length, 30);
        text_add_char(out, ' ');
        human_time(out, row[TOTAL].integer);
    }
    text_add(out, count > NAMED ? ", …\n" : "\n");
}

static void add_path(struct text *out, const char *path)
{
    display_add(out, path, strlen(path), 0);
}

/* The report and what was written beside it, and the command to type next. */
static void add_report(struct text *out, const struct closing *closing, const char *next, const char *also)
{
    const struct collect_result *result = closing->result;

    text_add(out, "  report: ");
    add_path(out, closing->report_path);
    text_add(out, " (");
    human_bytes(out, result->report_bytes);
    text_add(out, result->report_error ? "; NOT COMPLETE: " : "");
    text_add(out, result->report_error ? error_name(result->report_error) : "");
    text_add(out, ")");
    for (size_t i = 0; i < closing->export_count; i++) {
        text_add(out, ", ");
        add_path(out, closing->exports[i]);
    }
    if (closing->output_hidden)
        text_add(out, "; the program's output is in it: tacho info --output");
    text_addf(out, "\n  next:   %s", bold(closing));
    display_add_quoted(out, command_name());
    text_addf(out, " %s ", next);
    display_add_quoted(out, closing->report_path);
    text_addf(out, "%s%s\n", plain(closing), also);
}

static int nothing_recorded(const struct collect_result *result)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        if (result->counts[i].recorded)
            return 0;
    return result->python.samples == 0;
}

/* Takes so many lines of what is left, if there are as many. */
static int take_lines(size_t *left, size_t lines)
{
    if (*left < lines)
        return 0;
    *left -= lines;
    return 1;
}

/* A program without work on a GPU: the tops of its two tables share the lines. */
static void add_host_tables(struct text *out, const struct closing *closing, const struct tables *tables,
                            size_t lines_left)
{
    size_t others = 1 + TOP_TABLES + (tables->functions != NULL); /* waiting, a heading each, functions */
    size_t rows = lines_left > others ? (lines_left - others) / TOP_TABLES : 0;

    for (size_t i = 0; i < TOP_TABLES && rows; i++)
        if (tables->top[i])
            add_top(out, closing, tables->top[i], top_tables[i].heading, rows);
    if (tables->top[OSRT_TABLE])
        add_waits(out, tables->top[OSRT_TABLE]);
    if (tables->functions)
        add_functions(out, tables->functions, samples_of[tables->sampled].heading);
}

/* Operators without work on a GPU: they come first. */
static void add_operator_tables(struct text *out, const struct closing *closing, const struct tables *tables,
                                size_t lines_left)
{
    enum { LEAST_ROWS = 3, MOST_ROWS = 5 };
    size_t rows = take_lines(&lines_left, 1 + LEAST_ROWS) ? LEAST_ROWS : 0;
    int has_ranges = tables->top[NVTX_TABLE] && take_lines(&lines_left, 1),
        has_waits = tables->top[OSRT_TABLE] && take_lines(&lines_left, 1);

    if (rows && take_lines(&lines_left, MOST_ROWS - LEAST_ROWS))
        rows = MOST_ROWS;
    if (rows)
        add_top(out, closing, tables->operators, "PyTorch operators, by their own CPU time", rows);
    if (has_ranges)
        add_brief(out, tables->top[NVTX_TABLE], top_tables[NVTX_TABLE].heading);
    if (tables->top[OSRT_TABLE] && lines_left > 1)
        add_top(out, closing, tables->top[OSRT_TABLE], top_tables[OSRT_TABLE].heading, lines_left - 1);
    if (has_waits)
        add_waits(out, tables->top[OSRT_TABLE]);
}

/* A program with work on a GPU: that comes first, and what the CPU did has what is left. */
static void add_gpu_tables(struct text *out, const struct closing *closing, const struct tables *tables,
                           size_t lines_left)
{
    enum { LEAST_KERNELS = 3, MOST_KERNELS = 5 };
    const struct closing_cuda *cuda = &tables->cuda;
    size_t kernels = 0;

    take_lines(&lines_left, 1);
    summary_cuda_add_busy(out, cuda, closing->report, closing->result->captured_ns);
    if (cuda->kernels && take_lines(&lines_left, 1 + LEAST_KERNELS))
        kernels = LEAST_KERNELS;
    int has_copies = cuda->times && take_lines(&lines_left, 1),
        has_gaps = cuda->busy.gap_count && take_lines(&lines_left, 1);
    int has_idle = summary_cuda_has_idle(cuda) && take_lines(&lines_left, 1),
        has_operators = tables->operators && take_lines(&lines_left, 1);
    if (kernels && take_lines(&lines_left, MOST_KERNELS - LEAST_KERNELS))
        kernels = MOST_KERNELS;
    if (kernels)
        add_top(out, closing, cuda->kernels, "kernels", kernels);
    if (has_operators)
        add_brief(out, tables->operators, "PyTorch operators, by the GPU time of their kernels");
    if (has_copies)
        summary_cuda_add_copies(out, cuda);
    if (has_gaps)
        summary_cuda_add_gaps(out, cuda);
    if (has_idle)
        summary_cuda_add_idle(out, cuda);
    if (tables->top[NVTX_TABLE] && take_lines(&lines_left, 1))
        add_brief(out, tables->top[NVTX_TABLE], top_tables[NVTX_TABLE].heading);
    if (tables->top[OSRT_TABLE] && take_lines(&lines_left, 1))
        add_waits(out, tables->top[OSRT_TABLE]);
}

static size_t count_lines(const struct text *text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text->length; i++)
        lines += text->bytes[i] == '\n';
    return lines;
}

void summary_add(struct text *out, const struct closing *closing)
{
    const struct collect_result *result = closing->result;
    enum { LAST_LINES = 4, ROOM = CLOSING_LINES - LAST_LINES, MOST_WARNINGS = 2 }; /* events, cost, report, next */
    struct tables tables = { 0 };
    struct text first = { 0 };

    load_tables(closing, &tables);
    int has_gpu = tables.cuda.busy.device_count > 0;
    if (!has_gpu && !tables.operators)
        load_functions(closing->report, &tables);
    add_ending(&first, closing);
    add_left(&first, result);
    add_warnings(&first, result, result->warning_count < MOST_WARNINGS ? result->warning_count : MOST_WARNINGS);
    summary_cuda_add_truth(&first, result, has_gpu);
    text_add(out, text_string(&first));
    size_t taken = count_lines(&first);
    (has_gpu            ? add_gpu_tables
     : tables.operators ? add_operator_tables
                        : add_host_tables)(out, closing, &tables, taken < ROOM ? ROOM - taken : 0);
    text_free(&first);
    add_events(out, closing);
    add_cost(out, result);
    if (tables.operators)
        add_report(out, closing, "ops", ", or stats for all else, or view for the timeline");
    else if (nothing_recorded(result))
        add_report(out, closing, "info", "");
    else
        add_report(out, closing, "stats", ", or view for the timeline");
    table_delete(tables.operators);
    table_delete(tables.functions);
    for (size_t i = 0; i < TOP_TABLES; i++)
        table_delete(tables.top[i]);
    summary_cuda_free(&tables.cuda);
}
