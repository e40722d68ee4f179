/* The help of every command, made from the table of commands. It fits the terminal: widths are counted in columns, not
 * in bytes. */
#include "help_text.h"

#include "cmd/print/display.h"
#include "cmd/print/print.h"

enum { INDENT = 32, NARROW_INDENT = 8, COMMAND_INDENT = 15, EXAMPLE_INDENT = 6 };

/* Where the text goes, and how it is laid out. */
struct help_text_page {
    struct text *out;
    size_t width;  /* the terminal's, DISPLAY_LINE at most */
    size_t indent; /* for the text that explains an option */
};

const struct option help_option = { .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "Print this help." };

static struct help_text_page open_page(struct text *out)
{
    size_t width = print_text_columns();

    return (struct help_text_page){ .out = out, .width = width, .indent = width > 2 * INDENT ? INDENT : NARROW_INDENT };
}

int help_is_ignored(const struct option *option)
{
    return option->kind == OPTION_IGNORED && !option->hidden;
}

int help_is_listed(const struct option *option)
{
    return option->kind != OPTION_IGNORED && !option->hidden;
}

void help_add_choices(struct text *out, const struct option *option, const char *between)
{
    const char *const *choices = option_choices(option);

    for (const char *const *choice = choices; *choice; choice++)
        text_addf(out, "%s%s", choice == choices ? "" : between, *choice);
}

int help_add_value(struct text *out, const struct option *option, size_t most)
{
    struct text choices = { 0 };
    int left_out = 0;

    if (option->kind == OPTION_FLAG)
        return 0;
    if (option->kind == OPTION_BOOL && !option_choices(option))
        text_add(&choices, "true|false");
    else if (option->kind == OPTION_BOOL || option->kind == OPTION_CHOICE)
        help_add_choices(&choices, option, "|");
    left_out = display_columns(text_string(&choices), choices.length) > most;
    const char *name = option->value ? option->value : "VALUE";
    text_addf(out, "=%s", choices.length && !left_out ? text_string(&choices) : name);
    text_free(&choices);
    return left_out;
}

void help_add_sentence(struct text *out, const struct option *option, int with_choices)
{
    text_add(out, option->help);
    if (!with_choices)
        return;
    text_add(out, " One of: ");
    help_add_choices(out, option, ", ");
    text_add_char(out, '.');
}

static void help_text_add_option(const struct help_text_page *page, const struct option *option)
{
    struct text left = { 0 }, sentence = { 0 };

    if (option->letter)
        text_addf(&left, "  -%c, --%s", option->letter, option->name);
    else
        text_addf(&left, "      --%s", option->name);
    size_t taken = display_columns(text_string(&left), left.length) + 1;
    int without_choices = help_add_value(&left, option, taken < page->width ? page->width - taken : 0);
    help_add_sentence(&sentence, option, without_choices);
    text_add(page->out, text_string(&left));
    size_t column = display_columns(text_string(&left), left.length);
    if (column + 2 > page->indent) {
        text_add_char(page->out, '\n');
        column = 0;
    }
    text_add_repeat(page->out, ' ', page->indent - column);
    display_add_wrapped(page->out, text_string(&sentence), page->indent, page->indent, page->width);
    text_free(&sentence);
    text_free(&left);
}

static void add_examples(const struct help_text_page *page, const struct entry *examples)
{
    text_add(page->out, "\nexamples:\n");
    for (const struct entry *example = examples; example->term; example++) {
        text_addf(page->out, "  %s\n%*s", example->term, EXAMPLE_INDENT, "");
        display_add_wrapped(page->out, example->text, EXAMPLE_INDENT, EXAMPLE_INDENT, page->width);
    }
}

static void help_text_add_options(const struct help_text_page *page, const struct option *options)
{
    struct text ignored = { 0 };

    text_add(page->out, "\noptions:\n");
    for (const struct option *option = options; option->name; option++)
        if (help_is_listed(option))
            help_text_add_option(page, option);
        else if (help_is_ignored(option))
            text_addf(&ignored, " --%s", option->name);
    help_text_add_option(page, &help_option);
    if (ignored.length) {
        text_add(page->out, "\noptions of other profilers that have no effect (accepted with a warning):\n  ");
        display_add_wrapped(page->out, text_string(&ignored) + 1, 2, 2, page->width);
    }
    text_free(&ignored);
}

void command_help(const struct command *command, struct text *out)
{
    const struct help_text_page page = open_page(out);
    struct text usage = { 0 };

    text_addf(&usage, "usage: tacho %s [options] %s", command->name, command->arguments);
    display_add_wrapped(out, text_string(&usage), 0, 0, page.width);
    text_free(&usage);
    text_add_char(out, '\n');
    display_add_wrapped(out, command->about ? command->about : command->summary, 0, 0, page.width);
    if (command->examples)
        add_examples(&page, command->examples);
    help_text_add_options(&page, command_option_table(command));
}

void commands_help(struct text *out)
{
    const struct help_text_page page = open_page(out);

    display_add_wrapped(out, "Tacho records what a program does over time and shows where the time goes.", 0, 0,
                        page.width);
    text_add(out, "\nusage: tacho COMMAND [options] …\n\n");
    for (const struct command *const *at = command_table(); *at; at++) {
        text_addf(out, "  %-12s ", (*at)->name);
        display_add_wrapped(out, (*at)->summary, COMMAND_INDENT, COMMAND_INDENT, page.width);
    }
    text_add(out, "\nStart with:  tacho profile PROGRAM …\n"
                  "Then:        tacho stats report1.tacho\n"
                  "More:        tacho help COMMAND\n");
}

const struct entry *help_exits(const struct command *command)
{
    static const struct entry usual[] = {
        { "0", "Success." },
        { "1", "Failure: a message on standard error gives the cause." },
        { "2", "The command line is wrong." },
        { 0 },
    };

    return command && command->exits ? command->exits : usual;
}
