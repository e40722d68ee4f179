/* Answers on their way out: headers that every one has, and packing for those who take it. */
#ifndef TACHO_SERVE_REPLY_H
#define TACHO_SERVE_REPLY_H

#include <stddef.h>

#include "page.h"

struct evhttp_request;

#define JSON_TYPE "application/json"

/* Sends bytes, which it frees once they are gone; packed if that is wanted, gets them smaller, and the client can unpack. */
struct reply {
    int status;
    const char *type; /* Content-Type */
    char *bytes;      /* allocated */
    size_t length;
    int packs;
};
void reply_bytes(struct evhttp_request *request, const struct reply *reply);
/* {"error": "sentence"} */
void reply_error(struct evhttp_request *request, int status, const char *sentence);
/* A file of the page, which must outlive the request; "304 Not Modified" for a client that has it. */
void reply_file(struct evhttp_request *request, struct page_file *file);

#endif
