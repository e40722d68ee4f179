/* Timelines that run out of memory: one allocation of opening a report, or of a request, fails, each time another one.
 * The result is an answer, or ERR_NO_MEMORY with a sentence, and the view answers later requests as if nothing had
 * happened. Under ASan this also finds error paths that leak or free twice. */
#include "failing_memory.h"
#include "hostile_report.h"
#include "made_report.h"
#include "rounds.h"

#include <stdio.h>

#include "view/load/view_state.h"
#include "view/timeline.h"

enum { MOST_ROWS = 40 };

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static struct report *make_report(void)
{
    struct hostile hostile = hostile_of((const uint8_t[]){ 14 }, 1); /* a seed that fills all tables */
    struct writer *writer = start();

    hostile_fill(&hostile, writer, MOST_ROWS);
    return finish(writer);
}

static void opening_without_memory_fails_with_a_sentence(void **state)
{
    struct report *report = make_report();
    long failures = 0, step = 19 * rounds_step(ROUNDS_ENDLESS);
    int reached = 1;

    for (long nth = 0; reached; nth += step) {
        struct view *view = NULL;
        struct error err = { 0 };
        failing_memory_begin(nth);
        int code = view_open(report, &view, &err);
        reached = failing_memory_end();
        if (code == 0)
            view_close(view);
        else if (!reached || code != ERR_NO_MEMORY || err.code != code || !*err.text)
            fail_msg("allocation %ld fails: code %d, error %d: %s", nth, code, err.code, err.text);
        failures += code != 0;
    }
    report_close(report);
    assert_true(failures * step > 2000);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int ask(struct view *view, const char *request, struct text *out, struct error *err)
{
    const char *type;

    *err = (struct error){ 0 };
    text_free(out); /* a text that has failed stays so */
    return view_answer(view, request, NULL, 0, out, &type, err);
}

enum { MOST_IN_TURN = 200, LATER = 10 };

/* Asks with one failing allocation after another, until none is reached; in the gate with fewer of the later ones, for
 * advice makes thousands. Returns how often the request failed. */
static int ask_without_memory(struct report *report, const char *request)
{
    struct view *view, *untouched;
    struct text expected = { 0 }, out = { 0 };
    struct error err;
    int failures = 0, reached = 1, step = rounds_step(ROUNDS_ENDLESS), in_turn = MOST_IN_TURN / step;

    assert_int_equal(view_open(report, &untouched, &err), 0);
    assert_int_equal(ask(untouched, request, &expected, &err), 0);
    assert_int_equal(view_open(report, &view, &err), 0);
    for (long nth = 0; reached; nth += nth < in_turn ? 1 : LATER * step - LATER + 1) {
        failing_memory_begin(nth);
        int code = ask(view, request, &out, &err);
        reached = failing_memory_end();
        if (code != 0 && (!reached || code != ERR_NO_MEMORY || !*err.text))
            fail_msg("%s, allocation %ld fails: code %d: %s", request, nth, code, err.text);
        failures += code != 0;
    }
    if (out.length != expected.length || memcmp(out.bytes, expected.bytes, out.length) != 0)
        fail_msg("%s: after failures the answer is %s, else it is %s", request, text_string(&out),
                 text_string(&expected));
    text_free(&out);
    text_free(&expected);
    view_close(view);
    view_close(untouched);
    return failures;
}

static void requests_without_memory_fail_and_leave_the_view_as_it_was(void **state)
{
    static const char *const requests[] = {
        "about",
        "rows",
        "overview?width=77",
        "names?ids=0,1,2,3",
        "find?text=a",
        "find?text=^r.*e&mode=regex",
        "next?text=range&at=0",
        "flame?source=cpu",
        "flame?source=python",
        "advice",
        "table?report=osrt_sum",
    };
    struct report *report = make_report();

    for (size_t i = 0; i < COUNT_OF(requests); i++)
        assert_true(ask_without_memory(report, requests[i]) > 0);
    report_close(report);
}

static void requests_about_rows_without_memory_fail_and_leave_the_view_as_it_was(void **state)
{
    struct report *report = make_report();
    struct view *view;
    struct error err;
    char request[100];

    assert_int_equal(view_open(report, &view, &err), 0);
    for (size_t row = 0; row < view->row_count; row += (size_t)(9 * rounds_step(ROUNDS_ENDLESS))) {
        snprintf(request, sizeof request, "tile?rows=%zu&level=20&index=0", row);
        assert_true(ask_without_memory(report, request) > 0);
        snprintf(request, sizeof request, "flame?source=events&row=%zu", row);
        assert_true(ask_without_memory(report, request) > 0);
        if (view->rows[row].events.count) {
            snprintf(request, sizeof request, "event?row=%zu&event=0", row);
            assert_true(ask_without_memory(report, request) > 0);
        }
    }
    view_close(view);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_without_memory_fails_with_a_sentence),
        cmocka_unit_test(requests_without_memory_fail_and_leave_the_view_as_it_was),
        cmocka_unit_test(requests_about_rows_without_memory_fail_and_leave_the_view_as_it_was),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
