/* pprof's format: profile.proto of Google's pprof, compressed with gzip as its readers expect.
 *
 * A sample is a stack of a thread, with the number and the weight of its samples. A frame is a location; frames of
 * one function share the function, whatever their line. */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/utf8.h"
#include "export/protobuf.h"
#include "flame_samples.h"

/* Numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct profile {
    struct stacks stacks;
    struct stack_tree tree;
    struct intern strings;
    struct keys functions; /* kind, symbol, module and source; their numbers count from 1 in the file */
    struct keys mappings;  /* module; likewise */
    struct text out, part, inner, name;
};

static uint64_t pprof_add_string(struct profile *profile, const char *bytes, size_t length)
{
    text_clear(&profile->name);
    utf8_add(&profile->name, bytes, length);
    int64_t id = intern_add(&profile->strings, text_string(&profile->name), profile->name.length);
    profile->out.failed |= id < 0;
    return id < 0 ? 0 : (uint64_t)id;
}

static uint64_t pprof_add_word(struct profile *profile, const char *word)
{
    return pprof_add_string(profile, word, strlen(word));
}

/* Adds the fields in part as a message, and empties part. */
static void pprof_add_part(struct profile *profile, unsigned field)
{
    protobuf_message(&profile->out, field, &profile->part);
    profile->out.failed |= text_failed(&profile->part);
    text_clear(&profile->part);
}

static void add_value_type(struct profile *profile, const char *type, const char *unit)
{
    protobuf_varint(&profile->part, VALUE_TYPE, pprof_add_word(profile, type));
    protobuf_varint(&profile->part, VALUE_UNIT, pprof_add_word(profile, unit));
    pprof_add_part(profile, PROFILE_SAMPLE_TYPE);
}

/* Locations count from 1, as frames do from 0; the outermost is the thread, and becomes a label. */
static int pprof_add_sample(struct profile *profile, uint32_t node)
{
    const struct stack_tree *tree = &profile->tree;
    struct text label = { 0 };

    for (uint32_t at = node; at != TREE_ROOT; at = tree_parent(tree, at)) {
        uint32_t frame = tree_frame(tree, at);
        if (tree_parent(tree, at) != TREE_ROOT) {
            protobuf_varint(&profile->part, SAMPLE_LOCATION, (uint64_t)frame + 1);
            continue;
        }
        stack_frame_name(&label, &profile->stacks, frame);
    }
    protobuf_varint(&profile->part, SAMPLE_VALUE, (uint64_t)tree->self[node].samples);
    protobuf_varint(&profile->part, SAMPLE_VALUE, (uint64_t)tree->self[node].weight);
    text_clear(&profile->inner);
    protobuf_varint(&profile->inner, LABEL_KEY, pprof_add_word(profile, "thread"));
    protobuf_varint(&profile->inner, LABEL_TEXT, pprof_add_string(profile, text_string(&label), label.length));
    protobuf_message(&profile->part, SAMPLE_LABEL, &profile->inner);
    pprof_add_part(profile, PROFILE_SAMPLE);
    int failed = text_failed(&label) || text_failed(&profile->inner);
    text_free(&label);
    return failed ? ERR_NO_MEMORY : 0;
}

static int pprof_add_location(struct profile *profile, uint32_t frame)
{
    const int64_t *key = stack_frame(&profile->stacks, frame);
    uint32_t function = keys_add(&profile->functions, key);
    uint32_t mapping = key[FRAME_KIND] == FRAME_PYTHON ? NO_KEY : keys_add(&profile->mappings, &key[FRAME_MODULE]);

    if (function == NO_KEY || (mapping == NO_KEY && key[FRAME_KIND] != FRAME_PYTHON))
        return ERR_NO_MEMORY;
    text_clear(&profile->inner);
    protobuf_varint(&profile->inner, LINE_FUNCTION, (uint64_t)function + 1);
    protobuf_varint(&profile->inner, LINE_NUMBER, (uint64_t)key[FRAME_LINE]);
    protobuf_varint(&profile->part, LOCATION_ID, (uint64_t)frame + 1);
    if (mapping != NO_KEY)
        protobuf_varint(&profile->part, LOCATION_MAPPING, (uint64_t)mapping + 1);
    protobuf_message(&profile->part, LOCATION_LINE, &profile->inner);
    pprof_add_part(profile, PROFILE_LOCATION);
    return text_failed(&profile->inner) ? ERR_NO_MEMORY : 0;
}

/* The key of a function is the begin of a frame's. */
static void pprof_add_function(struct profile *profile, uint32_t function)
{
    const int64_t *key = keys_get(&profile->functions, function);
    int64_t whole[FRAME_PARTS] = { key[FRAME_KIND], key[FRAME_SYMBOL], key[FRAME_MODULE], key[FRAME_SOURCE],
                                   FRAME_NO_LINE };
    struct text name = { 0 };
    size_t length;

    stack_key_name(&name, &profile->stacks, whole);
    uint64_t id = pprof_add_string(profile, text_string(&name), name.length);
    protobuf_varint(&profile->part, FUNCTION_ID, (uint64_t)function + 1);
    protobuf_varint(&profile->part, FUNCTION_NAME, id);
    protobuf_varint(&profile->part, FUNCTION_SYSTEM_NAME, id);
    if (key[FRAME_SOURCE] != FRAME_NO_NAME) {
        const char *file = report_string(profile->stacks.report, key[FRAME_SOURCE], &length);
        protobuf_varint(&profile->part, FUNCTION_FILE, pprof_add_string(profile, file, length));
    }
    pprof_add_part(profile, PROFILE_FUNCTION);
    profile->out.failed |= text_failed(&name);
    text_free(&name);
}

/* pprof takes the first mapping for the program that was run, so that is the first file here that is no library. */
static int put_program_first(struct profile *profile)
{
    for (uint32_t frame = 0; frame < profile->stacks.frames.count; frame++) {
        const int64_t *key = stack_frame(&profile->stacks, frame);
        const char *file = key[FRAME_KIND] == FRAME_NATIVE
                               ? report_string(profile->stacks.report, key[FRAME_MODULE], NULL)
                               : "";
        const char *slash = strrchr(file, '/');
        if (slash && !strstr(slash, ".so"))
            return keys_add(&profile->mappings, &key[FRAME_MODULE]) == NO_KEY ? ERR_NO_MEMORY : 0;
    }
    return 0;
}

static void add_mapping(struct profile *profile, uint32_t mapping)
{
    size_t length;
    const char *file = report_string(profile->stacks.report, *keys_get(&profile->mappings, mapping), &length);

    protobuf_varint(&profile->part, MAPPING_ID, (uint64_t)mapping + 1);
    protobuf_varint(&profile->part, MAPPING_FILE, pprof_add_string(profile, file, length));
    protobuf_varint(&profile->part, MAPPING_HAS_FUNCTIONS, 1);
    pprof_add_part(profile, PROFILE_MAPPING);
}

static void pprof_add_time(struct profile *profile, const struct export_options *options)
{
    const struct stacks *stacks = &profile->stacks;
    int64_t first = INT64_MAX, last = INT64_MIN, shift;
    struct export_options normal = *options;
    struct error no_time;

    for (size_t i = 0; i < stacks->sample_count; i++) {
        first = stacks->samples[i].time_ns < first ? stacks->samples[i].time_ns : first;
        last = stacks->samples[i].time_ns > last ? stacks->samples[i].time_ns : last;
    }
    normal.normalize = 1;
    if (export_shift(&normal, stacks->report, &shift, &no_time) == 0)
        protobuf_varint(&profile->out, PROFILE_TIME, (uint64_t)saturating_add(first, shift));
    protobuf_varint(&profile->out, PROFILE_DURATION, (uint64_t)saturating_duration(first, last));
}

static int pprof_add_samples(struct profile *profile)
{
    const struct stack_tree *tree = &profile->tree;

    for (uint32_t node = 1; node < tree->nodes.count; node++)
        if (tree->self[node].samples && pprof_add_sample(profile, node) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int add_locations(struct profile *profile)
{
    for (uint32_t frame = 0; frame < profile->stacks.frames.count; frame++)
        if (stack_frame(&profile->stacks, frame)[FRAME_KIND] != FRAME_THREAD && pprof_add_location(profile, frame) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int make_profile(struct profile *profile, const struct export_options *options)
{
    pprof_add_word(profile, ""); /* the first string is the empty one */
    add_value_type(profile, "samples", "count");
    struct flame_unit unit = flame_samples_unit(profile->stacks.report, options);
    add_value_type(profile, unit.pprof_type, unit.pprof_unit);
    if (pprof_add_samples(profile) != 0 || put_program_first(profile) != 0 || add_locations(profile) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < profile->functions.count; i++)
        pprof_add_function(profile, i);
    for (uint32_t i = 0; i < profile->mappings.count; i++)
        add_mapping(profile, i);
    pprof_add_time(profile, options);
    for (size_t i = 0; i < profile->strings.count; i++)
        protobuf_bytes(&profile->out, PROFILE_STRING, profile->strings.strings[i].bytes,
                       profile->strings.strings[i].length);
    return text_failed(&profile->out) || text_failed(&profile->name) ? ERR_NO_MEMORY : 0;
}

static int write_out(void *context, struct outfile *output, struct error *err)
{
    struct profile *profile = context;

    return outfile_put(output, &profile->out, 0, err);
}

static int pprof_export_report(struct report *report, const char *path, const struct export_options *options,
                               struct error *err)
{
    struct profile profile = { .functions.width = FRAME_LINE, .mappings.width = 1 };
    int code;

    if ((code = flame_samples_read(&profile.stacks, report, STACKS_WITH_LINES, options, err)) != 0)
        goto done;
    if ((code = flame_samples_tree(&profile.tree, &profile.stacks, options, err)) != 0)
        goto done;
    if (make_profile(&profile, options) != 0 && (code = error_short_memory(err, "for the profile")) != 0)
        goto done;
    code = outfile_write(path, 1, write_out, &profile, err);
done:
    stack_tree_free(&profile.tree);
    stacks_free(&profile.stacks);
    intern_free(&profile.strings);
    keys_free(&profile.functions);
    keys_free(&profile.mappings);
    text_free(&profile.out);
    text_free(&profile.part);
    text_free(&profile.inner);
    text_free(&profile.name);
    return code;
}

const struct exporter export_pprof = {
    .name = "pprof",
    .help = "samples in the format of pprof",
    .extension = "pb.gz",
    .export_report = pprof_export_report,
};
