/* Which page of counters is printed, and how. */
#ifndef TACHO_COMPAT_NCU_NCU_PAGE_H
#define TACHO_COMPAT_NCU_NCU_PAGE_H

struct ncu_asked;

enum ncu_page { NCU_PAGE_DETAILS, NCU_PAGE_RAW };
enum ncu_summary { NCU_SUMMARY_NONE, NCU_SUMMARY_PER_GPU, NCU_SUMMARY_PER_KERNEL, NCU_SUMMARY_PER_NVTX };

struct ncu_page_options {
    enum ncu_page page;
    enum ncu_summary summary;
    int base_units; /* 0: scaled to the size of the values (Kbyte, us) */
    int is_text;    /* tables for people, not CSV */
    const struct ncu_asked *asked;
};

#endif
