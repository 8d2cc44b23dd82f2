#pragma once
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast that Swift cannot import: SQLite copies the bytes before these return. */
static inline int celestia_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 bytes) {
    return sqlite3_bind_text64(statement, index, text, bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int celestia_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *blob, sqlite3_uint64 bytes) {
    return sqlite3_bind_blob64(statement, index, blob, bytes, SQLITE_TRANSIENT);
}

/* sqlite3_db_config is variadic. A database file is outside input: its schema may not call functions
   with side effects, and no statement may write to the schema or to shadow tables by the back door. */
static inline int celestia_sqlite_harden(sqlite3 *database) {
    int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    if (code == SQLITE_OK) {
        code = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    }
    return code;
}

/* A damaged database is evidence: closing it must not fold its log into it. */
static inline void celestia_sqlite_keep_log(sqlite3 *database) {
    if (database) sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

/* Extended result codes are shifted macros that Swift does not import. */
static const int celestia_sqlite_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int celestia_sqlite_ioerr_dir_fsync = SQLITE_IOERR_DIR_FSYNC;
