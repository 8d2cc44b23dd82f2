/// The sums of bytes and files under way, kept up to date by triggers: a status is asked for often, and adding up a
/// million assets each time would hold up the queue.
enum ByteTallies {
    /// The schema's part, in the words of version 1.
    static let schema = """
        CREATE TABLE tallies (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            wanted_bytes INTEGER NOT NULL, stored_bytes INTEGER NOT NULL, unsent_bytes INTEGER NOT NULL,
            unsent_files INTEGER NOT NULL
        ) STRICT;
        INSERT INTO tallies VALUES (1, 0, 0, 0, 0);
        CREATE TRIGGER assets_counted AFTER INSERT ON assets
        BEGIN UPDATE tallies SET wanted_bytes = wanted_bytes + \(wanted("NEW.")),
            stored_bytes = stored_bytes + \(stored("NEW.")),
            unsent_bytes = unsent_bytes + \(unsent("NEW.")),
            unsent_files = unsent_files + \(isUnsent("NEW.")); END;
        CREATE TRIGGER assets_recounted AFTER UPDATE OF pull_state, pulled_bytes, upload_state, uploaded_bytes,
            exclusion ON assets
        BEGIN UPDATE tallies SET wanted_bytes = wanted_bytes + \(wanted("NEW.")) - \(wanted("OLD.")),
            stored_bytes = stored_bytes + \(stored("NEW.")) - \(stored("OLD.")),
            unsent_bytes = unsent_bytes + \(unsent("NEW.")) - \(unsent("OLD.")),
            unsent_files = unsent_files + \(isUnsent("NEW.")) - \(isUnsent("OLD.")); END;
        """

    /// What a row adds to each sum; `row` is a prefix such as `NEW.`.
    static func wanted(_ row: String) -> String {
        "iif(\(row)pull_state = 'wanted', \(row)byte_size - \(row)pulled_bytes, 0)"
    }

    static func stored(_ row: String) -> String {
        "iif(\(row)pull_state IN ('wanted', 'stored'), \(row)pulled_bytes, 0)"
    }

    static func unsent(_ row: String) -> String {
        "iif(\(isUnsent(row)), \(row)byte_size - \(row)uploaded_bytes, 0)"
    }

    /// 1 for a stored file that the cloud is to get and has not confirmed.
    static func isUnsent(_ row: String) -> String {
        "(\(row)pull_state = 'stored' AND \(row)upload_state <> 'uploaded' AND \(row)exclusion IS NULL)"
    }
}
