/* Names of kernels from Volta to Blackwell against what is known of them. The names, with the origin of that knowledge,
 * are the rows of tensor_names.tsv. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/model/tensor/tensor_cores.h"

enum { FEWEST_NAMES = 600 };

static FILE *open_names(void)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/tests/unit/tensor_names.tsv", getenv("SOURCE") ? getenv("SOURCE") : ".");
    return fopen(path, "r");
}

static int compare_row(char *line)
{
    static const char *const uses[] = { [TENSOR_UNKNOWN] = "unknown", [TENSOR_NO] = "no", [TENSOR_YES] = "yes" };
    char *use = line;
    char *type = strchr(use, '\t');
    char *origin = type ? strchr(type + 1, '\t') : NULL;
    char *name = origin ? strchr(origin + 1, '\t') : NULL;

    assert_non_null(name);
    *type++ = *origin++ = *name++ = '\0';
    name[strcspn(name, "\n")] = '\0';

    struct tensor_cores found = tensor_cores_by_name(name);
    const char *found_type = found.type ? found.type : "-";

    if (strcmp(uses[found.use], use) == 0 && (strcmp(type, "*") == 0 || strcmp(found_type, type) == 0))
        return 0;
    print_error("%s %s instead of %s %s (%s): %s\n", uses[found.use], found_type, use, type, origin, name);
    return 1;
}

static void every_name_is_told_right(void **state)
{
    char line[8192];
    int names = 0, wrong = 0;
    FILE *file = open_names();

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        names++;
        wrong += compare_row(line);
    }
    (void)fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(names >= FEWEST_NAMES);
}

static void helpers_are_no_products_of_matrices(void **state)
{
    (void)state;
    assert_true(tensor_cores_by_name("volta_sgemm_128x64_nn").is_matrix);
    assert_true(tensor_cores_by_name("triton_tem_fused_addmm_relu_5").is_matrix);
    assert_false(tensor_cores_by_name("void cublasLt::splitKreduce_kernel<32, 16, int, float>").is_matrix);
    assert_false(tensor_cores_by_name("triton_poi_fused_add_0").is_matrix);
    assert_int_equal(tensor_cores_by_name(NULL).use, TENSOR_UNKNOWN);
    assert_int_equal(tensor_cores_by_name("").use, TENSOR_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_told_right),
        cmocka_unit_test(helpers_are_no_products_of_matrices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
