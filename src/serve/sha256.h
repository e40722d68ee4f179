/* SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), for short texts: the tokens of durable links. */
#ifndef TACHO_SERVE_SHA256_H
#define TACHO_SERVE_SHA256_H

#include <stddef.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *bytes, size_t length, unsigned char out[SHA256_BYTES]);
/* 0, or -1 when memory is short. */
int sha256_hmac(const unsigned char key[SHA256_BYTES], const void *bytes, size_t length,
                unsigned char out[SHA256_BYTES]);

#endif
