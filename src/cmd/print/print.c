/* The common part of all formats: the list of them, units, and numbers. */
#include "print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/number.h"
#include "display.h"

const struct print_format *const print_formats[] = {
    &print_column, &print_nsys, &print_table,  &print_csv,   &print_tsv,
    &print_json,   &print_hdoc, &print_htable, &print_human, NULL,
};

const struct print_format *print_format_find(const char *name)
{
    if (strcmp(name, ".") == 0)
        return print_formats[0];
    for (const struct print_format *const *at = print_formats; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

static void take_nohdr(struct print_request *request, const char *value)
{
    request->no_header = 1;
}
static void take_nolimit(struct print_request *request, const char *value)
{
    request->no_limit = 1;
}
static void take_nofmt(struct print_request *request, const char *value)
{
    request->plain_numbers = 1;
}
static void take_esc(struct print_request *request, const char *value)
{
    request->escape_tabs = 1;
}
static void take_guard(struct print_request *request, const char *value)
{
    request->guard_formulas = 1;
}
static void take_title(struct print_request *request, const char *value)
{
    request->document_title = value;
}
static void take_css(struct print_request *request, const char *value)
{
    request->css = value;
}

static const struct {
    const char *name;
    enum print_argument argument;
    int has_value;
    void (*take)(struct print_request *request, const char *value);
} arguments[] = {
    { "nohdr", PRINT_NOHDR, 0, take_nohdr }, { "nolimit", PRINT_NOLIMIT, 0, take_nolimit },
    { "nofmt", PRINT_NOFMT, 0, take_nofmt }, { "esc", PRINT_ESC, 0, take_esc },
    { "guard", PRINT_GUARD, 0, take_guard }, { "title", PRINT_TITLE, 1, take_title },
    { "css", PRINT_CSS, 1, take_css },
};

/* 1 if it was one of the named arguments. */
static int print_take_named(const struct print_format *format, char *word, struct print_request *request)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;

    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if ((format->arguments & arguments[i].argument) && strlen(arguments[i].name) == length &&
            memcmp(arguments[i].name, word, length) == 0 && !arguments[i].has_value == !value) {
            arguments[i].take(request, value);
            return 1;
        }
    return 0;
}

static int take_width(const struct print_format *format, const char *word, struct print_request *request)
{
    enum { WIDEST = 10000 };
    char *end;
    int is_auto = strcmp(word, ".") == 0;
    long width = strtol(word, &end, 10);

    if (!(format->arguments & PRINT_WIDTHS) || request->width_count == PRINT_MOST_WIDTHS)
        return 0;
    if (!is_auto && (end == word || *end || width < 0 || width > WIDEST))
        return 0;
    request->widths[request->width_count++] = is_auto ? PRINT_AUTO_WIDTH : (int)width;
    return 1;
}

/* Cuts the next argument off. A title or a URL may hold colons: it ends at the end, or where the other one begins. */
static char *next_argument(char **rest)
{
    char *word = *rest, *end;

    if (strncmp(word, "title=", 6) == 0)
        end = strstr(word, ":css=");
    else if (strncmp(word, "css=", 4) == 0)
        end = strstr(word, ":title=");
    else
        return strsep(rest, ":");
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    return word;
}

static int unknown_format(const char *name, struct error *err)
{
    const char *names[COUNT_OF(print_formats)];
    size_t count = 0;

    for (; print_formats[count]; count++)
        names[count] = print_formats[count]->name;
    names[count] = NULL;
    const char *nearest = nearest_name(name, names);
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "unknown format '%s'; did you mean %s?", name, nearest);
    return error_set(err, ERR_BAD_ARGUMENT, "unknown format '%s'; --help-formats lists the formats", name);
}

int print_format_parse(char *text, const struct print_format **format, struct print_request *request, struct error *err)
{
    char *rest = text;
    const char *name = strsep(&rest, ":");

    *format = print_format_find(name);
    if (!*format)
        return unknown_format(name, err);
    while (rest) {
        char *word = next_argument(&rest);
        if (*word && !print_take_named(*format, word, request) && !take_width(*format, word, request))
            return error_set(err, ERR_BAD_ARGUMENT,
                             "unknown argument of the format %s: '%s'; use "
                             "%s%s",
                             (*format)->name, word, (*format)->name, (*format)->usage);
    }
    return 0;
}

size_t print_terminal_columns(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t print_text_columns(void)
{
    enum { NARROWEST = 40 };
    size_t columns = print_terminal_columns(STDOUT_FILENO);

    return !columns || columns > DISPLAY_LINE ? DISPLAY_LINE : columns < NARROWEST ? NARROWEST : columns;
}

static const struct {
    const char *names[2];
    struct print_time_unit unit;
} time_units[] = {
    { { "nsec", "nanoseconds" }, { "ns", 1, 0, 0 } },
    { { "usec", "microseconds" }, { "us", 1000, 3, 3 } },
    { { "msec", "milliseconds" }, { "ms", 1000000, 6, 3 } },
    { { "sec", "seconds" }, { "s", 1000000000, 9, 3 } },
};
const struct print_time_unit time_unit_ns = { "ns", 1, 0, 0 };
const struct print_time_unit time_unit_auto = { "", 1, 0, 0 };

const struct print_time_unit *time_unit_find(const char *name)
{
    for (size_t i = 0; *name && i < COUNT_OF(time_units); i++)
        for (size_t j = 0; j < 2; j++)
            if (strncmp(time_units[i].names[j], name, strlen(name)) == 0 ||
                strcmp(time_units[i].unit.suffix, name) == 0)
                return &time_units[i].unit;
    return *name && strncmp("auto", name, strlen(name)) == 0 ? &time_unit_auto : NULL;
}

void print_header(struct text *out, const struct table_column *column, const struct print_time_unit *time)
{
    text_add(out, column->name);
    switch (column->unit) {
    case UNIT_NS:
    case UNIT_TIME: text_addf(out, " (%s)", time->suffix); break;
    case UNIT_PERCENT: text_add(out, " (%)"); break;
    case UNIT_MEGABYTES: text_add(out, " (MB)"); break;
    case UNIT_BYTES: text_add(out, " (B)"); break;
    case UNIT_NONE:
    case UNIT_ID:
    case UNIT_NAME: break;
    }
}

/* Whole ns in a larger unit, rounded half away from zero; exact where a double would not be. */
static void print_scaled(struct text *out, int64_t ns, const struct print_time_unit *time, int decimals, int grouped)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, unit = 1, step;

    for (int i = 0; i < decimals; i++)
        unit *= 10;
    step = (uint64_t)time->ns / unit; /* ns in the last digit that is shown */
    size = size / step + (size % step >= (step + 1) / 2);
    if (ns < 0 && size > 0)
        text_add_char(out, '-');
    number_add_decimal(out, size, decimals, grouped);
}

void print_number(struct text *out, const struct table_column *column, const struct table_cell *cell,
                  const struct print_time_unit *time, struct print_number_style style)
{
    int grouped = style.grouped && column->unit != UNIT_ID;

    if (unit_is_ns(column->unit) && time->ns != 1) {
        int decimals = style.lossless ? time->decimals : time->short_decimals;
        if (cell->kind == CELL_INT)
            print_scaled(out, cell->integer, time, decimals, grouped);
        else
            number_add_fixed(out, cell->real / (double)time->ns, decimals, grouped);
    } else if (cell->kind == CELL_INT) {
        number_add_integer(out, cell->integer, grouped);
    } else if (column->decimals < 0) {
        text_add(out, number_add_shortest(out, cell->real) ? ".0" : "");
    } else {
        number_add_fixed(out, cell->real, column->decimals, grouped);
    }
}
