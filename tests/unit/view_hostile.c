/* The timeline of reports that make no sense (hostile_report.h), and every request about them. The same every time.
 * Under ASan and UBSan this finds what reads out of bounds; without, it still finds crashes and endless loops, and
 * answers that leave events out. */
#include "hostile_report.h"
#include "made_report.h"
#include "rounds.h"

#include <stdio.h>

#include "view/load/view_state.h"
#include "view/timeline.h"

enum { ROUNDS = 20, MOST_ROWS = 40 };

static struct hostile hostile;

static uint64_t random_below(uint64_t most)
{
    return hostile_below(&hostile, most);
}

static struct report *make_report(int round)
{
    struct writer *writer = start();

    hostile = hostile_of((const uint8_t[]){ (uint8_t)round }, 1);
    hostile_fill(&hostile, writer, MOST_ROWS);
    return finish(writer);
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

/* Any answer or refusal is good, but a refusal has a sentence. */
static int ask(struct view *view, struct text *out, const char *body, const char *format, ...)
{
    char request[256];
    const char *type = NULL;
    struct error err = { 0 };
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request, sizeof request, format, arguments);
    va_end(arguments);
    text_clear(out);
    int code = view_answer(view, request, body, body ? strlen(body) : 0, out, &type, &err);
    if (code != 0 && !*err.text)
        fail_msg("%s is refused with %d and no sentence", request, code);
    if (code == 0 && !type)
        fail_msg("%s has no type", request);
    return code;
}

struct row_head {
    uint32_t row, kind, slices, parts;
};

/* How many events the tiles of a level show, from the very first to the very last. */
static uint64_t count_shown(struct view *view, struct text *out, int row)
{
    uint64_t shown = 0;

    for (int index = -1; index <= 0; index++) {
        struct row_head head;
        assert_int_equal(ask(view, out, NULL, "tile?rows=%d&level=52&index=%d", row, index), 0);
        memcpy(&head, out->bytes + 8, sizeof head);
        for (uint32_t i = 0; i < head.slices; i++) {
            double from;
            memcpy(&from, out->bytes + 24 + 32 * (size_t)i, sizeof from);
            shown += index == 0 || from < 0; /* one that lies on both sides is in both */
            if (index == 0 && from < 0)
                shown--;
        }
        for (uint32_t i = 0; i < head.parts; i++) {
            uint32_t count;
            memcpy(&count, out->bytes + 24 + 32 * (size_t)head.slices + 16 * (size_t)i + 4, sizeof count);
            shown += count;
        }
    }
    return shown;
}

static void ask_about_row(struct view *view, struct text *out, int number)
{
    static const int levels[] = { 0, 7, 20, 31, 45 };
    const struct view_row *row = &view->rows[number];

    for (size_t i = 0; i < COUNT_OF(levels); i++)
        assert_int_equal(ask(view, out, NULL, "tile?rows=%d&level=%d&index=%d", number, levels[i],
                             (int)random_below(5) - 2),
                         0);
    if (row->kind != KIND_COUNTER && row->kind != KIND_GROUP)
        assert_int_equal(count_shown(view, out, number), row->events.count);
    ask(view, out, NULL, "at?row=%d&time=%llu&lane=0&slack=1000000", number, (unsigned long long)random_below(1 << 20));
    for (int i = 0; i < 3 && row->events.count; i++)
        assert_int_equal(ask(view, out, NULL, "event?row=%d&event=%u", number,
                             (unsigned)random_below(row->events.count)),
                         0);
    assert_true(ask(view, out, NULL, "event?row=%d&event=%u", number, row->events.count) != 0);
    if (random_below(6) == 0)
        ask(view, out, NULL, "flame?source=events&row=%d", number);
}

static const char *const questions[] = {
    "about",
    "rows",
    "overview?width=77",
    "names?ids=0,1,2,3,1073741824,1073741825,4294967295",
    "find?text=a",
    "find?text=^r.*e&mode=regex",
    "next?text=range&at=0",
    "next?text=range&at=1000000&back=1",
    "flame?source=cpu",
    "flame?source=python",
    "advice",
    "table?report=nvtx_sum",
    "table?report=cuda_gpu_kern_sum&from=0&to=100000",
    "table?report=osrt_sum",
    "table?report=nothing",
};

static void reports_that_make_no_sense_are_answered(void **state)
{
    struct text out = { 0 };
    uint64_t events = 0;

    for (int round = 0; round < ROUNDS; round += rounds_step(ROUNDS)) {
        struct report *report = make_report(round);
        struct view *view;
        struct error err;
        if (view_open(report, &view, &err) != 0)
            fail_msg("round %d: %s", round, err.text);
        for (size_t i = 0; i < COUNT_OF(questions); i++)
            ask(view, &out, NULL, "%s", questions[i]);
        ask(view, &out, "select count(*), start from NVTX_EVENTS", "sql");
        for (size_t row = 0; row < view->row_count; row++)
            ask_about_row(view, &out, (int)row);
        events += view->event_count;
        view_close(view);
        report_close(report);
    }
    text_free(&out);
    assert_true(events * (uint64_t)rounds_step(ROUNDS) > 250 * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_that_make_no_sense_are_answered),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
