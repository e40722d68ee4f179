/* A report for a test to fill and to read: what the tests of analyses share. */
#ifndef TACHO_TESTS_UNIT_MADE_REPORT_H
#define TACHO_TESTS_UNIT_MADE_REPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/analyze/analyze.h"
#include "../../src/report/writer.h"

static char path[] = "/tmp/tacho-unit-XXXXXX";

static int make_path(void **state)
{
    int fd = mkstemp(path);

    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

static struct writer *start(void)
{
    struct writer *writer;
    struct error err;

    if (writer_open(path, &(struct writer_options){ .overwrite = 1 }, &writer, &err) != 0)
        fail_msg("%s", err.text);
    return writer;
}

static struct report *finish(struct writer *writer)
{
    struct report *report = NULL;
    struct error err;

    if (writer_close(writer, &err) != 0 || report_open(path, &report, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

#endif
