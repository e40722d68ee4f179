/* Computes where the entries of an NVTX payload lie. It runs in the agent too: no allocation, no calls into libc. */
#include "nvtx_layout.h"

static uint64_t nvtx_layout_round_up(uint64_t at, uint64_t align)
{
    return (at + align - 1) / align * align;
}

struct abi_extent abi_enum_extent(uint64_t size)
{
    return size >= 1 && size <= 8 ? (struct abi_extent){ size, size } : ABI_UNKNOWN_EXTENT;
}

/* The extent of one value of the type, if it is stored in the payload itself. */
static struct abi_extent value_extent(uint64_t type, struct abi_extent nested)
{
    uint32_t size = abi_is_string(type) ? abi_character_size(type) : abi_type_size(type);

    return size ? (struct abi_extent){ size, size } : nested;
}

struct abi_extent abi_entry_extent(uint64_t type, uint64_t flags, uint64_t detail, struct abi_extent nested)
{
    if (abi_is_pointer(type, flags, detail))
        return (struct abi_extent){ 8, 8 };
    struct abi_extent extent = value_extent(type, nested);
    uint64_t array = flags & ABI_ENTRY_ARRAY;
    if (array == ABI_ENTRY_FIXED || (!array && abi_is_string(type))) {
        extent.size = detail <= UINT32_MAX && extent.size * detail <= UINT32_MAX ? extent.size * detail : 0;
    } else if (array) {
        extent.size = 0;
    }
    return extent;
}

uint64_t abi_layout_place(struct abi_layout *layout, uint64_t given, uint64_t align)
{
    if (layout->pack && align > layout->pack)
        align = layout->pack;
    if (align > layout->align)
        layout->align = align;
    return given || layout->is_union ? given : nvtx_layout_round_up(layout->next, align);
}

void abi_layout_fill(struct abi_layout *layout, uint64_t end)
{
    layout->next = end;
    if (end > layout->end)
        layout->end = end;
}

struct abi_extent abi_layout_extent(const struct abi_layout *layout)
{
    uint64_t align = layout->align ? layout->align : 1;

    return (struct abi_extent){ nvtx_layout_round_up(layout->end, align), align };
}
