/* Rows of a report from records of ncu's tables: a record is a kernel on the raw page, and a value of one on the
 * details page. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_text.h"
#include "ncu.h"

#define VM_ID (INT64_C(1) << 48) /* the machine's bits of global ids */

static struct json_slice field(const struct ncu *import, enum ncu_column column)
{
    return ncu_field(&import->record, import->header.at[column]);
}

static int64_t string(struct ncu *import, struct json_slice slice)
{
    return writer_string(import->writer, slice.bytes, slice.length);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* The length of digits, with commas that only separate groups of three; the digits go to out. */
static size_t take_digits(struct json_slice text, char *out, size_t *length)
{
    size_t at = 0, last_comma = 0, commas = 0;

    while (at < text.length && *length < 400) {
        if (isdigit((unsigned char)text.bytes[at])) {
            out[(*length)++] = text.bytes[at];
        } else if (text.bytes[at] == ',' && at > 0 && (!commas || at - last_comma == 4)) {
            last_comma = at;
            commas++;
        } else {
            break;
        }
        at++;
    }
    return commas && at - last_comma != 4 ? 0 : at;
}

size_t ncu_number(struct json_slice text, double *out)
{
    char digits[480];
    size_t at = 0, length = 0, taken;
    char *end;

    if (text.length && (text.bytes[0] == '-' || text.bytes[0] == '+'))
        digits[length++] = text.bytes[at++];
    if (!(taken = take_digits((struct json_slice){ text.bytes + at, text.length - at }, digits, &length)))
        return 0;
    at += taken;
    while (at < text.length && length < sizeof digits - 1 &&
           (isdigit((unsigned char)text.bytes[at]) || strchr(".eE+-", text.bytes[at])) && text.bytes[at])
        digits[length++] = text.bytes[at++];
    digits[length] = 0;
    *out = strtod(digits, &end);
    if (*end || !isfinite(*out))
        return 0;
    return at == text.length || (text.length - at > 2 && memcmp(text.bytes + at, " (", 2) == 0) ? at : 0;
}

/* ncu prints whole numbers without decimals, so 5.00 is a number near 5. It stays not whole, by less than any printed
 * digit shows. */
static double near(struct json_slice text, size_t taken, double number)
{
    if (taken < 4 || memcmp(text.bytes + taken - 3, ".00", 3) != 0)
        return number;
    if (number == 0)
        return DBL_MIN;
    return fmax(nextafter(number, INFINITY), fmin(number * (1 + 8 * DBL_EPSILON), number + 1e-3));
}

/* Whether ncu printed no value for a metric; nan and inf are values. */
static int ncu_rows_is_missing(struct json_slice text)
{
    static const char *const words[] = { "n/a", "(!) n/a" };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (text.length == strlen(words[i]) && strncasecmp(text.bytes, words[i], text.length) == 0)
            return 1;
    return 0;
}

static void ncu_rows_add_value(struct ncu *import, int64_t metric, double factor, struct json_slice text)
{
    struct row_TACHO_KERNEL_COUNTER_VALUES row = { 0 };
    struct json_slice minimum = field(import, NCU_MINIMUM), maximum = field(import, NCU_MAXIMUM);
    double number;
    size_t taken = ncu_number(text, &number);

    ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, kernelId, import->kernels - 1);
    ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, metricId, metric);
    if (taken) {
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, value, near(text, taken, number * factor));
        text = (struct json_slice){ text.bytes + taken, text.length - taken };
        if (text.length) /* values of instances, after a blank */
            text = (struct json_slice){ text.bytes + 1, text.length - 1 };
    }
    if (text.length && !ncu_rows_is_missing(text))
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, textValue, string(import, text));
    if (ncu_number(minimum, &number))
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, minimum, number * factor);
    if (ncu_number(maximum, &number))
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, maximum, number * factor);
    writer_append(import->writer, TABLE_TACHO_KERNEL_COUNTER_VALUES, &row);
    import->values++;
}

/* ---- the GPU --------------------------------------------------------------------------------------------------- */

/* A metric of this record, on the raw page. */
static struct json_slice raw_value(const struct ncu *import, const char *name)
{
    const struct ncu_header *header = &import->header;

    for (size_t i = 0; header->is_raw && i < header->metric_count; i++)
        if (json_slice_is(ncu_field(&header->names, header->metrics[i].column), name))
            return ncu_field(&import->record, header->metrics[i].column);
    return (struct json_slice){ "", 0 };
}

/* The same as a count; 0 if it is none. */
static int64_t raw_count(const struct ncu *import, const char *name)
{
    double number;

    return ncu_number(raw_value(import, name), &number) && number >= 1 && number < 1e15 ? (int64_t)number : 0;
}

static void set_capability(const struct ncu *import, struct row_TARGET_INFO_GPU *row)
{
    int64_t parts[3];
    struct json_slice text = field(import, NCU_CAPABILITY);

    if (!text.length)
        return;
    kernel_dimensions(text, parts);
    ROW_SET(row, TARGET_INFO_GPU, computeMajor, parts[0]);
    ROW_SET(row, TARGET_INFO_GPU, computeMinor, parts[1]);
}

/* A row for each GPU, with the data that the table has about it. */
static void ncu_rows_add_gpu(struct ncu *import, int64_t device)
{
    struct row_TARGET_INFO_GPU row = { 0 };
    size_t before = import->devices.count;
    struct json_slice name = raw_value(import, "device__attribute_display_name");
    int64_t count = raw_count(import, "device__attribute_multiprocessor_count");

    if (intern_add(&import->devices, &device, sizeof device) != (int64_t)before)
        return;
    ROW_SET(&row, TARGET_INFO_GPU, vmId, VM_ID);
    ROW_SET(&row, TARGET_INFO_GPU, id, device);
    ROW_SET(&row, TARGET_INFO_GPU, cuDevice, device);
    if (name.length)
        ROW_SET(&row, TARGET_INFO_GPU, name, string(import, name));
    if (count)
        ROW_SET(&row, TARGET_INFO_GPU, smCount, count);
    set_capability(import, &row);
    writer_append(import->writer, TABLE_TARGET_INFO_GPU, &row);
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

#define SET_TEXT(row, column, text)                                                                                    \
    do {                                                                                                               \
        if ((text).length)                                                                                             \
            ROW_SET(row, TACHO_KERNEL_COUNTERS, column, string(import, text));                                         \
    } while (0)
#define SET_NUMBER(row, column, text)                                                                                  \
    do {                                                                                                               \
        int64_t parsed;                                                                                                \
        if (json_slice_integer(text, &parsed))                                                                         \
            ROW_SET(row, TACHO_KERNEL_COUNTERS, column, parsed);                                                       \
    } while (0)
#define SET_SIZES(row, x, y, z, text)                                                                                  \
    do {                                                                                                               \
        int64_t size[3];                                                                                               \
        kernel_dimensions(text, size);                                                                                 \
        if ((text).length) {                                                                                           \
            ROW_SET(row, TACHO_KERNEL_COUNTERS, x, size[0]);                                                           \
            ROW_SET(row, TACHO_KERNEL_COUNTERS, y, size[1] ? size[1] : 1);                                             \
            ROW_SET(row, TACHO_KERNEL_COUNTERS, z, size[2] ? size[2] : 1);                                             \
        }                                                                                                              \
    } while (0)

/* NVTX ranges, of all columns that have some. */
static void set_ranges(struct ncu *import, struct row_TACHO_KERNEL_COUNTERS *row)
{
    const struct ncu_header *header = &import->header;

    text_clear(&import->scratch);
    for (size_t i = 0; i < header->metric_count; i++) {
        struct json_slice text = ncu_field(&import->record, header->metrics[i].column);
        if (header->metrics[i].id >= 0 || !text.length)
            continue;
        if (import->scratch.length)
            text_add_char(&import->scratch, ' ');
        text_add_bytes(&import->scratch, text.bytes, text.length);
    }
    if (import->scratch.length)
        ROW_SET(row, TACHO_KERNEL_COUNTERS, nvtxRange,
                writer_string(import->writer, text_string(&import->scratch), import->scratch.length));
}

static void ncu_rows_set_place(struct ncu *import, struct row_TACHO_KERNEL_COUNTERS *row)
{
    struct json_slice capability = field(import, NCU_CAPABILITY);
    int64_t number, parts[3];

    if (json_slice_integer(field(import, NCU_PROCESS), &number))
        ROW_SET(row, TACHO_KERNEL_COUNTERS, globalPid, VM_ID | (number & 0xffffff) << 24);
    SET_TEXT(row, processName, field(import, NCU_PROCESS_NAME));
    SET_TEXT(row, hostName, field(import, NCU_HOST));
    SET_NUMBER(row, contextId, field(import, NCU_CONTEXT));
    SET_NUMBER(row, streamId, field(import, NCU_STREAM));
    if (capability.length) {
        kernel_dimensions(capability, parts);
        ROW_SET(row, TACHO_KERNEL_COUNTERS, computeMajor, parts[0]);
        ROW_SET(row, TACHO_KERNEL_COUNTERS, computeMinor, parts[1]);
    }
    if (json_slice_integer(field(import, NCU_DEVICE), &number)) {
        ROW_SET(row, TACHO_KERNEL_COUNTERS, deviceId, number);
        ncu_rows_add_gpu(import, number);
    }
}

static void ncu_rows_add_kernel(struct ncu *import)
{
    struct row_TACHO_KERNEL_COUNTERS row = { 0 };
    struct json_slice name = field(import, NCU_KERNEL), source = { "ncu-details", strlen("ncu-details") };
    int64_t passes = raw_count(import, "profiler__replayer_passes");

    if (import->header.is_raw)
        source = (struct json_slice){ "ncu-raw", strlen("ncu-raw") };
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, id, import->kernels++);
    SET_NUMBER(&row, launchId, field(import, NCU_ID));
    ncu_rows_set_place(import, &row);
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, demangledName, string(import, name));
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, shortName, string(import, kernel_short_name(name)));
    SET_SIZES(&row, gridX, gridY, gridZ, field(import, NCU_GRID));
    SET_SIZES(&row, blockX, blockY, blockZ, field(import, NCU_BLOCK));
    SET_NUMBER(&row, invocations, field(import, NCU_INVOCATIONS));
    if (passes)
        ROW_SET(&row, TACHO_KERNEL_COUNTERS, passes, passes);
    set_ranges(import, &row);
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, source, string(import, source));
    writer_append(import->writer, TABLE_TACHO_KERNEL_COUNTERS, &row);
}

/* Whether the record is about another kernel than the one before it. */
static int is_new_kernel(struct ncu *import)
{
    static const enum ncu_column columns[] = { NCU_ID,     NCU_PROCESS, NCU_HOST,  NCU_KERNEL, NCU_CONTEXT,
                                               NCU_STREAM, NCU_DEVICE,  NCU_BLOCK, NCU_GRID };
    struct text swap = import->last_key;

    text_clear(&import->key);
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct json_slice text = field(import, columns[i]);
        text_add_bytes(&import->key, text.bytes, text.length);
        text_add_char(&import->key, '\n');
    }
    for (size_t i = 0; i < import->header.metric_count; i++) { /* ranges distinguish summaries */
        struct json_slice text = ncu_field(&import->record, import->header.metrics[i].column);
        text_add_bytes(&import->key, text.bytes, text.length);
    }
    int is_same = import->key.length == import->last_key.length &&
                  memcmp(text_string(&import->key), text_string(&import->last_key), import->key.length) == 0;
    import->last_key = import->key;
    import->key = swap;
    return !is_same;
}

/* A record of the wrong length: a line of the program, or a damaged one. A quote in it may have swallowed the lines
 * after it, which are read again. */
static void skip(struct ncu *import)
{
    import->damaged += !import->record.is_cut;
    import->truncated |= import->record.is_cut;
    if (import->record.lines > 1)
        import->window.at = import->record.second_line;
}

static void ncu_rows_add_raw(struct ncu *import)
{
    const struct ncu_header *header = &import->header;

    if (import->record.count != header->count) {
        skip(import);
        return;
    }
    ncu_rows_add_kernel(import);
    for (size_t i = 0; i < header->metric_count; i++) {
        struct json_slice text = ncu_field(&import->record, header->metrics[i].column);
        if (header->metrics[i].id >= 0 && text.length)
            ncu_rows_add_value(import, header->metrics[i].id, header->metrics[i].factor, text);
    }
}

/* Rows of rules have no metric. */
static void ncu_rows_add_detail(struct ncu *import)
{
    struct json_slice metric = field(import, NCU_METRIC), section = field(import, NCU_SECTION);
    double factor;

    if (import->record.count <= import->header.at[NCU_METRIC] || import->record.count > import->header.count) {
        skip(import);
        return;
    }
    if (!metric.length)
        return;
    if (is_new_kernel(import))
        ncu_rows_add_kernel(import);
    int64_t id = ncu_metric(import, metric, field(import, NCU_UNIT), section, &factor);
    if (id >= 0 && import->header.at[NCU_VALUE] != NCU_NO_COLUMN)
        ncu_rows_add_value(import, id, factor, field(import, NCU_VALUE));
}

void ncu_add_record(struct ncu *import)
{
    if (import->header.is_raw)
        ncu_rows_add_raw(import);
    else
        ncu_rows_add_detail(import);
}
