extension Schema {
    /// Version 3: what users say of a recorder (its name, and that it is not to be in the account), and which
    /// session of ours one of the cloud is.
    static let version3 = """
        ALTER TABLE recorders ADD COLUMN label TEXT CHECK (length(label) BETWEEN 1 AND 256);
        ALTER TABLE recorders ADD COLUMN unbound_at INTEGER;
        CREATE INDEX sessions_by_remote ON sessions(remote_id) WHERE remote_id IS NOT NULL;
        """
}
