/* Native and Python frames as one stack: which frames stand for runs of the interpreter's loop, and which are left. */
#include <stdio.h>

#include "made_report.h"

#include "analyze/model/stacks/stacks_join.h"

static int64_t loop_id;

/* "main>L>C>L": a stack from the outermost frame on; L is the interpreter's loop, H one of its helpers, others are
 * functions of `program`, of a library if they begin with c, of the agent if they begin with a, of a module that is not
 * in the file if they begin with x. */
static void native(struct writer *writer, int64_t id, const char *stack)
{
    size_t count = 1, length = strlen(stack);

    for (const char *at = stack; (at = strchr(at, '>')); at++)
        count++;
    for (int64_t depth = 0; depth < (int64_t)count; depth++) {
        size_t end = length, begin = length;
        while (begin > 0 && stack[begin - 1] != '>')
            begin--;
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(end - begin), stack + begin);
        length = begin ? begin - 1 : 0;
        struct row_SAMPLING_CALLCHAINS row = { 0 };
        ROW_SET(&row, SAMPLING_CALLCHAINS, id, id);
        ROW_SET(&row, SAMPLING_CALLCHAINS, stackDepth, depth);
        ROW_SET(&row, SAMPLING_CALLCHAINS, module,
                *name == 'x' ? INT64_MAX
                             : made_string(writer, *name == 'c'   ? "library"
                                                   : *name == 'a' ? "/opt/tacho/lib/tacho/libtacho-agent.so"
                                                                  : "program"));
        ROW_SET(&row, SAMPLING_CALLCHAINS, symbol,
                made_string(writer, strcmp(name, "L") == 0 ? "_PyEval_EvalFrameDefault"
                                    : strchr(name, 'H')    ? "_PyFunction_Vectorcall"
                                                           : name));
        writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &row);
    }
}

/* "*f>g>*h": the same of Python; * before a function that C code called. */
static void python(struct writer *writer, int64_t id, const char *stack)
{
    const char *end = stack + strlen(stack);

    for (int64_t depth = 0; end > stack; depth++) {
        const char *begin = end;
        while (begin > stack && begin[-1] != '>')
            begin--;
        int is_entry = *begin == '*';
        struct row_TACHO_PYTHON_CALLCHAINS row = { 0 };
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, id, id);
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, stackDepth, depth);
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, symbol,
                writer_string(writer, begin + is_entry, (size_t)(end - begin) - (size_t)is_entry));
        ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, module, made_string(writer, "x.py"));
        if (is_entry)
            ROW_SET(&row, TACHO_PYTHON_CALLCHAINS, calledByC, 1);
        writer_append(writer, TABLE_TACHO_PYTHON_CALLCHAINS, &row);
        end = begin > stack ? begin - 1 : stack;
    }
}

static void cpu_sample(struct writer *writer, int64_t id, int64_t time, int64_t chain)
{
    struct row_COMPOSITE_EVENTS row = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, id, id);
    ROW_SET(&row, COMPOSITE_EVENTS, start, time);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, made_thread(1, 7));
    ROW_SET(&row, COMPOSITE_EVENTS, threadState, 1);
    ROW_SET(&row, COMPOSITE_EVENTS, cpuCycles, 1);
    if (chain)
        ROW_SET(&row, COMPOSITE_EVENTS, pythonCallchainId, chain);
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
}

static void python_sample(struct writer *writer, int64_t time, int64_t chain)
{
    struct row_TACHO_PYTHON_SAMPLE row = { 0 };

    ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, time);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, made_thread(1, 7));
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, 1);
    ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, chain);
    writer_append(writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
}

static void add_stack(struct text *out, const struct stacks *stacks, uint32_t stack)
{
    if (stack == STACK_EMPTY)
        return;
    add_stack(out, stacks, stack_parent(stacks, stack));
    if (out->length)
        text_add_char(out, '>');
    uint32_t frame = stack_innermost(stacks, stack);
    int64_t symbol = stack_frame(stacks, frame)[FRAME_SYMBOL];
    if (symbol == loop_id)
        text_add_char(out, 'L');
    else
        stack_frame_name(out, stacks, frame);
    if (stack_frame(stacks, frame)[FRAME_KIND] == FRAME_PYTHON)
        text_add(out, ".py");
}

/* The stack of the last of so many samples. */
static void assert_joined_as(struct writer *writer, size_t count, const char *expected)
{
    const struct filter everything = { 0 };
    struct report *report = finish(writer);
    struct stacks stacks;
    struct error err;
    struct text text = { 0 };

    loop_id = report_find_string(report, "_PyEval_EvalFrameDefault", strlen("_PyEval_EvalFrameDefault"));
    assert_int_equal(stacks_open(&stacks, report, &err), 0);
    assert_int_equal(stacks_join_samples(&stacks, STACKS_WITHOUT_LINES, &everything, &err), 0);
    assert_int_equal(stacks.sample_count, count);
    add_stack(&text, &stacks, stacks.samples[count - 1].stack);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
    stacks_free(&stacks);
    report_close(report);
}

static void assert_joined(struct writer *writer, const char *expected)
{
    assert_joined_as(writer, 1, expected);
}

/* Of the moment itself. */
static void joined_now(const char *native_stack, const char *python_stack, const char *expected)
{
    struct writer *writer = start();

    native(writer, 1, native_stack);
    python(writer, 1, python_stack);
    cpu_sample(writer, 1, 1000, 1);
    assert_joined(writer, expected);
}

/* Read before and behind it, the latter nearer. */
static void joined_between(const char *native_stack, const char *before, const char *behind, const char *expected)
{
    struct writer *writer = start();

    native(writer, 1, native_stack);
    python(writer, 1, before);
    python(writer, 2, behind);
    cpu_sample(writer, 1, 1000, 0);
    python_sample(writer, 400, 1);
    python_sample(writer, 1400, 2);
    assert_joined(writer, expected);
}

static void functions_stand_for_the_loop(void **state)
{
    joined_now("main>L", "*f", "main>f.py");
    joined_now("main>L>malloc", "*f>g>h", "main>f.py>g.py>h.py>malloc");
    joined_now("main>H>L>csort>H>H>L>H>ccrc", "*f>g>*h", "main>f.py>g.py>csort>h.py>ccrc");
    joined_now("main>L>L>L", "*f>*g>*h>i", "main>f.py>g.py>h.py>i.py");
}

static void stacks_that_do_not_fit_stay(void **state)
{
    joined_now("main>L>L", "*f", "main>L>L");
    joined_now("main>L", "*f>*g", "main>L");
    joined_now("main>work", "*f", "main>work");
}

static void a_helper_of_another_file_stays(void **state)
{
    joined_now("main>cH>L", "*f", "main>_PyFunction_Vectorcall>f.py");
}

static void what_both_neighbours_have_is_certain(void **state)
{
    joined_between("main>L>csort>L", "*f>g>*h", "*f>g>*h", "main>f.py>g.py>csort>h.py");
    /* Who called C code is known; what runs within is taken from the nearer one. */
    joined_between("main>L>csort>L>malloc", "*f>g", "*f>g>*h", "main>f.py>g.py>csort>h.py>malloc");
    /* It is not known which of them called. */
    joined_between("main>L>csort>L", "*f>g>*h", "*f>other>*h", "main>f.py>L>csort>L");
    joined_between("main>L>ccrc", "*f>g", "*f>other", "main>f.py>L>ccrc");
    /* Nothing but the interpreter's own code is within. */
    joined_between("main>L>malloc", "*f>g", "*f>other", "main>f.py>other.py>malloc");
    /* More runs than either knows of. */
    joined_between("main>L>csort>L", "*f>g", "*f>g", "main>f.py>g.py>L>csort>L");
    /* Fewer: what called the rest is there all the same. */
    joined_between("main>L", "*f>*g", "*f>*g", "main>f.py");
}

/* The second sample is the one that is shown; the first says what g calls. */
static void joined_after(const char *first, const char *native_stack, const char *expected)
{
    struct writer *writer = start();

    native(writer, 1, first);
    native(writer, 2, native_stack);
    python(writer, 1, "*f>g");
    python(writer, 2, "*f>other");
    cpu_sample(writer, 1, 1000, 0);
    cpu_sample(writer, 2, 2100, 0);
    for (int64_t time = 400; time <= 1400; time += 1000)
        python_sample(writer, time, 1);
    python_sample(writer, 2000, 1);
    python_sample(writer, 2900, 2);
    assert_joined_as(writer, 2, expected);
}

static void calls_that_were_seen_for_certain_are_known(void **state)
{
    joined_after("main>L>ccrc", "main>L>ccrc>cdeep", "main>f.py>g.py>ccrc>cdeep");
    joined_after("main>L>H>ccrc", "main>L>csort", "main>f.py>L>csort");
}

static void what_was_read_long_before_does_not_count(void **state)
{
    struct writer *writer = start();

    native(writer, 1, "main>L>ccrc");
    python(writer, 1, "*f");
    cpu_sample(writer, 1, 9000, 0);
    for (int64_t time = 0; time <= 5000; time += 1000)
        python_sample(writer, time, 1);
    assert_joined(writer, "main>L>ccrc");
}

/* Of three chains, the middle one is read with its chunk, and the others with what may go on in the next. */
static void without_agent(const char *native_stack, const char *expected)
{
    for (int64_t sample = 1; sample <= 3; sample++) {
        struct writer *writer = start();
        for (int64_t id = 1; id <= 3; id++)
            native(writer, id, native_stack);
        cpu_sample(writer, sample, 1000, 0);
        assert_joined(writer, expected);
    }
}

static void the_agent_is_no_part_of_the_program(void **state)
{
    without_agent("clone>abegin_thread>work", "clone>work");
    without_agent("main>work>ahook>aslow_path>cread", "main>work>cread");
    without_agent("main>work>ahook>aslow_path", "main>work>aslow_path"); /* its own time */
    without_agent("main>xlost>work", "main>xlost>work");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_stand_for_the_loop),
        cmocka_unit_test(stacks_that_do_not_fit_stay),
        cmocka_unit_test(a_helper_of_another_file_stays),
        cmocka_unit_test(what_both_neighbours_have_is_certain),
        cmocka_unit_test(calls_that_were_seen_for_certain_are_known),
        cmocka_unit_test(what_was_read_long_before_does_not_count),
        cmocka_unit_test(the_agent_is_no_part_of_the_program),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
