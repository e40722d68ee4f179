/* A self-contained flame graph: one SVG file that any browser opens, with search and zoom by a script inside it.
 *
 * Names come from programs and may be anything. They are only ever written as text, with every character that XML
 * reserves escaped. */
#include "svg.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/human.h"
#include "base/utf8.h"
#include "flame_samples.h"

enum { WIDTH = 1200, ROW = 17, BOX = 16, HEAD = 44, FOOT = 26 };
#define LEAST_WIDTH 0.1
#define LETTER_WIDTH 7.3

struct flame {
    struct stacks stacks;
    struct stack_tree tree;
    struct text out, name;
    double *x;       /* owned; by node: where it begins */
    size_t levels;   /* levels that are drawn */
    size_t left_out; /* frames too narrow to be seen */
    int is_bytes;    /* the weights are bytes of the heap */
};

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* Adds at most `most` characters; two dots take the place of the rest. */
static void svg_add_text(struct text *out, const char *bytes, size_t length, size_t most)
{
    for (size_t at = 0, count = 0; at < length; count++) {
        uint32_t code;
        size_t taken = utf8_decode(bytes + at, length - at, &code);
        if (count == most) {
            text_add(out, "..");
            return;
        }
        if (!taken || code < ' ' || code == 0xfffe || code == 0xffff)
            text_add(out, "\xef\xbf\xbd");
        else if (code == '&')
            text_add(out, "&amp;");
        else if (code == '<')
            text_add(out, "&lt;");
        else if (code == '>')
            text_add(out, "&gt;");
        else
            text_add_bytes(out, bytes + at, taken);
        at += taken ? taken : 1;
    }
}

static size_t count_characters(const char *bytes, size_t length)
{
    size_t count = 0;
    uint32_t code;

    for (size_t at = 0, taken; at < length; at += taken ? taken : 1, count++)
        taken = utf8_decode(bytes + at, length - at, &code);
    return count;
}

/* Adds the part of the name that fits into the box. */
static void add_fitting(struct flame *flame, double width)
{
    size_t count = count_characters(text_string(&flame->name), flame->name.length);
    double room = (width - 6) / LETTER_WIDTH;

    if ((double)count <= room)
        svg_add_text(&flame->out, text_string(&flame->name), flame->name.length, count);
    else if (room >= 3)
        svg_add_text(&flame->out, text_string(&flame->name), flame->name.length, (size_t)room - 2);
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

static double width_of(const struct flame *flame, uint32_t node)
{
    return WIDTH * (double)flame->tree.total[node].weight / (double)flame->tree.total[TREE_ROOT].weight;
}

/* Children stand side by side above their parent, from its left side on. */
static int svg_lay_out(struct flame *flame)
{
    const struct stack_tree *tree = &flame->tree;
    double *next = calloc(tree->nodes.count, sizeof *next);
    size_t level = 0;
    int skip = 0;

    flame->x = calloc(tree->nodes.count, sizeof *flame->x);
    for (uint32_t node = TREE_ROOT;
         next && flame->x && (node = stack_tree_next(tree, node, skip, &level)) != TREE_ROOT;) {
        uint32_t parent = tree_parent(tree, node);
        double width = width_of(flame, node);
        flame->x[node] = next[node] = next[parent];
        next[parent] += width;
        skip = width < LEAST_WIDTH;
        flame->left_out += (size_t)skip;
        flame->levels = !skip && level > flame->levels ? level : flame->levels;
    }
    int failed = !next || !flame->x;
    free(next);
    return failed ? ERR_NO_MEMORY : 0;
}

static void svg_add_amount(struct flame *flame, const struct stack_figure *figure)
{
    if (flame->is_bytes)
        human_bytes(&flame->out, (uint64_t)figure->weight);
    else
        text_addf(&flame->out, "%lld samples", (long long)figure->samples);
}

static void svg_add_frame(struct flame *flame, uint32_t node, size_t level)
{
    static const char kinds[] = {
        [FRAME_NATIVE] = 'n', [FRAME_KERNEL] = 'k', [FRAME_PYTHON] = 'p', [FRAME_THREAD] = 't'
    };
    const struct stack_figure *total = &flame->tree.total[node], *all = &flame->tree.total[TREE_ROOT];
    uint32_t frame = tree_frame(&flame->tree, node);
    double width = width_of(flame, node), x = flame->x[node];
    size_t y = HEAD + (flame->levels - level) * ROW;

    text_clear(&flame->name);
    stack_frame_label(&flame->name, &flame->stacks, frame);
    text_add(&flame->out, "<g class=\"f\"><title>");
    svg_add_text(&flame->out, text_string(&flame->name), flame->name.length, SIZE_MAX);
    text_add(&flame->out, " (");
    svg_add_amount(flame, total);
    text_addf(&flame->out,
              ", %.2f %%)</title><rect class=\"%c%d\" x=\"%.3f\" y=\"%zu\" width=\"%.3f\" height=\"%d\" rx=\"1\"/>",
              100.0 * (double)total->weight / (double)all->weight,
              kinds[stack_frame(&flame->stacks, frame)[FRAME_KIND]],
              (int)(hash_bytes(text_string(&flame->name), flame->name.length) % 4), x, y, width, BOX);
    text_addf(&flame->out, "<text x=\"%.3f\" y=\"%zu\">", x + 3, y + 12);
    add_fitting(flame, width);
    text_add(&flame->out, "</text></g>\n");
}

static void svg_add_head(struct flame *flame, size_t height)
{
    text_addf(
        &flame->out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"tacho-flame\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d "
        "%zu\">\n"
        "<title>Flame graph</title>\n<style>\n%s</style>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n",
        WIDTH, height, WIDTH, height, svg_style);
    text_add(&flame->out, "<text class=\"head\" x=\"4\" y=\"20\">");
    svg_add_amount(flame, &flame->tree.total[TREE_ROOT]);
    if (flame->left_out)
        text_addf(&flame->out, "; %zu narrow frames are not drawn", flame->left_out);
    text_addf(&flame->out,
              "</text>\n<text id=\"tacho-matched\" x=\"%d\" y=\"20\" text-anchor=\"end\"></text>\n"
              "<text class=\"button\" id=\"tacho-search\" x=\"%d\" y=\"20\" text-anchor=\"end\">search</text>\n"
              "<text class=\"button\" id=\"tacho-reset\" x=\"%d\" y=\"20\" text-anchor=\"end\">reset</text>\n"
              "<text id=\"tacho-details\" x=\"4\" y=\"%zu\"></text>\n",
              WIDTH - 130, WIDTH - 60, WIDTH - 4, height - 8);
}

static int svg_write_all(void *context, struct outfile *output, struct error *err)
{
    struct flame *flame = context;
    size_t level = 0;
    int code, skip = 0;

    svg_add_head(flame, HEAD + flame->levels * ROW + FOOT);
    for (uint32_t node = TREE_ROOT; (node = stack_tree_next(&flame->tree, node, skip, &level)) != TREE_ROOT;) {
        skip = width_of(flame, node) < LEAST_WIDTH;
        if (!skip)
            svg_add_frame(flame, node, level);
        if ((code = outfile_put(output, &flame->out, 1 << 16, err)) != 0)
            return code;
    }
    text_addf(&flame->out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
    if (text_failed(&flame->name))
        return error_no_memory(err);
    return outfile_put(output, &flame->out, 0, err);
}

static int svg_export_report(struct report *report, const char *path, const struct export_options *options,
                             struct error *err)
{
    struct flame flame = { .is_bytes = options->heap_samples };
    int code;

    if ((code = flame_samples_read(&flame.stacks, report, STACKS_WITHOUT_LINES, options, err)) != 0)
        goto done;
    if ((code = flame_samples_tree(&flame.tree, &flame.stacks, options, err)) != 0)
        goto done;
    if (svg_lay_out(&flame) != 0 && (code = error_short_memory(err, "for the flame graph")) != 0)
        goto done;
    code = outfile_write(path, 0, svg_write_all, &flame, err);
done:
    stack_tree_free(&flame.tree);
    stacks_free(&flame.stacks);
    text_free(&flame.out);
    text_free(&flame.name);
    free(flame.x);
    return code;
}

const struct exporter export_svg = {
    .name = "svg",
    .help = "flame graph of the samples, for a browser",
    .extension = "svg",
    .export_report = svg_export_report,
};
