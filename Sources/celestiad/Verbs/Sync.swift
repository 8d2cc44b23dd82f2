import Control
import EventLoop
import FoundationEssentials

/// `celestiad sync`
enum SyncVerb {
    static let verb = Verb(
        name: "sync", summary: "Pull and upload now, without waiting for the next try.",
        positionals: [
            Positional(name: "ID", help: "Only this recorder.", isRequired: false, completes: .recorders)
        ],
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
            console: invocation.console, interval: interval(invocation), recorder: recorder,
            limit: .seconds(limit))
        do throws(ControlError) {
            return try await withDeadline(
                .seconds(limit), "not everything was in the cloud within \(limit) s"
            ) {
                () throws(ControlError) in
                try await follow.run(client)
            }
        } catch {
            if error.code == .timeout { follow.outcome.value?.remarks.forEach(invocation.console.note) }
            throw error
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
    let limit: Duration
    /// How far it has come, for whoever ends it.
    let outcome = LatestOutcome()

    /// The last outcome that was seen.
    final class LatestOutcome: Sendable {
        private let state = Locked<SyncOutcome?>(nil)

        var value: SyncOutcome? { state.withLock { $0 } }
        func set(_ outcome: SyncOutcome) { state.withLock { $0 = outcome } }
    }

    func run(_ client: ControlClient) async throws(ControlError) -> ExitCode {
        let events = try await client.events()
        let before = try await client.status()
        let end = before.time.addingTimeInterval(limit / .seconds(1))
        try await client.sync(recorder: recorder)
        var area = LiveArea(console, onError: true)
        defer { area.erase() }
        var log = ProgressLog(interval: interval)
        for await event in events {
            if case .daemon(isRunning: false) = event {
                area.erase()
                console.note("the daemon is gone, waiting")
                continue
            }
            let status = try await client.status()
            let outcome = SyncOutcome(status, start: before.time, end: end, recorder: recorder)
            self.outcome.set(outcome)
            show(status, &area, &log)
            guard outcome.isOver else { continue }
            area.erase()
            outcome.remarks.forEach(console.note)
            if outcome.remarks.isEmpty { console.note(Self.summary(from: before, to: status)) }
            return outcome.exitCode
        }
        throw Task.isCancelled
            ? ControlError(.cancelled, "interrupted") : ControlError(.noBus, "the message bus went away")
    }

    private func show(_ status: StatusDocument, _ area: inout LiveArea, _ log: inout ProgressLog) {
        if console.errorIsTerminal {
            area.draw(ProgressView(layout: console.errorLayout).lines(status.transfers))
        } else {
            let now = Int64(console.now().timeIntervalSince1970)
            for line in log.update(status.transfers, seconds: now) { console.note(line) }
        }
    }

    /// What a sync that left nothing has come to.
    static func summary(from before: StatusDocument, to after: StatusDocument) -> String {
        func imported(_ status: StatusDocument) -> Int {
            status.queue.states.first { $0.state == "imported" }?.sessions ?? 0
        }
        let new = imported(after) - imported(before)
        if new > 0 { return "all is in the cloud: \(Units.count(new, "new session"))" }
        if after.recorders.isEmpty { return "nothing to do: no recorder is paired → celestiad pair" }
        return "nothing to do: all is in the cloud already"
    }
}
