/* NVTX ranges that decide which launches are counted (tacho ncu --nvtx-include, --nvtx-exclude, --range-filter).
 *
 * Rules are texts of the settings: "ip" DOMAIN TAB NAME includes launches in a push/pop range, "is…" in a start/end
 * range; "ep" and "es" exclude them; "n2-3,7" names the instances of included ranges that count, "c2-3,7" those of
 * ranges that cudaProfilerStart() begins. A range that matches a rule is noted under its key (nvtx_agent.c) while it is
 * open. Push/pop ranges count for launches of their own thread, start/end ranges for all. The lock is held for a few
 * comparisons, with the program's signals blocked. */
#include "nvtx_launch.h"

#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "nvtx_agent.h"

enum { RULES_MOST = 16, OPEN_MOST = 1024, DOMAINS_MOST = 1024, STRINGS_MOST = 256, SPANS_MOST = 32, NAME_BYTES = 64 };

struct rule {
    char domain[NAME_BYTES]; /* "": the default one */
    const char *name;        /* in the settings */
    uint8_t is_push, is_exclude;
    uint32_t seen;           /* ranges that matched */
};

static struct {
    _Atomic uint32_t lock;
    uint32_t rule_count, included;  /* included: has rules that include */
    struct rule rules[RULES_MOST];
    uint16_t domains[DOMAINS_MOST]; /* rules of the domain, as bits */
    struct {
        uint32_t id;
        uint16_t rules;             /* whose name it is */
    } strings[STRINGS_MOST];
    uint32_t string_count;
    struct spans {
        struct {
            uint32_t from, to;
        } list[SPANS_MOST];
        uint32_t count;               /* 0: all */
    } instances, profiler;
    _Atomic uint32_t profiler_ranges; /* that began */
    struct {
        uint64_t key;
        uint32_t rules;
    } open[OPEN_MOST];
    _Atomic uint32_t open_count;
} launch;

static uint64_t nvtx_launch_take_lock(void)
{
    uint64_t signals = sys_hold_signals();
    while (atomic_exchange_explicit(&launch.lock, 1, memory_order_acquire))
        sys_sched_yield();
    return signals;
}

static void release_lock(uint64_t signals)
{
    atomic_store_explicit(&launch.lock, 0, memory_order_release);
    sys_release_signals(signals);
}

/* ---- Rules ----------------------------------------------------------------------------------------------------- */

static void nvtx_launch_read_spans(struct spans *spans, const char *text)
{
    while (*text && spans->count < SPANS_MOST) {
        uint32_t from = (uint32_t)small_number(text);
        text += strspn(text, "0123456789");
        uint32_t to = *text == '-' ? (uint32_t)small_number(text + 1) : from;
        text += strcspn(text, ",");
        text += *text == ',';
        spans->list[spans->count].from = from;
        spans->list[spans->count++].to = to;
    }
}

static void read_rule(const char *text)
{
    const char *tab = strchr(text, '\t');
    if (*text == 'n')
        nvtx_launch_read_spans(&launch.instances, text + 1);
    if (*text == 'c')
        nvtx_launch_read_spans(&launch.profiler, text + 1);
    if (!tab || (*text != 'i' && *text != 'e') || launch.rule_count == RULES_MOST ||
        (size_t)(tab - text) - 2 >= NAME_BYTES)
        return;
    struct rule *rule = &launch.rules[launch.rule_count++];
    *rule = (struct rule){ .name = tab + 1, .is_push = text[1] == 'p', .is_exclude = *text == 'e' };
    memcpy(rule->domain, text + 2, (size_t)(tab - text) - 2);
    launch.included |= !rule->is_exclude;
}

int nvtx_launch_read(const char *list)
{
    launch.rule_count = launch.included = launch.instances.count = launch.profiler.count = 0;
    atomic_store(&launch.open_count, 0);
    for (; list && *list; list += strlen(list) + 1)
        read_rule(list);
    nvtx_launch_domain(0, NULL);
    return launch.rule_count > 0;
}

void nvtx_launch_domain(uint32_t id, const struct nvtx_text *name)
{
    uint16_t rules = 0;
    for (uint32_t i = 0; i < launch.rule_count; i++) {
        const char *wanted = launch.rules[i].domain;
        if (name ? *wanted && nvtx_text_is(name, wanted) : !*wanted)
            rules |= (uint16_t)(1u << i);
    }
    if (id < DOMAINS_MOST)
        launch.domains[id] = rules;
}

/* The rules whose name this text is, of those given. */
static uint16_t rules_of(const struct nvtx_text *text, uint16_t rules)
{
    uint16_t found = 0;
    if (text->kind == NVTX_TEXT_REGISTERED) {
        for (uint32_t i = 0; i < launch.string_count; i++)
            found |= launch.strings[i].id == (uint32_t)text->id ? launch.strings[i].rules : 0;
        return found & rules;
    }
    for (uint32_t i = 0; i < launch.rule_count; i++)
        if (rules >> i & 1 && nvtx_text_is(text, launch.rules[i].name))
            found |= (uint16_t)(1u << i);
    return found;
}

void nvtx_launch_string(const struct nvtx_text *text, uint32_t id)
{
    uint16_t rules = launch.rule_count ? rules_of(text, UINT16_MAX) : 0;
    if (!rules)
        return;
    uint64_t signals = nvtx_launch_take_lock();
    if (launch.string_count < STRINGS_MOST) {
        launch.strings[launch.string_count].id = id;
        launch.strings[launch.string_count++].rules = rules;
    }
    release_lock(signals);
}

/* ---- Ranges ---------------------------------------------------------------------------------------------------- */

static int nvtx_launch_is_in(const struct spans *spans, uint32_t number)
{
    for (uint32_t i = 0; i < spans->count; i++)
        if (number >= spans->list[i].from && number <= spans->list[i].to)
            return 1;
    return spans->count == 0;
}

void nvtx_launch_profiler_starts(void)
{
    atomic_fetch_add(&launch.profiler_ranges, 1);
}

static void nvtx_launch_forget(uint64_t key)
{
    for (uint32_t i = launch.open_count; i-- > 0;)
        if (launch.open[i].key == key) {
            launch.open[i] = launch.open[--launch.open_count];
            return;
        }
}

void nvtx_launch_range_begins(const struct nvtx_event *event, uint64_t key)
{
    uint16_t of_domain = event->domain < DOMAINS_MOST ? launch.domains[event->domain] : 0;
    uint16_t found = of_domain ? rules_of(&event->text, of_domain) : 0;
    uint32_t rules = 0;

    if (!found)
        return;
    uint64_t signals = nvtx_launch_take_lock();
    for (uint32_t i = 0; i < launch.rule_count; i++) {
        struct rule *rule = &launch.rules[i];
        if (found >> i & 1 && rule->is_push == key >> 63 &&
            (nvtx_launch_is_in(&launch.instances, ++rule->seen) || rule->is_exclude))
            rules |= 1u << i;
    }
    nvtx_launch_forget(key);
    if (rules && launch.open_count < OPEN_MOST) {
        launch.open[launch.open_count].key = key;
        launch.open[launch.open_count++].rules = rules;
    }
    release_lock(signals);
}

void nvtx_launch_range_ends(uint64_t key)
{
    if (!atomic_load_explicit(&launch.open_count, memory_order_relaxed))
        return;
    uint64_t signals = nvtx_launch_take_lock();
    nvtx_launch_forget(key);
    release_lock(signals);
}

int nvtx_launch_is_wanted(const struct agent_thread *thread)
{
    int is_included = 0, is_excluded = 0;

    if (!nvtx_launch_is_in(&launch.profiler, atomic_load(&launch.profiler_ranges)))
        return 0;
    if (!launch.rule_count)
        return 1;
    uint64_t signals = nvtx_launch_take_lock();
    for (uint32_t i = 0; i < launch.open_count; i++) {
        uint64_t key = launch.open[i].key;
        if (key >> 63 && nvtx_key_thread(key) != nvtx_key_thread(nvtx_push_key(thread, 0, 0)))
            continue;
        for (uint32_t j = 0; j < launch.rule_count; j++)
            if (launch.open[i].rules >> j & 1)
                *(launch.rules[j].is_exclude ? &is_excluded : &is_included) = 1;
    }
    release_lock(signals);
    return (is_included || !launch.included) && !is_excluded;
}
