import Control
import FoundationEssentials
import Gateway

/// What the daemon is measured by.
struct MetricsFacts: Sendable {
    var status: StatusDocument
    var storage: StorageReportDocument?
    /// How often each kind of event came, and how many lines each level of the log had.
    var tally: LogTally
    /// Bytes that went each way, since the start.
    var bytes: [Transfer.Leg: Int64]
    var isClockSynchronized: Bool?
}

/// The metrics of docs/metrics.md. Pure.
enum Metrics {
    static func families(_ facts: MetricsFacts) -> [MetricFamily] {
        daemon(facts) + bluetooth(facts.status) + recorders(facts.status.recorders)
            + queue(facts.status.queue)
            + storage(facts) + counters(facts)
    }

    private static func daemon(_ facts: MetricsFacts) -> [MetricFamily] {
        let status = facts.status
        var build = MetricFamily("build_info", "The version that runs; always 1.")
        build.add(1, ("version", status.daemon.version))
        var start = MetricFamily("start_time_seconds", "When the daemon started, in seconds since 1970.")
        start.add(seconds(status.daemon.startedAt))
        var collected = MetricFamily(
            "collected_timestamp_seconds", "When these metrics were made, in seconds since 1970.")
        collected.add(seconds(status.time))
        var login = MetricFamily("logged_in", "Whether there is a valid login at the cloud.")
        login.add(status.account.state == "logged_in")
        var clock = MetricFamily(
            "clock_synchronized", "Whether the kernel says that the clock is kept in time.")
        if let isSynchronized = facts.isClockSynchronized { clock.add(isSynchronized) }
        var problems = MetricFamily(
            "health_problems", "What celestiad status lists under health, by severity.")
        for severity in ["error", "warning", "info"] {
            problems.add(status.health.count { $0.severity == severity }, ("severity", severity))
        }
        return [build, start, collected, login, clock, problems]
    }

    private static func bluetooth(_ status: StatusDocument) -> [MetricFamily] {
        var powered = MetricFamily("adapter_powered", "Whether a Bluetooth adapter is on.")
        for adapter in status.adapters { powered.add(adapter.powered, ("adapter", adapter.name)) }
        var daemon = MetricFamily("bluetoothd_running", "Whether bluetoothd runs.")
        daemon.add(!status.health.contains { $0.code == "bluetoothd_absent" })
        return [daemon, powered]
    }

    private static func recorders(_ recorders: [RecorderDocument]) -> [MetricFamily] {
        var connected = MetricFamily("recorder_connected", "Whether a recorder is connected.")
        var battery = MetricFamily("recorder_battery_ratio", "A recorder's last battery level, 0 to 1.")
        var size = MetricFamily("recorder_storage_size_bytes", "The size of a recorder's storage.")
        var free = MetricFamily("recorder_storage_free_bytes", "What was last free of a recorder's storage.")
        var seen = MetricFamily(
            "recorder_last_seen_timestamp_seconds",
            "When a recorder was last heard of, in seconds since 1970.")
        var synced = MetricFamily(
            "recorder_last_sync_timestamp_seconds",
            "When all that a recorder had was last in the queue, in seconds since 1970.")
        var pending = MetricFamily(
            "recorder_pending_captures", "Captures on a recorder that are not in the queue yet.")
        for recorder in recorders {
            let label = (name: "recorder", value: recorder.id)
            connected.add(["syncing", "idle"].contains(recorder.link.state), label)
            battery.add(recorder.battery.map { Double($0.percent) / 100 }, label)
            size.add(recorder.storage?.totalBytes, label)
            free.add(recorder.storage?.freeBytes, label)
            seen.add(recorder.lastSeen.map(seconds), label)
            synced.add(recorder.lastSync.map(seconds), label)
            pending.add(recorder.pendingCaptures, label)
        }
        return [connected, battery, size, free, seen, synced, pending]
    }

    private static func queue(_ queue: QueueDocument) -> [MetricFamily] {
        var sessions = MetricFamily("queue_sessions", "Sessions by state.")
        for state in queue.states { sessions.add(state.sessions, ("state", state.state)) }
        var files = MetricFamily("queue_pending_files", "Files that the cloud does not hold yet.")
        files.add(queue.pendingAssets)
        var bytes = MetricFamily(
            "queue_pending_bytes", "Bytes of the files that the cloud does not hold yet.")
        bytes.add(queue.pendingBytes)
        var waiting = MetricFamily("queue_waiting_sessions", "Sessions that wait, by what they wait for.")
        for wait in queue.waits ?? [] { waiting.add(wait.sessions, ("cause", wait.cause)) }
        var ambiguous = MetricFamily(
            "queue_ambiguous_requests", "Requests of which it is not known whether the cloud has them.")
        ambiguous.add(queue.ambiguous ?? 0)
        var next = MetricFamily(
            "upload_next_try_timestamp_seconds",
            "When the next upload is tried, in seconds since 1970; absent: now or none.")
        next.add(queue.nextTry.map(seconds))
        return [sessions, files, bytes, waiting, ambiguous, next]
    }

    private static func storage(_ facts: MetricsFacts) -> [MetricFamily] {
        var size = MetricFamily("disk_size_bytes", "The size of the queue's file system.")
        var free = MetricFamily("disk_free_bytes", "What is free of it for celestiad.")
        var reserve = MetricFamily("disk_reserve_bytes", "What is kept free of it.")
        if let disk = facts.status.disk {
            size.add(disk.totalBytes)
            free.add(disk.freeBytes)
            reserve.add(disk.reserveBytes)
        }
        var stored = MetricFamily("spool_bytes", "Bytes of the files here, by what becomes of them.")
        var damaged = MetricFamily("damaged_files", "Stored files that are gone or changed.")
        if let storage = facts.storage {
            stored.add(storage.unsentBytes, ("state", "unsent"))
            stored.add(storage.keptBytes, ("state", "kept"))
            stored.add(storage.cancelledBytes, ("state", "cancelled"))
            damaged.add(storage.damagedFiles)
        }
        return [size, free, reserve, stored, damaged]
    }

    private static func counters(_ facts: MetricsFacts) -> [MetricFamily] {
        var bytes = MetricFamily(
            "transferred_bytes_total", "Bytes of files that went this way, since the start.", kind: .counter)
        for leg in [Transfer.Leg.deviceToHub, .hubToCloud] {
            bytes.add(facts.bytes[leg] ?? 0, ("leg", leg.rawValue))
        }
        var events = MetricFamily(
            "events_total", "Events by kind (docs/logging.md), since the start, whatever the log's level.",
            kind: .counter)
        for kind in EventKind.allCases { events.add(facts.tally.kinds[kind] ?? 0, ("kind", kind.name)) }
        var lines = MetricFamily(
            "log_lines_total", "Lines of the log by level, repeats included, since the start.", kind: .counter
        )
        for level in LogLevel.allCases where level != .debug {
            lines.add(facts.tally.levels[level] ?? 0, ("level", level.name))
        }
        return [bytes, events, lines]
    }

    private static func seconds(_ date: Date) -> Double {
        (date.timeIntervalSince1970 * 1000).rounded() / 1000
    }
}
