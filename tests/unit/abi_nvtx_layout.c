/* Where the entries of an NVTX payload lie. The compiler is the truth: a schema that gives no offsets describes a C
 * struct, so offsetof() and sizeof must come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abi/nvtx_layout.h"
#include "base/array.h"

enum { CHAR = 1, INT16 = 13, INT32 = 15, UINT64 = 18, FLOAT = 19, DOUBLE = 20, LONG_DOUBLE = 21, SCHEMA = 1 << 24 };
enum { FIELDS_MAX = 6 };

struct field {
    uint64_t type, flags, detail, given; /* as in a schema */
    struct abi_extent nested;            /* of the type SCHEMA */
    uint64_t offset;                     /* where it must lie */
};

struct schema {
    const char *name;
    uint64_t type, pack;
    struct abi_extent whole;
    struct field fields[FIELDS_MAX];
};

#define EXTENT(type) { sizeof(type), _Alignof(type) }

struct numbers {
    int16_t small;
    double real;
    uint32_t length;
    char letter;
};
struct three {
    int32_t x, y, z;
};
struct pair {
    int32_t x, y;
};
struct wide {
    char letter;
    long double real;
    char last;
};
struct outer {
    char letter;
    struct three three; /* 12 bytes, aligned to 4 */
    char between;
    struct pair pair;   /* 8 bytes, aligned to 4 */
    char last;
    struct wide wide;   /* 48 bytes, aligned to 16 */
};
struct arrays {
    char letter;
    int16_t numbers[3];
    char text[5];
    uint16_t wide_text[2];
    struct three threes[2];
    uint8_t last;
};
struct pointers {
    char letter;
    const char *text;
    char other;
    const void *bytes;
};
#pragma pack(push, 2)
struct packed {
    char letter;
    double real;
    int16_t small;
    int32_t whole;
};
#pragma pack(pop)
union choice {
    char letter;
    double real;
    struct three three;
};

static const struct schema schemas[] = {
    { "numbers",
      ABI_SCHEMA_TYPE_STATIC,
      0,
      EXTENT(struct numbers),
      { { INT16, .offset = offsetof(struct numbers, small) },
        { DOUBLE, .offset = offsetof(struct numbers, real) },
        { INT32, .offset = offsetof(struct numbers, length) },
        { CHAR, .offset = offsetof(struct numbers, letter) } } },
    { "wide",
      ABI_SCHEMA_TYPE_STATIC,
      0,
      EXTENT(struct wide),
      { { CHAR, .offset = offsetof(struct wide, letter) },
        { LONG_DOUBLE, .offset = offsetof(struct wide, real) },
        { CHAR, .offset = offsetof(struct wide, last) } } },
    { "nested",
      ABI_SCHEMA_TYPE_STATIC,
      0,
      EXTENT(struct outer),
      { { CHAR, .offset = offsetof(struct outer, letter) },
        { SCHEMA, .nested = EXTENT(struct three), .offset = offsetof(struct outer, three) },
        { CHAR, .offset = offsetof(struct outer, between) },
        { SCHEMA, .nested = EXTENT(struct pair), .offset = offsetof(struct outer, pair) },
        { CHAR, .offset = offsetof(struct outer, last) },
        { SCHEMA, .nested = EXTENT(struct wide), .offset = offsetof(struct outer, wide) } } },
    { "arrays",
      ABI_SCHEMA_TYPE_STATIC,
      0,
      EXTENT(struct arrays),
      { { CHAR, .offset = offsetof(struct arrays, letter) },
        { INT16, ABI_ENTRY_FIXED, 3, .offset = offsetof(struct arrays, numbers) },
        { ABI_TYPE_UTF8, 0, 5, .offset = offsetof(struct arrays, text) },
        { ABI_TYPE_UTF16, 0, 2, .offset = offsetof(struct arrays, wide_text) },
        { SCHEMA, ABI_ENTRY_FIXED, 2, .nested = EXTENT(struct three), .offset = offsetof(struct arrays, threes) },
        { CHAR, .offset = offsetof(struct arrays, last) } } },
    { "pointers",
      ABI_SCHEMA_TYPE_STATIC,
      0,
      EXTENT(struct pointers),
      { { CHAR, .offset = offsetof(struct pointers, letter) },
        { ABI_TYPE_CSTRING, .offset = offsetof(struct pointers, text) },
        { CHAR, .offset = offsetof(struct pointers, other) },
        { FLOAT, ABI_ENTRY_POINTER | ABI_ENTRY_FIXED, 7, .offset = offsetof(struct pointers, bytes) } } },
    { "packed",
      ABI_SCHEMA_TYPE_STATIC,
      2,
      EXTENT(struct packed),
      { { CHAR, .offset = offsetof(struct packed, letter) },
        { DOUBLE, .offset = offsetof(struct packed, real) },
        { INT16, .offset = offsetof(struct packed, small) },
        { INT32, .offset = offsetof(struct packed, whole) } } },
    { "union",
      ABI_SCHEMA_TYPE_UNION,
      0,
      EXTENT(union choice),
      { { CHAR, .offset = 0 }, { DOUBLE, .offset = 0 }, { SCHEMA, .nested = EXTENT(struct three), .offset = 0 } } },
    { "given offsets: an entry without one follows the entry before it, not the farthest",
      ABI_SCHEMA_TYPE_STATIC,
      0,
      { 24, 8 },
      { { UINT64, .given = 16, .offset = 16 }, { INT16, .given = 4, .offset = 4 }, { CHAR, .offset = 6 } } },
};

static void entries_lie_where_the_compiler_puts_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        const struct schema *schema = &schemas[i];
        struct abi_layout layout = { .pack = schema->pack, .is_union = abi_is_union(schema->type) };
        print_message("%s\n", schema->name);
        for (size_t at = 0; at < FIELDS_MAX && schema->fields[at].type; at++) {
            const struct field *field = &schema->fields[at];
            assert_int_equal(abi_is_nested(field->type, field->flags), field->type == SCHEMA);
            struct abi_extent extent = abi_entry_extent(field->type, field->flags, field->detail, field->nested);
            uint64_t offset = abi_layout_place(&layout, field->given, extent.align);
            assert_int_equal(offset, field->offset);
            abi_layout_fill(&layout, offset + extent.size);
        }
        assert_int_equal(abi_layout_extent(&layout).size, schema->whole.size);
        assert_int_equal(abi_layout_extent(&layout).align, schema->whole.align);
    }
}

static void sizes_that_only_the_payload_tells_are_unknown(void **state)
{
    static const struct {
        uint64_t type, flags, detail, size, align;
    } cases[] = {
        { INT32, ABI_ENTRY_ZERO_TERMINATED, 0, 0, 4 },
        { INT16, ABI_ENTRY_LENGTH_INDEX, 1, 0, 2 },
        { ABI_TYPE_UTF16, ABI_ENTRY_ZERO_TERMINATED, 0, 0, 2 },
        { ABI_TYPE_RAW, 0, 0, 0, 1 },
        { 999, 0, 0, 0, 1 },                           /* a type that nobody knows */
        { DOUBLE, ABI_ENTRY_FIXED, UINT64_MAX, 0, 8 }, /* more than any payload holds */
        { DOUBLE, ABI_ENTRY_FIXED, UINT32_MAX, 0, 8 },
        { CHAR, ABI_ENTRY_FIXED, UINT32_MAX, UINT32_MAX, 1 },
        { DOUBLE, ABI_ENTRY_FIXED, 0, 0, 8 },          /* an array of nothing */
        { DOUBLE, ABI_ENTRY_POINTER | ABI_ENTRY_LENGTH_INDEX, 0, 8, 8 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct abi_extent extent = abi_entry_extent(cases[i].type, cases[i].flags, cases[i].detail, ABI_UNKNOWN_EXTENT);
        assert_int_equal(extent.size, cases[i].size);
        assert_int_equal(extent.align, cases[i].align);
    }
    assert_int_equal(abi_enum_extent(4).size, 4);
    assert_int_equal(abi_enum_extent(2).align, 2);
    assert_int_equal(abi_enum_extent(16).size, 0);
    assert_int_equal(abi_enum_extent(0).align, 1);
    assert_int_equal(abi_layout_extent(&(struct abi_layout){ 0 }).size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_lie_where_the_compiler_puts_them),
        cmocka_unit_test(sizes_that_only_the_payload_tells_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
