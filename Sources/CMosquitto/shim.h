#pragma once
// Headers only: the library is loaded when a broker is configured, and not at all otherwise.
#include <dlfcn.h>
#include <mosquitto.h>

// The functions that are used, by their names without the prefix.
struct celestiad_mosquitto {
    __typeof__(&mosquitto_lib_init) lib_init;
    __typeof__(&mosquitto_new) make;
    __typeof__(&mosquitto_destroy) destroy;
    __typeof__(&mosquitto_username_pw_set) username_pw_set;
    __typeof__(&mosquitto_will_set) will_set;
    __typeof__(&mosquitto_tls_set) tls_set;
    __typeof__(&mosquitto_int_option) int_option;
    __typeof__(&mosquitto_connect) connect;
    __typeof__(&mosquitto_disconnect) disconnect;
    __typeof__(&mosquitto_subscribe) subscribe;
    __typeof__(&mosquitto_publish) publish;
    __typeof__(&mosquitto_socket) socket;
    __typeof__(&mosquitto_loop_read) loop_read;
    __typeof__(&mosquitto_loop_write) loop_write;
    __typeof__(&mosquitto_loop_misc) loop_misc;
    __typeof__(&mosquitto_want_write) want_write;
    __typeof__(&mosquitto_connect_callback_set) connect_callback_set;
    __typeof__(&mosquitto_disconnect_callback_set) disconnect_callback_set;
    __typeof__(&mosquitto_message_callback_set) message_callback_set;
    __typeof__(&mosquitto_publish_callback_set) publish_callback_set;
    __typeof__(&mosquitto_strerror) strerror;
    __typeof__(&mosquitto_connack_string) connack_string;
};

// Returns 0 when the library and all of its functions are there.
static inline int celestiad_mosquitto_load(struct celestiad_mosquitto *library) {
    void *handle = dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return -1;
#define CELESTIAD_LOAD(field, name) \
    if (!(library->field = (__typeof__(library->field))dlsym(handle, #name))) return -1
    CELESTIAD_LOAD(lib_init, mosquitto_lib_init);
    CELESTIAD_LOAD(make, mosquitto_new);
    CELESTIAD_LOAD(destroy, mosquitto_destroy);
    CELESTIAD_LOAD(username_pw_set, mosquitto_username_pw_set);
    CELESTIAD_LOAD(will_set, mosquitto_will_set);
    CELESTIAD_LOAD(tls_set, mosquitto_tls_set);
    CELESTIAD_LOAD(int_option, mosquitto_int_option);
    CELESTIAD_LOAD(connect, mosquitto_connect);
    CELESTIAD_LOAD(disconnect, mosquitto_disconnect);
    CELESTIAD_LOAD(subscribe, mosquitto_subscribe);
    CELESTIAD_LOAD(publish, mosquitto_publish);
    CELESTIAD_LOAD(socket, mosquitto_socket);
    CELESTIAD_LOAD(loop_read, mosquitto_loop_read);
    CELESTIAD_LOAD(loop_write, mosquitto_loop_write);
    CELESTIAD_LOAD(loop_misc, mosquitto_loop_misc);
    CELESTIAD_LOAD(want_write, mosquitto_want_write);
    CELESTIAD_LOAD(connect_callback_set, mosquitto_connect_callback_set);
    CELESTIAD_LOAD(disconnect_callback_set, mosquitto_disconnect_callback_set);
    CELESTIAD_LOAD(message_callback_set, mosquitto_message_callback_set);
    CELESTIAD_LOAD(publish_callback_set, mosquitto_publish_callback_set);
    CELESTIAD_LOAD(strerror, mosquitto_strerror);
    CELESTIAD_LOAD(connack_string, mosquitto_connack_string);
#undef CELESTIAD_LOAD
    return library->lib_init() == MOSQ_ERR_SUCCESS ? 0 : -1;
}
