#pragma once
#include <pthread.h>
// What glibc's own Swift module lacks.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>

// The epoll event is packed and its data a union: Swift sees neither, so both ends are wrapped.
static inline int celestiad_epoll_ctl(int epoll, int operation, int fd, unsigned events, unsigned long id) {
    struct epoll_event event = { .events = events, .data = { .u64 = id } };
    return epoll_ctl(epoll, operation, fd, &event);
}
static inline unsigned celestiad_event_mask(const struct epoll_event *events, int index) {
    return events[index].events;
}
static inline unsigned long celestiad_event_id(const struct epoll_event *events, int index) {
    return events[index].data.u64;
}
// The kind of file system that a descriptor is on (linux/magic.h); 0 when it cannot be told.
#include <sys/vfs.h>
static inline unsigned celestiad_file_system(int fd) {
    struct statfs info;
    return fstatfs(fd, &info) == 0 ? (unsigned)info.f_type : 0;
}
static inline int celestiad_pipe2(int ends[2], int flags) {
    extern int pipe2(int[2], int);
    return pipe2(ends, flags);
}
static inline int celestiad_set_thread_name(pthread_t thread, const char *name) {
    extern int pthread_setname_np(pthread_t, const char *);
    return pthread_setname_np(thread, name);
}

// A signal handler may do next to nothing: it writes the signal's number into a pipe.
#include <errno.h>
#include <signal.h>
#include <unistd.h>
static volatile sig_atomic_t celestiad_signal_pipe = -1;
static void celestiad_signal_handler(int number) {
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    if (write(celestiad_signal_pipe, &byte, 1) < 0) { /* the pipe is full of signals that wait: enough */ }
    errno = saved;
}
static inline int celestiad_catch_signal(int number, int fd) {
    struct sigaction action = { .sa_handler = celestiad_signal_handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    celestiad_signal_pipe = fd;
    return sigaction(number, &action, 0);
}

// glibc gives each thread its own arena and keeps what was freed; a small daemon with short-lived buffers that move
// between threads does better with one.
#include <malloc.h>
static inline void celestiad_use_one_arena(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

// The pages of code that are mapped but, after the start, seldom used: what the dynamic linker read to bind a few dozen
// libraries, and what initialized them. The kernel counts them for this process until it is short of memory; let go of,
// they come back from the page cache when they are used. Only segments that nobody can have written to: writable ones,
// and libraries with relocations in their text, are left alone.
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <sys/mman.h>
// As in <link.h>, which shows them only with _GNU_SOURCE.
struct celestiad_object {
    ElfW(Addr) base;
    const char *name;
    const ElfW(Phdr) *segments;
    ElfW(Half) count;
};
static inline int celestiad_has_text_relocations(const struct celestiad_object *object) {
    for (int index = 0; index < object->count; index++) {
        if (object->segments[index].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->base + object->segments[index].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL))) return 1;
    }
    return 0;
}
static inline int celestiad_release_object(struct celestiad_object *object, size_t size, void *context) {
    (void)size;
    (void)context;
    if (celestiad_has_text_relocations(object)) return 0;
    ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->count; index++) {
        const ElfW(Phdr) *segment = &object->segments[index];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
        ElfW(Addr) start = (object->base + segment->p_vaddr) & ~(page - 1);
        ElfW(Addr) end = (object->base + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}
static inline void celestiad_release_code(void) {
    extern int dl_iterate_phdr(int (*)(struct celestiad_object *, size_t, void *), void *);
    dl_iterate_phdr(celestiad_release_object, 0);
}

// Whether the kernel takes the clock for synchronized, by systemd's rule (1 yes, 0 no, -1 it does not say): the error
// that it reckons with is below the largest that it can say, whatever STA_UNSYNC is.
#include <sys/timex.h>
static inline int celestiad_clock_is_synchronized(void) {
    struct timex state = {0};
    if (adjtimex(&state) < 0) return -1;
    return state.maxerror < 16000000;
}

#include <sys/xattr.h>
static inline int celestiad_has_access_list(const char *path) {
    return getxattr(path, "system.posix_acl_access", 0, 0) > 0;
}
