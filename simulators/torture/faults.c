/* Makes one call of the program fail, for files below TORTURE_DIRECTORY: TORTURE_FAULT=CALL:HOW:N is the N-th `write`,
   `read`, `sync` or `rename` there, and HOW is EIO, ENOSPC or `short` (half of it). Loaded by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char call[16], how[16];
static int left;
static const char *directory;

__attribute__((constructor)) static void prepare(void) {
    const char *fault = getenv("TORTURE_FAULT");
    directory = getenv("TORTURE_DIRECTORY");
    if (!fault || !directory || sscanf(fault, "%15[^:]:%15[^:]:%d", call, how, &left) != 3) left = 0;
}

static int is_ours(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, directory, strlen(directory)) == 0;
}

/* 0: goes through; 1: fails with errno set; 2: is cut short. */
static int verdict(const char *name, int fd) {
    if (left <= 0 || strcmp(call, name) != 0 || !is_ours(fd)) return 0;
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) != 0) return 0;
    if (strcmp(how, "short") == 0) return 2;
    errno = strcmp(how, "ENOSPC") == 0 ? ENOSPC : EIO;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define TRANSFER(name, kind, buffer_type) \
    ssize_t name(int fd, buffer_type buffer, size_t count, off_t offset) { \
        REAL(ssize_t, #name, int, buffer_type, size_t, off_t); \
        int outcome = verdict(kind, fd); \
        if (outcome == 1) return -1; \
        return real(fd, buffer, outcome == 2 ? count / 2 : count, offset); \
    }
TRANSFER(pwrite, "write", const void *)
TRANSFER(pwrite64, "write", const void *)
TRANSFER(pread, "read", void *)
TRANSFER(pread64, "read", void *)

ssize_t write(int fd, const void *buffer, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    int outcome = verdict("write", fd);
    if (outcome == 1) return -1;
    return real(fd, buffer, outcome == 2 ? count / 2 : count);
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return verdict("sync", fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return verdict("sync", fd) ? -1 : real(fd);
}

int renameat(int from, const char *old, int to, const char *new) {
    REAL(int, "renameat", int, const char *, int, const char *);
    return verdict("rename", from) ? -1 : real(from, old, to, new);
}
