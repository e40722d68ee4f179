/* The rows of sources that commands walk through: they cover what agents count, and name only what exists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/registry.h"
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/summary/source_summary.h"
#include "report/schema/schema.h"
#include "wire/wire.h"

/* A source without a row would be counted, and no command would know of it. */
static void every_counted_source_has_one_row(void **state)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        int rows = 0;
        for (const struct cmd_source *const *source = cmd_sources; *source; source++)
            rows += ((*source)->events >> i & 1) != 0;
        if (rows != (i != WIRE_SOURCE_NOTES))
            fail_msg("%d rows have the events of %s", rows, wire_source_name(i));
    }
}

static void expect_table(const char *name)
{
    if (name && schema_find(name) < 0)
        fail_msg("reports have no table %s", name);
}

static void expect_analysis(const char *name)
{
    if (name && !analysis_find(name))
        fail_msg("there is no report %s", name);
}

static void rows_name_what_exists(void **state)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++) {
        const struct source_summary *summary = (*source)->summary;
        for (const struct cmd_source_table *table = (*source)->tables; table && table->events; table++)
            expect_table(table->table);
        if (!summary)
            continue;
        expect_table(summary->samples);
        expect_analysis(summary->functions);
        expect_analysis(summary->analysis);
        assert_int_equal(!summary->find, !summary->lead);
        assert_int_equal(!summary->find, !summary->free);
    }
}

/* Rows that are last in a list come behind the others; both keep their order. */
static void order_of_lists(void **state)
{
    const struct cmd_source *ordered[CMD_SOURCE_COUNT];
    size_t last = 0;

    cmd_sources_order(SOURCE_LAST_IN_DOCTOR, ordered);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++) {
        int is_last = (ordered[i]->last & SOURCE_LAST_IN_DOCTOR) != 0;
        int was_last = i && (ordered[i - 1]->last & SOURCE_LAST_IN_DOCTOR);
        last += (size_t)is_last;
        assert_true(is_last >= was_last);
        assert_true(!i || is_last != was_last || cmd_source_index(ordered[i]) > cmd_source_index(ordered[i - 1]));
    }
    assert_true(last > 0 && cmd_source_cuda.last & SOURCE_LAST_IN_DOCTOR);
    cmd_sources_order(0, ordered);
    assert_memory_equal(ordered, cmd_sources, sizeof ordered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counted_source_has_one_row),
        cmocka_unit_test(rows_name_what_exists),
        cmocka_unit_test(order_of_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
