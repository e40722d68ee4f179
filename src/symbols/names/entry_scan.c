/* Finds functions among the entries of a unit: see entry_scan.h. */
#include "entry_scan.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"

struct entry_attribute {
    uint16_t kind, form;
};

/* What all entries with one abbreviation have in common. */
struct abbreviation {
    uint32_t tag;
    size_t first, count; /* attributes */
    uint64_t bytes;      /* of all attributes; counts while is_fixed */
    uint64_t sibling_at; /* where among these bytes the sibling is */
    unsigned char is_fixed, has_children, has_sibling, has_code;
};

struct entry_walk {
    struct byte_cursor at;
    const unsigned char *section, *unit; /* where they begin */
    unsigned version, offset_bytes;
    struct abbreviation *abbreviations;  /* that with number n is at n - 1 */
    size_t abbreviation_count, abbreviation_room;
    struct entry_attribute *attributes;
    size_t attribute_count, attribute_room;
    const uint64_t *addresses;
    size_t address_count;
};

/* The values of an entry that matter. */
struct entry_values {
    uint64_t sibling, start, end; /* sibling: from the unit's beginning; 0: unknown */
    int has_start, has_end, end_is_length;
};

/* ---- Forms ----------------------------------------------------------------------------------------------------- */

enum {
    FORM_LEB = -1,
    FORM_TEXT = -2,
    FORM_BLOCK = -3,
    FORM_BLOCK1 = -4,
    FORM_BLOCK2 = -5,
    FORM_BLOCK4 = -6,
    FORM_OFFSET = -7,
    FORM_UNKNOWN = 0,
    FORM_NOTHING = -8
};

/* Bytes of a value, or one of the above. */
static const signed char form_bytes[] = {
    [DW_FORM_addr] = 8,
    [DW_FORM_block2] = FORM_BLOCK2,
    [DW_FORM_block4] = FORM_BLOCK4,
    [DW_FORM_data2] = 2,
    [DW_FORM_data4] = 4,
    [DW_FORM_data8] = 8,
    [DW_FORM_string] = FORM_TEXT,
    [DW_FORM_block] = FORM_BLOCK,
    [DW_FORM_block1] = FORM_BLOCK1,
    [DW_FORM_data1] = 1,
    [DW_FORM_flag] = 1,
    [DW_FORM_sdata] = FORM_LEB,
    [DW_FORM_strp] = FORM_OFFSET,
    [DW_FORM_udata] = FORM_LEB,
    [DW_FORM_ref_addr] = FORM_OFFSET,
    [DW_FORM_ref1] = 1,
    [DW_FORM_ref2] = 2,
    [DW_FORM_ref4] = 4,
    [DW_FORM_ref8] = 8,
    [DW_FORM_ref_udata] = FORM_LEB,
    [DW_FORM_sec_offset] = FORM_OFFSET,
    [DW_FORM_exprloc] = FORM_BLOCK,
    [DW_FORM_flag_present] = FORM_NOTHING,
    [DW_FORM_strx] = FORM_LEB,
    [DW_FORM_addrx] = FORM_LEB,
    [DW_FORM_ref_sup4] = 4,
    [DW_FORM_strp_sup] = FORM_OFFSET,
    [DW_FORM_data16] = 16,
    [DW_FORM_line_strp] = FORM_OFFSET,
    [DW_FORM_ref_sig8] = 8,
    [DW_FORM_implicit_const] = FORM_NOTHING,
    [DW_FORM_loclistx] = FORM_LEB,
    [DW_FORM_rnglistx] = FORM_LEB,
    [DW_FORM_ref_sup8] = 8,
    [DW_FORM_strx1] = 1,
    [DW_FORM_strx2] = 2,
    [DW_FORM_strx3] = 3,
    [DW_FORM_strx4] = 4,
    [DW_FORM_addrx1] = 1,
    [DW_FORM_addrx2] = 2,
    [DW_FORM_addrx3] = 3,
    [DW_FORM_addrx4] = 4,
};

static int size_of_form(const struct entry_walk *walk, unsigned form)
{
    if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
        return (int)walk->offset_bytes;
    int bytes = form < COUNT_OF(form_bytes) ? form_bytes[form] : FORM_UNKNOWN;
    return bytes == FORM_OFFSET ? (int)walk->offset_bytes : bytes;
}

/* Skips a value, and gives it if it is a number. */
static uint64_t take_value(struct entry_walk *walk, unsigned form)
{
    struct byte_cursor *at = &walk->at;
    int bytes = size_of_form(walk, form);
    switch (bytes) {
    case FORM_NOTHING: return 0;
    case FORM_LEB: return cursor_uleb(at);
    case FORM_BLOCK: cursor_skip(at, cursor_uleb(at)); return 0;
    case FORM_BLOCK1: cursor_skip(at, cursor_number(at, 1)); return 0;
    case FORM_BLOCK2: cursor_skip(at, cursor_number(at, 2)); return 0;
    case FORM_BLOCK4: cursor_skip(at, cursor_number(at, 4)); return 0;
    case FORM_TEXT: {
        const unsigned char *end = memchr(at->at, 0, cursor_left(at));
        cursor_skip(at, end ? (uint64_t)(end - at->at) + 1 : UINT64_MAX);
        return 0;
    }
    default: break;
    }
    if (bytes <= 8)
        return cursor_number(at, (unsigned)bytes);
    cursor_skip(at, (uint64_t)bytes);
    return 0;
}

/* ---- Abbreviations --------------------------------------------------------------------------------------------- */

/* Parses the attributes of one abbreviation; -1 for what libdw has to read. */
static int entry_scan_read_attributes(struct entry_walk *walk, struct byte_cursor *from,
                                      struct abbreviation *abbreviation)
{
    for (;;) {
        uint64_t kind = cursor_uleb(from), form = cursor_uleb(from);
        if (form == DW_FORM_implicit_const)
            cursor_sleb(from);
        if (from->failed || kind > UINT16_MAX || form > UINT16_MAX)
            return -1;
        if (!kind && !form)
            return 0;
        int bytes = size_of_form(walk, (unsigned)form);
        if (bytes == FORM_UNKNOWN || array_reserve(&walk->attributes, &walk->attribute_room, walk->attribute_count + 1,
                                                   sizeof *walk->attributes) != 0)
            return -1;
        walk->attributes[walk->attribute_count++] = (struct entry_attribute){ (uint16_t)kind, (uint16_t)form };
        if (kind == DW_AT_sibling && form == DW_FORM_ref4) {
            abbreviation->has_sibling = 1;
            abbreviation->sibling_at = abbreviation->bytes;
        }
        abbreviation->count++;
        abbreviation->is_fixed &= bytes > 0 || bytes == FORM_NOTHING;
        abbreviation->bytes += bytes > 0 ? (uint64_t)bytes : 0;
        abbreviation->has_code |= kind == DW_AT_low_pc || kind == DW_AT_ranges;
    }
}

/* All compilers number them from one. */
static int read_abbreviations(struct entry_walk *walk, struct byte_cursor from)
{
    for (uint64_t number; (number = cursor_uleb(&from)) != 0;) {
        struct abbreviation abbreviation = { .first = walk->attribute_count, .is_fixed = 1 };
        abbreviation.tag = (uint32_t)cursor_uleb(&from);
        abbreviation.has_children = cursor_number(&from, 1) != 0;
        if (number != walk->abbreviation_count + 1 || entry_scan_read_attributes(walk, &from, &abbreviation) != 0 ||
            array_reserve(&walk->abbreviations, &walk->abbreviation_room, walk->abbreviation_count + 1,
                          sizeof abbreviation) != 0)
            return -1;
        walk->abbreviations[walk->abbreviation_count++] = abbreviation;
    }
    return from.failed ? -1 : 0;
}

/* ---- Entries --------------------------------------------------------------------------------------------------- */

/* Reads the head of the unit and its abbreviations: the cursor is at its first entry then. */
static int begin_unit(struct entry_walk *walk, const struct entry_scan_sections *sections, uint64_t unit)
{
    const struct line_table_bytes *entries = &sections->entries, *abbreviations = &sections->abbreviations;
    if (!entries->bytes || unit >= entries->size || !abbreviations->bytes)
        return -1;
    struct byte_cursor *at = &walk->at;
    walk->section = entries->bytes;
    walk->unit = entries->bytes + unit;
    *at = (struct byte_cursor){ walk->unit, entries->bytes + entries->size, 0 };
    uint64_t length = cursor_number(at, 4);
    walk->offset_bytes = length == 0xffffffff ? 8 : 4;
    if (walk->offset_bytes == 8)
        length = cursor_number(at, 8);
    if (at->failed || length > cursor_left(at) || (walk->offset_bytes == 4 && length >= 0xfffffff0))
        return -1;
    at->end = at->at + length;
    walk->version = (unsigned)cursor_number(at, 2);
    if (walk->version < 3 || walk->version > 5) /* DWARF 2 has references of another size */
        return -1;
    unsigned kind = walk->version == 5 ? (unsigned)cursor_number(at, 1) : DW_UT_compile,
             address_bytes = walk->version == 5 ? (unsigned)cursor_number(at, 1) : 0;
    uint64_t offset = cursor_number(at, walk->offset_bytes);
    if (walk->version < 5)
        address_bytes = (unsigned)cursor_number(at, 1);
    if (at->failed || kind != DW_UT_compile || address_bytes != 8 || offset >= abbreviations->size)
        return -1;
    return read_abbreviations(walk, (struct byte_cursor){ abbreviations->bytes + offset,
                                                          abbreviations->bytes + abbreviations->size, 0 });
}

/* Skips values of known sizes; returns the sibling. */
static uint64_t skip_values(struct entry_walk *walk, const struct abbreviation *abbreviation)
{
    struct byte_cursor sibling = walk->at;
    cursor_skip(&walk->at, abbreviation->bytes);
    if (!abbreviation->has_sibling)
        return 0;
    cursor_skip(&sibling, abbreviation->sibling_at);
    return cursor_number(&sibling, 4);
}

static struct entry_values take_values(struct entry_walk *walk, const struct abbreviation *abbreviation)
{
    struct entry_values values = { 0 };
    for (size_t i = 0; i < abbreviation->count; i++) {
        const struct entry_attribute *attribute = &walk->attributes[abbreviation->first + i];
        uint64_t value = take_value(walk, attribute->form);
        switch (attribute->kind) {
        case DW_AT_sibling: values.sibling = attribute->form == DW_FORM_ref4 ? value : 0; break;
        case DW_AT_low_pc:
            values.has_start = attribute->form == DW_FORM_addr;
            values.start = value;
            break;
        case DW_AT_high_pc:
            values.has_end = attribute->form == DW_FORM_addr || attribute->form == DW_FORM_data8 ||
                             attribute->form == DW_FORM_data4 || attribute->form == DW_FORM_udata;
            values.end_is_length = attribute->form != DW_FORM_addr;
            values.end = value;
            break;
        default: break;
        }
    }
    return values;
}

/* Ranges and addresses from other sections are left to libdw. */
static int may_contain_some(const struct entry_walk *walk, const struct entry_values *values)
{
    if (!values->has_start || !values->has_end)
        return 1;
    size_t i = array_first_not_below(walk->addresses, walk->address_count, values->start);
    return i < walk->address_count &&
           walk->addresses[i] - values->start < (values->end_is_length ? values->end : values->end - values->start);
}

static int has_functions(uint32_t tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

static int add_entry(struct entry_scan *scan, uint64_t offset)
{
    if (array_reserve(&scan->functions, &scan->room, scan->count + 1, sizeof *scan->functions) != 0)
        return -1;
    scan->functions[scan->count++] = offset;
    return 0;
}

/* Entries below `skipped`, a depth, are those of a function or of something without functions; 0: none is skipped. */
static int walk_entries(struct entry_walk *walk, struct entry_scan *scan)
{
    struct byte_cursor *at = &walk->at;
    size_t depth = 0, skipped = 0;
    do {
        const unsigned char *start = at->at;
        uint64_t number = cursor_uleb(at);
        if (number > walk->abbreviation_count || at->failed)
            return -1;
        if (number == 0) {
            if (depth-- == skipped + 1)
                skipped = 0;
            continue;
        }
        const struct abbreviation *abbreviation = &walk->abbreviations[number - 1];
        int is_function = !skipped && abbreviation->tag == DW_TAG_subprogram && abbreviation->has_code;
        int goes_inside = depth == 0 || (!skipped && has_functions(abbreviation->tag));
        struct entry_values values = { 0 };
        if (abbreviation->is_fixed && !is_function)
            values.sibling = skip_values(walk, abbreviation);
        else
            values = take_values(walk, abbreviation);
        if (is_function && may_contain_some(walk, &values) && add_entry(scan, (uint64_t)(start - walk->section)) != 0)
            return -1;
        if (!abbreviation->has_children)
            continue;
        if (!goes_inside && values.sibling) {
            if (values.sibling <= (uint64_t)(at->at - walk->unit) || values.sibling > (uint64_t)(at->end - walk->unit))
                return -1;
            at->at = walk->unit + values.sibling;
            continue;
        }
        depth++;
        if (!goes_inside && !skipped)
            skipped = depth - 1;
    } while (depth && !at->failed);
    return at->failed ? -1 : 0;
}

int entry_scan_read(struct entry_scan *scan, const struct entry_scan_sections *sections, uint64_t unit,
                    const uint64_t *addresses, size_t count)
{
    struct entry_walk walk = { .addresses = addresses, .address_count = count };
    *scan = (struct entry_scan){ 0 };
    int result = begin_unit(&walk, sections, unit) == 0 ? walk_entries(&walk, scan) : -1;
    free(walk.abbreviations);
    free(walk.attributes);
    return result;
}

void entry_scan_free(struct entry_scan *scan)
{
    free(scan->functions);
    *scan = (struct entry_scan){ 0 };
}
