/* The adviser: what to change in a program first, and what that would save.
 *
 *     struct adviser adviser;
 *     int code = adviser_open(&adviser, report, request, err);
 *     code = adviser_find(&adviser, rule, err);     (for each rule)
 *     code = adviser_judge(&adviser, err);          (replays each cause)
 *     … adviser.causes …
 *     adviser_free(&adviser);
 *
 * A rule finds causes: what takes time, where, and which edges of the replay's graph (replay.h) are shorter without it.
 * It never adds up durations. The saving of a cause is what the replay then takes less, so that nothing is counted
 * twice, and nothing is promised where the next bottleneck eats it. Each cause has two versions of its edits:
 *
 *     bound      the cause is gone entirely, in a slow step
 *     estimate   what usually remains, remains */
#ifndef TACHO_ANALYZE_ADVICE_ADVISER_H
#define TACHO_ANALYZE_ADVICE_ADVISER_H

#include "advice_thresholds.h"
#include "analyze/engine/analysis.h"
#include "analyze/engine/table.h"
#include "analyze/model/places/places.h"
#include "analyze/model/steps/bare_step.h"
#include "analyze/model/torch/operators.h"
#include "analyze/replay/replay.h"
#include "base/text.h"

enum advice_confidence {
    ADVICE_MEASURED, /* only recorded time is removed or moved */
    ADVICE_MODELLED, /* a rate enters: the cause says which, and from where */
    ADVICE_TRY,      /* no figure */
    ADVICE_CONFIDENCES
};
extern const char *const advice_confidence_names[ADVICE_CONFIDENCES];

/* Figures in what a cause says. */
enum advice_figure {
    FIGURE_TIME,  /* "1.93 ms": of its events, in a step */
    FIGURE_COUNT, /* "378": its events in a step */
    FIGURE_TIMES, /* " (3 in each step)", or nothing if a step has fewer than two */
};
enum { MOST_FIGURES = 2 };

/* Starts from {0}. */
struct advice_cause {
    const struct analysis *rule;
    struct text what;              /* "loss.item() waits for the GPU"; owned, as all texts */
    struct advice_figure_at {
        enum advice_figure kind;
        size_t at;                 /* in that text */
    } figures[MOST_FIGURES];       /* that adviser_judge() puts into it */
    size_t figure_count;
    struct text where;             /* "train.py:57 (train)"; empty: not known */
    struct text rate;              /* of a modelled one: "pinned memory copies 55 GB/s (H200)" */
    const char *advice;            /* the change, in the user's own terms */
    const struct analysis *takes;  /* causes of that rule at the same place are a part of this change; or NULL */
    enum advice_confidence confidence;
    int64_t count, total_ns;       /* of the events that it is made of, in all steps */
    int64_t start_ns, duration_ns; /* its longest event: where to look on the timeline */
    int64_t thread;                /* of that event, or 0 */
    int64_t least_percent;         /* of the step: a cause that saves less is dropped; set by adviser_find() */
    struct replay_edits bound, estimate;
    struct advice_steps {          /* the time of a step without it; 0: not replayed yet */
        int64_t usual_ns;          /* with the adviser's base */
        int64_t least_ns;          /* if the profiler took as much as it may have */
    } bound_step, estimate_step;
    int64_t bound_ns, estimate_ns; /* set by adviser_judge(): per step, or of the run if there are no steps */
    struct advice_range {
        int64_t low_ns, high_ns;
    } range;                       /* set by it too: adviser_range() */
    int64_t rank_ns;               /* set by it too: what it is sorted by */
};
void advice_cause_free(struct advice_cause *cause);
/* For rules: a figure follows what the cause says so far. */
void advice_cause_figure(struct advice_cause *cause, enum advice_figure kind);

/* Starts from {0}. */
struct adviser {
    struct report *whole;                   /* as it was given */
    struct report *report;                  /* what the replay is of: that report, or a window of it */
    struct report *window;                  /* owned; NULL: the report is read whole */
    struct report_span window_span;         /* work that begins a little later is in the window, too */
    size_t steps_of_run, steady_steps;      /* of a window: the steps of the whole, and those after the warm-up */
    struct replay replay;
    struct steps own_steps;                 /* owned; unused if the request has steps */
    const struct steps *steps;              /* without any: the run is one step */
    struct report_span span;                /* of the request */
    size_t step_count;                      /* that the mean is taken of; 1 without steps */
    struct places places;                   /* adviser_places() reads them */
    int has_places;
    struct operators operators;             /* adviser_operators() reads them */
    int has_operators;
    struct training *training;              /* owned, if not NULL; adviser_training() reads it */
    void (*free_training)(struct training *training);
    struct advice_kernels *kernels;         /* owned, if not NULL; adviser_kernels() reads them */
    void (*free_kernels)(struct advice_kernels *kernels);
    struct bare_step bare;                  /* all 0 if no steps were only timed */
    struct replay_edits base;               /* edits that make the replay one of the program without a profiler */
    struct replay_edits most;               /* the same if that took as much as it may have */
    int64_t least_step_ns;                  /* the mean step of a replay with that */
    int64_t step_ns;                        /* the mean step of that replay, or the run */
    int64_t recorded_ns;                    /* the mean step as it was recorded */
    const struct analysis_request *options; /* of the rule that is run next; NULL: the defaults */
    int64_t thresholds[ADVICE_THRESHOLDS];  /* of the rule that runs */
    struct advice_cause *causes;
    size_t count, room;
    size_t judged;                          /* the first of them have their savings */
};

/* A rule on the replay, one whose analysis_is_replayed(). */
struct adviser_rule {
    struct analysis_rule rule;
    /* Adds its causes. advice_sum has a row for each of them. */
    int (*find)(struct adviser *adviser, struct error *err);
    enum advice_order {
        ADVICE_SPECIAL,
        ADVICE_GENERAL, /* causes of other rules that explain its own come before it */
        ADVICE_FIRST,   /* what general rules say can be done once its own causes are gone */
    } order;
};

static inline const struct adviser_rule *adviser_rule(const struct analysis *rule)
{
    return (const struct adviser_rule *)rule->rule;
}

/* Reads the report. request: the steps and the span that count; steps of its filter are used instead of searching for
 * some. If it has neither, a long capture is not read whole: a window of typical steps says the same (advice_window.c).
 * A report without CUDA calls or GPU work has no points in its graph, and rules find nothing in it. */
int adviser_open(struct adviser *adviser, struct report *report, const struct analysis_request *request,
                 struct error *err);
void adviser_free(struct adviser *adviser);

/* Whether a window of a report is read, unless the request chooses a part, or asks for the whole. */
int adviser_is_long(struct report *report);

/* Parts of adviser_open(): the window, if one is wanted, and the steps. */
int adviser_open_window(struct adviser *adviser, const struct analysis_request *request, struct error *err);
int adviser_read_steps(struct adviser *adviser, const struct analysis_request *request, struct error *err);

/* "over 40 steps by calls of Optimizer.step", of an adviser with steps; of a window "from steps 950 to 995 of 2,000 …".
 */
void adviser_add_steps(struct text *out, const struct adviser *adviser);
/* " in steps 950 to 995 of 2,000", of an adviser with a window. */
void adviser_add_window(struct text *out, const struct adviser *adviser);
/* That the times of GPUs do not fit those of calls; nothing if they do. */
void adviser_add_clocks(struct text *out, const struct adviser *adviser);
/* Notes that, and that what was found is from a window, in a table; nothing if neither is so. */
int adviser_note_table(const struct adviser *adviser, struct table *table);

/* Replays with the base and these edits. Returns the time of a step: advice_trials.c. */
int adviser_replay(struct adviser *adviser, const struct replay_edits *edits, int64_t *step_ns, struct error *err);
/* Sets the bare step, and both bases if the capture has its time: advice_bare.c. */
int adviser_use_bare_step(struct adviser *adviser, struct error *err);

/* Adds the causes that a rule finds, with the thresholds that adviser->options has for it. */
int adviser_find(struct adviser *adviser, const struct analysis *rule, struct error *err);
/* For rules: adds a cause and takes over what it owns, also after an error. A cause without edits is freed at once. */
int adviser_add(struct adviser *adviser, struct advice_cause *cause, struct error *err);

/* Merges the causes that were added since the last call if they are one change, replays them, drops those that save
 * less than their rule asks for (1 % of the step, if nothing else is said), also if the profiler took as much as it may
 * have, and sorts all by what they are estimated to save. A cause of a general rule has the place of what it saves in
 * addition to the causes of all others: those say what to change; and it comes after a cause that is carried out first
 * (ADVICE_FIRST) if that may save as much. */
int adviser_judge(struct adviser *adviser, struct error *err);

/* The first part of it: makes one cause of those of one rule that have one place and say the same but for their
 * figures, puts the figures into what all say, and adds causes to those that take them (advice_merge.c). */
int adviser_merge(struct adviser *adviser, struct error *err);

/* Sets where a cause is: the line at which most of the time lies that its estimate removes (advice_where.c). */
int advice_find_where(struct adviser *adviser, struct advice_cause *cause, struct error *err);

/* The range that a saving lies in, in about eight of ten cases: the replay knows neither what comes in the place of the
 * cause nor how a step varies from one run to the next. */
struct advice_range adviser_range(const struct adviser *adviser, int64_t bound_ns, int64_t estimate_ns);
/* "about 12.1 ms (7.87 to 19.4 ms)" */
void advice_add_saving(struct text *out, struct advice_range range, int64_t estimate_ns);

/* The saving of the adviser's causes together, per step. The bound is at least that of each of them. */
int adviser_combine(struct adviser *adviser, const struct advice_cause *const *causes, size_t count, int64_t *bound_ns,
                    int64_t *estimate_ns, struct error *err);
/* The same for the first `count`. */
int adviser_combine_first(struct adviser *adviser, size_t count, int64_t *bound_ns, int64_t *estimate_ns,
                          struct error *err);

/* For rules: the lines of the program. The first call reads them. */
int adviser_places(struct adviser *adviser, struct places **out, struct error *err);

/* Whether the program is known to use PyTorch: advice that names its functions is for no other program. */
int adviser_uses_torch(const struct adviser *adviser);

/* For rules: the operators, nested; none if none were recorded. Those of processes that launch no work, such as the
 * workers of a DataLoader, may be millions: they are left out if one process launches all. The first call reads them.
 */
int adviser_operators(struct adviser *adviser, const struct operators **out, struct error *err);

/* How often a run saves what a step saves. */
static inline int64_t adviser_run_steps(const struct adviser *adviser)
{
    int is_part = adviser->window && adviser->steps->count;

    return (int64_t)(is_part ? adviser->steady_steps : adviser->step_count);
}

/* The step of a call of the replay, or NO_STEP. */
static inline uint32_t adviser_step(const struct adviser *adviser, const struct replay_call *call)
{
    const struct replay *replay = &adviser->replay;

    return replay->step_of ? replay->step_of[call - replay->events.calls] : NO_STEP;
}

/* Whether a call counts: it starts in the span of the request, and, if there are steps, in a chosen one after the
 * warm-up. */
int adviser_counts(const struct adviser *adviser, const struct replay_call *call);
/* The same of a call that a thread would have made at this time. */
int adviser_counts_at(const struct adviser *adviser, int64_t thread, int64_t time_ns);
/* Whether a cause is gone at a call: it starts in the span of the request. Steps that do not count are changed too:
 * what one of them leaves undone, such as a GPU without work, the next one begins with. */
int adviser_changes(const struct adviser *adviser, const struct replay_call *call);

/* The table of a rule on the replay, a struct analysis, for analysis.run_as. */
int advice_table(struct report *report, const struct analysis_request *request, const void *rule, struct table **out,
                 struct error *err);
/* The same with an adviser that exists. */
int advice_table_of(struct adviser *adviser, const struct analysis *rule, struct table **out, struct error *err);

/* The sentence about a row of such a table, and how to act on it: analysis_rule.finding and .advise. */
void advice_say(struct text *out, const struct table *table, size_t row);

/* Columns of the table. */
enum {
    ADVICE_IMPACT, /* bound, of the run */
    ADVICE_SAVES,  /* estimate, per step */
    ADVICE_FROM,   /* the range that it lies in */
    ADVICE_TO,
    ADVICE_CONFIDENCE,
    ADVICE_FOUND,
    ADVICE_WHAT,
    ADVICE_WHERE,
    ADVICE_RATE,
    ADVICE_HOW,
    ADVICE_START,
    ADVICE_DURATION,
    ADVICE_PID,
    ADVICE_TID,
    ADVICE_COLUMNS
};

/* For the row of a rule, whose file defines find_NAME():
 *
 *     const struct analysis rule_launch_bound = { .name = "launch_bound", …,
 *                                                 ADVICE_RULE(launch_bound, .advice = …, .praise = …) }; */
#define ADVICE_RULE(rule, ...) ADVICE_RULE_OF(rule, ADVICE_SPECIAL, __VA_ARGS__)
#define ADVICE_GENERAL_RULE(rule, ...) ADVICE_RULE_OF(rule, ADVICE_GENERAL, __VA_ARGS__)
#define ADVICE_FIRST_RULE(rule, ...) ADVICE_RULE_OF(rule, ADVICE_FIRST, __VA_ARGS__)
#define ADVICE_RULE_OF(name, order, ...)                                                                             \
    .run_as = advice_table, .as = &rule_##name,                                                                        \
    .rule = &(const struct adviser_rule){ { __VA_ARGS__, .finding = advice_say, .is_replayed = 1 },                    \
                                          find_##name,                                                                 \
                                          order }                                                                    \
                 .rule
/* Data without which there is no replay, for analysis.needs. */
#define ADVICE_NEEDS                                                                                                   \
    {                                                                                                                  \
        { "CUDA trace data", advice_call_tables }, { "GPU trace data", advice_work_tables }                            \
    }
extern const char *const advice_call_tables[], *const advice_work_tables[];
int advice_has_gpu_work(struct report *report);

#endif
