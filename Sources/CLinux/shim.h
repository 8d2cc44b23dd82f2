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
