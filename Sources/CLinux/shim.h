#pragma once
#include <pthread.h>
// What glibc's own Swift module lacks.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

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
static inline int celestiad_set_thread_name(pthread_t thread, const char *name) {
    extern int pthread_setname_np(pthread_t, const char *);
    return pthread_setname_np(thread, name);
}
