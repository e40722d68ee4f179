/* The rule recompilations: torch.compile compiles, tunes or records functions in the loop. Each is a cause with its
 * line, and with the guard that failed if it was compiled before. Without events of Python they are those that samples
 * have seen, at the line that calls the function. Bound and estimate: it is done before the loop. */
#include <stdlib.h>
#include <string.h>

#include "advice_groups.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "base/human.h"
#include "base/path.h"
#include "sampled_compilations.h"

enum { RECOMPILATION, COMPILATION, BACKWARD, TUNING, GRAPH_RECORDING, SEEN_BY_SAMPLES, KINDS };
static const struct compile_kind {
    const char *name, *what, *advice; /* what: follows the name of the function */
} recompilations_kinds[] = {
    [RECOMPILATION] = { "recompile", " is compiled again",
                        "Keep shapes, types and Python values that it depends on the same. If shapes must change: "
                        "torch.compile(dynamic=True), or torch._dynamo.mark_dynamic() for single dimensions." },
    [COMPILATION] = { "compile", " is compiled in the loop", "Run the model once with all shapes before the loop." },
    [BACKWARD] = { "compile backward", "backward is compiled in the loop",
                   "Run a whole step with all shapes before the loop." },
    [TUNING] = { "autotune", "kernels are tuned in the loop",
                 "Run a step with all shapes before the loop. torch.compile keeps its results in a folder "
                 "(TORCHINDUCTOR_CACHE_DIR); @triton.autotune tunes anew for each value of its key." },
    [GRAPH_RECORDING] = { "record CUDA graph", "CUDA graphs are recorded in the loop",
                          "Run the model twice with all shapes before the loop; each shape is recorded anew." },
    [SEEN_BY_SAMPLES] = { "", "torch.compile compiles in the loop",
                          "Keep shapes, types and Python values the same; if shapes must change, "
                          "torch.compile(dynamic=True). "
                          "--python-events=true says which function it is, and which guard failed." },
};
static const int recompilations_kind_of_sample[] = {
    [SAMPLED_COMPILE] = SEEN_BY_SAMPLES,
    [SAMPLED_BACKWARD] = BACKWARD,
    [SAMPLED_AUTOTUNE] = TUNING,
    [SAMPLED_GRAPH_RECORDING] = GRAPH_RECORDING,
};

struct compilation {
    int kind;
    int64_t symbol, module, line, reason; /* 0: not known */
    int is_sampled;                       /* symbol, module and line are those of the caller */
    int64_t thread, start_ns, end_ns;
};

struct compilations {
    struct advice_groups groups; /* the first member: recompilations_describe() gets it */
    struct compilation *list;    /* owned */
    size_t count, room;
};

static int recompilations_kind_of(const char *name)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (strcmp(recompilations_kinds[kind].name, name) == 0)
            return kind;
    return -1;
}

static int read_compilations(struct compilations *all, struct report *report, struct error *err)
{
    enum { START, END, THREAD, KIND, SYMBOL, MODULE, LINE, REASON };
    static const char *const names[] = { "start",  "end",  "globalTid", "kind", "symbol",
                                         "module", "line", "reasonId",  NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_PYTHON_EVENT", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct compilation compilation = { .kind = recompilations_kind_of(
                                               report_string(report, row_int(&rows, KIND), NULL)),
                                           .symbol = row_int_or(&rows, SYMBOL, 0),
                                           .module = row_int_or(&rows, MODULE, 0),
                                           .line = row_int_or(&rows, LINE, 0),
                                           .reason = row_int_or(&rows, REASON, 0),
                                           .thread = row_int(&rows, THREAD),
                                           .start_ns = row_int(&rows, START),
                                           .end_ns = row_int(&rows, END) };
        if (compilation.kind < 0)
            continue;
        if (ARRAY_PUSH(all->list, all->room, all->count, compilation) != 0 &&
            (code = error_short_memory(err, "for the compilations")) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

static int take_samples(struct compilations *all, struct report *report, struct error *err)
{
    struct sampled_compilations sampled = { 0 };
    int code = sampled_compilations_read(&sampled, report, err);

    for (size_t i = 0; code == 0 && i < sampled.count; i++) {
        const struct sampled_compilation *seen = &sampled.list[i];
        const struct compilation compilation = { .kind = recompilations_kind_of_sample[seen->kind],
                                                 .is_sampled = 1,
                                                 .symbol = seen->symbol,
                                                 .module = seen->module,
                                                 .line = seen->line,
                                                 .thread = seen->thread,
                                                 .start_ns = seen->start_ns,
                                                 .end_ns = seen->end_ns };
        if (ARRAY_PUSH(all->list, all->room, all->count, compilation) != 0)
            code = error_short_memory(err, "for the compilations");
    }
    sampled_compilations_free(&sampled);
    return code;
}

/* A function is a cause for each kind. The events of a group have its number as their kind, and the place is not used.
 */
static int add_compilation(struct compilations *all, size_t number)
{
    const struct compilation *compilation = &all->list[number];
    struct adviser *adviser = all->groups.adviser;
    const struct replay_thread *thread = advice_thread(adviser, compilation->thread, compilation->start_ns);
    const struct advice_event event = { .place = NO_PLACE,
                                        .kind = (int64_t)number,
                                        .thread = compilation->thread,
                                        .start_ns = compilation->start_ns,
                                        .end_ns = compilation->end_ns };

    if (!thread)
        return 0;
    uint32_t group = advice_group(&all->groups, (int64_t)compilation->kind << 32 | compilation->symbol,
                                  compilation->module);
    if (group == NO_KEY || advice_group_note(&all->groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &all->groups.list[group].cause;
    if (advice_cut_time(&adviser->replay, &cause->bound, thread, event.start_ns, event.end_ns, 1) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(&adviser->replay, &cause->estimate, thread, event.start_ns, event.end_ns, 1);
}

/* "forward is compiled again: 1.20 s for 3: tensor 'x' size mismatch at index 0", at "train.py:41 forward" */
static int recompilations_describe(struct advice_groups *groups, uint32_t group)
{
    const struct compilations *all = (const struct compilations *)groups;
    struct advice_cause *cause = &groups->list[group].cause;
    struct report *report = groups->adviser->report;
    uint32_t place;
    int64_t longest;

    advice_group_most(groups, group, &place, &longest);
    const struct compilation *compilation = &all->list[longest];
    const char *symbol = compilation->symbol ? report_string(report, compilation->symbol, NULL) : "";
    const char *module = compilation->module ? report_string(report, compilation->module, NULL) : "";
    const char *reason = compilation->reason ? report_string(report, compilation->reason, NULL) : "";
    text_addf(&cause->what, "%s%s: ", compilation->is_sampled ? "" : symbol,
              recompilations_kinds[compilation->kind].what);
    human_time(&cause->what, groups->list[group].total_ns);
    text_addf(&cause->what, " for %lld%s%.*s", (long long)cause->count, *reason ? ": " : "", (int)strcspn(reason, "\n"),
              reason);
    if (*module)
        text_addf(&cause->where, "%s:%lld %s", module + path_folder_length(module), (long long)compilation->line,
                  symbol);
    cause->advice = recompilations_kinds[compilation->kind].advice;
    return 1;
}

/* Without steps the start of the program counts, in which functions are compiled as they should be. */
static int find_recompilations(struct adviser *adviser, struct error *err)
{
    struct compilations all = { 0 };
    int code;

    if (!adviser->steps->count)
        return 0;
    if ((code = advice_groups_open(&all.groups, adviser, err)) != 0 ||
        (code = read_compilations(&all, adviser->report, err)) != 0 ||
        (!all.count && (code = take_samples(&all, adviser->report, err)) != 0))
        goto done;
    for (size_t i = 0; i < all.count; i++)
        if (add_compilation(&all, i) != 0 && (code = error_short_memory(err, "for the compilations")) != 0)
            goto done;
    code = advice_groups_add(&all.groups, 0, recompilations_describe, err);
done:
    free(all.list);
    advice_groups_free(&all.groups);
    return code;
}

const struct analysis rule_recompilations = {
    .name = "recompilations",
    .title = "Compilations in the Loop",
    .help = "Functions that torch.compile compiles, tunes or records in steps, with the guard that failed if they were "
            "compiled before. The saving is that of a replay without it. Needs steps. Without --advise or "
            "--python-events=true they are those that Python samples have seen, without function and guard.",
    .needs = { { "CUDA trace data", advice_call_tables },
               { "GPU trace data", advice_work_tables },
               { "events of Python", TABLES("TACHO_PYTHON_EVENT", "TACHO_PYTHON_SAMPLE") } },
    ADVICE_RULE(recompilations, .is_of_torch = 1, .advice = "Compile all functions for all shapes before the loop.",
                .praise = "torch.compile compiles nothing in the steps."),
};
