/* Reads ELF files: see elf_image.h. zlib and zstd decompress sections, up to a limit. */
#include "elf_image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define HEADERS_MAX (1u << 16)
#define UNPACKED_MAX (UINT64_C(2) << 30)
#define PACKED_RATIO_MAX 1100u /* zlib reaches 1032 */
#define COMPRESSED_BY_ZSTD 2   /* ELFCOMPRESS_ZSTD, which older headers lack */

void elf_piece_free(struct elf_piece *piece)
{
    free(piece->owned);
    *piece = (struct elf_piece){ 0 };
}

int elf_image_piece(const struct elf_image *image, uint64_t offset, uint64_t size, struct elf_piece *piece)
{
    *piece = (struct elf_piece){ 0 };
    if (offset > image->size || size > image->size - offset)
        return -1;
    if (image->file < 0) {
        *piece = (struct elf_piece){ image->memory + offset, size, NULL };
        return 0;
    }
    unsigned char *bytes = malloc(size ? size : 1);
    if (!bytes)
        return -1;
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(image->file, bytes + done, size - done, (off_t)(offset + done));
        if (got <= 0) {
            free(bytes);
            return -1;
        }
        done += (uint64_t)got;
    }
    *piece = (struct elf_piece){ bytes, size, bytes };
    return 0;
}

/* Reads an array of headers into aligned memory. */
static int read_headers(const struct elf_image *image, uint64_t offset, size_t count, size_t each, void **headers)
{
    struct elf_piece piece;
    *headers = NULL;
    if (count == 0)
        return 0;
    if (count > HEADERS_MAX || elf_image_piece(image, offset, (uint64_t)count * each, &piece) != 0)
        return -1;
    *headers = piece.owned ? piece.owned : malloc(piece.size);
    if (*headers && !piece.owned)
        memcpy(*headers, piece.bytes, piece.size);
    return *headers ? 0 : -1;
}

static int elf_image_is_ours(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB && (head->e_machine == EM_X86_64 || head->e_machine == EM_AARCH64);
}

/* Files with very many sections store their number in the first section. */
static size_t section_count(const struct elf_image *image, const Elf64_Ehdr *head, uint32_t *names)
{
    *names = head->e_shstrndx;
    if (head->e_shoff == 0 || head->e_shentsize != sizeof(Elf64_Shdr))
        return 0;
    if (head->e_shnum != 0 && head->e_shstrndx != SHN_XINDEX)
        return head->e_shnum;
    struct elf_piece piece;
    Elf64_Shdr first;
    if (elf_image_piece(image, head->e_shoff, sizeof first, &piece) != 0)
        return 0;
    memcpy(&first, piece.bytes, sizeof first);
    elf_piece_free(&piece);
    if (head->e_shstrndx == SHN_XINDEX)
        *names = first.sh_link;
    return head->e_shnum ? head->e_shnum : first.sh_size;
}

static int open_any(struct elf_image *image)
{
    struct elf_piece piece;
    Elf64_Ehdr head;
    if (elf_image_piece(image, 0, sizeof head, &piece) != 0)
        return -1;
    memcpy(&head, piece.bytes, sizeof head);
    elf_piece_free(&piece);
    if (!elf_image_is_ours(&head) || (head.e_phnum && head.e_phentsize != sizeof(Elf64_Phdr)))
        return -1;
    image->machine = head.e_machine;
    if (read_headers(image, head.e_phoff, head.e_phnum, sizeof *image->segments, (void **)&image->segments) != 0)
        return -1;
    image->segment_count = head.e_phnum;
    uint32_t names;
    size_t count = section_count(image, &head, &names);
    /* Without sections, segments still provide information. */
    if (read_headers(image, head.e_shoff, count, sizeof *image->sections, (void **)&image->sections) == 0)
        image->section_count = count;
    if (names < image->section_count)
        elf_image_section_piece(image, &image->sections[names], &image->section_names);
    return 0;
}

int elf_image_open(struct elf_image *image, int file)
{
    struct stat status;
    *image = (struct elf_image){ .file = file };
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        image->size = (uint64_t)status.st_size;
        if (open_any(image) == 0)
            return 0;
    }
    elf_image_close(image);
    return -1;
}

int elf_image_open_memory(struct elf_image *image, const void *memory, size_t size)
{
    *image = (struct elf_image){ .file = -1, .memory = memory, .size = size };
    if (open_any(image) == 0)
        return 0;
    elf_image_close(image);
    return -1;
}

void elf_image_close(struct elf_image *image)
{
    elf_piece_free(&image->section_names);
    free(image->segments);
    free(image->sections);
    if (image->file >= 0)
        close(image->file);
    *image = (struct elf_image){ .file = -1 };
}

const Elf64_Shdr *elf_image_section(const struct elf_image *image, const char *name)
{
    const struct elf_piece *names = &image->section_names;
    size_t length = strlen(name) + 1;
    for (size_t i = 0; i < image->section_count; i++) {
        uint32_t at = image->sections[i].sh_name;
        if (at < names->size && names->size - at >= length && memcmp(names->bytes + at, name, length) == 0)
            return &image->sections[i];
    }
    return NULL;
}

static int elf_image_unpack(const struct elf_piece *packed, struct elf_piece *piece)
{
    Elf64_Chdr head;
    if (packed->size < sizeof head)
        return -1;
    memcpy(&head, packed->bytes, sizeof head);
    const unsigned char *from = packed->bytes + sizeof head;
    size_t bytes = packed->size - sizeof head;
    if (head.ch_size == 0 || head.ch_size > UNPACKED_MAX ||
        (head.ch_type == ELFCOMPRESS_ZLIB && head.ch_size / PACKED_RATIO_MAX > bytes))
        return -1;
    unsigned char *to = malloc(head.ch_size);
    if (!to)
        return -1;
    uLongf got = head.ch_size;
    int done = 0;
    if (head.ch_type == ELFCOMPRESS_ZLIB)
        done = uncompress(to, &got, from, bytes) == Z_OK && got == head.ch_size;
    else if (head.ch_type == COMPRESSED_BY_ZSTD)
        done = ZSTD_decompress(to, head.ch_size, from, bytes) == head.ch_size;
    if (!done) {
        free(to);
        return -1;
    }
    *piece = (struct elf_piece){ to, head.ch_size, to };
    return 0;
}

int elf_image_section_piece(const struct elf_image *image, const Elf64_Shdr *section, struct elf_piece *piece)
{
    *piece = (struct elf_piece){ 0 };
    if (section->sh_type == SHT_NOBITS)
        return -1;
    struct elf_piece raw;
    if (elf_image_piece(image, section->sh_offset, section->sh_size, &raw) != 0)
        return -1;
    if (!(section->sh_flags & SHF_COMPRESSED)) {
        *piece = raw;
        return 0;
    }
    int result = elf_image_unpack(&raw, piece);
    elf_piece_free(&raw);
    return result;
}

static int address_in(const struct elf_image *image, uint64_t offset, uint32_t flags, uint64_t *address)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        /* The loader maps whole pages: what lies before a segment on its first page is mapped with it. */
        uint64_t before = segment->p_offset & 0xfff;
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
            offset - (segment->p_offset - before) < segment->p_filesz + before) {
            *address = offset - segment->p_offset + segment->p_vaddr;
            return 0;
        }
    }
    return -1;
}

int elf_image_address_of(const struct elf_image *image, uint64_t offset, uint64_t *address)
{
    /* One page may be part of two segments; callers look up code, so executable segments come first. */
    return address_in(image, offset, PF_X, address) == 0 ? 0 : address_in(image, offset, 0, address);
}

int elf_image_offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset, uint64_t *following)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz) {
            *offset = address - segment->p_vaddr + segment->p_offset;
            *following = segment->p_filesz - (address - segment->p_vaddr);
            return 0;
        }
    }
    return -1;
}

uint64_t elf_image_first_address(const struct elf_image *image)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_vaddr < first)
            first = image->segments[i].p_vaddr;
    return first == UINT64_MAX ? 0 : first;
}

static size_t find_build_id(const struct elf_piece *notes, unsigned char id[ELF_IMAGE_BUILD_ID_MAX])
{
    for (size_t at = 0; notes->size - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr head;
        memcpy(&head, notes->bytes + at, sizeof head);
        at += sizeof head;
        uint64_t name = ((uint64_t)head.n_namesz + 3) & ~UINT64_C(3),
                 data = ((uint64_t)head.n_descsz + 3) & ~UINT64_C(3);
        if (name > notes->size - at || data > notes->size - at - name)
            break;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(notes->bytes + at, "GNU", 4) == 0 &&
            head.n_descsz <= ELF_IMAGE_BUILD_ID_MAX) {
            memcpy(id, notes->bytes + at + name, head.n_descsz);
            return head.n_descsz;
        }
        at += name + data;
    }
    return 0;
}

/* Debug files have their notes in sections; their segments point to data that is not in the file. */
size_t elf_image_build_id(const struct elf_image *image, unsigned char id[ELF_IMAGE_BUILD_ID_MAX])
{
    size_t bytes = 0;
    struct elf_piece notes;
    for (size_t i = 0; !bytes && i < image->section_count; i++)
        if (image->sections[i].sh_type == SHT_NOTE &&
            elf_image_section_piece(image, &image->sections[i], &notes) == 0) {
            bytes = find_build_id(&notes, id);
            elf_piece_free(&notes);
        }
    for (size_t i = 0; !bytes && image->section_count == 0 && i < image->segment_count; i++)
        if (image->segments[i].p_type == PT_NOTE &&
            elf_image_piece(image, image->segments[i].p_offset, image->segments[i].p_filesz, &notes) == 0) {
            bytes = find_build_id(&notes, id);
            elf_piece_free(&notes);
        }
    return bytes;
}
