/* The lists that need no CUPTI: sets and sections of the table. */
#include <stdio.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "list_columns.h"
#include "ncu_command.h"

static int ncu_list_is_listed(const struct option_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->values[i], name) == 0)
            return 1;
    return 0;
}

/* The default is basic; --metrics alone asks for no section, as with ncu. */
static int is_set_asked(const struct ncu_settings *settings, const char *name)
{
    if (settings->sets.count)
        return ncu_list_is_listed(&settings->sets, name);
    return !settings->sections.count && !settings->metrics.count && strcmp(name, "basic") == 0;
}

int ncu_has_section(const struct ncu_settings *settings, const char *name, unsigned sets)
{
    for (size_t i = 0; i < COUNTER_SET_COUNT; i++)
        if (sets >> i & 1 && is_set_asked(settings, counter_sets[i].name))
            return 1;
    return ncu_list_is_listed(&settings->sections, name);
}

/* The metrics of a row that are not alternatives of each other. */
static size_t metrics_of(const struct counter_section *section)
{
    size_t count = 0;
    char name[256];

    for (const struct section_metric *row = section->metrics; row->names; row++) {
        struct counter_names names = { row->names, NULL };
        while (row->chips && counter_names_next(&names, name, sizeof name))
            count++;
    }
    return count;
}

/* ncu lists sections by name; the table has them in the order of the page. NULL after the last. */
static const struct counter_section *next_by_name(const struct counter_section *last)
{
    const struct counter_section *next = NULL;

    for (const struct counter_section *section = counter_sections; section->name; section++)
        if ((!last || strcmp(section->name, last->name) > 0) && (!next || strcmp(section->name, next->name) < 0))
            next = section;
    return next;
}

enum { SECTIONS_COLUMNS = 76 };

/* Adds the names of a set's sections, on as many lines as they need; the first line has the other cells. */
static void ncu_list_add_set(struct list_columns *columns, size_t set, const char *enabled, const char *number)
{
    const char *name = counter_sets[set].name;
    struct text line = { 0 };

    for (const struct counter_section *section = NULL; (section = next_by_name(section));) {
        if (!(section->sets >> set & 1))
            continue;
        if (line.length && line.length + strlen(section->name) + 3 > SECTIONS_COLUMNS) {
            text_add_char(&line, ',');
            list_columns_add(columns, (const char *const[]){ name, text_string(&line), enabled, number });
            name = enabled = number = "";
            text_clear(&line);
        }
        text_addf(&line, "%s%s", line.length ? ", " : "", section->name);
    }
    list_columns_add(columns, (const char *const[]){ name, text_string(&line), enabled, number });
    columns->cells.failed |= line.failed;
    text_free(&line);
}

void ncu_list_sets(struct text *out, const struct ncu_settings *settings)
{
    struct list_columns columns = { .count = 4 };

    list_columns_add(&columns, (const char *const[]){ "Identifier", "Sections", "Enabled", "Estimated Metrics" });
    for (size_t i = 0; i < COUNTER_SET_COUNT; i++) {
        size_t count = 0;
        char number[24];
        for (const struct counter_section *section = counter_sections; section->name; section++)
            count += section->sets >> i & 1 ? metrics_of(section) : 0;
        snprintf(number, sizeof number, "%zu", count);
        ncu_list_add_set(&columns, i, is_set_asked(settings, counter_sets[i].name) ? "yes" : "no", number);
    }
    list_columns_print(&columns, out);
}

void ncu_list_sections(struct text *out, const struct ncu_settings *settings)
{
    struct list_columns columns = { .count = 3 };

    list_columns_add(&columns, (const char *const[]){ "Identifier", "Display Name", "Enabled" });
    for (const struct counter_section *section = NULL; (section = next_by_name(section));)
        list_columns_add(&columns, (const char *const[]){
                                       section->name, section->title,
                                       ncu_has_section(settings, section->name, section->sets) ? "yes" : "no" });
    list_columns_print(&columns, out);
}
