package import FoundationEssentials

/// What was learned about a recorder; nil means "not learned now" and keeps what is stored.
package struct RecorderUpdate: Sendable, Equatable {
    package var serial: String
    package var name: String?
    package var manufacturer: String?
    package var model: String?
    package var firmware: String?
    package var hardware: String?
    package var bluetoothIdentity: String?
    package var storageGeneration: UInt32?
    package var pairedAt: Date?
    /// How; kept with `pairedAt` only.
    package var security: String?
    package var batteryPercent: Int?
    package var storageTotalBytes: Int64?
    package var storageFreeBytes: Int64?
    package var isRecording: Bool?
    package var isClockUnset: Bool?
    package var sealedCaptures: Int?

    package init(serial: String) { self.serial = serial }
}

extension CaptureQueue {
    /// Stores what was learned about a recorder, seen now. When its storage generation changed, the objects
    /// of the older generation are gone: those that were never read become `unobtainable`.
    package func record(_ update: RecorderUpdate) throws(QueueError) {
        let texts = [
            update.serial, update.name, update.manufacturer, update.model, update.firmware, update.hardware,
            update.bluetoothIdentity,
        ]
        guard !update.serial.isEmpty, texts.allSatisfy({ ($0?.utf8.count ?? 0) <= 256 }) else {
            throw QueueError(.invalidInput, "the recorder's serial number is empty or a field is too long")
        }
        let now = now
        try change { database throws(QueueError) in
            try database.run(
                "INSERT INTO recorders (serial, last_seen_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                update.serial, now)
            if let generation = update.storageGeneration {
                try forgetOtherGenerations(update.serial, generation)
            }
            try merge(update, now)
        }
    }

    /// The recorder with this serial number.
    package func recorder(_ serial: String) throws(QueueError) -> RecorderRecord? {
        try recorders(where: "WHERE serial = ?1", serial).first
    }

    /// Every recorder ever seen, the most recent first.
    package func recorders() throws(QueueError) -> [RecorderRecord] {
        try recorders(where: "WHERE ?1 = '' ORDER BY last_seen_at DESC", "")
    }

    /// Marks the recorder as no longer paired; its captures stay.
    package func forgetRecorder(_ serial: String) throws(QueueError) {
        try change { database throws(QueueError) in
            try database.run("UPDATE recorders SET paired_at = NULL WHERE serial = ?", serial)
        }
    }

    /// Stores the device id that an account at a host gave the recorder; nil removes it. There is no way to ask the
    /// host for it again (upload.md C-26).
    package func bind(
        recorder serial: String, host: String, account: String, deviceID: String?
    ) throws(QueueError) {
        let now = now
        try change { database throws(QueueError) in
            if let deviceID {
                try database.run(
                    "INSERT OR REPLACE INTO recorder_accounts (serial, host, account, device_id, bound_at)"
                        + " VALUES (?, ?, ?, ?, ?)", serial, host, account, deviceID, now)
            } else {
                try database.run(
                    "DELETE FROM recorder_accounts WHERE serial = ? AND host = ? AND account = ?", serial,
                    host,
                    account)
            }
        }
    }

    /// Keeps what the user calls a recorder. Throws `invalidInput` for what is no name to show (`DisplayName`), `notFound`.
    package func rename(recorder serial: String, to label: String) throws(QueueError) {
        if let problem = DisplayName.problem(with: label) {
            throw QueueError(.invalidInput, "a recorder's name \(problem)")
        }
        try setOfPaired(serial, "label", label)
    }

    /// Keeps whether the user wants a recorder in the account; pairing it again says so too. Throws `notFound`.
    package func setUnbound(recorder serial: String, _ isUnbound: Bool) throws(QueueError) {
        try setOfPaired(serial, "unbound_at", isUnbound ? now : nil)
        // The wish is about the account that is logged in; another one may have the recorder all the same.
        try change { database throws(QueueError) in
            try database.run(AccountQueries.noteUnbound, serial)
        }
    }

    private func setOfPaired(
        _ serial: String, _ column: String, _ value: some SQLConvertible
    ) throws(QueueError) {
        guard let recorder = try recorder(serial), recorder.pairedAt != nil else {
            throw QueueError(
                .notFound, "there is no paired recorder \(serial)", hint: "see celestiad devices")
        }
        try change { database throws(QueueError) in
            try database.run("UPDATE recorders SET \(column) = ? WHERE serial = ?", value, serial)
        }
    }

    private func merge(_ update: RecorderUpdate, _ now: Date) throws(QueueError) {
        let hasStatus = update.batteryPercent != nil || update.storageTotalBytes != nil
        try database.run(
            """
            UPDATE recorders SET last_seen_at = ?2, status_at = coalesce(?3, status_at),
                name = coalesce(?4, name), manufacturer = coalesce(?5, manufacturer),
                model = coalesce(?6, model), firmware = coalesce(?7, firmware),
                hardware = coalesce(?8, hardware), bluetooth_identity = coalesce(?9, bluetooth_identity),
                storage_generation = coalesce(?10, storage_generation),
                paired_at = coalesce(?11, paired_at), battery_percent = coalesce(?12, battery_percent),
                storage_total_bytes = coalesce(?13, storage_total_bytes),
                storage_free_bytes = coalesce(?14, storage_free_bytes),
                is_recording = coalesce(?15, is_recording), is_clock_unset = coalesce(?16, is_clock_unset),
                sealed_captures = coalesce(?17, sealed_captures),
                unbound_at = CASE WHEN ?11 IS NULL THEN unbound_at END,
                security = CASE WHEN ?11 IS NULL THEN security ELSE ?18 END
            WHERE serial = ?1
            """,
            update.serial, now, hasStatus ? now : nil, update.name, update.manufacturer, update.model,
            update.firmware, update.hardware, update.bluetoothIdentity, update.storageGeneration,
            update.pairedAt, update.batteryPercent.map { min(100, max(0, $0)) }, update.storageTotalBytes,
            update.storageFreeBytes, update.isRecording, update.isClockUnset, update.sealedCaptures,
            update.security)
    }

    private func forgetOtherGenerations(_ serial: String, _ generation: UInt32) throws(QueueError) {
        let database = try database
        let known = try database.number(
            "SELECT storage_generation FROM recorders WHERE serial = ?", serial)
        guard let known, known != Int64(generation) else { return }
        let lost = try database.all(
            "SELECT id FROM assets WHERE recorder_serial = ? AND storage_generation <> ?"
                + " AND pull_state = 'wanted'", serial, generation
        ) { row throws(QueueError) in try row.assetID() }
        try database.run(
            "UPDATE assets SET recorder_state = 'gone' WHERE recorder_serial = ? AND storage_generation <> ?"
                + " AND recorder_state IN ('present', 'deleting')", serial, generation)
        try database.run(
            "UPDATE sessions SET manifest_state = 'gone' WHERE recorder_serial = ?"
                + " AND storage_generation <> ? AND manifest_state IN ('present', 'deleting')",
            serial, generation)
        for asset in lost {
            try giveUp(asset, "the recorder's storage was formatted before the file was read")
        }
    }

    private func recorders(
        where condition: String, _ value: String
    ) throws(QueueError) -> [RecorderRecord] {
        let database = try database
        let bindings = try database.all(
            "SELECT r.serial, r.host, r.device_id FROM recorder_accounts AS r JOIN accounts AS a"
                + " ON a.host = r.host AND a.account = r.account WHERE a.is_current = 1"
        ) {
            row throws(QueueError) in (try row.text(), try row.text(), try row.text())
        }
        let sql = """
            SELECT serial, name, manufacturer, model, firmware, hardware, bluetooth_identity,
                storage_generation, paired_at, last_seen_at, status_at, battery_percent,
                storage_total_bytes, storage_free_bytes, is_recording, is_clock_unset, sealed_captures,
                label, \(AccountQueries.unbound), security
            FROM recorders\u{20}
            """
        return try database.all(sql + condition, value) { row throws(QueueError) in
            let serial = try row.text()
            let own = bindings.filter { $0.0 == serial }.map { ($0.1, $0.2) }
            return try RecorderRecord(serial, Dictionary(uniqueKeysWithValues: own), &row)
        }
    }
}

extension RecorderRecord {
    fileprivate init(
        _ serial: String, _ deviceIDs: [String: String], _ row: inout RowReader
    ) throws(QueueError) {
        self.serial = serial
        name = try row.textOrNil()
        manufacturer = try row.textOrNil()
        model = try row.textOrNil()
        firmware = try row.textOrNil()
        hardware = try row.textOrNil()
        bluetoothIdentity = try row.textOrNil()
        storageGeneration = try row.uint32OrNil()
        pairedAt = try row.dateOrNil()
        lastSeenAt = try row.date()
        statusAt = try row.dateOrNil()
        batteryPercent = try row.intOrNil()
        storageTotalBytes = try row.int64OrNil()
        storageFreeBytes = try row.int64OrNil()
        isRecording = try row.int64OrNil().map { $0 != 0 }
        isClockUnset = try row.int64OrNil().map { $0 != 0 }
        sealedCaptures = try row.intOrNil()
        label = try row.textOrNil()
        unboundAt = try row.dateOrNil()
        security = try row.textOrNil()
        self.deviceIDs = deviceIDs
    }
}
