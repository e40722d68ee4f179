/* The fuzzer's way into the timeline: bytes are opened as a report, and as a view of it; every row is asked for tiles,
 * some events for all that there is about them. scripts/fuzz links it with libFuzzer. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../unit/memory_host.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void ask(struct view *view, struct text *out, const char *request)
{
    const char *type;
    struct error err;

    text_clear(out);
    view_answer(view, request, NULL, 0, out, &type, &err);
}

static void ask_about_rows(struct view *view, struct text *out)
{
    char request[128];

    for (size_t row = 0; row < view->row_count && row < 32; row++) {
        for (int level = 0; level <= 52; level += 13) {
            snprintf(request, sizeof request, "tile?rows=%zu&level=%d&index=0", row, level);
            ask(view, out, request);
        }
        snprintf(request, sizeof request, "event?row=%zu&event=0", row);
        ask(view, out, request);
        snprintf(request, sizeof request, "at?row=%zu&time=1000&slack=100000", row);
        ask(view, out, request);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const requests[] = { "about",
                                            "rows",
                                            "overview?width=50",
                                            "names?ids=0,1,2,1073741825",
                                            "find?text=a",
                                            "next?text=e&at=0",
                                            "flame?source=cpu",
                                            "steps?bins=7&order=duration",
                                            "advice",
                                            "summary",
                                            "table?report=nvtx_sum" };
    struct memory_file file = { bytes, size };
    struct report *report;
    struct view *view;
    struct text out = { 0 };
    struct error err;

    if (memory_open(&file, &report, &err) != 0)
        return 0;
    if (view_open(report, &view, &err) == 0) {
        for (size_t i = 0; i < COUNT_OF(requests); i++)
            ask(view, &out, requests[i]);
        ask_about_rows(view, &out);
        view_close(view);
    }
    text_free(&out);
    report_close(report);
    return 0;
}
