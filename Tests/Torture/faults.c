// Faults at system calls, for ./torture and ./torture-queue: preloaded into an unmodified program (LD_PRELOAD), it counts
// every call that can lose, double or claim something, strikes at a chosen one, and looks whether the calls come in the
// order of durability.
//
//   TORTURE_ROOT    the directory that is looked at: files below it, and TCP connections
//   TORTURE_REPORT  a file of `struct report`, mapped: how often each point was passed, whether the fault struck, what came
//                   in the wrong order, and every address that was connected to
//   TORTURE_FAULT   "POINT NTH ACTION": at the NTH passing of POINT, for example "fdatasync/part 3 kill-after"
//
// A point is OPERATION/KIND, the kind being what the file is: db, wal, part, stored, sidecar, session, credentials,
// directory, other; or http for a connection. "any" is passed by every call that changes something, in a file or a
// connection. Actions: kill-before, kill-after, cut-before, cut-after (the file system loses what was not flushed, then the
// process dies), EIO, ENOSPC (this once), short (half of a transfer).
//
// The order: a file gets its name only after its bytes are flushed, and a directory that got a name is flushed before the
// thread that gave it commits to the database, or anything is claimed (a line "claim …" or "http …" on the output) to the
// outside; nothing is claimed while the database's log is not flushed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioctl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS 128
#define MARKS 256
// EXT4_IOC_SHUTDOWN of the kernel's fs/ext4/ext4.h, which is in no header of its own.
#define SHUTDOWN _IOR('X', 125, uint32_t)
#define SHUTDOWN_WITHOUT_FLUSH 2

struct report {
    struct slot {
        char point[32];
        uint64_t passed;
        uint64_t struck;
    } slots[SLOTS];
    char disorder[1024];
    char peers[1024];
};

// What was written and not flushed: bytes of a file, or names in a directory; and by which thread.
struct mark {
    dev_t device;
    ino_t inode;
    pid_t thread;
    int is_directory, is_log;
    char name[64];
};

static struct report *report;
static struct mark marks[MARKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static char fault_point[32], fault_action[16];
static unsigned long fault_nth;
// After an error, what was begun may lie about unflushed: the program knows that it is not done.
static volatile int has_failed;

__attribute__((constructor)) static void begin(void) {
    const char *directory = getenv("TORTURE_ROOT"), *file = getenv("TORTURE_REPORT"), *fault = getenv("TORTURE_FAULT");
    if (!directory || !file || !realpath(directory, root)) return;
    root_length = strlen(root);
    int fd = open(file, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(0, sizeof(struct report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return;
    if (fault && sscanf(fault, "%31s %lu %15s", fault_point, &fault_nth, fault_action) != 3) fault_nth = 0;
    report = map;
}

// What a file is

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), size = strlen(end);
    return length >= size && !strcmp(text + length - size, end);
}

// What a path below the root is; null for any other.
static const char *kind_of_path(const char *path) {
    if (strncmp(path, root, root_length) || (path[root_length] != '/' && path[root_length])) return 0;
    const char *name = path + root_length;
    struct stat status;
    if (ends_with(name, "-wal")) return "wal";
    if (strstr(name, "/queue.db")) return "db";
    if (ends_with(name, "credentials") || ends_with(name, ".credentials.new")) return "credentials";
    if (ends_with(name, "session.json") || ends_with(name, "session.json.tmp")) return "session";
    if (ends_with(name, ".part") || ends_with(name, "/content")) return "part";
    if (ends_with(name, ".json") || ends_with(name, ".json.tmp")) return "sidecar";
    if (!stat(path, &status) && S_ISDIR(status.st_mode)) return "directory";
    return strstr(name, "/spool/") ? "stored" : "other";
}

// The path behind a descriptor of a file or directory; null for anything else.
static const char *path_of_fd(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, PATH_MAX - 1);
    if (count <= 0 || path[0] != '/') return 0;
    path[count] = 0;
    return path;
}

static const char *kind_of_fd(int fd) {
    struct stat status;
    if (!report || fstat(fd, &status)) return 0;
    if (S_ISSOCK(status.st_mode)) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        if (getsockname(fd, (struct sockaddr *)&address, &length)) return 0;
        return address.ss_family == AF_INET || address.ss_family == AF_INET6 ? "http" : 0;
    }
    char path[PATH_MAX];
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return 0;
    return path_of_fd(fd, path) ? kind_of_path(path) : 0;
}

static const char *absolute(int directory, const char *name, char path[PATH_MAX]) {
    if (name[0] == '/') return name;
    if (directory == AT_FDCWD || !path_of_fd(directory, path)) return 0;
    size_t length = strlen(path);
    if (length + strlen(name) + 2 > PATH_MAX) return 0;
    path[length] = '/';
    strcpy(path + length + 1, name);
    return path;
}

static const char *kind_at(int directory, const char *name) {
    char path[PATH_MAX];
    const char *whole = report ? absolute(directory, name, path) : 0;
    return whole ? kind_of_path(whole) : 0;
}

// The order of durability

static void disorder(const char *what, const char *name) {
    if (has_failed) return;
    size_t used = strlen(report->disorder);
    if (used + 160 > sizeof report->disorder) return;
    snprintf(report->disorder + used, sizeof report->disorder - used, "%s: %s\n", what, name);
}

static void mark(const struct stat *status, const char *name, int is_directory, int is_log) {
    pthread_mutex_lock(&lock);
    struct mark *empty = 0, *found = 0;
    for (int index = 0; index < MARKS && !found; index++) {
        struct mark *mark = &marks[index];
        if (!mark->inode && !empty) empty = mark;
        if (mark->inode == status->st_ino && mark->device == status->st_dev) found = mark;
    }
    struct mark *target = found ? found : empty;
    if (target) {
        *target = (struct mark){status->st_dev, status->st_ino, (pid_t)syscall(SYS_gettid), is_directory, is_log, ""};
        snprintf(target->name, sizeof target->name, "%s", name + (strlen(name) > 63 ? strlen(name) - 63 : 0));
    }
    pthread_mutex_unlock(&lock);
}

// Flushed, or gone: its inode may become another file's.
static void forget(const struct stat *status) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < MARKS; index++)
        if (marks[index].inode == status->st_ino && marks[index].device == status->st_dev) marks[index].inode = 0;
    pthread_mutex_unlock(&lock);
}

static void flushed(int fd) {
    struct stat status;
    if (report && !fstat(fd, &status)) forget(&status);
}

static void mark_bytes(int fd, const char *kind) {
    struct stat status;
    char path[PATH_MAX];
    if (kind && !fstat(fd, &status) && S_ISREG(status.st_mode) && path_of_fd(fd, path))
        mark(&status, path + root_length, 0, !strcmp(kind, "wal"));
}

// A name was given in the directory of this file.
static void mark_names(int directory, const char *name) {
    struct stat status;
    char path[PATH_MAX], folder[PATH_MAX];
    const char *whole = report ? absolute(directory, name, path) : 0;
    if (!whole) return;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(whole, '/') - whole), whole);
    if (!stat(folder, &status)) mark(&status, folder + (strlen(folder) > root_length ? root_length : 0), 1, 0);
}

// The thing that is about to get another name.
static void check_rename(int directory, const char *name, const char *kind) {
    struct stat status;
    if (!kind || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)) return;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < MARKS; index++)
        if (marks[index].inode == status.st_ino && marks[index].device == status.st_dev)
            disorder("named before it was flushed", marks[index].name);
    pthread_mutex_unlock(&lock);
}

// Nothing that this thread named may be unflushed when it commits; nothing at all when something is claimed.
static void check_names(const char *what, pid_t thread) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < MARKS; index++) {
        struct mark *mark = &marks[index];
        if (!mark->inode || !mark->is_directory || (thread && mark->thread != thread)) continue;
        disorder(what, mark->name[0] ? mark->name : "/");
        mark->inode = 0;
    }
    pthread_mutex_unlock(&lock);
}

static void check_claim(int fd, const void *bytes, size_t count) {
    if (!report || fd != STDOUT_FILENO || count < 6) return;
    int is_claim = !memcmp(bytes, "claim ", 6);
    if (!is_claim && memcmp(bytes, "http ", 5)) return;
    check_names("claimed before the directory was flushed", 0);
    if (!is_claim) return;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < MARKS; index++)
        if (marks[index].inode && marks[index].is_log) disorder("claimed before the log was flushed", marks[index].name);
    pthread_mutex_unlock(&lock);
}

// Striking

static void die(void) {
    if (!strncmp(fault_action, "cut", 3)) {
        int directory = open(root, O_RDONLY | O_DIRECTORY);
        uint32_t how = SHUTDOWN_WITHOUT_FLUSH;
        if (directory < 0 || ioctl(directory, SHUTDOWN, &how)) _exit(99);
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Counts; tells whether this passing of the point is the one.
static int passes(const char *point) {
    struct slot *slot = 0;
    for (int index = 0; index < SLOTS && !slot; index++) {
        char *name = report->slots[index].point;
        if (!name[0]) snprintf(name, sizeof report->slots[index].point, "%s", point);
        if (!strcmp(name, point)) slot = &report->slots[index];
    }
    if (!slot) return 0;
    slot->passed++;
    if (!fault_nth || slot->passed != fault_nth || strcmp(point, fault_point)) return 0;
    return slot->struck = 1;
}

// Whether the fault is to strike now. An error is for the caller to return.
static int strikes(const char *operation, const char *kind) {
    char point[32];
    if (!kind) return 0;
    snprintf(point, sizeof point, "%s/%s", operation, kind);
    int is_change = strcmp(operation, "read") && strcmp(operation, "open");
    pthread_mutex_lock(&lock);
    int struck = passes(point);
    if (is_change && passes("any")) struck = 1;
    pthread_mutex_unlock(&lock);
    if (struck && ends_with(fault_action, "-before")) die();
    if (struck && !ends_with(fault_action, "-after") && strcmp(fault_action, "short")) has_failed = 1;
    return struck;
}

static int error_of(int struck) {
    if (struck && !strcmp(fault_action, "EIO")) return EIO;
    if (struck && !strcmp(fault_action, "ENOSPC")) return ENOSPC;
    return 0;
}

static size_t shortened(int struck, size_t count) {
    return struck && !strcmp(fault_action, "short") && count > 1 ? count / 2 : count;
}

static void after(int struck) {
    if (struck && ends_with(fault_action, "-after")) die();
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAIL_IF_STRUCK if (error_of(struck)) return errno = error_of(struck), -1

// Transfers

#define WRITING(call) \
    const char *kind = kind_of_fd(fd); \
    int struck = strikes("write", kind); \
    FAIL_IF_STRUCK; \
    if (kind && !strcmp(kind, "wal")) check_names("committed before the directory was flushed", (pid_t)syscall(SYS_gettid)); \
    count = shortened(struck, count); \
    ssize_t result = call; \
    if (result > 0) mark_bytes(fd, kind); \
    after(struck); \
    return result
#define READING(call) \
    int struck = strikes("read", kind_of_fd(fd)); \
    FAIL_IF_STRUCK; \
    count = shortened(struck, count); \
    return call

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(write);
    check_claim(fd, bytes, count);
    WRITING(real(fd, bytes, count));
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    WRITING(real(fd, bytes, count, offset));
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    REAL(pwrite64);
    WRITING(real(fd, bytes, count, offset));
}
ssize_t read(int fd, void *bytes, size_t count) {
    REAL(read);
    READING(real(fd, bytes, count));
}
ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    REAL(pread);
    READING(real(fd, bytes, count, offset));
}
ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) {
    REAL(pread64);
    READING(real(fd, bytes, count, offset));
}

#define CONNECTED(operation, call) \
    int struck = strikes(operation, kind_of_fd(fd)); \
    FAIL_IF_STRUCK; \
    ssize_t result = call; \
    after(struck); \
    return result

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    REAL(send);
    CONNECTED("send", real(fd, bytes, count, flags));
}
ssize_t recv(int fd, void *bytes, size_t count, int flags) {
    REAL(recv);
    CONNECTED("recv", real(fd, bytes, count, flags));
}

// Whom it talks to, each once.
int connect(int fd, const struct sockaddr *address, socklen_t length) {
    REAL(connect);
    char host[INET6_ADDRSTRLEN] = "", peer[80];
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    if (report && address && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
        int is_v4 = address->sa_family == AF_INET;
        inet_ntop(address->sa_family, is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, host, sizeof host);
        snprintf(peer, sizeof peer, "%s %d\n", host, ntohs(is_v4 ? v4->sin_port : v6->sin6_port));
        pthread_mutex_lock(&lock);
        size_t used = strlen(report->peers);
        if (!strstr(report->peers, peer) && used + strlen(peer) < sizeof report->peers) strcpy(report->peers + used, peer);
        pthread_mutex_unlock(&lock);
    }
    return real(fd, address, length);
}

// Flushes and sizes

#define FLUSHING(operation) \
    int struck = strikes(operation, kind_of_fd(fd)); \
    FAIL_IF_STRUCK; \
    int result = real(fd); \
    if (!result) flushed(fd); \
    after(struck); \
    return result

int fsync(int fd) {
    REAL(fsync);
    FLUSHING("fsync");
}
int fdatasync(int fd) {
    REAL(fdatasync);
    FLUSHING("fdatasync");
}

#define RESIZING(call) \
    const char *kind = kind_of_fd(fd); \
    int struck = strikes("ftruncate", kind); \
    FAIL_IF_STRUCK; \
    int result = call; \
    after(struck); \
    return result

int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    RESIZING(real(fd, size));
}
int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    RESIZING(real(fd, size));
}

// These two return the error instead of setting errno.
#define ALLOCATING(call) \
    int struck = strikes("fallocate", kind_of_fd(fd)); \
    if (error_of(struck)) return error_of(struck); \
    int result = call; \
    after(struck); \
    return result

int posix_fallocate(int fd, off_t offset, off_t size) {
    REAL(posix_fallocate);
    ALLOCATING(real(fd, offset, size));
}
int posix_fallocate64(int fd, off64_t offset, off64_t size) {
    REAL(posix_fallocate64);
    ALLOCATING(real(fd, offset, size));
}

// Names

#define NAMING(operation, directory, name, call) \
    int struck = strikes(operation, kind); \
    FAIL_IF_STRUCK; \
    int result = call; \
    if (!result && kind) mark_names(directory, name); \
    after(struck); \
    return result

int renameat(int from, const char *old, int to, const char *new) {
    REAL(renameat);
    const char *kind = kind_at(to, new);
    check_rename(from, old, kind);
    NAMING("rename", to, new, real(from, old, to, new));
}
int rename(const char *old, const char *new) {
    REAL(rename);
    const char *kind = kind_at(AT_FDCWD, new);
    check_rename(AT_FDCWD, old, kind);
    NAMING("rename", AT_FDCWD, new, real(old, new));
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    REAL(linkat);
    const char *kind = kind_at(to, new);
    NAMING("link", to, new, real(from, old, to, new, flags));
}
int mkdirat(int directory, const char *name, mode_t mode) {
    REAL(mkdirat);
    const char *kind = kind_at(directory, name);
    NAMING("mkdir", directory, name, real(directory, name, mode));
}

#define REMOVING(directory, name, call) \
    const char *kind = kind_at(directory, name); \
    struct stat status; \
    int is_last = kind && !fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) && (status.st_nlink == 1 || S_ISDIR(status.st_mode)); \
    int struck = strikes("unlink", kind); \
    FAIL_IF_STRUCK; \
    int result = call; \
    if (!result && is_last) forget(&status); \
    after(struck); \
    return result

int unlinkat(int directory, const char *name, int flags) {
    REAL(unlinkat);
    REMOVING(directory, name, real(directory, name, flags));
}
int unlink(const char *path) {
    REAL(unlink);
    REMOVING(AT_FDCWD, path, real(path));
}

#define OPENING(directory, path, call) \
    mode_t mode = 0; \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    } \
    const char *kind = kind_at(directory, path); \
    int struck = strikes(flags & O_CREAT ? "create" : "open", kind); \
    FAIL_IF_STRUCK; \
    int result = call; \
    if (result >= 0 && flags & O_EXCL && kind && !strcmp(kind, "part") && ends_with(path, ".part")) mark_names(directory, path); \
    after(struck); \
    return result

int open(const char *path, int flags, ...) {
    REAL(open);
    OPENING(AT_FDCWD, path, real(path, flags, mode));
}
int open64(const char *path, int flags, ...) {
    REAL(open64);
    OPENING(AT_FDCWD, path, real(path, flags, mode));
}
int openat(int directory, const char *path, int flags, ...) {
    REAL(openat);
    OPENING(directory, path, real(directory, path, flags, mode));
}
int openat64(int directory, const char *path, int flags, ...) {
    REAL(openat64);
    OPENING(directory, path, real(directory, path, flags, mode));
}
