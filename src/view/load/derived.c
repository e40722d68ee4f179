/* The table of functions that derive rows, and the names of states. */
#include "derived.h"

#include <string.h>

#include "base/hash.h"

static int (*const makers[])(struct view *view, struct error *err) = { derived_sched, derived_gil, derived_steps,
                                                                       derived_gpu_nvtx };

int derived_rows(struct view *view, struct error *err)
{
    int code;

    for (size_t i = 0; i < COUNT_OF(makers); i++)
        if ((code = makers[i](view, err)) != 0)
            return code;
    return 0;
}

static const char *const state_names[VIEW_STATE_COUNT] = {
#define STATE_NAME(id, name, work) name,
    VIEW_STATES(STATE_NAME)
#undef STATE_NAME
};
static const enum work_kind state_works[VIEW_STATE_COUNT] = {
#define STATE_WORK(id, name, work) work,
    VIEW_STATES(STATE_WORK)
#undef STATE_WORK
};

enum work_kind derived_state_work(const char *name, size_t length)
{
    for (int i = 0; i < VIEW_STATE_COUNT; i++)
        if (strlen(state_names[i]) == length && memcmp(state_names[i], name, length) == 0)
            return state_works[i];
    return WORK_NONE;
}

uint32_t derived_state_name(struct view *view, enum view_state_number state)
{
    return view_own_name(view, state_names[state]);
}

static uint32_t derived_find_own(const struct view *view, const char *name)
{
    int64_t id = intern_find(&view->own_names, name, strlen(name));

    return id < 0 ? (uint32_t)VIEW_NAME_NONE : (uint32_t)(VIEW_OWN_NAME + id);
}

uint32_t derived_state_find(const struct view *view, enum view_state_number state)
{
    return derived_find_own(view, state_names[state]);
}

uint32_t derived_cause_name(const struct view *view, enum gap_cause cause)
{
    return derived_find_own(view, gap_cause_names[cause]);
}

/* The number of the state that a name is of; 255 for none. */
static uint8_t state_number(struct view *view, uint32_t name)
{
    const char *text = view_name(view, name, NULL);

    for (uint8_t i = 0; i < VIEW_STATE_COUNT; i++)
        if (strcmp(text, state_names[i]) == 0)
            return i;
    for (uint8_t i = 0; i < GAP_CAUSES; i++)
        if (strcmp(text, gap_cause_names[i]) == 0)
            return (uint8_t)(STATE_FIRST_CAUSE + i);
    return UINT8_MAX;
}

uint8_t view_name_colour(struct view *view, uint32_t name)
{
    size_t length;
    const char *bytes = view_name(view, name, &length);

    return (uint8_t)hash_bytes(bytes, length);
}

uint8_t view_colour(struct view *view, const struct view_row *row, uint32_t name)
{
    return row->kind == KIND_STATES ? state_number(view, name) : view_name_colour(view, name);
}
