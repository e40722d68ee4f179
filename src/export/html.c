/* The timeline in one file: the page, the reader compiled to WebAssembly, and the report (or the requested part of it).
 * It opens from a disk without a server. docs/view-api.md says how the page finds them.
 *
 * The report is base64 in an element that browsers do not run, so that no name in it can become markup. The policy
 * in the head allows only the scripts inserted here, by a nonce. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cut.h"
#include "outfile.h"

#define PART_BYTES (3u << 16) /* bytes read at a time; divisible by three, so that parts of base64 can be joined */
#define PAGE_MOST (64 << 20)
#define BASE64_PERCENT 134    /* 4 bytes for 3, rounded up */

static const char data_type[] = "application/octet-stream;base64";

struct html {
    const struct export_options *options;
    const char *report_path; /* the report, or the part of it, that goes into the page */
    struct outfile *output;
    struct text text;        /* not yet written to the file */
    struct text index, style, script;
    char wasm_path[4096];
    uint64_t wasm_bytes;
    char nonce[33];
};

/* ---- the page -------------------------------------------------------------------------------------------------- */

static int html_export_name_file(const struct html *html, const char *name, char path[4096], struct error *err)
{
    const char *folder = html->options->page_folder ? html->options->page_folder : "";

    if (snprintf(path, 4096, "%s/%s", folder, name) >= 4096)
        return error_set(err, ERR_BAD_ARGUMENT, "the path of the timeline page is too long");
    if (access(path, R_OK) != 0)
        return error_set(err, ERR_NOT_FOUND,
                         "this tacho was built without the timeline page (%s is missing): install nodejs, npm, clang, "
                         "lld and wasi-libc, and build again",
                         path);
    return 0;
}

static int read_page_file(const struct html *html, const char *name, struct text *out, struct error *err)
{
    char path[4096], part[65536];
    int code = html_export_name_file(html, name, path, err);
    size_t length;

    if (code != 0)
        return code;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return error_set_errno(err, "cannot read '%s'", path);
    while (out->length < PAGE_MOST && (length = fread(part, 1, sizeof part, file)) > 0)
        text_add_bytes(out, part, length);
    fclose(file);
    return text_failed(out) ? error_no_memory(err) : 0;
}

static int html_export_read_page(struct html *html, struct error *err)
{
    const struct {
        const char *name;
        struct text *out;
    } files[] = {
        { "index.html", &html->index },
        { "page.css", &html->style },
        { "page.js", &html->script },
    };
    unsigned char random[16];
    struct stat status;
    int code;

    for (size_t i = 0; i < COUNT_OF(files); i++)
        if ((code = read_page_file(html, files[i].name, files[i].out, err)) != 0)
            return code;
    if ((code = html_export_name_file(html, "tacho.wasm.gz", html->wasm_path, err)) != 0)
        return code;
    if (stat(html->wasm_path, &status) != 0)
        return error_set_errno(err, "cannot read '%s'", html->wasm_path);
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return error_set_errno(err, "the kernel returned no random numbers");
    html->wasm_bytes = (uint64_t)status.st_size;
    for (size_t i = 0; i < sizeof random; i++)
        sprintf(html->nonce + 2 * i, "%02x", random[i]);
    return 0;
}

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

static void add_base64(struct text *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned value = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        char four[4] = { digits[value >> 18], digits[value >> 12 & 63], left > 1 ? digits[value >> 6 & 63] : '=',
                         left > 2 ? digits[value & 63] : '=' };
        text_add_bytes(out, four, sizeof four);
    }
}

/* A file as base64, written as it is read. */
static int html_export_put_file(struct html *html, const char *path, struct error *err)
{
    unsigned char *part = NULL;
    FILE *file = fopen(path, "rbe");
    size_t length;
    int code = 0;

    if (!file)
        return error_set_errno(err, "cannot read '%s'", path);
    if (!(part = malloc(PART_BYTES)) && (code = error_no_memory(err)) != 0)
        goto done;
    while ((length = fread(part, 1, PART_BYTES, file)) > 0) {
        add_base64(&html->text, part, length);
        if ((code = outfile_put(html->output, &html->text, 1, err)) != 0)
            goto done;
    }
    if (ferror(file))
        code = error_set(err, ERR_IO, "cannot read '%s'", path);
done:
    fclose(file);
    free(part);
    return code;
}

/* Escapes a text for an attribute or the content of an element. */
static void html_export_add_escaped(struct text *out, const char *bytes)
{
    for (; *bytes; bytes++) {
        const char *special = strchr("<>&\"'", *bytes);
        if (special || (unsigned char)*bytes < ' ')
            text_addf(out, "&#%d;", (unsigned char)*bytes);
        else
            text_add_char(out, *bytes);
    }
}

/* A script may contain, in its strings, the words that end its element or seem to begin a comment: a backslash there
 * changes nothing. */
static void add_script(struct text *out, const struct text *script)
{
    static const struct {
        const char *found, *instead;
    } words[] = { { "</script", "<\\/script" }, { "<!--", "<\\!--" }, { "<script", "<\\script" } };
    const char *at = text_string(script), *end = at + script->length;

    while (at < end) {
        const char *next = memchr(at, '<', (size_t)(end - at));
        text_add_bytes(out, at, (size_t)((next ? next : end) - at));
        at = next ? next : end;
        if (at == end)
            break;
        size_t i = 0;
        while (i < COUNT_OF(words) && strncasecmp(at, words[i].found, strlen(words[i].found)) != 0)
            i++;
        if (i < COUNT_OF(words)) {
            text_add(out, words[i].instead);
            at += strlen(words[i].found);
        } else
            text_add_char(out, *at++);
    }
}

static void add_policy(struct html *html)
{
    text_addf(&html->text,
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-%s' "
              "'wasm-unsafe-eval' blob:; style-src 'nonce-%s'; img-src data: blob:; font-src data:; connect-src data: "
              "blob:; worker-src blob:; base-uri 'none'; form-action 'none'\">\n"
              "<meta name=\"referrer\" content=\"no-referrer\">\n",
              html->nonce, html->nonce);
}

static void begin_data(struct html *html, const char *id)
{
    text_addf(&html->text, "<script type=\"%s\" id=\"%s\"", data_type, id);
}

/* The bookmarks are base64 too, because they contain text of users. */
static void add_bookmarks(struct html *html)
{
    const struct text *bookmarks = html->options->bookmarks;

    if (!bookmarks)
        return;
    begin_data(html, "tacho-notes");
    text_add_char(&html->text, '>');
    add_base64(&html->text, (const unsigned char *)text_string(bookmarks), bookmarks->length);
    text_add(&html->text, "</script>\n");
}

static int put_data(struct html *html, const char *id, const char *name, const char *path, struct error *err)
{
    int code;

    begin_data(html, id);
    if (name) {
        text_add(&html->text, " data-name=\"");
        html_export_add_escaped(&html->text, name);
        text_add_char(&html->text, '"');
    }
    text_add_char(&html->text, '>');
    if ((code = html_export_put_file(html, path, err)) != 0)
        return code;
    text_add(&html->text, "</script>\n");
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* An element of index.html: the offset of its "<", and the one after its ">" or its closing tag. */
struct html_export_place {
    size_t from, to;
};

/* The element that begins with `tag` and names `file`. */
static int find_element(const struct text *index, const char *tag, const char *file, const char *closing,
                        struct html_export_place *out)
{
    const char *text = text_string(index);

    for (const char *at = text; (at = strstr(at, tag)); at++) {
        const char *end = strchr(at, '>'), *named = strstr(at, file);
        if (!end || !named || named > end)
            continue;
        const char *close = *closing ? strstr(end, closing) : end + 1;
        if (!close)
            continue;
        *out = (struct html_export_place){ (size_t)(at - text), (size_t)(close - text) + strlen(closing) };
        return 1;
    }
    return 0;
}

static int put_page(void *context, struct outfile *output, struct error *err)
{
    struct html *html = context;
    const char *index = text_string(&html->index), *head = strstr(index, "<head>");
    const char *name = html->options->name ? html->options->name : "report.tacho";
    struct html_export_place style, script;
    int code;

    html->output = output;
    if (!head || !find_element(&html->index, "<link", "page.css", "", &style) ||
        !find_element(&html->index, "<script", "page.js", "</script>", &script) ||
        (size_t)(head - index) > style.from || style.to > script.from)
        return error_set(err, ERR_BAD_FORMAT, "index.html of the timeline page was changed; install Tacho again");
    size_t inside = (size_t)(head - index) + strlen("<head>");
    text_add_bytes(&html->text, index, inside);
    text_add_char(&html->text, '\n');
    add_policy(html);
    text_add_bytes(&html->text, index + inside, style.from - inside);
    text_addf(&html->text, "<style nonce=\"%s\">", html->nonce);
    text_add_bytes(&html->text, text_string(&html->style), html->style.length);
    text_add(&html->text, "</style>");
    text_add_bytes(&html->text, index + style.to, script.from - style.to);
    if ((code = put_data(html, "tacho-wasm", NULL, html->wasm_path, err)) != 0 ||
        (code = put_data(html, "tacho-report", name, html->report_path, err)) != 0)
        return code;
    add_bookmarks(html);
    text_addf(&html->text, "<script nonce=\"%s\">", html->nonce);
    add_script(&html->text, &html->script);
    text_add(&html->text, "</script>");
    text_add_bytes(&html->text, index + script.to, html->index.length - script.to);
    return outfile_put(html->output, &html->text, 1, err);
}

static int html_export_report(struct report *report, const char *path, const struct export_options *options,
                              struct error *err)
{
    struct html html = { .options = options };
    struct cut_size size = { .scale_percent = BASE64_PERCENT };
    char *report_path;
    int code;

    if ((code = html_export_read_page(&html, err)) != 0)
        goto free_page;
    if (asprintf(&report_path, "%s.tacho", path) < 0 && (code = error_no_memory(err)) != 0)
        goto free_page;
    html.report_path = report_path;
    size.taken = html.index.length + html.style.length + html.script.length + html.wasm_bytes * BASE64_PERCENT / 100 +
                 4096 + (options->bookmarks ? options->bookmarks->length * BASE64_PERCENT / 100 : 0);
    if ((code = cut_report(report, report_path, options, size, err)) != 0)
        goto remove_report;
    code = outfile_write(path, 0, put_page, &html, err);
remove_report:
    unlink(report_path);
    free(report_path);
free_page:
    text_free(&html.index);
    text_free(&html.style);
    text_free(&html.script);
    text_free(&html.text);
    return code;
}

const struct exporter export_html = {
    .name = "html",
    .help = "the timeline page with the report and its bookmarks in one file",
    .extension = "html",
    .limits = 1,
    .needs_file = 1,
    .export_report = html_export_report,
};
