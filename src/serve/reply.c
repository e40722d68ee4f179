/* Sends replies through libevent. The bytes are never copied: libevent refers to them until the client has them. */
#include "reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/json_write.h"

#define WORTH_PACKING 1400 /* bytes: less is one packet anyway */
#define ANSWER_LEVEL 1     /* bench/serve.py measures what it costs and saves */
#define FILE_LEVEL 9       /* once */
#define MOST_UNSENT ((size_t)256 << 20) /* bytes; one answer has at most a quarter of that */

/* The page shows names of a report as text, never as markup. If a bug made one markup, the browser would still run no
 * script of it. */
static const char policy[] = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src "
                             "'self' data: blob:; font-src 'self'; connect-src 'self' blob: data:; worker-src 'self' "
                             "blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self' vscode-webview:";

static const struct {
    const char *name, *value;
} always[] = {
    { "Content-Security-Policy", policy },
    { "X-Content-Type-Options", "nosniff" },
    { "Referrer-Policy", "no-referrer" }, /* the address holds the token */
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
};

static void reply_add_headers(struct evhttp_request *request, const char *type, const char *caching)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

    for (size_t i = 0; i < COUNT_OF(always); i++)
        evhttp_add_header(headers, always[i].name, always[i].value);
    if (type)
        evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", caching);
}

static const char *header(struct evhttp_request *request, const char *name)
{
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(request), name);

    return value ? value : "";
}

/* Browsers send "gzip, deflate, br". A client that refuses gzip by weight ("gzip;q=0") gets plain bytes. */
static int takes_gzip(struct evhttp_request *request)
{
    const char *found = strstr(header(request, "Accept-Encoding"), "gzip");

    return found && strncmp(found + strlen("gzip"), ";q=0", 4) != 0;
}

/* Allocated, or NULL if the bytes do not get smaller or memory is short: then they are sent as they are. */
static char *reply_pack(const char *bytes, size_t length, int level, size_t *packed_length)
{
    z_stream stream = { 0 };

    if (length < WORTH_PACKING || length > 1u << 30 ||
        deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    char *packed = malloc(length);
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = (unsigned)length;
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = packed ? (unsigned)length : 0;
    int whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *packed_length = stream.total_out;
    deflateEnd(&stream);
    if (!whole) {
        free(packed);
        packed = NULL;
    }
    return packed;
}

/* Bytes on their way to a client. */
struct reply_sent {
    char *bytes;
    size_t length;
    struct reply_unsent *unsent;
};

static void free_sent(const void *bytes, size_t length, void *context)
{
    struct reply_sent *sent = context;

    if (sent->unsent)
        sent->unsent->bytes -= sent->length;
    free(sent->bytes);
    free(sent);
}

/* Takes the bytes and counts them in *unsent, which may be NULL, until free_sent(). NULL: memory is short. */
static struct reply_sent *count_unsent(struct reply_unsent *unsent, char *bytes, size_t length)
{
    struct reply_sent *sent = malloc(sizeof *sent);

    if (!sent)
        return NULL;
    *sent = (struct reply_sent){ bytes, length, unsent };
    if (unsent)
        unsent->bytes += length;
    return sent;
}

/* Frees `sent` once the client has all bytes; NULL: the bytes are static. A reply to HEAD has only the length. */
static void send_body(struct evhttp_request *request, int status, const char *bytes, size_t length,
                      struct reply_sent *sent)
{
    struct evbuffer *body = evhttp_request_get_output_buffer(request);
    char number[24];

    snprintf(number, sizeof number, "%zu", length);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length", number);
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD || length == 0 ||
        evbuffer_add_reference(body, bytes, length, sent ? free_sent : NULL, sent) != 0)
        if (sent)
            free_sent(bytes, length, sent);
    evhttp_send_reply(request, status, NULL, NULL);
}

static void say_packed(struct evhttp_request *request)
{
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Encoding", "gzip");
}

int reply_packs(struct evhttp_request *request, int is_far)
{
    return !takes_gzip(request) ? PACK_NOTHING : is_far ? PACK_ALL : PACK_JSON;
}

static int status_of(int code)
{
    static const struct {
        int code, status;
    } statuses[] = {
        { ERR_NOT_FOUND, HTTP_NOTFOUND },
        { ERR_NO_DATA, HTTP_NOTFOUND },
        { ERR_BAD_ARGUMENT, HTTP_BADREQUEST },
        { ERR_CANCELLED, HTTP_SERVUNAVAIL },
    };

    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return HTTP_INTERNAL;
}

static struct reply make_error(int status, const char *sentence)
{
    struct text text = { 0 };

    json_addf(&text, "{'error': %s}\n", sentence);
    size_t length = text.length;
    char *bytes = text_take(&text);
    return (struct reply){ status, JSON_TYPE, bytes, bytes ? length : 0, 0 };
}

struct reply reply_make(int code, const char *type, struct text *answer, const struct error *err, int packs)
{
    size_t length = answer->length, packed_length;
    char *bytes;

    if (code != 0) {
        text_free(answer);
        return make_error(status_of(code), err->text);
    }
    bytes = text_take(answer);
    if (!bytes) {
        text_free(answer);
        return make_error(HTTP_INTERNAL, "out of memory");
    }
    int is_worth_it = packs == PACK_ALL || (packs == PACK_JSON && strcmp(type, JSON_TYPE) == 0);
    char *packed = is_worth_it ? reply_pack(bytes, length, ANSWER_LEVEL, &packed_length) : NULL;
    if (!packed)
        return (struct reply){ HTTP_OK, type, bytes, length, 0 };
    free(bytes);
    return (struct reply){ HTTP_OK, type, packed, packed_length, 1 };
}

/* Sentences are short and are not counted. */
void reply_error(struct evhttp_request *request, int status, const char *sentence)
{
    struct reply reply = make_error(status, sentence);
    struct reply_sent *sent = count_unsent(NULL, reply.bytes, reply.length);

    reply_add_headers(request, reply.type, "no-store");
    send_body(request, status, reply.bytes, sent ? reply.length : 0, sent);
    if (!sent)
        free(reply.bytes);
}

void reply_send(struct evhttp_request *request, const struct reply *reply, struct reply_unsent *unsent)
{
    int fits = reply->length < MOST_UNSENT && unsent->bytes <= MOST_UNSENT - reply->length;
    struct reply_sent *sent = fits || unsent->bytes == 0 ? count_unsent(unsent, reply->bytes, reply->length) : NULL;

    if (!sent) {
        free(reply->bytes);
        reply_error(request, HTTP_SERVUNAVAIL, "Too many responses are pending. Retry later.");
        return;
    }
    reply_add_headers(request, reply->type, "no-store");
    if (reply->is_packed)
        say_packed(request);
    send_body(request, reply->status, reply->bytes, reply->length, sent);
}

void reply_file(struct evhttp_request *request, struct page_file *file)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

    reply_add_headers(request, file->type, "no-cache"); /* kept, but asked for each time */
    evhttp_add_header(headers, "ETag", file->tag);
    evhttp_add_header(headers, "Vary", "Accept-Encoding");
    if (strcmp(header(request, "If-None-Match"), file->tag) == 0) {
        evhttp_send_reply(request, HTTP_NOTMODIFIED, NULL, NULL);
        return;
    }
    int packs = takes_gzip(request);
    if (packs && !file->packed)
        file->packed = reply_pack(file->bytes, file->length, FILE_LEVEL, &file->packed_length);
    if (packs && file->packed) {
        say_packed(request);
        send_body(request, HTTP_OK, file->packed, file->packed_length, NULL);
    } else
        send_body(request, HTTP_OK, file->bytes, file->length, NULL);
}
