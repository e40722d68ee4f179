/* Numbers hosts, systems and GPUs. Each is looked up by a text that identifies it, so that thousands of reports cost no
 * more than their number. */
#include "set_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/saturating.h"
#include "base/text.h"

/* Two hosts of the same name whose kernels started within this time of each other are one. */
#define SAME_START_NS INT64_C(1000000000)

struct set_hosts_numbering {
    struct intern hosts, systems, gpus;
    size_t *host_groups;                     /* by id of hosts: the last group of that name */
    size_t *previous_group;                  /* by group: the one before it of the same name; SIZE_MAX: none */
    size_t *group_members;                   /* by group: its first member */
    int64_t *system_numbers, *first_devices; /* by id of systems and gpus */
    size_t groups;
    int64_t system_count, device_count;
};

static int64_t kernel_start(const struct set_member *member)
{
    return member->moment_count ? saturating_subtract(member->moments->utc_ns, member->moments->monotonic_ns) : 0;
}

static int is_same_start(const struct set_member *a, const struct set_member *b)
{
    int64_t apart = saturating_subtract(kernel_start(a), kernel_start(b));

    return apart < SAME_START_NS && apart > -SAME_START_NS;
}

/* A text as an id; *is_new: it was not there before. */
static int64_t number_text(struct intern *pool, const struct text *key, int *is_new)
{
    size_t before = pool->count;
    int64_t id = intern_add(pool, text_string(key), key->length);

    *is_new = pool->count > before;
    return id;
}

/* Without a counter that others read too, a report is on a host of its own. */
static int set_hosts_find_group(struct set_hosts_numbering *to, struct set_member *members, size_t index)
{
    struct set_member *at = &members[index];
    const char *name = at->boot ? at->boot : at->host;
    struct text key = { 0 };
    int is_new = 1;
    int64_t id = 0;

    if (at->has_counter && name) {
        text_addf(&key, "%c", at->boot ? 'b' : 'h');
        text_add(&key, name);
        id = number_text(&to->hosts, &key, &is_new);
        text_free(&key);
        if (id < 0)
            return ERR_NO_MEMORY;
        for (size_t group = is_new ? SIZE_MAX : to->host_groups[id]; group != SIZE_MAX;
             group = to->previous_group[group])
            if (at->boot || is_same_start(&members[to->group_members[group]], at)) {
                at->clock_group = group;
                return 0;
            }
    }
    at->clock_group = to->groups++;
    to->group_members[at->clock_group] = index;
    to->previous_group[at->clock_group] = is_new ? SIZE_MAX : to->host_groups[id];
    if (at->has_counter && name)
        to->host_groups[id] = at->clock_group;
    return 0;
}

static int number_system(struct set_hosts_numbering *to, struct set_member *at)
{
    struct text key = { 0 };
    int is_new;

    text_addf(&key, "%zu %s", at->clock_group, at->pid_namespace ? at->pid_namespace : "");
    int64_t id = number_text(&to->systems, &key, &is_new);
    text_free(&key);
    if (id < 0)
        return ERR_NO_MEMORY;
    if (is_new)
        to->system_numbers[id] = ++to->system_count;
    at->system = to->system_numbers[id];
    return 0;
}

static int number_gpus(struct set_hosts_numbering *to, struct set_member *at)
{
    struct text key = { 0 };
    int is_new;

    text_addf(&key, "%zu ", at->clock_group);
    text_add(&key, at->gpus);
    int64_t id = number_text(&to->gpus, &key, &is_new);
    text_free(&key);
    if (id < 0)
        return ERR_NO_MEMORY;
    at->repeats_gpus = !is_new;
    if (is_new) {
        to->first_devices[id] = to->device_count;
        to->device_count += at->gpu_count;
    }
    at->first_device = to->first_devices[id];
    return 0;
}

static int number_all(struct set_hosts_numbering *to, struct set_member *members, size_t count)
{
    int code;

    for (size_t i = 0; i < count; i++)
        if ((code = set_hosts_find_group(to, members, i)) != 0 || (code = number_system(to, &members[i])) != 0 ||
            (code = number_gpus(to, &members[i])) != 0)
            return code;
    return 0;
}

/* A report alone keeps the numbers that it has. */
int set_hosts_number(struct set_member *members, size_t count, struct error *err)
{
    struct set_hosts_numbering to = {
        .host_groups = calloc(count, sizeof *to.host_groups),
        .previous_group = calloc(count, sizeof *to.previous_group),
        .group_members = calloc(count, sizeof *to.group_members),
        .system_numbers = calloc(count, sizeof *to.system_numbers),
        .first_devices = calloc(count, sizeof *to.first_devices),
    };
    int code = ERR_NO_MEMORY;

    if (to.host_groups && to.previous_group && to.group_members && to.system_numbers && to.first_devices)
        code = number_all(&to, members, count);
    if (count == 1)
        members->system = -1;
    intern_free(&to.hosts);
    intern_free(&to.systems);
    intern_free(&to.gpus);
    free(to.host_groups);
    free(to.previous_group);
    free(to.group_members);
    free(to.system_numbers);
    free(to.first_devices);
    return code != 0 ? error_no_memory(err) : 0;
}
