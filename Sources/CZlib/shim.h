#pragma once
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

// Narrows zlib's `unsigned long` to the 32 bits that CRC-32 has, and takes the length as size_t
// (crc32_z), so that the Swift side needs no conversion that could trap.
static inline uint32_t celestia_crc32(uint32_t crc, const uint8_t *bytes, size_t count) {
    return (uint32_t)crc32_z(crc, bytes, count);
}

// deflateInit2 is a macro, which Swift does not see; 16 more than the window's bits means gzip.
static inline size_t celestia_gzip_bound(size_t count) {
    return compressBound(count) + 64;
}
// Returns the length of the gzip file, 0 when it does not fit or there is no memory.
static inline size_t celestia_gzip(const uint8_t *bytes, size_t count, uint8_t *result, size_t capacity) {
    z_stream stream = {0};
    if (count > UINT32_MAX || capacity > UINT32_MAX) return 0;
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (uint8_t *)bytes;
    stream.avail_in = (uint32_t)count;
    stream.next_out = result;
    stream.avail_out = (uint32_t)capacity;
    int status = deflate(&stream, Z_FINISH);
    size_t length = status == Z_STREAM_END ? capacity - stream.avail_out : 0;
    deflateEnd(&stream);
    return length;
}
