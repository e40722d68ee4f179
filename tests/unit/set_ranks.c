/* Ranks that no job has: a set of such reports is opened at once, and says what it leaves out. */
#include "made_report.h"

#include <stdio.h>
#include <sys/stat.h>

#include "set/set.h"
#include "set/set_groups.h"

enum { MOST_FILES = 12 };

static char folder[] = "/tmp/tacho-ranks-XXXXXX";
static char files[MOST_FILES][64];
static int file_count;

static int make_folder(void **state)
{
    return make_path(state) == 0 && mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    return rmdir(folder) == 0 ? remove_path(state) : -1;
}

static int remove_files(void **state)
{
    while (file_count)
        unlink(files[--file_count]);
    return 0;
}

/* A report of `count` processes with ranks from `first` on. */
static void add_file(int64_t first, int64_t count, int64_t world_size)
{
    struct writer *writer = start();
    char *name = files[file_count++];

    for (int64_t i = 0; i < count; i++) {
        struct row_TACHO_PROCESS row = { 0 };
        ROW_SET(&row, TACHO_PROCESS, start, 0);
        ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(100 + i, 0));
        ROW_SET(&row, TACHO_PROCESS, image, 0);
        ROW_SET(&row, TACHO_PROCESS, exe, made_string(writer, "/opt/solver"));
        ROW_SET(&row, TACHO_PROCESS, host, made_string(writer, "node"));
        ROW_SET(&row, TACHO_PROCESS, rank, first + i);
        ROW_SET(&row, TACHO_PROCESS, worldSize, world_size);
        writer_append(writer, TABLE_TACHO_PROCESS, &row);
    }
    report_close(finish(writer));
    snprintf(name, sizeof files[0], "%s/%02d.tacho", folder, file_count);
    assert_int_equal(rename(path, name), 0);
    fclose(fopen(path, "w"));
}

/* The caller closes the set and frees the notes. */
static struct report *open_set(struct text *notes)
{
    const char *const operands[] = { folder };
    const struct set_request request = { operands, 1, report_open_part, .notes = notes };
    struct report *set;
    struct error err = { 0 };

    if (set_open(&request, &set, &err) != 0)
        fail_msg("%s", err.text);
    return set;
}

static size_t lines_with(const struct text *notes, const char *words)
{
    size_t count = 0;

    for (const char *at = strstr(text_string(notes), words); at; at = strstr(at + 1, words))
        count++;
    return count;
}

static void a_rank_that_no_launcher_gives_is_ignored(void **state)
{
    struct text notes = { 0 };

    add_file(INT64_MAX, 1, 3);
    add_file((int64_t)INT32_MAX + 1, 1, 3);
    add_file(1, 1, 3);
    struct report *set = open_set(&notes);
    assert_int_equal(lines_with(&notes, "ranks 0, 2 of the job's 3 are missing"), 1);
    assert_int_equal(report_part_at(set, 0)->rank, 1);
    assert_int_equal(report_part_at(set, 1)->rank, -1);
    report_close(set);
    text_free(&notes);
}

static void a_rank_beyond_the_job_hides_no_missing_one(void **state)
{
    struct text notes = { 0 };

    add_file(0, 1, 3);
    add_file(INT32_MAX, 1, 3);
    report_close(open_set(&notes));
    assert_int_equal(lines_with(&notes, "ranks 1, 2 of the job's 3 are missing"), 1);
    text_free(&notes);
}

static void a_rank_that_is_there_often_is_one_line(void **state)
{
    struct text notes = { 0 };

    for (int i = 0; i < 11; i++)
        add_file(0, 1, 1);
    report_close(open_set(&notes));
    assert_int_equal(lines_with(&notes, ": are these files of several runs?\n"), 1);
    assert_int_equal(lines_with(&notes, "\n"), 1);
    text_free(&notes);
}

static void more_ranks_than_any_job_has_are_no_ranks(void **state)
{
    struct text notes = { 0 };
    struct set_groups groups;
    struct error err = { 0 };

    add_file(0, 100001, 0);
    add_file(0, 50, 0);
    struct report *set = open_set(&notes);
    assert_int_equal(lines_with(&notes, "has more ranks than any job: they are ignored"), 1);
    assert_int_equal(set_groups_make(&groups, set, SET_BY_RANK, &err), 0);
    assert_int_equal(groups.count, 51); /* the last one without a rank */
    assert_int_equal(groups.list[50].rank, -1);
    set_groups_free(&groups);
    report_close(set);
    text_free(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_rank_that_no_launcher_gives_is_ignored, remove_files),
        cmocka_unit_test_teardown(a_rank_beyond_the_job_hides_no_missing_one, remove_files),
        cmocka_unit_test_teardown(a_rank_that_is_there_often_is_one_line, remove_files),
        cmocka_unit_test_teardown(more_ranks_than_any_job_has_are_no_ranks, remove_files),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
