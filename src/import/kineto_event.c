/* Parses one event of a trace: its members as slices, and its arguments, whose known keys are found by a small hash. */
#include "kineto.h"

#include <string.h>

/* Old spellings, of PyTorch 1.8 to 1.12. */
static const struct {
    struct json_slice spelling;
    enum kineto_key key;
} spellings[] = {
#define KINETO_KEY(name, spelling) { SLICE(spelling), KEY_##name },
    KINETO_KEYS(KINETO_KEY)
#undef KINETO_KEY
        { SLICE("external id"), KEY_EXTERNAL },
    { SLICE("Input dims"), KEY_DIMS },
    { SLICE("Sequence Number"), KEY_SEQUENCE },
    { SLICE("Fwd Thread Id"), KEY_FORWARD_THREAD },
};
enum { SPELLINGS = COUNT_OF(spellings), SLOTS = KINETO_KEY_SLOTS };

static unsigned slot_of(struct json_slice name)
{
    const unsigned char *bytes = (const unsigned char *)name.bytes;

    return (unsigned)(name.length * 7 + bytes[0] * 3u + bytes[name.length - 1] * 5u + bytes[name.length / 2]) % SLOTS;
}

void kineto_event_init(struct kineto_event *event)
{
    memset(event, 0, sizeof *event);
    for (unsigned i = 0; i < SPELLINGS; i++) {
        unsigned slot = slot_of(spellings[i].spelling);
        while (event->slots[slot])
            slot = (slot + 1) % SLOTS;
        event->slots[slot] = (unsigned char)(i + 1);
    }
}

static enum kineto_key kineto_event_find_key(const unsigned char *slots, struct json_slice name)
{
    if (name.length == 0)
        return KEY_OTHER;
    for (unsigned slot = slot_of(name); slots[slot]; slot = (slot + 1) % SLOTS)
        if (json_slice_equal(name, spellings[slots[slot] - 1].spelling))
            return spellings[slots[slot] - 1].key;
    return KEY_OTHER;
}

static void add_arg(struct kineto_event *event, struct json_slice name, struct json_slice value)
{
    enum kineto_key key = kineto_event_find_key(event->slots, json_slice_inside(name));

    if (event->arg_count == KINETO_MOST_ARGS) {
        event->args_left_out++;
        return;
    }
    if (key != KEY_OTHER)
        event->by_key[key] = value;
    event->args[event->arg_count++] = (struct kineto_arg){ key, name, value };
}

/* The name of the next member; scan moves after its colon. *more is 0 at the end of the object. */
static int next_member(struct json_scan *scan, int first, struct json_slice *name, int *more)
{
    int found = SCAN_OK;

    json_scan_space(scan);
    if (!first && *scan->at == ',') {
        scan->at++;
        json_scan_space(scan);
    }
    *more = *scan->at != '}';
    if (!*more) {
        scan->at++;
        return SCAN_OK;
    }
    if (scan->at >= scan->end)
        return SCAN_CUT;
    if (*scan->at != '"')
        return SCAN_BAD;
    found = json_scan_string(scan, PLACE_KEY, name);
    return found == SCAN_OK ? json_scan_mark(scan, ':') : found;
}

static int read_args(struct json_scan *scan, struct kineto_event *event)
{
    struct json_slice name, value;
    int more = 1, found;

    json_scan_space(scan);
    if (scan->at < scan->end && *scan->at != '{') /* null, or a value that no writer makes */
        return json_scan_value(scan, PLACE_OBJECT, &value);
    found = json_scan_mark(scan, '{');
    for (int first = 1; found == SCAN_OK; first = 0) {
        found = next_member(scan, first, &name, &more);
        if (found != SCAN_OK || !more)
            break;
        found = json_scan_value(scan, PLACE_OBJECT, &value);
        if (found == SCAN_OK)
            add_arg(event, name, value);
    }
    return found;
}

static struct json_slice *find_field(struct kineto_event *event, struct json_slice name)
{
    static const struct {
        struct json_slice name;
        size_t offset;
    } fields[] = {
        { SLICE("ph"), offsetof(struct kineto_event, phase) },
        { SLICE("cat"), offsetof(struct kineto_event, category) },
        { SLICE("name"), offsetof(struct kineto_event, name) },
        { SLICE("pid"), offsetof(struct kineto_event, pid) },
        { SLICE("tid"), offsetof(struct kineto_event, tid) },
        { SLICE("ts"), offsetof(struct kineto_event, ts) },
        { SLICE("dur"), offsetof(struct kineto_event, dur) },
        { SLICE("id"), offsetof(struct kineto_event, id) },
    };

    name = json_slice_inside(name);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (json_slice_equal(name, fields[i].name))
            return (struct json_slice *)(void *)((char *)event + fields[i].offset);
    return NULL;
}

int kineto_read_event(struct json_scan *scan, struct kineto_event *event)
{
    struct json_slice name, value;
    int more = 1, found = json_scan_mark(scan, '{');

    memset(event, 0, offsetof(struct kineto_event, args));
    event->arg_count = event->args_left_out = 0;
    memset(event->by_key, 0, sizeof event->by_key);
    for (int first = 1; found == SCAN_OK; first = 0) {
        found = next_member(scan, first, &name, &more);
        if (found != SCAN_OK || !more)
            break;
        if (json_slice_is(name, "args")) {
            found = read_args(scan, event);
            continue;
        }
        found = json_scan_value(scan, PLACE_OBJECT, &value);
        struct json_slice *field = found == SCAN_OK ? find_field(event, name) : NULL;
        if (field)
            *field = value;
    }
    return found;
}
