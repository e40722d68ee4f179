/* Line tables of cubins: a real one, made by ptxas from tests/trace/stalls/chase.ptx, and damaged copies of it. What
 * readelf --debug-dump=decodedline says of it stands below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/sources/cuda/cuda_lines.h"

static unsigned char image[16384];
static size_t size;

static const struct {
    uint64_t offset;
    uint32_t line;
    const char *file;
} fill[] = { { 0, 14, "chase.cu" }, { 0x20, 15, "chase.cu" }, { 0x80, 16, "chase.cu" }, { 0x180, 0, "" } };

static void compare(void *context, const struct cuda_line *line)
{
    size_t at = (*(size_t *)context)++;
    assert_in_range(at, 0, 3);
    assert_int_equal(line->offset, fill[at].offset);
    assert_int_equal(line->line, fill[at].line);
    assert_string_equal(line->file, fill[at].file);
    if (line->line)
        assert_string_equal(line->folder, "stalls");
}

static void touch(void *context, const struct cuda_line *line)
{
    *(size_t *)context += strlen(line->file) + (line->folder ? strlen(line->folder) : 0);
}

static void test_lines_of_a_function(void **state)
{
    struct cuda_code code;
    size_t seen = 0;
    assert_int_equal(cuda_code_open(&code, image, size), 0);
    assert_int_equal(cuda_lines_read(&code, "fill", compare, &seen), 4);
    assert_int_equal(seen, 4);
    assert_int_equal(cuda_lines_read(&code, "nobody", touch, &seen), 0);
}

/* Any byte may be wrong, and the end may be missing: a sanitizer finds reads outside of the copy. */
static void test_damaged_images(void **state)
{
    for (size_t at = 0; at < size; at++) {
        size_t length = at % 2 ? size : at, seen = 0;
        unsigned char *copy = memcpy(malloc(length + 1), image, length);
        struct cuda_code code;
        if (at < length)
            copy[at] ^= (unsigned char)(1 + at * 37 % 255);
        if (cuda_code_open(&code, copy, length) == 0)
            cuda_lines_read(&code, "chase", touch, &seen);
        free(copy);
    }
}

int main(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/trace/stalls/chase.cubin", getenv("SOURCE"));
    FILE *file = fopen(path, "rb");
    size = file ? fread(image, 1, sizeof image, file) : 0;
    if (file)
        fclose(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_a_function),
        cmocka_unit_test(test_damaged_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
