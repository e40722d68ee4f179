/* Reads the data of the page, and orders its sections. */
#include "html_summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cmd/command.h"
#include "html_page.h"

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int read_advice(struct html_page *page, struct error *err)
{
    int code = run_advice_read(&page->adviser, &page->causes, page->report, err);

    if (code == ERR_NO_DATA) {
        *err = (struct error){ 0 };
        return 0;
    }
    if (code != 0)
        return code;
    page->is_checked = 1;
    if (html_has_replay(page))
        page->figures = step_figures_of(&page->adviser, page->peaks);
    return 0;
}

static int html_summary_read_page(struct html_page *page, struct error *err)
{
    int code = capture_facts_read(&page->facts, page->report, err);

    if (code != 0)
        return code;
    for (int i = 0; i < RUN_TABLES; i++)
        if ((code = run_table_read(&page->reports[i], page->report, (enum run_table)i, page->peaks, err)) != 0)
            return code;
    return read_advice(page, err);
}

static void free_page(struct html_page *page)
{
    for (int i = 0; i < RUN_TABLES; i++)
        table_delete(page->reports[i]);
    table_delete(page->causes);
    adviser_free(&page->adviser);
    capture_facts_free(&page->facts);
    free(page);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static const struct html_summary_section {
    const char *id, *heading;
    void (*add)(struct text *out, struct html_page *page);
} sections[] = {
    { "overview", NULL, html_add_tiles },
    { "advice", "What to change first", html_add_advice },
    { "breakdown", "Where the time went", html_add_breakdown },
    { "steps", "Steps", html_add_steps },
    { "tensor-cores", "Tensor cores", html_add_tensor_cores },
    { "gpu-metrics", "GPU metrics", html_add_metrics },
    { "roofline", "Roofline", html_add_roofline },
    { "top", "Top ten", html_add_top },
    { "memory", "Memory", html_add_memory },
    { "system", "System", html_add_system },
};

static void html_summary_add_section(struct text *out, struct html_page *page,
                                     const struct html_summary_section *section)
{
    struct text body = { 0 };

    section->add(&body, page);
    if (body.length) {
        text_addf(out, "<section id=\"%s\"", section->id);
        if (section->heading)
            text_addf(out, " aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">%s</h2>\n", section->id,
                      section->id, section->heading);
        else
            text_add(out, " aria-label=\"Overview\">\n");
        text_add_bytes(out, text_string(&body), body.length);
        text_add(out, "</section>\n");
    }
    text_free(&body);
}

static const char *html_summary_title_of(const struct html_page *page)
{
    const char *slash = strrchr(page->path, '/');

    if (*page->facts.program)
        return page->facts.program;
    return slash ? slash + 1 : page->path;
}

static void html_summary_add_header(struct text *out, const struct html_page *page)
{
    const struct capture_facts *facts = &page->facts;

    text_add(out, "<header>\n<p class=\"maker\">Tacho summary</p>\n");
    if (*run_late_rank(page->causes)) {
        text_add(out, "<p><strong>");
        html_add_string(out, run_late_rank(page->causes));
        text_add(out, "</strong></p>\n");
    }
    text_add(out, "<h1><code>");
    html_add_string(out, html_summary_title_of(page));
    text_add(out, "</code></h1>\n<p>");
    html_add_string(out, page->path);
    if (!facts->is_ours)
        text_addf(out, ", recorded by %s", facts->recorder ? facts->recorder : "another profiler");
    if (facts->recorded_ns > 0) {
        text_add(out, ", recorded time ");
        html_add_time(out, facts->recorded_ns);
    }
    if (facts->processes) {
        text_add(out, "; ");
        human_count(out, facts->processes);
        text_add(out, facts->processes == 1 ? " process" : " processes");
    }
    if (facts->threads) {
        text_add(out, ", ");
        human_count(out, facts->threads);
        text_add(out, facts->threads == 1 ? " thread" : " threads");
    }
    text_add(out, "</p>\n");
    text_add(out, "</header>\n");
}

static void html_summary_add_page(struct text *out, struct html_page *page)
{
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"generator\" content=\"Tacho " TACHO_VERSION "\">\n<title>");
    html_add_string(out, html_summary_title_of(page));
    text_addf(out, " – Tacho summary</title>\n<style>\n%s</style>\n</head>\n<body>\n", html_style);
    html_summary_add_header(out, page);
    text_add(out, "<main>\n");
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        html_summary_add_section(out, page, &sections[i]);
    text_add(out,
             "</main>\n<footer>Made by Tacho " TACHO_VERSION ". Times that overlap count once; the commands below the "
             "tables print all rows.</footer>\n</body>\n</html>\n");
}

int html_summary_add(struct text *out, const struct html_request *request, struct error *err)
{
    struct html_page *page = calloc(1, sizeof *page);
    int code;

    if (!page)
        return error_no_memory(err);
    page->report = request->report;
    page->path = request->path;
    page->peaks = request->peaks;
    page->figures = (struct step_figures){ .busy = -1, .mfu = -1, .hfu = -1, .tensor = -1 };
    if ((code = html_summary_read_page(page, err)) == 0)
        html_summary_add_page(out, page);
    free_page(page);
    return code;
}
