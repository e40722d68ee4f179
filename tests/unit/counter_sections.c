/* The tables of sets, sections and units of GPU counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "abi/counters/counter_sections.h"
#include "abi/counters/cupti_units.h"
#include "base/array.h"

static int is_for(const char *chips, const char *chip)
{
    return counter_is_for(chips, chip);
}

static void ranges_of_chips_follow_their_order(void **state)
{
    assert_true(is_for("", "GH100"));
    assert_true(is_for("", "ZZ999")); /* a chip to come */
    assert_true(is_for("GH100-", "ZZ999"));
    assert_true(is_for("GH100-", "GB20C"));
    assert_false(is_for("GH100-", "AD107"));
    assert_true(is_for("GV100-GA107 AD102-GH100", "GV100"));
    assert_true(is_for("GV100-GA107 AD102-GH100", "GA107"));
    assert_false(is_for("GV100-GA107 AD102-GH100", "GA10B"));
    assert_false(is_for("GV100-GA107 AD102-GH100", "ZZ999"));
    assert_true(is_for("GA100", "GA100"));
    assert_false(is_for("GA100", "GA102"));
    assert_int_equal(counter_chip_capability("GH100"), 90);
    assert_int_equal(counter_chip_capability("ZZ999"), 0);
}

static void braces_stand_for_several_names(void **state)
{
    struct counter_names names = { "sm__cycles_active{.avg,.sum.per_second}|other", NULL };
    char name[64];

    assert_int_equal(counter_names_next(&names, name, sizeof name), 1);
    assert_string_equal(name, "sm__cycles_active.avg");
    assert_int_equal(counter_names_next(&names, name, sizeof name), 1);
    assert_string_equal(name, "sm__cycles_active.sum.per_second");
    assert_int_equal(counter_names_next(&names, name, sizeof name), 0);
    names = (struct counter_names){ "a__b.sum|c__d.sum", NULL };
    assert_int_equal(counter_names_next(&names, name, sizeof name), 1);
    assert_string_equal(name, "a__b.sum");
    assert_int_equal(counter_names_next(&names, name, sizeof name), 0);
}

/* A chip that is misspelt in a range would quietly mean another range. */
static void every_range_names_known_chips(void **state)
{
    for (const struct counter_section *section = counter_sections; section->name; section++)
        for (const struct section_metric *row = section->metrics; row->names; row++)
            for (const char *at = row->chips ? row->chips : ""; *at;) {
                char chip[16];
                size_t length = strcspn(at, "- ");
                snprintf(chip, sizeof chip, "%.*s", (int)length, at);
                if (length && !counter_chip_capability(chip))
                    fail_msg("%s: %s in \"%s\"", row->names, chip, row->chips);
                at += length + (at[length] != 0);
            }
}

static void the_sets_of_ncu_are_there(void **state)
{
    static const char *const sets[] = { "light", "general", "basic",      "detailed",
                                        "full",  "nvlink",  "pmsampling", "roofline" };

    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        const struct counter_set *set = counter_set_find(sets[i]);
        size_t sections = 0;
        assert_non_null(set);
        for (const struct counter_section *section = counter_sections; section->name; section++)
            sections += section->sets >> (set - counter_sets) & 1;
        assert_true(sections > 0);
    }
    assert_null(counter_set_find("nothing"));
    assert_string_equal(counter_section_find("SpeedOfLight")->title, "GPU Speed Of Light Throughput");
}

/* The same label is two metrics, told apart by their units; a body's label is none of the page. */
static void labels_of_the_details_page_are_metrics(void **state)
{
    assert_string_equal(counter_shown_find("Memory Throughput", "%")->names,
                        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed");
    assert_string_equal(counter_shown_find("Memory Throughput", "byte/s")->names, "dram__bytes.sum.per_second");
    assert_null(counter_shown_find("Stall Wait", "inst"));
    assert_null(counter_shown_find("Memory Throughput", "cycle"));
}

static void metrics_that_are_no_counters_are_told_by_their_names(void **state)
{
    double factor = 0;
    const char *why;

    assert_int_equal(counter_kind_of("sm__inst_executed.sum", &why), COUNTER_HARDWARE);
    assert_string_equal(why, "");
    assert_int_equal(counter_kind_of("launch__block_size", NULL), COUNTER_LAUNCH);
    assert_int_equal(counter_kind_of("inst_executed", &why), COUNTER_NONE);
    assert_true(*why != 0);
    assert_string_equal(counter_derived_from("derived__lts__lts2xbar_bytes.sum.per_second", &factor),
                        "lts__lts2xbar_cycles_active.sum.per_second");
    assert_true(factor == 32);
    assert_null(counter_derived_from("derived__nothing", &factor));
}

static void units_are_those_of_ncu(void **state)
{
    static const char *const units[][2] = {
        { "percent", "%" },
        { "instruction", "inst" },
        { "l2_sector", "sector" },
        { "byte/L2_sector", "byte/sector" },
        { "nanosecond", "ns" },
        { "", "" },
        { "gpc_cycle", "cycle" },
        { "sys_cycle/second", "hz" },
        { "dram_cycle/second", "hz" },
        { "byte/second", "byte/s" },
        { "instruction/gpc_cycle", "inst/cycle" },
        { "gpc_cyclewarp", "warp" },
        { "cta", "block" },
        { "l1tex_wavefront", "" },
        { "l1tex_wavefront/second", "1/s" },
        { "dram_cycle/fbp_cycle", "" },
    };
    char unit[32];

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        assert_int_equal(cupti_unit(units[i][0], unit, sizeof unit), 1);
        assert_string_equal(unit, units[i][1]);
    }
    assert_int_equal(cupti_unit("furlong/second", unit, sizeof unit), 0);
    assert_string_equal(unit, "furlong/s");
}

/* On an H200 those of dramc__ were 100 times too low. */
static void dram_is_sampled_by_its_own_name(void **state)
{
    (void)state;
    for (const struct counter_section *section = counter_sections; section->name; section++)
        for (const struct section_metric *row = section->metrics; row->names; row++) {
            const char *low = strstr(row->names, "dramc__"), *others = strchr(row->names, '|');
            if (low && (!others || low < others))
                fail_msg("%s: %s", section->name, row->names);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_chips_follow_their_order),
        cmocka_unit_test(braces_stand_for_several_names),
        cmocka_unit_test(every_range_names_known_chips),
        cmocka_unit_test(the_sets_of_ncu_are_there),
        cmocka_unit_test(labels_of_the_details_page_are_metrics),
        cmocka_unit_test(metrics_that_are_no_counters_are_told_by_their_names),
        cmocka_unit_test(units_are_those_of_ncu),
        cmocka_unit_test(dram_is_sampled_by_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
