/* See launch_filter.h. Two tables of fixed size hold what launches have shown: the answer for each name, and the number
 * of launches of each kind that is counted apart (a GPU, a launch configuration, a kernel of --kernel-id). */
#include "launch_filter.h"

#include <string.h>

#include "abi/counters/name_pattern.h"
#include "agent/core/small_text.h"
#include "base/array.h"
#include "kernel_name.h"

enum { NAMES_MOST = 4096, TALLIES_MOST = 4096, PART_BYTES = 160, DEVICES_MOST = 64 };

/* The answers for a name, once they are known. */
enum launch_filter_answer { KNOWN = 1, IS_NAMED = 2, HAS_ID = 4, IS_COLLECTIVE = 8 };

enum launch_filter_mode { MODE_GLOBAL, MODE_PER_GPU, MODE_PER_LAUNCH_CONFIG };
static const char *const mode_names[] = {
    [MODE_GLOBAL] = "global", [MODE_PER_GPU] = "per-gpu", [MODE_PER_LAUNCH_CONFIG] = "per-launch-config"
};

/* A part of --kernel-id: a number or an expression, which must be the whole of it. */
struct launch_filter_part {
    int is_given;
    char text[PART_BYTES];
    struct name_pattern pattern;
};

static struct {
    int has_kernel, has_id, has_id_name, has_devices, is_mangled, takes_collectives;
    struct name_pattern kernel, id_name;
    struct launch_filter_part context, stream, invocation;
    enum launch_filter_mode mode;
    uint64_t skip, count, skip_before;
    uint64_t devices; /* bits */

    uint64_t launches, matches;
    struct {
        uint64_t hash;
        uint8_t answers;
    } names[NAMES_MOST];
    struct {
        uint64_t hash, count; /* count 0: free */
    } tallies[TALLIES_MOST];
} filter;

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* An expression that is wrong matches nothing: the command has refused it before. */
static void read_pattern(struct name_pattern *pattern, const char *text, size_t length)
{
    if (name_pattern_read(pattern, text, length))
        name_pattern_compile(pattern, "$.", 2);
}

static void launch_filter_read_part(struct launch_filter_part *part, const char *text, size_t length)
{
    static const char before[] = "^(?:", behind[] = ")$";
    size_t whole = length + sizeof before - 1 + sizeof behind - 1;

    part->is_given = length > 0;
    if (!length || whole >= sizeof part->text)
        return;
    memcpy(part->text, before, sizeof before - 1);
    memcpy(part->text + sizeof before - 1, text, length);
    memcpy(part->text + sizeof before - 1 + length, behind, sizeof behind);
    if (name_pattern_compile(&part->pattern, part->text, whole))
        name_pattern_compile(&part->pattern, "$.", 2);
}

/* CONTEXT:STREAM:[regex:]NAME:INVOCATION */
static void launch_filter_read_id(const char *text)
{
    const char *stream = strchr(text, ':'), *name = stream ? strchr(stream + 1, ':') : NULL;
    const char *invocation = strrchr(text, ':');

    filter.has_id = name != NULL && invocation > name;
    if (!filter.has_id)
        return;
    launch_filter_read_part(&filter.context, text, (size_t)(stream - text));
    launch_filter_read_part(&filter.stream, stream + 1, (size_t)(name - stream) - 1);
    launch_filter_read_part(&filter.invocation, invocation + 1, strlen(invocation + 1));
    filter.has_id_name = invocation > name + 1;
    if (filter.has_id_name)
        read_pattern(&filter.id_name, name + 1, (size_t)(invocation - name) - 1);
}

static void take_kernel(const char *value)
{
    filter.has_kernel = 1;
    read_pattern(&filter.kernel, value, strlen(value));
}

static void launch_filter_take_base(const char *value)
{
    filter.is_mangled = strcmp(value, "mangled") == 0;
}

static void take_mode(const char *value)
{
    for (size_t i = 0; i < COUNT_OF(mode_names); i++)
        if (strcmp(mode_names[i], value) == 0)
            filter.mode = (enum launch_filter_mode)i;
}

static void take_skip(const char *value)
{
    filter.skip = small_number(value);
}

static void take_count(const char *value)
{
    filter.count = small_number(value);
}

static void take_skip_before(const char *value)
{
    filter.skip_before = small_number(value);
}

static void launch_filter_take_device(const char *value)
{
    uint64_t device = small_number(value);

    filter.has_devices = 1;
    if (device < DEVICES_MOST)
        filter.devices |= UINT64_C(1) << device;
}

static void take_collective(const char *value)
{
    filter.takes_collectives = small_number(value) != 0;
}

int launch_filter_add(const char *key, const char *value)
{
    static const struct {
        const char *key;
        void (*take)(const char *value);
    } lines[] = {
        { "kernel", take_kernel },
        { "base", launch_filter_take_base },
        { "kernel-id", launch_filter_read_id },
        { "skip", take_skip },
        { "count", take_count },
        { "skip-before", take_skip_before },
        { "filter-mode", take_mode },
        { "device", launch_filter_take_device },
        { "collective", take_collective },
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (strcmp(lines[i].key, key) == 0) {
            lines[i].take(value);
            return 0;
        }
    return -1;
}

void launch_filter_reset(void)
{
    memset(&filter, 0, sizeof filter);
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

/* Never 0. */
static uint64_t launch_filter_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 29) | 1;
}

static uint64_t launch_filter_hash_of(const char *text, size_t length)
{
    uint64_t hash = launch_filter_mix(1, length), word;

    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = launch_filter_mix(hash, word);
    }
    word = 0;
    memcpy(&word, text, length);
    return launch_filter_mix(hash, word);
}

static int is_collective(const char *name, size_t length)
{
    static const char *const patterns[] = { "ncclDevKernel", "ncclKernel", "nvshmem" };

    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        size_t bytes = strlen(patterns[i]);
        for (size_t at = 0; at + bytes <= length; at++)
            if (memcmp(name + at, patterns[i], bytes) == 0)
                return 1;
    }
    return 0;
}

static unsigned find_answers(const char *symbol, size_t symbol_length)
{
    size_t length;
    const char *function = kernel_function_name(symbol, &length);
    unsigned answers = KNOWN | (is_collective(function, length) ? IS_COLLECTIVE : 0);

    if (filter.is_mangled) {
        function = symbol;
        length = symbol_length;
    }
    if (!filter.has_kernel || name_pattern_matches(&filter.kernel, function, length))
        answers |= IS_NAMED;
    if (!filter.has_id_name || name_pattern_matches(&filter.id_name, function, length))
        answers |= HAS_ID;
    return answers;
}

/* By the text, not by its place: a library may be unloaded, and another kernel's name take its place. */
static unsigned answers_for(const char *symbol, uint64_t *hash)
{
    size_t length = strlen(symbol), at, tries = 0;

    *hash = launch_filter_hash_of(symbol, length);
    for (at = *hash % NAMES_MOST; filter.names[at].answers && tries < NAMES_MOST; at = (at + 1) % NAMES_MOST, tries++)
        if (filter.names[at].hash == *hash)
            return filter.names[at].answers;
    unsigned answers = find_answers(symbol, length);
    if (tries < NAMES_MOST) {
        filter.names[at].hash = *hash;
        filter.names[at].answers = (uint8_t)answers;
    }
    return answers;
}

/* ---- Launches -------------------------------------------------------------------------------------------------- */

/* One more of this kind; returns how many these are. Once the table is full, further kinds have none: 0. */
static uint64_t launch_filter_tally(uint64_t hash)
{
    size_t at = hash % TALLIES_MOST;

    for (size_t tries = 0; tries < TALLIES_MOST; tries++, at = (at + 1) % TALLIES_MOST) {
        if (filter.tallies[at].count && filter.tallies[at].hash != hash)
            continue;
        filter.tallies[at].hash = hash;
        return ++filter.tallies[at].count;
    }
    return 0;
}

static uint64_t hash_sizes(uint64_t hash, const struct counted_launch *launch)
{
    for (size_t i = 0; i < 3; i++)
        hash = launch_filter_mix(launch_filter_mix(hash, launch->grid[i]), launch->block[i]);
    return hash;
}

static int launch_filter_is_part(struct launch_filter_part *part, uint64_t number)
{
    struct small_digits digits;

    if (!part->is_given)
        return 1;
    const char *text = small_digits(&digits, number);
    return name_pattern_matches(&part->pattern, text, strlen(text));
}

/* Invocations are those of one kernel with one launch configuration, as ncu counts them. */
static int launch_filter_has_id(const struct counted_launch *launch, unsigned answers, uint64_t name)
{
    if (!filter.has_id)
        return 1;
    if (!(answers & HAS_ID) || !launch_filter_is_part(&filter.context, launch->context_id) ||
        !launch_filter_is_part(&filter.stream, launch->stream_id))
        return 0;
    if (!filter.invocation.is_given)
        return 1;
    uint64_t kind = hash_sizes(name, launch);
    kind = filter.context.is_given ? launch_filter_mix(kind, launch->context_id) : kind;
    kind = filter.stream.is_given ? launch_filter_mix(kind, UINT64_C(1) << 32 | launch->stream_id) : kind;
    return launch_filter_is_part(&filter.invocation, launch_filter_tally(kind));
}

/* The number of this launch among those that match, of its kind. */
static uint64_t number_in_mode(const struct counted_launch *launch)
{
    if (filter.mode == MODE_PER_GPU)
        return launch_filter_tally(launch_filter_mix(MODE_PER_GPU, launch->device));
    if (filter.mode == MODE_PER_LAUNCH_CONFIG)
        return launch_filter_tally(hash_sizes(MODE_PER_LAUNCH_CONFIG, launch));
    return ++filter.matches;
}

enum launch_answer launch_filter_ask(const struct counted_launch *launch)
{
    uint64_t name;

    if (++filter.launches <= filter.skip_before)
        return LAUNCH_UNWANTED;
    if (filter.has_devices && (launch->device >= DEVICES_MOST || !(filter.devices >> launch->device & 1)))
        return LAUNCH_UNWANTED;
    unsigned answers = answers_for(launch->symbol, &name);
    if (!(answers & IS_NAMED) || !launch_filter_has_id(launch, answers, name))
        return LAUNCH_UNWANTED;
    if ((answers & IS_COLLECTIVE || launch->is_cooperative) && !filter.takes_collectives)
        return LAUNCH_COLLECTIVE;
    if (launch->has_other_chip)
        return LAUNCH_OTHER_CHIP;
    uint64_t number = number_in_mode(launch);
    int is_wanted = number > filter.skip && (!filter.count || number - filter.skip <= filter.count);
    return is_wanted ? LAUNCH_WANTED : LAUNCH_UNWANTED;
}

uint64_t launch_filter_most(void)
{
    return filter.count;
}

int launch_filter_is_over(void)
{
    return filter.mode == MODE_GLOBAL && filter.count && filter.matches >= filter.skip + filter.count;
}
