/* Changes to a program that uses a GPU: see what_if_model.h. */
#include "analyze/model/torch/steps_read.h"
#include "what_if_model.h"

static int what_if_gpu_open(struct what_if_job *job, const struct what_if_settings *settings, struct error *err)
{
    const struct steps_request asked = { settings->step_range, settings->step_operator, .may_guess = 1 };
    struct analysis_filter filter = { 0 };
    int code;

    if (asked.range || asked.op) {
        if ((code = steps_read(&job->asked, job->report, &asked, err)) != 0)
            return code;
        filter.steps = &job->asked;
    }
    if ((code = adviser_open(&job->adviser, job->report, &(struct analysis_request){ .filter = &filter }, err)) != 0)
        return code;
    if (!job->adviser.replay.graph.points)
        return error_set(err, ERR_NO_DATA,
                         "the report has no CUDA calls and no GPU work; record them with "
                         "'tacho profile --trace=cuda'");
    return 0;
}

static void what_if_gpu_close(struct what_if_job *job)
{
    adviser_free(&job->adviser);
    steps_free(&job->asked);
}

static int what_if_gpu_has_base(const struct what_if_job *job)
{
    return job->adviser.base.count != 0;
}

static int what_if_gpu_find(struct what_if_job *job, struct what_if_change *change, struct error *err)
{
    return what_if_find(change, &job->adviser.replay, job->report, err);
}

static int what_if_gpu_replay(struct what_if_job *job, int with_base, const struct what_if_change *first,
                              const struct what_if_change *behind, struct what_if_times *out, struct error *err)
{
    const struct replay_edits *lists[1 + WHAT_IF_MOST_CHANGES + 1] = { NULL };
    struct replay_result result;
    struct replay_step_times step;
    size_t count = 0;
    int code;

    if (with_base)
        lists[count++] = &job->adviser.base;
    for (; first < behind; first++)
        lists[count++] = &first->gpu;
    if ((code = replay_run(&job->adviser.replay, lists, &result, err)) != 0 ||
        (code = replay_steps(&job->adviser.replay, job->adviser.steps, &step, err)) != 0)
        return code;
    *out = (struct what_if_times){ result.replayed_ns, step.replayed_ns, step.steps };
    return 0;
}

/* The path may begin later than the run: with a thread or a process that no other one is known to have started. */
static int what_if_gpu_add_path(struct table *table, struct what_if_job *job, struct error *err)
{
    struct replay_result result;
    int code = replay_run(&job->adviser.replay, NULL, &result, err);

    if (code != 0)
        return code;
    const struct what_if_parts parts = { table, result.replayed_ns };
    for (int kind = 0; kind < REPLAY_KINDS; kind++)
        if ((code = what_if_add_part(&parts, replay_kind_names[kind], result.path_ns[kind], err)) != 0)
            return code;
    return what_if_add_part(&parts, "before its first event", result.before_path_ns, err);
}

const struct what_if_model what_if_gpu = { what_if_gpu_open, what_if_gpu_close,  what_if_gpu_has_base,
                                           what_if_gpu_find, what_if_gpu_replay, what_if_gpu_add_path };
