/* Steps that nobody named: the loops in sequences of letters, the rhythm of marks, and the warm-up. */
#include "analyze/model/outer_steps.h"
#include "analyze/model/steps.h"
#include "analyze/model/steps/turns.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LETTERS = 128, CALL_NS = 10, PAUSE_NS = 1000 };

/* Upper case letters are kernels, 'a' to 'f' copies, 'w' a wait, '#' a graph; '.' is a pause before the next. A letter
 * and the one behind it in the alphabet never have the same name, except 'X' and 'Y'. */
struct letters {
    struct sequence sequence;
    uint32_t *symbols;
    int64_t *start_ns, *end_ns;
    uint32_t names[LETTERS];
    uint8_t roles[LETTERS];
};

static enum symbol_role role_of(int letter)
{
    return letter == '#'                    ? SYMBOL_STANDS_ALONE
           : letter >= 'A' && letter <= 'Z' ? SYMBOL_COUNTS
           : letter == 'w'                  ? SYMBOL_ENDS
                                            : SYMBOL_IN_BETWEEN;
}

static void letters_open(struct letters *letters, const char *text)
{
    size_t room = strlen(text) + 1, count = 0;
    int64_t time_ns = 0;

    letters->symbols = malloc(room * sizeof *letters->symbols);
    letters->start_ns = malloc(room * sizeof *letters->start_ns);
    letters->end_ns = malloc(room * sizeof *letters->end_ns);
    for (uint32_t i = 0; i < LETTERS; i++) {
        letters->names[i] = i == 'Y' ? 'X' : i;
        letters->roles[i] = (uint8_t)role_of((int)i);
    }
    for (; *text; text++) {
        time_ns += *text == '.' ? PAUSE_NS : 2 * CALL_NS;
        if (*text == '.')
            continue;
        letters->symbols[count] = (uint32_t)*text;
        letters->start_ns[count] = time_ns;
        letters->end_ns[count++] = time_ns + CALL_NS;
    }
    letters->sequence = (struct sequence){ letters->symbols, letters->start_ns, letters->end_ns, count,
                                           letters->names,   letters->roles,    LETTERS };
}

static void letters_close(struct letters *letters)
{
    free(letters->symbols);
    free(letters->start_ns);
    free(letters->end_ns);
}

/* The steps of a text, with blanks between them; parentheses around what lies in none. */
static const char *steps_found(const char *text, int (*find)(struct period *period, const struct sequence *sequence))
{
    static char out[1 << 16];
    struct letters letters;
    struct period period;
    size_t used = 0, at = 0;

    letters_open(&letters, text);
    assert_int_equal(find(&period, &letters.sequence), 0);
    for (size_t i = 0; i < period.count; i++) {
        for (; at < period.steps[i].first && i > 0; at++)
            out[used++] = '+'; /* between two steps */
        used += (size_t)sprintf(out + used, "%s", i > 0 ? " " : "");
        for (at = period.steps[i].first; at < period.steps[i].end; at++)
            out[used++] = (char)letters.symbols[at];
    }
    out[used] = 0;
    period_free(&period);
    letters_close(&letters);
    return out;
}

static const char *steps_of_text(const char *text)
{
    return steps_found(text, period_find);
}

static const char *repeated(const char *text, size_t times)
{
    static char out[1 << 16];

    out[0] = 0;
    while (times--)
        strcat(out, text);
    return out;
}

static void rounds_begin_where_the_loop_is_entered_and_left(void **state)
{
    assert_string_equal(steps_of_text("ABCDABCDABCDABCD"), "ABCD ABCD ABCD ABCD");
    assert_string_equal(steps_of_text("KLMABCDABCDABCDABCD"), "ABCD ABCD ABCD ABCD");
    assert_string_equal(steps_of_text("wABCwABCwABCwABCw"), "ABCw ABCw ABCw ABCw");
}

static void a_capture_that_cuts_a_step_is_cut_at_its_pauses(void **state)
{
    assert_string_equal(steps_of_text("CD.ABCD.ABCD.ABCD.ABC"), "ABCD ABCD ABCD");
}

/* The first round allocates, tunes, and fills what the optimizer needs. */
static void the_first_round_may_be_longer(void **state)
{
    assert_string_equal(steps_of_text("aaKaABPPCDQQQEABCDEABCDEABCDEABCDE"), "ABPPCDQQQE ABCDE ABCDE ABCDE ABCDE");
}

static void a_print_now_and_then_is_part_of_its_step(void **state)
{
    assert_string_equal(steps_of_text("ABCDEFGHABCDEFGHABCDEFGHQABCDEFGHABCDEFGHABCDEFGH"),
                        "ABCDEFGH ABCDEFGH ABCDEFGHQ ABCDEFGH ABCDEFGH ABCDEFGH");
}

/* Programs that measure themselves wait for the GPU once, behind their warm-up. Waits that come again begin steps. */
static void one_wait_is_no_step(void **state)
{
    char text[2 * 4 * 20 + 2];

    snprintf(text, sizeof text, "%s", repeated("SfDc", 10));
    strcat(text, "w");
    strcat(text, repeated("SfDc", 10));
    assert_string_equal(steps_of_text(text),
                        "SfDc SfDc SfDc SfDc SfDc SfDc SfDc SfDc SfDc SfDcw SfDc SfDc SfDc SfDc SfDc SfDc SfDc SfDc "
                        "SfDc SfDc");
    assert_string_equal(steps_of_text(repeated("SDSDSDSDw", 3)), "SDSDSDSDw SDSDSDSDw SDSDSDSDw");
}

/* An evaluation runs the forward kernels of the step, here ABCD. A long one is part of no step. */
static void an_evaluation_is_no_step(void **state)
{
    assert_string_equal(steps_of_text(repeated("ABCDEFGHABCDEFGHABCDEFGHABCDABCD", 3)),
                        "ABCDEFGH ABCDEFGH ABCDEFGH++++++++ ABCDEFGH ABCDEFGH ABCDEFGH++++++++ ABCDEFGH ABCDEFGH "
                        "ABCDEFGH");
}

/* Layers repeat, but the rounds of the step are what lies around them. */
static void layers_are_no_steps(void **state)
{
    assert_string_equal(steps_of_text(repeated("ELNLNLNLNLNLNH", 4)),
                        "ELNLNLNLNLNLNH ELNLNLNLNLNLNH ELNLNLNLNLNLNH ELNLNLNLNLNLNH");
}

/* Four rounds of forward and backward, then the optimizer. */
static void accumulated_gradients_are_one_step(void **state)
{
    assert_string_equal(steps_of_text(repeated("FGBHFGBHFGBHFGBHOP", 4)),
                        "FGBHFGBHFGBHFGBHOP FGBHFGBHFGBHFGBHOP FGBHFGBHFGBHFGBHOP FGBHFGBHFGBHFGBHOP");
}

static void two_rounds_must_be_long_and_varied(void **state)
{
    assert_string_equal(steps_of_text("ABCDEFGHIJKLMNOPQRABCDEFGHIJKLMNOPQR"), "ABCDEFGHIJKLMNOPQR ABCDEFGHIJKLMNOPQR");
    assert_string_equal(steps_of_text("ABCDABCD"), "");
}

static void one_kernel_is_no_step_and_one_graph_is(void **state)
{
    assert_string_equal(steps_of_text(repeated("A", 1000)), "");
    assert_string_equal(steps_of_text("####"), "# # # #");
    assert_string_equal(steps_of_text("A#A#A#A#A#A#"), "A# A# A# A# A# A#");
    assert_string_equal(steps_of_text(repeated("aw", 100)), ""); /* copies only */
}

/* Letters drawn at random: nothing repeats, whatever the number of different ones. */
static void what_does_not_repeat_has_no_steps(void **state)
{
    for (unsigned letters = 2; letters <= 26; letters += 4) {
        char text[4001] = { 0 };
        uint64_t random = letters;
        for (size_t i = 0; i < 4000; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            text[i] = (char)('A' + (random >> 33) % letters);
        }
        assert_string_equal(steps_of_text(text), "");
    }
    assert_string_equal(steps_of_text(""), "");
}

/* A loop that writes a text: K is launched for each letter so far, and Q sometimes. L comes in each of two layers. */
static void kernels_that_take_turns_make_steps(void **state)
{
    static const char
        rounds[] = "ALKLKBCwDE ALKKLKBCQwDE ALKLKKKBCwDE ALKKKKLKBCwDE ALLKBCQQwDE ALKLBCwDE ALKKLKKBCQwDE "
                   "ALKKKLKKKBCwDE ALKLKQBCwDE";
    char text[sizeof rounds + 8] = "MKNN", *end = text + 4;

    for (const char *at = rounds; *at; at++)
        *end = *at, end += *at != ' ';
    assert_string_equal(steps_of_text(text), "");
    assert_string_equal(steps_found(text, turns_find), rounds);
}

/* The layers of a text that is read take turns, but most of the time another text is written. Four kernels that come in
 * any order do not. */
static void other_kernels_take_no_turns(void **state)
{
    char text[512];

    snprintf(text, sizeof text, "%s%s", "ABCDABCDABCDABCDABCDABCDABCDABCD", repeated("KKQKKKKQQKQKKKKQKQ", 10));
    assert_string_equal(steps_found(text, turns_find), "");
    assert_string_equal(steps_found("ABCDKBADCKKACBDDCBAKABCDBADCKACBDKKDCBA", turns_find), "");
    assert_string_equal(steps_found("ABCDKABCDABCDKKABCDABCDABCDK", turns_find), ""); /* too few */
}

/* ---- warm-up --------------------------------------------------------------------------------------------------- */

static const char *warm_up_of(const int64_t *durations, size_t count)
{
    static char out[128];
    struct step list[128] = { 0 };
    struct step_process own = { 0, 0, count };
    struct steps steps = { .list = list, .count = count, .processes = &own, .process_count = 1, .own_count = 1 };
    struct error err;
    int64_t time_ns = 0;

    for (size_t i = 0; i < count; time_ns += durations[i++])
        list[i] = (struct step){ .start_ns = time_ns, .end_ns = time_ns + durations[i] };
    assert_int_equal(steps_mark_warm_up(&steps, &err), 0);
    for (size_t i = 0; i < count; i++)
        out[i] = list[i].is_warm_up ? 'w' : '-';
    out[count] = 0;
    return out;
}

#define WARM_UP(...)                                                                                                   \
    warm_up_of((int64_t[]){ __VA_ARGS__ }, sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t))

static void first_steps_that_take_longer_are_warm_up(void **state)
{
    assert_string_equal(WARM_UP(900, 300, 100, 101, 99, 100, 102, 100), "ww------");
    assert_string_equal(WARM_UP(900, 100, 400, 100, 101, 99, 100, 102, 100, 100), "www-------");
    assert_string_equal(WARM_UP(40, 40, 100, 101, 99, 100, 102, 100), "ww------"); /* the queue fills */
    assert_string_equal(WARM_UP(100, 101, 99, 100, 900, 102, 100, 100), "--------");
    assert_string_equal(WARM_UP(900, 100), "w-");
}

/* A text is written with a plan for each of its lengths; the next one finds them. Three fast steps are chance, and one
 * that was as fast before shows that the others were no warm-up. */
static void a_loop_that_gets_faster_for_good_has_warmed_up(void **state)
{
    assert_string_equal(WARM_UP(900, 50, 51, 49, 52, 50, 48, 51, 12, 11, 13, 12), "wwwwwwww----");
    assert_string_equal(WARM_UP(50, 51, 49, 52, 50, 48, 51, 50, 12, 11, 13), "-----------");
    assert_string_equal(WARM_UP(50, 51, 49, 14, 50, 48, 51, 50, 12, 11, 13, 12), "------------");
    assert_string_equal(WARM_UP(0, 0, 0, 0, 0, 0, 0, 0), "--------"); /* a clock too coarse for them */
}

/* A validation of four batches after a hundred steps of training is no steady state. */
static void a_short_second_loop_does_not_make_the_first_a_warm_up(void **state)
{
    int64_t durations[104];

    for (size_t i = 0; i < COUNT_OF(durations); i++)
        durations[i] = i < 100 ? 100 : 40;
    assert_null(strchr(warm_up_of(durations, COUNT_OF(durations)), 'w'));
}

/* ---- several marks in a step ----------------------------------------------------------------------------------- */

/* The lengths of intervals, as digits and letters ('1' is 10 µs, 'a' 100, 'f' 600), in whole outer steps and, in
 * parentheses, in none; "marks" if there is no rhythm. */
static const char *rhythm_of(const char *text)
{
    static char out[1 << 14];
    static int64_t lengths_ns[1 << 12];
    struct outer_steps outer;
    size_t count = strlen(text), used = 0;

    for (size_t i = 0; i < count; i++)
        lengths_ns[i] = text[i] >= 'a' ? 100000 * (text[i] - 'a' + 1) : 10000 * (text[i] - '0');
    assert_int_equal(outer_steps_find(&outer, lengths_ns, count), 0);
    if (outer.marks == 1)
        used = (size_t)sprintf(out, "marks");
    for (size_t i = 0; i < outer.count; i++) {
        const struct outer_step *step = &outer.list[i];
        assert_int_equal(step->first, i ? step[-1].end : 0);
        used += (size_t)sprintf(out + used, step->is_whole ? "%s%.*s" : "%s(%.*s)", i ? " " : "",
                                (int)(step->end - step->first), text + step->first);
    }
    assert_int_equal(outer.marks > 1 ? outer.list[outer.count - 1].end : count, count);
    outer_steps_free(&outer);
    return out;
}

/* PPO collects experience, and then makes four updates. The capture begins and ends anywhere. */
static void a_step_of_several_updates_begins_with_the_long_interval(void **state)
{
    assert_string_equal(rhythm_of("d222d222d222d222"), "d222 d222 d222 d222");
    assert_string_equal(rhythm_of("22d222e322d222d323d2"), "(22) d222 e322 d222 d323 (d2)");
}

/* A pause of the program makes an update as long as a round; a skipped update moves all that follow. */
static void what_disturbs_a_rhythm_is_in_no_whole_step(void **state)
{
    assert_string_equal(rhythm_of("d222d222d2d2d2b2d22d222d222d222d222d222"),
                        "d222 d222 (d2d2) d2b2 (d22) d222 d222 d222 d222 d222");
}

/* The generator of a GAN takes twice as long as its discriminator, and both have an optimizer of the same kind. */
static void two_optimizers_make_a_step(void **state)
{
    assert_string_equal(rhythm_of("9494949494"), "94 94 94 94 94");
    assert_string_equal(rhythm_of("5454545454"), "marks"); /* the mean of both is as good */
}

static void a_validation_now_and_then_is_no_step(void **state)
{
    char text[1000] = "";

    for (int i = 0; i < 5; i++)
        sprintf(text + strlen(text), "f%s", repeated("1", 99)); /* 600 µs every 990 */
    assert_string_equal(rhythm_of(text), "marks");
    assert_string_equal(rhythm_of(repeated("4222222222", 8)), "marks");
}

static void marks_without_a_rhythm_are_the_steps(void **state)
{
    assert_string_equal(rhythm_of("2222222222222222"), "marks"); /* gradients are accumulated between them */
    assert_string_equal(rhythm_of("d22d2222222d2d222d22222d2"), "marks");
    assert_string_equal(rhythm_of("d222d222"), "marks");
    assert_string_equal(rhythm_of("d"), "marks");
    assert_string_equal(rhythm_of(""), "marks");
}

/* Each fourth batch is waited for, because four workers make them: that interval asks for no more than the others. */
static void long_intervals_must_do_more(void **state)
{
    const struct outer_steps outer = { .marks = 4 };

    assert_true(outer_steps_do_more(&outer, (struct outer_work){ 800, 3 * 72 }));
    assert_false(outer_steps_do_more(&outer, (struct outer_work){ 75, 3 * 72 }));
    assert_false(outer_steps_do_more(&outer, (struct outer_work){ 0, 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_begin_where_the_loop_is_entered_and_left),
        cmocka_unit_test(a_capture_that_cuts_a_step_is_cut_at_its_pauses),
        cmocka_unit_test(the_first_round_may_be_longer),
        cmocka_unit_test(a_print_now_and_then_is_part_of_its_step),
        cmocka_unit_test(one_wait_is_no_step),
        cmocka_unit_test(an_evaluation_is_no_step),
        cmocka_unit_test(layers_are_no_steps),
        cmocka_unit_test(accumulated_gradients_are_one_step),
        cmocka_unit_test(two_rounds_must_be_long_and_varied),
        cmocka_unit_test(one_kernel_is_no_step_and_one_graph_is),
        cmocka_unit_test(what_does_not_repeat_has_no_steps),
        cmocka_unit_test(kernels_that_take_turns_make_steps),
        cmocka_unit_test(other_kernels_take_no_turns),
        cmocka_unit_test(first_steps_that_take_longer_are_warm_up),
        cmocka_unit_test(a_loop_that_gets_faster_for_good_has_warmed_up),
        cmocka_unit_test(a_short_second_loop_does_not_make_the_first_a_warm_up),
        cmocka_unit_test(a_step_of_several_updates_begins_with_the_long_interval),
        cmocka_unit_test(what_disturbs_a_rhythm_is_in_no_whole_step),
        cmocka_unit_test(two_optimizers_make_a_step),
        cmocka_unit_test(a_validation_now_and_then_is_no_step),
        cmocka_unit_test(marks_without_a_rhythm_are_the_steps),
        cmocka_unit_test(long_intervals_must_do_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
