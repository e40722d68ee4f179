/* The rule small_batches: gradients are accumulated over several small batches, although a larger one may fit.
 *
 * A step then has several rounds of forward and backward pass with the same operators. Bound: the first round alone,
 * which takes no longer with all rows. Estimate: its operators take as long as all rows need: matrix products at a
 * usual share of the peak rate, others at a usual share of the memory's; those that waited for weights, or for their
 * launch, take no longer than they did. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "training.h"

#define USUAL_SHARE 0.7 /* of a peak, in operators that are large enough */
#define TERA 1e12
enum { MOST_THREADS = 8, LEAST_FORWARD = 2 }; /* threads; operators in a round */

struct batches {
    struct training *training;
    struct advice_cause *cause;
    struct gpu_peaks peaks;
    enum gpu_rate rate;       /* of the matrix products */
    int64_t known_ns, all_ns; /* of kernels in the first rounds */
    uint8_t *is_counted;      /* owned; by operator: it, or one in it, was */
    size_t rounds;            /* of all steps */
};

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

/* The number of rounds with a backward pass; 0 unless all of them have as many nodes and gradients. */
static uint32_t count_rounds(const struct training *training, size_t first, size_t end)
{
    enum { NODES, GRADIENTS, COUNTS };
    size_t of_first[COUNTS] = { 0 }, own[COUNTS] = { 0 }, forwards = 0;
    uint32_t rounds = 0;

    for (size_t i = first; i <= end; i++) {
        if (i == end || (i > first && training->list[i].round != training->list[i - 1].round)) {
            if (!rounds)
                memcpy(of_first, own, sizeof own);
            else if (own[NODES] && memcmp(of_first, own, sizeof own) != 0)
                return 0;
            rounds += own[NODES] > 0;
            memset(own, 0, sizeof own);
        }
        if (i == end)
            break;
        forwards += training->list[i].part == TRAINING_FORWARD;
        own[NODES] += training->list[i].part == TRAINING_NODE;
        own[GRADIENTS] += training->list[i].part == TRAINING_ACCUMULATE;
    }
    return forwards >= LEAST_FORWARD * rounds && of_first[GRADIENTS] ? rounds : 0;
}

/* From the first operator of a round to the end of its last node. */
static struct report_span time_of_rounds(const struct training *training, size_t first, size_t end, uint32_t from,
                                         uint32_t to)
{
    struct report_span span = { INT64_MAX, INT64_MIN };

    for (size_t i = first; i < end; i++) {
        const struct training_span *own = &training->list[i];
        int is_backward = own->part == TRAINING_NODE || own->part == TRAINING_ACCUMULATE;
        if (own->round < from || own->round >= to || (!is_backward && own->part != TRAINING_FORWARD))
            continue;
        span.from_ns = own->start_ns < span.from_ns ? own->start_ns : span.from_ns;
        span.to_ns = is_backward && own->end_ns > span.to_ns ? own->end_ns : span.to_ns;
    }
    return span;
}

/* Removes the rounds after the first, in all threads that take part. */
static int remove_rounds(struct batches *batches, size_t first, size_t end, struct report_span time)
{
    const struct training *training = batches->training;
    int64_t threads[MOST_THREADS];
    size_t count = 0, known;

    for (size_t i = first; i < end; i++) {
        for (known = 0; known < count && threads[known] != training->list[i].thread;)
            known++;
        if (known == count && count < MOST_THREADS)
            threads[count++] = training->list[i].thread;
    }
    for (size_t i = 0; i < count; i++) {
        struct removal removal = { threads[i], time.from_ns, time.to_ns, 0, 0 };
        if (removal_add(&training->works, &batches->cause->bound, &removal) != 0 ||
            removal_add(&training->works, &batches->cause->estimate, &removal) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- the first round ------------------------------------------------------------------------------------------- */

/* The time of an operator with all rows, in ns; 0: not known. */
static int64_t needed_ns(struct batches *batches, const struct operators_event *op, uint32_t rounds)
{
    const struct operators *operators = batches->training->operators;
    struct op_texts texts = { operators_text(operators, op->shapes), operators_text(operators, op->types),
                              operators_text(operators, op->strides), operators_text(operators, op->values) };
    struct op_work work = op_work_of(operators_text(operators, op->name).bytes, &texts);
    int is_matrix = op_class_is_matrix(work.class) && work.flops > 0;
    enum gpu_rate rate = is_matrix ? flops_rate(&work, 1, &batches->peaks) : RATE_MEMORY;
    double amount = is_matrix ? work.flops : work.bytes;

    if (work.class == OP_UNKNOWN || work.class == OP_OPTIMIZER || amount <= 0 || rate == GPU_RATES ||
        batches->peaks.rate[rate] <= 0)
        return 0;
    if (is_matrix)
        batches->rate = rate;
    return saturating_from_double(amount * rounds / (batches->peaks.rate[rate] * USUAL_SHARE) * 1e9);
}

/* Makes the first kernel of an operator longer by what all rows need more. */
static int lengthen(struct batches *batches, const struct operators_event *op, uint32_t rounds)
{
    const struct call_works *works = &batches->training->works;
    const struct replay *replay = works->replay;
    uint32_t first, end, edge = REPLAY_NO_EDGE;
    int64_t run_ns = 0;

    calls_between(&replay->events, op->thread, op->start_ns, op->end_ns, &first, &end);
    for (uint32_t at = works->first[first]; first < end && at < works->first[end]; at++) {
        uint32_t run = replay_edge_to(replay, replay_work_end(replay, works->list[at]), REPLAY_RUN);
        edge = edge == REPLAY_NO_EDGE ? run : edge;
        run_ns = saturating_add(run_ns, run == REPLAY_NO_EDGE ? 0 : replay->graph.lag[run]);
    }
    int64_t all_ns = run_ns ? needed_ns(batches, op, rounds) : 0;
    if (!all_ns)
        return 0;
    batches->known_ns = saturating_add(batches->known_ns, run_ns);
    for (uint32_t at = (uint32_t)(op - batches->training->operators->list); at != NO_OPERATOR;
         at = batches->training->operators->list[at].parent)
        batches->is_counted[at] = 1;
    return all_ns > run_ns ? replay_edit_cut(&batches->cause->estimate, edge, run_ns - all_ns) : 0;
}

/* Gradients are as large as the parameters, however many rows there are. */
static int is_in_accumulate(const struct operators *operators, uint32_t at)
{
    for (; at != NO_OPERATOR; at = operators->list[at].parent)
        if (strstr(operators_text(operators, operators->list[at].name).bytes, "AccumulateGrad"))
            return 1;
    return 0;
}

/* The innermost operators whose work is known. */
static int lengthen_round(struct batches *batches, struct report_span time, uint32_t rounds)
{
    const struct operators *operators = batches->training->operators;

    for (uint32_t i = (uint32_t)operators->count; i-- > 0;) {
        const struct operators_event *op = &operators->list[i];
        if (op->start_ns < time.from_ns)
            break;
        if (op->start_ns < time.to_ns && op->kind == OPERATOR && !batches->is_counted[i] &&
            !is_in_accumulate(operators, i) && lengthen(batches, op, rounds) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static void count_time(struct batches *batches, struct report_span time)
{
    const struct replay_events *events = &batches->training->works.replay->events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (work->call != NO_CALL && events->calls[work->call].start_ns >= time.from_ns &&
            events->calls[work->call].start_ns < time.to_ns)
            batches->all_ns = saturating_add(batches->all_ns, saturating_duration(work->start_ns, work->end_ns));
    }
}

/* ---- the cause ------------------------------------------------------------------------------------------------- */

static int small_batches_add_step(struct batches *batches, size_t first, size_t end)
{
    const struct training *training = batches->training;
    uint32_t rounds = count_rounds(training, first, end);

    if (rounds < 2)
        return 0;
    struct report_span round = time_of_rounds(training, first, end, 0, 1),
                       others = time_of_rounds(training, first, end, 1, rounds);
    struct training_span event = training->list[first];
    event.start_ns = others.from_ns;
    event.end_ns = others.to_ns;
    training_note(batches->cause, &event);
    batches->rounds += rounds;
    count_time(batches, round);
    if (remove_rounds(batches, first, end, others) != 0)
        return ERR_NO_MEMORY;
    return lengthen_round(batches, round, rounds);
}

static void small_batches_describe(struct batches *batches)
{
    struct advice_cause *cause = batches->cause;

    human_count(&cause->what, batches->rounds / (size_t)cause->count);
    text_add(&cause->what, " small batches in each step, whose gradients are added up");
    text_addf(&cause->rate, "%.0f %% of %.0f TFLOP/s, the GPU's peak for %s", 100 * USUAL_SHARE,
              batches->peaks.rate[batches->rate] / TERA, gpu_rate_name(batches->rate));
    cause->confidence = ADVICE_MODELLED;
    cause->advice = batches->training->memory == MEMORY_ENOUGH
                        ? "PyTorch uses less than half of the GPU's memory: take larger batches, and fewer of them."
                        : "Take larger batches, and fewer of them, as far as memory allows (--pytorch-memory=true "
                          "records its use).";
}

/* Without the shapes of most operators nothing is said: batches may be as large as the GPU needs. */
static int small_batches_collect(struct adviser *adviser, struct training *training, struct advice_cause *cause)
{
    struct batches batches = { .training = training, .cause = cause, .rate = GPU_RATES };
    struct error ignored;
    int code = 0;

    if (training->memory == MEMORY_SCARCE || gpu_peaks_read(&batches.peaks, adviser->report, NULL, &ignored) != 0)
        return 0;
    batches.is_counted = calloc(training->operators->count + 1, 1);
    if (!batches.is_counted)
        return ERR_NO_MEMORY;
    for (size_t first = 0, end; first < training->count && code == 0; first = end) {
        end = training_update_end(training, first);
        code = small_batches_add_step(&batches, first, end);
    }
    free(batches.is_counted);
    if (code == 0 && cause->count && batches.rate != GPU_RATES && batches.known_ns > batches.all_ns / 2)
        small_batches_describe(&batches);
    else
        cause->count = 0;
    return code;
}

static int find_small_batches(struct adviser *adviser, struct error *err)
{
    return training_find(adviser, small_batches_collect, err);
}

const struct analysis rule_small_batches = {
    .name = "small_batches",
    .title = "Small Batches",
    .help = "Steps that accumulate the gradients of several batches, each too small for the GPU. The bound is a replay "
            "with the first batch of each step alone; in the estimate its operators take as long as all rows need. If "
            "the report has the use of memory (--pytorch-memory=true) and more than half of the GPU's memory is in "
            "use, there is no finding. Needs operators of PyTorch with shapes.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(small_batches, .is_of_torch = 1,
                .advice = "Take larger batches, and fewer of them, as far as memory allows.",
                .praise = "No step accumulates gradients of small batches, memory needs it, or the shapes of operators "
                          "are not known."),
};
