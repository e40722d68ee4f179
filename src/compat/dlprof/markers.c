#include "markers.h"

#include <string.h>

struct marker marker_read(const char *name, size_t length)
{
    static const char begin[] = "{'";
    struct marker marker = { .kind = NO_MARKER };
    struct literal whole = { name, length }, key, value;

    if (length < sizeof begin - 1 || memcmp(name, begin, sizeof begin - 1) != 0)
        return marker;
    for (struct literal_scan scan = literal_parts(whole); literal_member(&scan, &key, &value);) {
        if (literal_is(key, "traceMarker"))
            marker.lines = value;
        else if (literal_is(key, "funcStack"))
            marker.functions = value;
        else if (literal_is(key, "mod"))
            marker.module = value;
        else if (literal_is(key, "op"))
            marker.op = value;
        else if (literal_is(key, "args"))
            marker.args = value;
    }
    if (marker.lines.length)
        marker.kind = MARKER_TRACE;
    else if (marker.module.length && marker.op.length)
        marker.kind = MARKER_CALL;
    return marker;
}
