/* Replies: the headers that all of them have, and compression for clients that accept it. */
#ifndef TACHO_SERVE_REPLY_H
#define TACHO_SERVE_REPLY_H

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "page_files.h"

struct evhttp_request;

#define JSON_TYPE "application/json"

/* An answer that is ready to be sent. */
struct reply {
    int status;
    const char *type; /* Content-Type */
    char *bytes;      /* allocated */
    size_t length;
    int is_packed;
};
enum { PACK_NOTHING, PACK_JSON, PACK_ALL }; /* where that makes it smaller */

/* Which answers to compress for a client: JSON if it accepts gzip, and pictures too (PACK_ALL) if it is far away. */
int reply_packs(struct evhttp_request *request, int is_far);
/* Makes a reply of an answer: its bytes, or the sentence of its error. Takes the text. Any thread may call it. */
struct reply reply_make(int code, const char *type, struct text *answer, const struct error *err, int packs);
/* Bytes that clients have not read yet. A client that reads slowly, or not at all, keeps its answer in memory. */
struct reply_unsent {
    size_t bytes;
};
/* Sends a reply, and frees its bytes once the client has them. Sends 503 instead if too many bytes are unsent. `unsent`
 * must outlive the connection. */
void reply_send(struct evhttp_request *request, const struct reply *reply, struct reply_unsent *unsent);
/* {"error": "sentence"} */
void reply_error(struct evhttp_request *request, int status, const char *sentence);
/* A file of the page, which must outlive the request; "304 Not Modified" for a client that has it. */
void reply_file(struct evhttp_request *request, struct page_file *file);

#endif
