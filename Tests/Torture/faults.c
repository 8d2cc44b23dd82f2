// Faults at system calls, for ./torture: preloaded into an unmodified celestiad (LD_PRELOAD), it counts every call that
// can lose or double something, and strikes at a chosen one. Built by Tests/Torture/faults.py.
//
//   TORTURE_ROOT    the state directory: only files below it, and TCP connections, are looked at
//   TORTURE_COUNTS  a file of slots, mapped: how often each point was passed, and whether the fault struck
//   TORTURE_FAULT   "POINT NTH ACTION": at the NTH passing of POINT, for example "fdatasync/part 3 kill-after"
//
// A point is OPERATION/KIND, the kind being what the file is: db, wal, part, stored, sidecar, session, credentials,
// directory, other; or http for a connection. Actions: kill-before, kill-after, cut-before, cut-after (the file system
// loses what was not flushed, then the process dies), EIO, ENOSPC (this once), short (half of a write).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioctl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 64
// EXT4_IOC_SHUTDOWN of the kernel's fs/ext4/ext4.h, which is in no header of its own.
#define SHUTDOWN _IOR('X', 125, uint32_t)
#define SHUTDOWN_WITHOUT_FLUSH 2

struct slot {
    char point[32];
    _Atomic uint64_t passed;
    _Atomic uint64_t struck;
};

static struct slot *slots;
static char root[PATH_MAX];
static size_t root_length;
static char fault_point[32], fault_action[16];
static unsigned long fault_nth;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("TORTURE_ROOT"), *counts = getenv("TORTURE_COUNTS"), *fault = getenv("TORTURE_FAULT");
    if (!directory || !counts || !realpath(directory, root)) return;
    root_length = strlen(root);
    int fd = open(counts, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(0, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return;
    if (fault && sscanf(fault, "%31s %lu %15s", fault_point, &fault_nth, fault_action) != 3) fault_nth = 0;
    slots = map;
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), size = strlen(end);
    return length >= size && !strcmp(text + length - size, end);
}

// What a path below the state directory is; null for any other.
static const char *kind_of_path(const char *path) {
    if (strncmp(path, root, root_length) || (path[root_length] != '/' && path[root_length])) return 0;
    const char *name = path + root_length;
    struct stat status;
    if (ends_with(name, "-wal")) return "wal";
    if (ends_with(name, ".db")) return "db";
    if (strstr(name, "credentials")) return "credentials";
    if (ends_with(name, "session.json") || ends_with(name, "session.json.tmp")) return "session";
    if (ends_with(name, ".part")) return "part";
    if (ends_with(name, ".json") || ends_with(name, ".json.tmp")) return "sidecar";
    if (!stat(path, &status) && S_ISDIR(status.st_mode)) return "directory";
    return !strncmp(name, "/spool/", 7) ? "stored" : "other";
}

static const char *kind_of_fd(int fd) {
    if (!slots) return 0;
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (!getsockname(fd, (struct sockaddr *)&address, &length))
        return address.ss_family == AF_INET || address.ss_family == AF_INET6 ? "http" : 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count <= 0) return 0;
    path[count] = 0;
    return kind_of_path(path);
}

static const char *kind_at(int directory, const char *name) {
    if (!slots) return 0;
    char link[64], path[PATH_MAX + 256];
    if (name[0] == '/') return kind_of_path(name);
    if (directory == AT_FDCWD) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t count = readlink(link, path, PATH_MAX - 1);
    if (count <= 0) return 0;
    snprintf(path + count, sizeof path - (size_t)count, "/%s", name);
    return kind_of_path(path);
}

static struct slot *slot_of(const char *point) {
    for (int index = 0; index < SLOTS; index++) {
        char *name = slots[index].point;
        if (!name[0]) strncpy(name, point, sizeof slots[index].point - 1);
        if (!strcmp(name, point)) return &slots[index];
    }
    return 0;
}

static void die(void) {
    if (!strncmp(fault_action, "cut", 3)) {
        int directory = open(root, O_RDONLY | O_DIRECTORY);
        uint32_t how = SHUTDOWN_WITHOUT_FLUSH;
        if (directory < 0 || ioctl(directory, SHUTDOWN, &how)) _exit(99);
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Counts the passing; tells whether the fault is to strike now. An error is for the caller to return.
static int strikes(const char *operation, const char *kind) {
    char point[32];
    if (!kind) return 0;
    snprintf(point, sizeof point, "%s/%s", operation, kind);
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&busy)) {}
    struct slot *slot = slot_of(point);
    uint64_t count = slot ? ++slot->passed : 0;
    atomic_flag_clear(&busy);
    if (!slot || !fault_nth || strcmp(point, fault_point) || count != fault_nth) return 0;
    slot->struck = 1;
    if (ends_with(fault_action, "-before")) die();
    return 1;
}

static int is_error(void) {
    if (!strcmp(fault_action, "EIO")) return errno = EIO, 1;
    if (!strcmp(fault_action, "ENOSPC")) return errno = ENOSPC, 1;
    return 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define STRIKE(operation, kind, call) \
    int struck = strikes(operation, kind); \
    if (struck && is_error()) return -1; \
    __typeof__(call) result = call; \
    if (struck && ends_with(fault_action, "-after")) die(); \
    return result

static size_t shortened(int struck, size_t count) {
    return struck && !strcmp(fault_action, "short") && count > 1 ? count / 2 : count;
}

#define WRITING(kind) \
    int struck = strikes("write", kind); \
    if (struck && is_error()) return -1; \
    count = shortened(struck, count)
#define WRITTEN(call) \
    ssize_t result = call; \
    if (struck && ends_with(fault_action, "-after")) die(); \
    return result

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    WRITING(kind_of_fd(fd));
    WRITTEN(real(fd, bytes, count));
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    WRITING(kind_of_fd(fd));
    WRITTEN(real(fd, bytes, count, offset));
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    REAL(pwrite64);
    WRITING(kind_of_fd(fd));
    WRITTEN(real(fd, bytes, count, offset));
}
ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    REAL(send);
    STRIKE("send", kind_of_fd(fd), real(fd, bytes, count, flags));
}
ssize_t recv(int fd, void *bytes, size_t count, int flags) {
    REAL(recv);
    STRIKE("recv", kind_of_fd(fd), real(fd, bytes, count, flags));
}
int fsync(int fd) {
    REAL(fsync);
    STRIKE("fsync", kind_of_fd(fd), real(fd));
}
int fdatasync(int fd) {
    REAL(fdatasync);
    STRIKE("fdatasync", kind_of_fd(fd), real(fd));
}
int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    STRIKE("ftruncate", kind_of_fd(fd), real(fd, size));
}
int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    STRIKE("ftruncate", kind_of_fd(fd), real(fd, size));
}
int renameat(int from, const char *old, int to, const char *new) {
    REAL(renameat);
    STRIKE("rename", kind_at(to, new), real(from, old, to, new));
}
int unlinkat(int directory, const char *name, int flags) {
    REAL(unlinkat);
    STRIKE("unlink", kind_at(directory, name), real(directory, name, flags));
}
int unlink(const char *path) {
    REAL(unlink);
    STRIKE("unlink", slots ? kind_of_path(path) : 0, real(path));
}
int mkdirat(int directory, const char *name, mode_t mode) {
    REAL(mkdirat);
    STRIKE("mkdir", kind_at(directory, name), real(directory, name, mode));
}
