/* Folded stacks, as flamegraph.pl and similar tools read them: one line for each stack with its frames from the
 * outermost on, separated by ;, then a space and the weight of its samples. The thread's name is the first frame. */
#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"
#include "flame_samples.h"

struct folding {
    struct stacks stacks;
    struct stack_tree tree;
    struct text line, frame; /* the line up to the current node; frame is scratch */
    size_t *ends;            /* owned; by level: the length of the line with the frames up to that level */
    size_t room;
};

/* A frame must contain neither the separator of frames nor the end of a line. */
static void folded_add_frame(struct folding *folding, uint32_t frame)
{
    text_clear(&folding->frame);
    stack_frame_label(&folding->frame, &folding->stacks, frame);
    for (size_t i = 0; i < folding->frame.length; i++) {
        unsigned char c = (unsigned char)folding->frame.bytes[i];
        folding->frame.bytes[i] = c == ';' ? ':' : c < ' ' || c == 0x7f ? ' ' : (char)c;
    }
    utf8_add(&folding->line, text_string(&folding->frame), folding->frame.length);
}

static int remember_end(struct folding *folding, size_t level, struct error *err)
{
    if (array_reserve(&folding->ends, &folding->room, level + 1, sizeof *folding->ends) != 0)
        return error_no_memory(err);
    folding->ends[level] = folding->line.length;
    return 0;
}

static int folded_write_lines(void *context, struct outfile *output, struct error *err)
{
    struct folding *folding = context;
    const struct stack_tree *tree = &folding->tree;
    struct text out = { 0 };
    size_t level = 0;
    int code;

    if ((code = remember_end(folding, 0, err)) != 0)
        return code;
    for (uint32_t node = TREE_ROOT; (node = stack_tree_next(tree, node, 0, &level)) != TREE_ROOT;) {
        folding->line.length = folding->ends[level - 1];
        if (level > 1)
            text_add_char(&folding->line, ';');
        folded_add_frame(folding, tree_frame(tree, node));
        if ((code = remember_end(folding, level, err)) != 0)
            goto free_text;
        if (!tree->self[node].samples)
            continue;
        text_add_bytes(&out, text_string(&folding->line), folding->line.length);
        text_addf(&out, " %lld\n", (long long)tree->self[node].weight);
        if ((code = outfile_put(output, &out, 1 << 16, err)) != 0)
            goto free_text;
    }
    if ((text_failed(&folding->line) || text_failed(&folding->frame)) && (code = error_no_memory(err)) != 0)
        goto free_text;
    code = outfile_put(output, &out, 0, err);
free_text:
    text_free(&out);
    return code;
}

static int folded_export_report(struct report *report, const char *path, const struct export_options *options,
                                struct error *err)
{
    struct folding folding = { 0 };
    int code;

    if ((code = flame_samples_read(&folding.stacks, report, STACKS_WITHOUT_LINES, options, err)) != 0)
        goto done;
    if ((code = flame_samples_tree(&folding.tree, &folding.stacks, options, err)) != 0)
        goto done;
    code = outfile_write(path, options->gzip, folded_write_lines, &folding, err);
done:
    stack_tree_free(&folding.tree);
    stacks_free(&folding.stacks);
    text_free(&folding.line);
    text_free(&folding.frame);
    free(folding.ends);
    return code;
}

const struct exporter export_folded = {
    .name = "folded",
    .help = "samples as folded stacks, for flamegraph.pl and similar tools",
    .extension = "folded",
    .gzips = 1,
    .export_report = folded_export_report,
};
