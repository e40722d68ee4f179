/* The request event: everything about one event, and the events that it is linked to. */
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "answer_cache.h"
#include "answers.h"
#include "base/json_write.h"
#include "event_fields.h"
#include "event_frames.h"
#include "key_ranges.h"
#include "operator_pairs.h"
#include "related_events.h"
#include "row_answers.h"
#include "unrecorded.h"
#include "view/idle/gap_details.h"
#include "view/links/rank_links.h"

enum { LONGEST_NAME = 1 << 20 };

struct asking {
    struct view *view;
    struct view_place self;
    int is_brief;                  /* only facts for a tooltip that take no time */
    struct related_correlated ids; /* its own */
    struct event_list calls;       /* the calls that launched it, if it is work on a GPU */
    struct view_place call;        /* the first of them, or VIEW_NO_PLACE */
    int64_t thread, from_ns,
        to_ns; /* its own, or those of the call: event_details_find_around() looks there; thread -1: nowhere */
    struct event_list around;
    struct view_place torch_op;    /* the innermost operator around it, or VIEW_NO_PLACE */
    struct operator_facts facts;   /* its own */
    struct view_place forward;     /* the forward operator, if it is a backward one or lies in one */
    struct gap_chain chain;        /* GPU gaps only */
    struct rank_instance instance; /* collectives only */
    struct text links;
    struct text gap;               /* the details of a gap */
};

static void asking_free(struct asking *asking)
{
    related_correlated_free(&asking->ids);
    event_list_free(&asking->calls);
    event_list_free(&asking->around);
    event_list_free(&asking->instance.calls);
    text_free(&asking->links);
    text_free(&asking->gap);
}

/* ---- where it was called --------------------------------------------------------------------------------------- */

static int is_on_gpu(const struct asking *asking)
{
    enum row_place place = row_types[asking->view->rows[asking->self.row].type].place;

    return place == PLACE_CONTEXT || place == PLACE_GPU;
}

/* The range on the CPU of which this event is the projection onto a GPU. */
static int event_details_find_range(struct asking *asking, struct error *err)
{
    uint32_t table_row = place_table_row(asking->view, asking->self);
    struct view_place range = VIEW_NO_PLACE;
    int code = view_locate(asking->view, place_table(asking->view, asking->self), &table_row, 1, &range, err);

    if (code != 0)
        return code == ERR_NOT_FOUND ? 0 : code;
    if (range.row == VIEW_NO_ROW || range.row == asking->self.row)
        return 0;
    return event_list_add(&asking->calls, range, err);
}

static int is_gap(const struct asking *asking)
{
    return asking->view->rows[asking->self.row].type == ROW_IDLE;
}

static int event_details_find_call(struct asking *asking, struct error *err)
{
    struct view *view = asking->view;
    const struct view_row *row = &view->rows[asking->self.row];
    int is_projection = row->type == ROW_GPU_NVTX || row->type == ROW_GPU_TORCH, code;

    asking->chain.gap = asking->chain.work = asking->self;
    if (is_gap(asking) && (code = gap_details_work(view, asking->self, &asking->chain.work, err)) != 0)
        return code;
    if (asking->chain.work.row != VIEW_NO_ROW &&
        (code = related_correlated_of(&asking->ids, view, asking->chain.work, err)) != 0)
        return code;
    asking->thread = row->thread;
    asking->from_ns = place_start(view, asking->self);
    asking->to_ns = place_end(view, asking->self);
    if (!is_on_gpu(asking))
        return 0;
    asking->thread = -1;
    if ((code = is_projection ? event_details_find_range(asking, err)
                              : related_calls(&asking->calls, view, &asking->ids, err)) != 0)
        return code;
    if (!asking->calls.count)
        return 0;
    event_list_sort(&asking->calls, view);
    asking->call = asking->calls.list[0];
    asking->thread = view->rows[asking->call.row].thread;
    asking->from_ns = place_start(view, asking->call);
    asking->to_ns = place_end(view, asking->call);
    return 0;
}

/* The innermost operator of a GPU operation without a recorded call: an external id may lead to it. */
static int find_operator_by_id(struct asking *asking, struct view_place *out, struct error *err)
{
    struct event_list operators = { 0 };
    int code;

    if ((code = related_operators(&operators, asking->view, &asking->ids, err)) != 0)
        goto free_operators;
    if (operators.count) {
        event_list_sort(&operators, asking->view);
        *out = operators.list[operators.count - 1];
    }
free_operators:
    event_list_free(&operators);
    return code;
}

/* The events around this one, or around its call. */
static int event_details_find_around(struct asking *asking, struct error *err)
{
    struct view *view = asking->view;
    struct view_place inner = asking->call.row != VIEW_NO_ROW ? asking->call : asking->self, found = VIEW_NO_PLACE;
    int code;

    if (asking->thread < 0 && asking->ids.count && (code = find_operator_by_id(asking, &found, err)) != 0)
        return code;
    if (found.row != VIEW_NO_ROW) {
        inner = found;
        asking->thread = view->rows[inner.row].thread;
        asking->from_ns = place_start(view, inner);
        asking->to_ns = place_end(view, inner);
    }
    if (asking->thread >= 0 && (code = event_list_around(&asking->around, view, asking->thread, asking->from_ns,
                                                         asking->to_ns, inner, err)) != 0)
        return code;
    return found.row != VIEW_NO_ROW ? event_list_add(&asking->around, found, err) : 0;
}

/* The innermost operator around it, and the forward operator of the innermost backward one. */
static int find_operator(struct asking *asking, struct error *err)
{
    struct view *view = asking->view;
    struct event_list forwards = { 0 };
    int code;

    if ((code = operator_facts(&asking->facts, view, asking->self, err)) != 0)
        return code;
    if (asking->facts.is_backward &&
        (code = operator_pairs_find(&forwards, view, &asking->facts, asking->self, err)) != 0)
        goto free_forwards;
    for (size_t i = asking->around.count; i-- > 0 && (!forwards.count || asking->torch_op.row == VIEW_NO_ROW);) {
        struct view_place place = asking->around.list[i];
        struct operator_facts facts;
        enum row_type type = view->rows[place.row].type;
        if (type != ROW_TORCH && type != ROW_NVTX)
            continue;
        if ((code = operator_facts(&facts, view, place, err)) != 0)
            goto free_forwards;
        if (facts.is_operator && asking->torch_op.row == VIEW_NO_ROW)
            asking->torch_op = place;
        if (facts.is_backward && !asking->facts.is_backward && !forwards.count &&
            (code = operator_pairs_find(&forwards, view, &facts, place, err)) != 0)
            goto free_forwards;
    }
    asking->forward = forwards.count ? forwards.list[0] : VIEW_NO_PLACE;
free_forwards:
    event_list_free(&forwards);
    return code;
}

/* ---- links ----------------------------------------------------------------------------------------------------- */

static void event_details_add_links(struct asking *asking, struct event_list *places, const char *kind,
                                    const char *label)
{
    event_list_sort(places, asking->view);
    for (size_t i = 0; i < places->count && i < MOST_PLACES; i++) {
        json_addf(&asking->links, "{'kind':%s,'label':%s", kind, label);
        view_add_event_members(asking->view, &asking->links, places->list[i].row, places->list[i].event);
        text_add_char(&asking->links, '}');
    }
}

static int link_call(struct asking *asking, struct error *err)
{
    struct event_list work = { 0 }, records = { 0 }, waits = { 0 };
    int code;

    if ((code = related_work(&work, asking->view, &asking->ids, err)) != 0 ||
        (code = related_records(&records, asking->view, &asking->ids, err)) != 0 ||
        (code = related_waits(&waits, asking->view, &asking->ids, err)) != 0)
        goto done;
    event_details_add_links(asking, &work, "launches", "launched work");
    event_details_add_links(asking, &records, "waits-for", "waits for the event recorded here");
    event_details_add_links(asking, &waits, "awaited-by", "is waited for here");
done:
    event_list_free(&work);
    event_list_free(&records);
    event_list_free(&waits);
    return code;
}

static int link_work(struct asking *asking, struct error *err)
{
    struct event_list records = { 0 };
    int code;

    event_details_add_links(asking, &asking->calls, "launched-by", "launched by");
    if (strcmp(place_table(asking->view, asking->self), "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") != 0)
        return 0;
    if ((code = related_records(&records, asking->view, &asking->ids, err)) != 0)
        goto free_records;
    event_details_add_links(asking, &records, "waits-for", "waits for the event recorded here");
free_records:
    event_list_free(&records);
    return code;
}

/* A range, an operator or a function: the work launched in it, and the operator of the other direction. */
static int link_range(struct asking *asking, struct error *err)
{
    struct event_list kernels = { 0 }, pairs = { 0 };
    int code;

    if ((code = related_launched(&kernels, asking->view, asking->thread, asking->from_ns, asking->to_ns, err)) != 0 ||
        (!kernels.count && (code = related_work_of_operator(&kernels, asking->view, asking->self, err)) != 0) ||
        (code = operator_pairs_find(&pairs, asking->view, &asking->facts, asking->self, err)) != 0)
        goto done;
    event_details_add_links(asking, &pairs, asking->facts.is_backward ? "forward" : "backward",
                            asking->facts.is_backward ? "forward operator" : "backward operator");
    event_details_add_links(asking, &kernels, "kernels", "GPU work");
done:
    event_list_free(&kernels);
    event_list_free(&pairs);
    return code;
}

/* A range that was projected onto the GPU: the range on the CPU, and its work. */
static int link_projection(struct asking *asking, struct error *err)
{
    struct event_list kernels = { 0 };
    int code;

    event_details_add_links(asking, &asking->calls, "launched-by", "CPU range");
    if (asking->thread < 0)
        return 0;
    if ((code = related_launched(&kernels, asking->view, asking->thread, asking->from_ns, asking->to_ns, err)) != 0)
        goto free_kernels;
    event_details_add_links(asking, &kernels, "kernels", "GPU work");
free_kernels:
    event_list_free(&kernels);
    return code;
}

static int take_holder(void *context, const struct report_block *block, size_t row)
{
    *(int64_t *)context = block_value(block, 0, row, 0);
    return 0;
}

/* The innermost event of the thread that held the lock when the wait for it began. */
static int link_holder(struct asking *asking, struct view_place wait, struct error *err)
{
    static const struct key_ranges_kind holder_kind = { "OSRT_API", { "lockHolder" }, NULL };
    struct event_list around = { 0 }, holder = { 0 };
    int64_t thread = 0, start_ns = place_start(asking->view, wait);
    int code;

    if ((code = key_ranges_row(asking->view->report, &holder_kind, place_table_row(asking->view, wait), take_holder,
                               &thread, err)) != 0 ||
        !thread)
        return code;
    if ((code = event_list_around(&around, asking->view, thread, start_ns, start_ns, VIEW_NO_PLACE, err)) != 0)
        goto done;
    if (around.count && (code = event_list_add(&holder, around.list[around.count - 1], err)) != 0)
        goto done;
    event_details_add_links(asking, &holder, "lock-holder", "activity of the thread that held the lock");
done:
    event_list_free(&around);
    event_list_free(&holder);
    return code;
}

static int link_lock(struct asking *asking, struct error *err)
{
    return link_holder(asking, asking->self, err);
}

static void link_place(struct asking *asking, struct view_place place, const char *kind, const char *label)
{
    struct event_list one = { &place, 1, 1 };

    if (place.row != VIEW_NO_ROW)
        event_details_add_links(asking, &one, kind, label);
}

/* A gap: the work that ended it, its launch, and the call in which the thread waited before it. */
static int link_gap(struct asking *asking, struct error *err)
{
    struct view *view = asking->view;
    struct gap_chain *chain = &asking->chain;
    int code;

    chain->call = asking->call;
    chain->operator= asking->torch_op;
    if ((code = idle_causes_find(&view->cache->idle, view, err)) != 0 ||
        (code = gap_details_add(&asking->gap, view, &view->cache->idle, chain, err)) != 0)
        return code;
    link_place(asking, chain->work, "ended-by", "work that ended the gap");
    event_details_add_links(asking, &asking->calls, "launched-by", "launched by");
    if (chain->wait.row == VIEW_NO_ROW)
        return 0;
    link_place(asking, chain->wait, "waited-in", "the thread was here");
    return view->rows[chain->wait.row].type == ROW_OSRT ? link_holder(asking, chain->wait, err) : 0;
}

static int link_ranks(struct asking *asking, struct error *err)
{
    struct rank_links *links = &asking->view->cache->rank_links;
    struct event_list received = { 0 }, sent = { 0 };
    int code;

    if ((code = rank_links_instance(&asking->instance, links, asking->view, asking->self, err)) != 0 ||
        (code = rank_links_messages(&received, &sent, links, asking->view, asking->self, err)) != 0)
        goto done;
    event_details_add_links(asking, &asking->instance.calls, "collective", "the same collective on another rank");
    event_details_add_links(asking, &received, "message-to", "message received here");
    event_details_add_links(asking, &sent, "message-from", "message sent here");
done:
    event_list_free(&received);
    event_list_free(&sent);
    return code;
}

/* By the type of the row. */
static const struct {
    enum row_type type;
    int (*add)(struct asking *asking, struct error *err);
} linkers[] = {
    { ROW_CUDA_API, link_call },
    { ROW_STREAM, link_work },
    { ROW_GPU_SYNC, link_work },
    { ROW_GPU_NVTX, link_projection },
    { ROW_GPU_TORCH, link_projection },
    { ROW_OSRT, link_lock },
    { ROW_NVTX, link_range },
    { ROW_TORCH, link_range },
    { ROW_PYTHON, link_range },
    { ROW_LIBRARY, link_range },
    { ROW_IDLE, link_gap },
};

/* In a brief answer only the causes of a gap that are known already: to find them takes seconds. */
static int find_brief(struct asking *asking, struct error *err)
{
    return is_gap(asking) && idle_causes_are_known(&asking->view->cache->idle) ? link_gap(asking, err) : 0;
}

static int event_details_find_links(struct asking *asking, struct error *err)
{
    int code;

    if (asking->is_brief)
        return find_brief(asking, err);
    for (size_t i = 0; i < COUNT_OF(linkers); i++)
        if (asking->view->rows[asking->self.row].type == linkers[i].type && (code = linkers[i].add(asking, err)) != 0)
            return code;
    return link_ranks(asking, err);
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

static void add_around(struct asking *asking, struct text *out)
{
    size_t first = asking->is_brief && asking->around.count ? asking->around.count - 1 : 0;

    json_addf(out, "],'around':[");
    for (size_t i = first; i < asking->around.count; i++)
        view_add_event(asking->view, out, asking->around.list[i].row, asking->around.list[i].event);
    json_addf(out, "],'operator':");
    if (asking->torch_op.row == VIEW_NO_ROW)
        text_add(out, "null");
    else
        view_add_event(asking->view, out, asking->torch_op.row, asking->torch_op.event);
}

static void add_collective(struct asking *asking, struct text *out)
{
    const struct rank_instance *instance = &asking->instance;

    json_addf(out, instance->rank_count ? "'collective':{'ranks':%zu,'last':" : "'collective':null",
              instance->rank_count);
    if (!instance->rank_count)
        return;
    if (instance->last.row == VIEW_NO_ROW)
        text_add(out, "null}");
    else {
        json_addf(out, "{'rank':%jd,'lateness':%jd", instance->last_rank, instance->lateness_ns);
        view_add_event_members(asking->view, out, instance->last.row, instance->last.event);
        text_add(out, "}}");
    }
}

static int event_details_add_answer(struct asking *asking, struct text *out, struct error *err)
{
    struct view *view = asking->view;
    const struct event_frames_wanted wanted = { asking->self,   asking->call,    asking->forward, &asking->around,
                                                asking->thread, asking->from_ns, asking->to_ns };
    uint32_t table_row = place_table_row(view, asking->self);
    size_t length;
    const char *name = view_name(view, place_name(view, asking->self), &length),
               *table = place_table(view, asking->self);
    int has_frames = 0, code;

    text_add_char(out, '{');
    view_add_event_members(view, out, asking->self.row, asking->self.event);
    json_addf(out, "'text':%.*s,'table':%s,'rowid':%jd,'fields':[",
              (int)(length < LONGEST_NAME ? length : LONGEST_NAME), name, table, *table ? (int64_t)table_row + 1 : 0);
    if ((code = event_fields_add(view, out, table, table_row, err)) != 0)
        return code;
    add_around(asking, out);
    json_addf(out, "'python':");
    if ((code = event_frames_add_python(view, out, &wanted, &has_frames, err)) != 0)
        return code;
    json_addf(out, "'stack':");
    if ((code = event_frames_add_stack(view, out, asking->call.row != VIEW_NO_ROW ? asking->call : asking->self,
                                       &has_frames, err)) != 0)
        return code;
    json_addf(out, "'unrecorded':");
    if (has_frames)
        text_add(out, "null");
    else
        unrecorded_add(view, out, asking->self.row,
                       asking->thread >= 0 ? global_process(asking->thread) : view->rows[asking->self.row].process);
    add_collective(asking, out);
    text_addf(out, ",\"gap\":%s,\"links\":[%s]}", asking->gap.length ? text_string(&asking->gap) : "null",
              asking->is_brief ? "" : text_string(&asking->links));
    return text_failed(&asking->links) || text_failed(&asking->gap) ? error_short_memory(err, "for the links") : 0;
}

int view_event(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    struct asking asking = {
        .view = view, .self = VIEW_NO_PLACE, .call = VIEW_NO_PLACE, .torch_op = VIEW_NO_PLACE, .forward = VIEW_NO_PLACE
    };
    int64_t event = 0, brief = 0;
    int code;

    if ((code = view_argument_row(view, arguments, "row", &asking.self.row, err)) != 0 ||
        (code = argument_int_needed(arguments, "event", 0, UINT32_MAX, &event, err)) != 0 ||
        (code = argument_int(arguments, "brief", 0, 1, &brief, err)) != 0)
        return code;
    if (event >= view->rows[asking.self.row].events.count)
        return error_set(err, ERR_NOT_FOUND,
                         "the timeline has no event %lld in row "
                         "%d",
                         (long long)event, asking.self.row);
    asking.self.event = (uint32_t)event;
    asking.is_brief = (int)brief;
    if ((code = event_details_find_call(&asking, err)) != 0 || (code = event_details_find_around(&asking, err)) != 0 ||
        (code = find_operator(&asking, err)) != 0 || (code = event_details_find_links(&asking, err)) != 0)
        goto free_asking;
    code = event_details_add_answer(&asking, out, err);
free_asking:
    asking_free(&asking);
    return code;
}
