/* The schema as data: enums can be looked up, keys and columns of ours are marked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/schema/enums.h"
#include "report/schema/schema.h"

static void values_are_found_by_number(void **state)
{
    const struct schema_enum *copies = schema_enum_find("ENUM_CUDA_MEMCPY_OPER");

    assert_non_null(copies);
    assert_string_equal(schema_enum_value(copies, 1)->label, "Host-to-Device");
    assert_string_equal(schema_enum_value(copies, 8)->label, "Device-to-Device");
    assert_null(schema_enum_value(copies, -1));
    assert_null(schema_enum_value(copies, 1000));
    assert_string_equal(schema_enum_value(schema_enum_find("ENUM_GPU_CTX_SWITCH"), -1)->name,
                        schema_enums[ENUM_ID_ENUM_GPU_CTX_SWITCH].values[0].name);
    assert_null(schema_enum_find("ENUM_OF_NOTHING"));
}

/* Lookups by halving need it. */
static void values_rise(void **state)
{
    for (size_t e = 0; e < ENUM_COUNT; e++)
        for (size_t i = 1; i < schema_enums[e].count; i++)
            assert_true(schema_enums[e].values[i - 1].id < schema_enums[e].values[i].id);
}

/* Whatever a column refers to is there: an enum or a table. */
static void references_lead_somewhere(void **state)
{
    size_t found = 0;

    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (size_t c = 0; c < schema_tables[t].column_count; c++) {
            const char *note = schema_tables[t].columns[c].note;
            char name[128];
            if (sscanf(note, "REFERENCES %127[A-Za-z0-9_]", name) != 1)
                continue;
            found++;
            if (schema_find(name) < 0 && !schema_enum_find(name))
                fail_msg("%s.%s: %s", schema_tables[t].name, schema_tables[t].columns[c].name, note);
        }
    assert_true(found > 200);
}

static void keys_and_extras_are_marked(void **state)
{
    const struct schema_table *chains = &schema_tables[TABLE_SAMPLING_CALLCHAINS],
                              *calls = &schema_tables[TABLE_OSRT_API];

    assert_true(chains->columns[SAMPLING_CALLCHAINS_id].key && chains->columns[SAMPLING_CALLCHAINS_stackDepth].key);
    assert_false(chains->columns[SAMPLING_CALLCHAINS_symbol].key);
    assert_true(calls->columns[OSRT_API_errnoValue].extra);
    assert_false(calls->columns[OSRT_API_returnValue].extra);
    assert_string_equal(schema_tables[TABLE_GENERIC_EVENT_TYPE_FIELD_MAP].columns[2].name, "enum");
}

/* A set of reports maps columns by what they stand for: one that is forgotten joins ranks that have nothing in common.
 */
static void columns_say_what_they_stand_for(void **state)
{
    static const char *const numbers_of_others[] = {
        /* of no GPU that TARGET_INFO_GPU describes, or none at all */
        "NET_IB_DEVICE_INFO",
        "NET_IB_DEVICE_PORT_INFO",
        "NET_IB_DEVICE_TYPE_MAP",
        "TARGET_INFO_NIC_INFO",
        "NIC_ID_MAP",
        NULL,
    };
    size_t seen = 0;

    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (size_t c = 0; c < schema_tables[t].column_count; c++) {
            const char *table = schema_tables[t].name, *name = schema_tables[t].columns[c].name;
            enum column_meaning meaning = schema_meaning(table, name);
            int is_other = 0;
            if (schema_tables[t].columns[c].type != COLUMN_INT)
                continue;
            for (const char *const *other = numbers_of_others; *other; other++)
                is_other |= strcmp(table, *other) == 0;
            if (strstr(name, "lobalTid") || strstr(name, "lobalPid"))
                assert_int_equal(meaning, MEANING_GLOBAL_ID);
            else if (!is_other && (strstr(name, "eviceId") || strcmp(name, "gpuId") == 0 || strcmp(name, "gpu") == 0))
                assert_int_equal(meaning, MEANING_DEVICE);
            seen += meaning != MEANING_VALUE;
        }
    assert_true(seen > 200);
    assert_int_equal(schema_meaning("OSRT_API", "callchainId"), MEANING_KEY);
    assert_int_equal(schema_meaning("OSRT_CALLCHAINS", "id"), MEANING_KEY);
    assert_int_equal(schema_meaning("OSRT_CALLCHAINS", "stackDepth"), MEANING_VALUE);
    assert_int_equal(schema_meaning("SAMPLING_CALLCHAINS", "id"), MEANING_KEY);
    assert_int_equal(schema_meaning("TARGET_INFO_GPU", "id"), MEANING_DEVICE);
    assert_int_equal(schema_meaning("TARGET_INFO_CUDA_DEVICE", "cudaId"), MEANING_DEVICE);
    assert_int_equal(schema_meaning("GPU_METRICS", "typeId"), MEANING_GPU_TYPE);
    assert_int_equal(schema_meaning("MPI_P2P_EVENTS", "requestEnd"), MEANING_TIME);
    assert_int_equal(schema_meaning("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "timestamp"), MEANING_TIME);
    assert_int_equal(schema_meaning("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"), MEANING_VALUE);
    assert_int_equal(schema_meaning("OSRT_API", "eventClass"), MEANING_VALUE);
    assert_int_equal(schema_meaning("NO_SUCH_TABLE", "id"), MEANING_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found_by_number),      cmocka_unit_test(values_rise),
        cmocka_unit_test(references_lead_somewhere),       cmocka_unit_test(keys_and_extras_are_marked),
        cmocka_unit_test(columns_say_what_they_stand_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
