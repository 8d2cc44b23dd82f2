"""Makes of a queue.db one of version 1 with the same rows, as an update finds it: older_queue.py STATE_DIRECTORY"""
import sqlite3
import sys
from pathlib import Path

APPLICATION_ID = 0x43635175


def names(database, sql):
    return [row[0] for row in database.execute(sql)]


def columns(database, schema, table):
    return names(database, f"SELECT name FROM pragma_table_info('{table}', '{schema}')")


def main():
    state = Path(sys.argv[1])
    newer = sqlite3.connect(state / "queue.db")
    newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    newer.close()
    (state / "queue.db").rename(state / "newer.db")
    older = sqlite3.connect(state / "queue.db", isolation_level=None)
    older.executescript(Path(__file__).with_name("queue-v1.sql").read_text())
    older.execute("ATTACH ? AS newer", [f"{state}/newer.db"])
    # The rows are as they are: rules about steps are not for them.
    triggers = list(older.execute("SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger'"))
    older.execute("BEGIN")
    for name, _ in triggers:
        older.execute(f"DROP TRIGGER main.{name}")
    for table in names(older, "SELECT name FROM main.sqlite_schema WHERE type = 'table' OR name = 'sqlite_sequence'"):
        shared = ", ".join(c for c in columns(older, "main", table) if c in columns(older, "newer", table))
        older.execute(f"DELETE FROM main.{table}")
        # A table that the newer one does not have was empty in it.
        if shared:
            older.execute(f"INSERT INTO main.{table} ({shared}) SELECT {shared} FROM newer.{table}")
    for _, sql in triggers:
        older.execute(sql)
    older.execute("COMMIT")
    older.execute("DETACH newer")
    older.execute("PRAGMA journal_mode = WAL")
    older.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    older.execute("PRAGMA user_version = 1")
    older.close()
    (state / "newer.db").unlink()


main()
