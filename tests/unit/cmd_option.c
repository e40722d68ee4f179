/* Options as people type them: every spelling, slips of the finger, and what is known but does nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/option.h"

struct settings {
    int quiet, force;
    const char *output, *type, *unit;
    struct option_list reports;
    char taken[32];
};

static const char *const *types(void)
{
    static const char *const names[] = { "sqlite", "chrome", NULL };

    return names;
}

static int take(void *settings, const char *value, struct error *err)
{
    if (strcmp(value, "bad") == 0)
        return error_set(err, ERR_BAD_ARGUMENT, "cannot be bad");
    strcpy(((struct settings *)settings)->taken, value);
    return 0;
}

#define FIELD(name) offsetof(struct settings, name)
static const struct option options[] = {
    { "quiet", 'q', OPTION_FLAG, FIELD(quiet), NULL, "help", NULL, NULL, NULL, 0 },
    { "force-overwrite", 'f', OPTION_BOOL, FIELD(force), NULL, "help", NULL, NULL, NULL, 0 },
    { "output", 'o', OPTION_TEXT, FIELD(output), "FILE", "help", NULL, NULL, NULL, 0 },
    { "type", 't', OPTION_CHOICE, FIELD(type), "TYPE", "help", NULL, types, NULL, 0 },
    { "report", 'r', OPTION_LIST, FIELD(reports), "NAME", "help", NULL, NULL, NULL, 0 },
    { "unit", 0, OPTION_CHOICE, FIELD(unit), "UNIT", "help", OPTION_WORDS("ms", "ns"), NULL, NULL, 0 },
    { "custom", 0, OPTION_CUSTOM, 0, "VALUE", "help", NULL, NULL, take, 0 },
    { "sample", 's', OPTION_IGNORED, 0, "VALUE", "sampling is for later", NULL, NULL, NULL, 0 },
    { "force-export", 0, OPTION_IGNORED, 0, "BOOL", "nothing is exported", NULL, NULL, NULL, 0 },
    { 0 },
};

static struct settings settings;
static const char *operands[32];
static size_t operand_count;
static struct error err;
static struct text warnings;

/* Parses a command line given as words; returns the code. */
static int parse_words(int stop, const char *first, ...)
{
    char *argv[32] = { (char *)"command" };
    int argc = 1;
    va_list more;

    va_start(more, first);
    for (const char *word = first; word; word = va_arg(more, const char *))
        argv[argc++] = (char *)word;
    va_end(more);
    argv[argc] = NULL;
    memset(&settings, 0, sizeof settings);
    memset(&err, 0, sizeof err);
    text_clear(&warnings);
    struct option_parse parse = {
        .options = options, .settings = &settings, .stop_at_operand = stop, .operands = operands
    };
    int code = options_parse(&parse, argc, argv, &err);
    operand_count = parse.operand_count;
    text_add(&warnings, text_string(&parse.warnings));
    text_free(&parse.warnings);
    return code;
}
#define PARSE(...) parse_words(0, __VA_ARGS__, NULL)

static void every_spelling_of_a_value(void **state)
{
    static const char *const spellings[][3] = {
        { "--output", "x.y", NULL }, { "--output=x.y", NULL, NULL }, { "-o", "x.y", NULL },
        { "-ox.y", NULL, NULL },     { "-o=x.y", NULL, NULL },
    };

    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        assert_int_equal(PARSE(spellings[i][0], spellings[i][1], spellings[i][2]), 0);
        assert_string_equal(settings.output, "x.y");
    }
    assert_int_equal(PARSE("--output=a=b"), 0);
    assert_string_equal(settings.output, "a=b");
    assert_int_equal(PARSE("--output="), 0);
    assert_string_equal(settings.output, "");
}

static void truth_in_many_words(void **state)
{
    assert_int_equal(PARSE("-f", "true", "file"), 0);
    assert_int_equal(settings.force, 1);
    assert_int_equal(operand_count, 1);
    assert_int_equal(PARSE("--force-overwrite=false"), 0);
    assert_int_equal(settings.force, 0);
    assert_int_equal(PARSE("-f", "file"), 0); /* bare: the file is not eaten */
    assert_int_equal(settings.force, 1);
    assert_int_equal(operand_count, 1);
    assert_int_equal(PARSE("--force-overwrite=maybe"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "--force-overwrite must be true or false, not 'maybe'");
}

static void operands_stand_anywhere_or_end_the_options(void **state)
{
    assert_int_equal(PARSE("one", "-q", "two", "--", "-three"), 0);
    assert_int_equal(operand_count, 3);
    assert_string_equal(operands[2], "-three");
    assert_int_equal(settings.quiet, 1);
    assert_int_equal(parse_words(1, "program", "-q", "--output", NULL), 0);
    assert_int_equal(operand_count, 3);
    assert_int_equal(settings.quiet, 0);
    assert_null(settings.output);
}

static void lists_grow(void **state)
{
    assert_int_equal(PARSE("-r", "a,b", "--report=c"), 0);
    assert_int_equal(settings.reports.count, 2);
    assert_string_equal(settings.reports.values[1], "c");
}

static void slips_of_the_finger(void **state)
{
    assert_int_equal(PARSE("--outptu=x"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "unknown option --outptu; did you mean --output?");
    assert_int_equal(PARSE("--force"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "unknown option --force; did you mean --force-overwrite?");
    assert_int_equal(PARSE("--zebra"), ERR_BAD_ARGUMENT);
    assert_null(strstr(err.text, "did you mean"));
    assert_int_equal(PARSE("-Z"), ERR_BAD_ARGUMENT);
    assert_int_equal(PARSE("--type=sqlit"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "--type cannot be 'sqlit': use one of sqlite, chrome");
    assert_int_equal(PARSE("--unit=us"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "--unit cannot be 'us': use one of ms, ns");
    assert_int_equal(PARSE("--output"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "--output needs a value: FILE");
    assert_int_equal(PARSE("--quiet=loud"), ERR_BAD_ARGUMENT);
    assert_int_equal(PARSE("--custom=bad"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "cannot be bad");
}

static void known_but_without_effect(void **state)
{
    assert_int_equal(PARSE("-s", "cpu", "-q"), 0);
    assert_string_equal(text_string(&warnings), "--sample has no effect: sampling is for later\n");
    assert_int_equal(settings.quiet, 1);
    assert_int_equal(PARSE("--sample=none"), 0);          /* asks for nothing */
    assert_string_equal(text_string(&warnings), "");
    assert_int_equal(PARSE("--force-export", "file"), 0); /* true or false may be left out */
    assert_int_equal(operand_count, 1);
    assert_int_equal(PARSE("--force-export", "true", "file"), 0);
    assert_int_equal(operand_count, 1);
}

static void splitting_at_commas(void **state)
{
    size_t count;
    char **parts = option_split("nvtx,osrt,", &count);

    assert_int_equal(count, 2);
    assert_string_equal(parts[1], "osrt");
    assert_null(parts[2]);
    free(parts);
    parts = option_split(",,a\\,b\\\\,", &count);
    assert_int_equal(count, 1);
    assert_string_equal(parts[0], "a,b\\");
    free(parts);
    parts = option_split("", &count);
    assert_int_equal(count, 0);
    free(parts);
}

static int free_warnings(void **state)
{
    text_free(&warnings);
    return 0;
}

static void whole_numbers_within_limits(void **state)
{
    static const char *const wrong[] = { "", "0", "11", "x", "3x", "-3", "+3", " 3", "0x3", "18446744073709551619" };
    static const struct option_range range = { "rate", "samples per second", 1, 10 };
    uint64_t number;
    uint32_t small = 7;

    assert_int_equal(option_read_number("010", 1, 10, &number), 0);
    assert_int_equal(number, 10);
    assert_int_equal(option_read_number("18446744073709551615", 0, UINT64_MAX, &number), 0);
    assert_true(number == UINT64_MAX);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(option_read_number(wrong[i], 1, 10, &number), -1);
    assert_int_equal(option_range_read_small(&range, "11", &small, &err), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "--rate must be a number of samples per second from 1 to 10, not '11'");
    assert_int_equal(small, 7);
    assert_int_equal(option_range_read_small(&range, "3", &small, &err), 0);
    assert_int_equal(small, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_value),
        cmocka_unit_test(truth_in_many_words),
        cmocka_unit_test(operands_stand_anywhere_or_end_the_options),
        cmocka_unit_test(lists_grow),
        cmocka_unit_test(slips_of_the_finger),
        cmocka_unit_test(known_but_without_effect),
        cmocka_unit_test(splitting_at_commas),
        cmocka_unit_test(whole_numbers_within_limits),
    };

    return cmocka_run_group_tests(tests, NULL, free_warnings);
}
