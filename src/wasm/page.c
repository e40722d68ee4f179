/* The functions that the page calls: they open one report, which is imported first if another profiler wrote it, and
 * answer the requests of the timeline. An instance of the module has one report, so the state is static. */
#include "page.h"

#include <stdlib.h>
#include <unistd.h>

#include "import/import.h"
#include "page_host.h"
#include "view/timeline.h"

#define IMPORTED "/imported.tacho"

static struct page {
    struct page_host_file file;
    struct view *view;
    struct text answer;
} page;

void *page_alloc(size_t size)
{
    return malloc(size);
}

void page_free(void *bytes)
{
    free(bytes);
}

const char *page_bytes(void)
{
    return page.answer.bytes;
}

size_t page_length(void)
{
    return page.answer.length;
}

static int page_fail(int code, const struct error *err)
{
    text_clear(&page.answer);
    text_add(&page.answer, err->text);
    return code;
}

static void close_page(void)
{
    if (page.view)
        view_close(page.view);
    page.view = NULL;
    page_host_close(&page.file);
    unlink(IMPORTED);
}

int page_open(const char *path)
{
    struct error err = { 0 };
    const struct importer *importer = importer_for(path);
    int code;

    close_page();
    text_clear(&page.answer);
    if (importer && (code = importer->import(path, IMPORTED, 1, &err)) != 0)
        return page_fail(code, &err);
    if ((code = page_host_open(&page.file, importer ? IMPORTED : path, &err)) != 0 ||
        (code = view_open(page.file.report, &page.view, &err)) != 0) {
        close_page();
        return page_fail(code, &err);
    }
    view_set_name(page.view, path);
    return 0;
}

int page_answer(const char *request, const char *body, size_t body_length)
{
    struct error err = { 0 };
    const char *type; /* the page knows what it asked for */
    int code;

    text_clear(&page.answer);
    if ((code = view_answer(page.view, request, body, body_length, &page.answer, &type, &err)) != 0)
        return page_fail(code, &err);
    return 0;
}
