import Control
import FoundationEssentials

/// `celestiad sync`
enum SyncVerb {
    static let verb = Verb(
        name: "sync", summary: "Pull and upload now, without waiting for the next try.",
        positionals: [Positional(name: "ID", help: "Only this recorder.", isRequired: false)],
        options: [.wait("Follow the progress until all is in the cloud, for at most SECONDS.")]
    ) { invocation throws(ControlError) in
        let limit = try invocation.arguments.number("wait", in: 1...604_800)
        let client = try await invocation.connect()
        var recorder: String?
        if let id = invocation.positional(0) { recorder = try await client.recorder(id).id }
        guard let limit else {
            try await client.sync(recorder: recorder)
            invocation.console.note("sync requested; celestiad status --watch shows it")
            return .success
        }
        let follow = SyncFollow(
            console: invocation.console, interval: interval(invocation), recorder: recorder)
        return try await withDeadline(.seconds(limit), "not everything was in the cloud within \(limit) s") {
            () throws(ControlError) in
            try await follow.run(client)
        }
    }

    private static func interval(_ invocation: Invocation) -> Int64 {
        invocation.environment["CELESTIAD_PROGRESS_INTERVAL"].flatMap { Int64($0) }.map { max(1, $0) } ?? 30
    }
}

/// Asks for a sync and shows its progress to the end.
struct SyncFollow: Sendable {
    let console: Console
    let interval: Int64
    let recorder: String?

    func run(_ client: ControlClient) async throws(ControlError) -> ExitCode {
        let events = try await client.events()
        let start = try await client.status().time
        try await client.sync(recorder: recorder)
        var area = LiveArea(console, onError: true)
        var log = ProgressLog(interval: interval)
        for await event in events {
            if case .daemon(isRunning: false) = event {
                area.erase()
                console.note("the daemon is gone, waiting")
                continue
            }
            let status = try await client.status()
            if console.errorIsTerminal {
                area.draw(ProgressView(layout: console.errorLayout).lines(status.transfers))
            } else {
                let now = Int64(console.now().timeIntervalSince1970)
                for line in log.update(status.transfers, seconds: now) { console.note(line) }
            }
            guard let outcome = SyncOutcome(status, since: start, recorder: recorder) else { continue }
            area.erase()
            outcome.remarks.forEach(console.note)
            return outcome.remarks.isEmpty ? .success : .partial
        }
        throw Task.isCancelled
            ? ControlError(.cancelled, "interrupted") : ControlError(.noBus, "the message bus went away")
    }
}

/// How a sync has ended. Pure.
struct SyncOutcome {
    /// Why not everything is in the cloud; empty: it is.
    private(set) var remarks: [String] = []

    /// Nil while something is still to be done that can be done now. `start` is the daemon's time before the sync.
    init?(_ status: StatusDocument, since start: Date, recorder: String?) {
        guard status.transfers.isEmpty else { return nil }
        for one in status.recorders where recorder == nil || one.id == recorder {
            let name = Text.clean(one.name ?? one.id)
            if let synced = one.lastSync, synced >= start, (one.pendingCaptures ?? 0) == 0 { continue }
            if let short = one.incompleteSync, short >= start {
                remarks.append(
                    "\(name): not everything could be pulled: \(Text.clean(one.lastError ?? "a file was left out"))"
                )
                continue
            }
            switch one.link.state {
            case "absent": remarks.append("\(name) is not in reach")
            case "backing_off": remarks.append("\(name): \(Text.clean(one.link.reason ?? "the link failed"))")
            default: return nil
            }
        }
        let failed = status.queue.states.filter { $0.state == "failed_terminal" }.reduce(0) {
            $0 + $1.sessions
        }
        if failed > 0 {
            remarks.append("\(Units.count(failed, "session")) cannot be uploaded: celestiad sessions")
        }
        guard status.queue.pendingAssets > 0 else { return }
        guard status.queue.nextTry != nil || status.queue.reason != nil else { return nil }
        let files = Units.count(status.queue.pendingAssets, "file")
        remarks.append(
            "\(files) still to upload: \(Text.clean(status.queue.reason ?? "the upload is tried again later"))"
        )
    }
}
