#pragma once
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

// Narrows zlib's `unsigned long` to the 32 bits that CRC-32 has, and takes the length as size_t
// (crc32_z), so that the Swift side needs no conversion that could trap.
static inline uint32_t celestia_crc32(uint32_t crc, const uint8_t *bytes, size_t count) {
    return (uint32_t)crc32_z(crc, bytes, count);
}
