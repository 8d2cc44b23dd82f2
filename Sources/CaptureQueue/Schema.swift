/// The database's schema, version by version. Only ever extended: a shipped version is never edited.
enum Schema {
    /// Marks the file as ours ("CcQu").
    static let applicationID: Int64 = 0x4363_5175

    /// The SQL that leads from each version to the next; the first makes version 1.
    static let migrations: [String] = [version1, version2, version3, version4, version5]

    private static let version1 = [
        tables, queueTables, indexes, stateRules, immutability, transitions, ByteTallies.schema,
    ]
    .joined(separator: "\n")

    // The key columns of a table WITHOUT ROWID come first: quick_check of SQLite 3.40 reports NULLs that are
    // not there when they do not.
    private static let tables = """
        CREATE TABLE recorders (
            serial TEXT PRIMARY KEY CHECK (length(serial) BETWEEN 1 AND 256),
            name TEXT, manufacturer TEXT, model TEXT, firmware TEXT, hardware TEXT,
            bluetooth_identity TEXT,
            storage_generation INTEGER CHECK (storage_generation BETWEEN 0 AND 4294967295),
            paired_at INTEGER, last_seen_at INTEGER NOT NULL, status_at INTEGER,
            battery_percent INTEGER CHECK (battery_percent BETWEEN 0 AND 100),
            storage_total_bytes INTEGER, storage_free_bytes INTEGER,
            is_recording INTEGER, is_clock_unset INTEGER, sealed_captures INTEGER
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE recorder_bindings (
            serial TEXT NOT NULL REFERENCES recorders(serial),
            host TEXT NOT NULL,
            device_id TEXT NOT NULL,
            bound_at INTEGER NOT NULL,
            PRIMARY KEY (serial, host)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE sessions (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            client_id TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'queued_offline', 'uploading',
                'awaiting_confirmation', 'imported', 'failed_retryable', 'failed_terminal', 'cancelled')),
            created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
            source_kind TEXT NOT NULL CHECK (source_kind IN ('recorder', 'watched_folder', 'dslr_import',
                'mobile_photo', 'mobile_scan')),
            origin_device_id TEXT NOT NULL,
            recorder_serial TEXT REFERENCES recorders(serial),
            storage_generation INTEGER,
            manifest_object_id TEXT, manifest_fingerprint TEXT,
            manifest_state TEXT NOT NULL DEFAULT 'none'
                CHECK (manifest_state IN ('none', 'present', 'deleting', 'deleted', 'gone')),
            is_salvaged INTEGER NOT NULL DEFAULT 0,
            target_host TEXT NOT NULL CHECK (length(target_host) > 0),
            target_library_id TEXT, parent_document_id TEXT, migrated_from TEXT, upload_began_at INTEGER,
            title TEXT,
            started_text TEXT NOT NULL, started_at INTEGER NOT NULL,
            ended_text TEXT, ended_at INTEGER,
            duration_ms INTEGER NOT NULL CHECK (duration_ms >= 0),
            idempotency_scope TEXT NOT NULL,
            priority INTEGER NOT NULL DEFAULT 0,
            held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
            last_error TEXT, terminal_reason TEXT
                CHECK (terminal_reason IN ('asset_missing', 'asset_corrupt', 'auth_revoked', 'invalid_host')),
            retry_count INTEGER NOT NULL DEFAULT 0 CHECK (retry_count >= 0),
            next_try_at INTEGER,
            remote_id TEXT, revision INTEGER, is_base_stale INTEGER NOT NULL DEFAULT 0,
            synced_digest TEXT, base_snapshot TEXT,
            device_name TEXT, device_model TEXT, app_surface TEXT NOT NULL, source_path_hint TEXT,
            image_provenance TEXT NOT NULL DEFAULT '{}',
            imported_at INTEGER, release_at INTEGER,
            CHECK (terminal_reason IS NOT NULL OR state <> 'failed_terminal')
        ) STRICT;

        CREATE TABLE provenance (
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            ordinal INTEGER NOT NULL,
            recorded_at INTEGER NOT NULL,
            step TEXT NOT NULL,
            PRIMARY KEY (session_seq, ordinal)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE assets (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            ordinal INTEGER NOT NULL,
            client_id TEXT NOT NULL UNIQUE,
            replacements INTEGER NOT NULL DEFAULT 0,
            kind TEXT NOT NULL CHECK (kind IN ('AUDIO', 'PHOTO', 'OTHER')),
            original_name TEXT NOT NULL, wire_name TEXT NOT NULL, mime_type TEXT NOT NULL,
            byte_size INTEGER NOT NULL CHECK (byte_size >= 0),
            announced_sha256 TEXT, sha256 TEXT, crc32 INTEGER,
            recorder_serial TEXT REFERENCES recorders(serial),
            storage_generation INTEGER,
            source_key TEXT NOT NULL, fingerprint TEXT,
            recorder_state TEXT NOT NULL DEFAULT 'none'
                CHECK (recorder_state IN ('none', 'present', 'deleting', 'deleted', 'gone')),
            pull_state TEXT NOT NULL DEFAULT 'wanted'
                CHECK (pull_state IN ('wanted', 'stored', 'unobtainable', 'damaged', 'released')),
            pulled_bytes INTEGER NOT NULL DEFAULT 0 CHECK (pulled_bytes BETWEEN 0 AND byte_size),
            pull_failures INTEGER NOT NULL DEFAULT 0,
            stored_at INTEGER,
            exclusion TEXT CHECK (exclusion IN ('empty', 'unsupported_kind')),
            upload_state TEXT NOT NULL DEFAULT 'pending'
                CHECK (upload_state IN ('pending', 'uploading', 'uploaded', 'failed')),
            uploaded_bytes INTEGER NOT NULL DEFAULT 0 CHECK (uploaded_bytes BETWEEN 0 AND byte_size),
            remote_receipt_id TEXT, remote_asset_id TEXT, uploaded_at INTEGER,
            last_error TEXT,
            CHECK (pull_state <> 'stored' OR (sha256 IS NOT NULL AND pulled_bytes = byte_size)),
            CHECK (upload_state <> 'uploaded' OR (remote_asset_id IS NOT NULL AND sha256 IS NOT NULL))
        ) STRICT;

        CREATE TABLE events (
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            id TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            relative_ms INTEGER NOT NULL,
            type TEXT NOT NULL CHECK (type IN ('PHOTO', 'NOTE', 'MARKER', 'VOICE', 'CONTINUATION')),
            text TEXT, asset_id TEXT, voice_start_ms INTEGER, voice_end_ms INTEGER,
            is_deleted INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (session_seq, id)
        ) STRICT, WITHOUT ROWID;
        """

    private static let queueTables = """
        CREATE TABLE holds (
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            reason TEXT NOT NULL CHECK (reason IN ('quota', 'auth', 'conflict', 'paused', 'low_disk',
                'metered', 'clock', 'remote_deleted', 'ambiguous', 'rejected')),
            since INTEGER NOT NULL, until INTEGER, required_bytes INTEGER, detail TEXT,
            PRIMARY KEY (session_seq, reason)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE queue_holds (
            reason TEXT NOT NULL CHECK (reason IN ('quota', 'auth', 'paused', 'low_disk', 'metered', 'clock')),
            host TEXT NOT NULL,
            since INTEGER NOT NULL, until INTEGER, detail TEXT,
            PRIMARY KEY (reason, host)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE uploads (
            asset_seq INTEGER PRIMARY KEY REFERENCES assets(seq),
            upload_id TEXT NOT NULL,
            chunk_size INTEGER NOT NULL CHECK (chunk_size > 0),
            total_chunks INTEGER NOT NULL CHECK (total_chunks > 0),
            expires_at INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            acked BLOB NOT NULL
        ) STRICT;

        CREATE TABLE upload_starts (
            asset_seq INTEGER NOT NULL REFERENCES assets(seq),
            ordinal INTEGER NOT NULL,
            started_at INTEGER NOT NULL,
            PRIMARY KEY (asset_seq, ordinal)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE inflight (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            operation TEXT NOT NULL CHECK (operation IN ('upsert', 'asset', 'init', 'complete')),
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            asset_seq INTEGER REFERENCES assets(seq),
            payload_digest TEXT NOT NULL, base_revision INTEGER,
            started_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 1,
            is_ambiguous INTEGER NOT NULL DEFAULT 0, detail TEXT
        ) STRICT;

        CREATE TABLE receipts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            asset_seq INTEGER REFERENCES assets(seq),
            remote_id TEXT NOT NULL, client_id TEXT NOT NULL,
            sha256 TEXT, byte_size INTEGER,
            committed_at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        """

    private static let indexes = """
        CREATE INDEX sessions_ready ON sessions(target_host, priority DESC, seq)
            WHERE held = 0 AND next_try_at IS NULL
            AND state IN ('queued_offline', 'failed_retryable', 'awaiting_confirmation');
        CREATE INDEX sessions_due ON sessions(target_host, next_try_at)
            WHERE held = 0 AND next_try_at IS NOT NULL
            AND state IN ('queued_offline', 'failed_retryable', 'awaiting_confirmation');
        CREATE INDEX sessions_by_state ON sessions(state, seq);
        CREATE INDEX sessions_by_host ON sessions(target_host, state);
        CREATE INDEX sessions_held ON sessions(seq) WHERE held > 0;
        CREATE INDEX sessions_on_recorder ON sessions(recorder_serial, storage_generation, manifest_state);
        CREATE INDEX sessions_release ON sessions(release_at) WHERE release_at IS NOT NULL;
        CREATE UNIQUE INDEX assets_in_session ON assets(session_seq, ordinal);
        CREATE UNIQUE INDEX assets_source ON assets(recorder_serial, storage_generation, source_key)
            WHERE recorder_serial IS NOT NULL;
        CREATE INDEX assets_wanted ON assets(recorder_serial, storage_generation, session_seq, ordinal)
            WHERE pull_state = 'wanted';
        CREATE INDEX assets_on_recorder ON assets(recorder_serial, storage_generation, session_seq, ordinal)
            WHERE recorder_state IN ('present', 'deleting');
        CREATE INDEX assets_content ON assets(sha256) WHERE sha256 IS NOT NULL;
        CREATE INDEX holds_until ON holds(until) WHERE until IS NOT NULL;
        CREATE INDEX holds_by_reason ON holds(reason);
        CREATE UNIQUE INDEX inflight_once ON inflight(session_seq, ifnull(asset_seq, 0), operation);
        CREATE INDEX inflight_ambiguous ON inflight(session_seq) WHERE is_ambiguous = 1;
        CREATE UNIQUE INDEX receipts_once ON receipts(session_seq, ifnull(asset_seq, 0));
        """

    /// The state machine once more, in the file itself: no defect of the program can take a forbidden step.
    private static let stateRules = """
        CREATE TABLE transitions (old TEXT NOT NULL, new TEXT NOT NULL, PRIMARY KEY (old, new))
            STRICT, WITHOUT ROWID;
        CREATE TRIGGER sessions_begin BEFORE INSERT ON sessions WHEN NEW.state <> 'draft'
        BEGIN SELECT RAISE(ABORT, 'a session begins as a draft'); END;
        CREATE TRIGGER sessions_step BEFORE UPDATE OF state ON sessions WHEN NEW.state <> OLD.state
            AND NOT EXISTS (SELECT 1 FROM transitions WHERE old = OLD.state AND new = NEW.state)
        BEGIN SELECT RAISE(ABORT, 'the contract forbids this change of state'); END;
        CREATE TRIGGER sessions_import BEFORE UPDATE OF state ON sessions
            WHEN NEW.state = 'imported' AND OLD.state <> 'imported' AND (
            NOT EXISTS (SELECT 1 FROM receipts WHERE session_seq = OLD.seq AND asset_seq IS NULL)
            OR EXISTS (SELECT 1 FROM inflight WHERE session_seq = OLD.seq)
            OR EXISTS (SELECT 1 FROM assets AS a WHERE a.session_seq = OLD.seq AND a.exclusion IS NULL
                AND a.pull_state <> 'unobtainable' AND NOT (a.upload_state = 'uploaded' AND EXISTS (
                    SELECT 1 FROM receipts WHERE session_seq = OLD.seq AND asset_seq = a.seq))))
        BEGIN SELECT RAISE(ABORT, 'imported needs every receipt and no open intent'); END;
        CREATE TRIGGER holds_added AFTER INSERT ON holds
        BEGIN UPDATE sessions SET held = held + 1 WHERE seq = NEW.session_seq; END;
        CREATE TRIGGER holds_removed AFTER DELETE ON holds
        BEGIN UPDATE sessions SET held = held - 1 WHERE seq = OLD.session_seq; END;
        """

    private static let immutability = """
        CREATE TRIGGER sessions_identity BEFORE UPDATE OF id, client_id, idempotency_scope, source_kind,
            origin_device_id, recorder_serial, storage_generation, created_at ON sessions
            WHEN NEW.id IS NOT OLD.id OR NEW.client_id IS NOT OLD.client_id
            OR NEW.idempotency_scope IS NOT OLD.idempotency_scope OR NEW.source_kind IS NOT OLD.source_kind
            OR NEW.origin_device_id IS NOT OLD.origin_device_id
            OR NEW.recorder_serial IS NOT OLD.recorder_serial
            OR NEW.storage_generation IS NOT OLD.storage_generation OR NEW.created_at IS NOT OLD.created_at
        BEGIN SELECT RAISE(ABORT, 'the identity of a session is immutable'); END;
        CREATE TRIGGER sessions_host BEFORE UPDATE OF target_host, upload_began_at ON sessions
            WHEN OLD.upload_began_at IS NOT NULL AND (NEW.target_host IS NOT OLD.target_host
            OR NEW.upload_began_at IS NOT OLD.upload_began_at)
        BEGIN SELECT RAISE(ABORT, 'the target host is immutable once upload began'); END;
        CREATE TRIGGER sessions_remote BEFORE UPDATE OF remote_id ON sessions
            WHEN OLD.remote_id IS NOT NULL AND NEW.remote_id IS NOT OLD.remote_id
        BEGIN SELECT RAISE(ABORT, 'the remote identity of a session is immutable'); END;
        CREATE TRIGGER sessions_revision BEFORE UPDATE OF revision ON sessions
            WHEN OLD.revision IS NOT NULL AND (NEW.revision IS NULL OR NEW.revision < OLD.revision)
        BEGIN SELECT RAISE(ABORT, 'a revision never goes back'); END;
        CREATE TRIGGER sessions_kept BEFORE DELETE ON sessions
        BEGIN SELECT RAISE(ABORT, 'a session is never deleted'); END;
        CREATE TRIGGER assets_identity BEFORE UPDATE OF id, session_seq, recorder_serial, storage_generation,
            source_key, byte_size ON assets
            WHEN NEW.id IS NOT OLD.id OR NEW.session_seq IS NOT OLD.session_seq
            OR NEW.recorder_serial IS NOT OLD.recorder_serial OR NEW.source_key IS NOT OLD.source_key
            OR NEW.storage_generation IS NOT OLD.storage_generation OR NEW.byte_size IS NOT OLD.byte_size
        BEGIN SELECT RAISE(ABORT, 'the identity of an asset is immutable'); END;
        CREATE TRIGGER assets_receipt BEFORE UPDATE OF upload_state, remote_asset_id, sha256, client_id
            ON assets WHEN OLD.upload_state = 'uploaded' AND (NEW.upload_state <> 'uploaded'
            OR NEW.remote_asset_id IS NOT OLD.remote_asset_id OR NEW.sha256 IS NOT OLD.sha256
            OR NEW.client_id IS NOT OLD.client_id)
        BEGIN SELECT RAISE(ABORT, 'an uploaded asset is final'); END;
        CREATE TRIGGER assets_release BEFORE UPDATE OF pull_state ON assets
            WHEN NEW.pull_state = 'released' AND OLD.pull_state <> 'released'
            AND (SELECT state FROM sessions WHERE seq = OLD.session_seq) NOT IN ('imported', 'cancelled')
        BEGIN SELECT RAISE(ABORT, 'bytes are released only after the receipt'); END;
        CREATE TRIGGER assets_kept BEFORE DELETE ON assets
        BEGIN SELECT RAISE(ABORT, 'an asset is never deleted'); END;
        CREATE TRIGGER receipts_final BEFORE UPDATE ON receipts
        BEGIN SELECT RAISE(ABORT, 'a receipt is final'); END;
        CREATE TRIGGER receipts_kept BEFORE DELETE ON receipts
        BEGIN SELECT RAISE(ABORT, 'a receipt is never deleted'); END;
        CREATE TRIGGER provenance_final BEFORE UPDATE ON provenance
        BEGIN SELECT RAISE(ABORT, 'provenance is append-only'); END;
        CREATE TRIGGER provenance_kept BEFORE DELETE ON provenance
        BEGIN SELECT RAISE(ABORT, 'provenance is append-only'); END;
        """

    private static let transitions = """
        INSERT INTO transitions (old, new) VALUES
            ('draft', 'queued_offline'), ('draft', 'cancelled'),
            ('queued_offline', 'uploading'), ('queued_offline', 'failed_retryable'),
            ('queued_offline', 'failed_terminal'), ('queued_offline', 'cancelled'),
            ('uploading', 'queued_offline'), ('uploading', 'awaiting_confirmation'),
            ('uploading', 'failed_retryable'), ('uploading', 'failed_terminal'), ('uploading', 'cancelled'),
            ('awaiting_confirmation', 'imported'), ('awaiting_confirmation', 'queued_offline'),
            ('awaiting_confirmation', 'failed_retryable'), ('awaiting_confirmation', 'failed_terminal'),
            ('awaiting_confirmation', 'cancelled'),
            ('failed_retryable', 'uploading'), ('failed_retryable', 'queued_offline'),
            ('failed_retryable', 'failed_terminal'), ('failed_retryable', 'cancelled'),
            ('failed_terminal', 'queued_offline'), ('failed_terminal', 'cancelled');
        """
}
