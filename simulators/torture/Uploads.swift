import CaptureQueue
import Cloud
import EventLoop
import FoundationEssentials
import Gateway
import HTTP

/// The daemon's uploader, its cloud at the other end of the line.
struct Uploads {
    let queue: CaptureQueue
    let world: WorldLine
    /// Where the tokens are: a directory for each host.
    let directory: String

    /// The directory of a host's tokens.
    static func tokens(_ directory: String, _ host: Int) -> String { "\(directory)/tokens-\(host + 1)" }

    /// Works until there is nothing left to do for this host. Throws when that does not come to be.
    func sendAll(to host: String) async throws {
        guard let number = Plan.hosts.firstIndex(of: host), try await hasWork(host) else { return }
        let tokens = Self.tokens(directory, number)
        try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: true)
        let api = CelestiaAPI(
            base: try APIBase(host), transport: world, directory: tokens, machine: "torture",
            executor: try EventLoop.start(name: "tokens"))
        let rests = Locked(0)
        let supervisor = UploadSupervisor(
            queue: queue, api: api, board: Board { Date() },
            log: Log(level: .error) { Lines.say("\($0.name): \($1)", to: 2) },
            configuration: configuration(rests), random: Generator(seed: 1))
        let run = Task { () async -> QueueError? in
            do throws(QueueError) {
                try await supervisor.run()
                return nil
            } catch {
                return error
            }
        }
        let isDone = try await waitUntilDone(host, api, supervisor, rests)
        supervisor.stop()
        if let error = await run.value { throw error }
        guard isDone else {
            throw Failure(
                "the uploads to \(host) came to no end: \(try await rest(host).joined(separator: "; "))")
        }
    }

    /// What is still to be sent, in words for a fault.
    private func rest(_ host: String) async throws -> [String] {
        let sessions = try await queue.sessions(.all, limit: 1000).sessions
        return sessions.filter { $0.session.targetHost == host && $0.session.state != .imported }.map {
            summary in
            let holds = summary.holds.map(\.reason.rawValue).joined(separator: ",")
            let error = summary.session.lastError ?? "no error"
            return "\(summary.session.id) \(summary.session.state.rawValue) [\(holds)] \(error)"
        }
    }

    /// Whether the uploads were done; they are hurried, as a user would who sees that they rest, until that brings no
    /// session on any more.
    private func waitUntilDone(
        _ host: String, _ api: CelestiaAPI, _ supervisor: UploadSupervisor, _ rests: Locked<Int>
    ) async throws -> Bool {
        var (fruitless, last) = (0, Int.max)
        while fruitless < 8 {
            if case .valid = try await api.tokens.state() {
            } else {
                _ = try? await api.logIn(identifier: "ada", password: Secret("countess"))
            }
            for _ in 0..<400 {
                try await Task.sleep(for: .milliseconds(5))
                guard await supervisor.status().active.isEmpty else { continue }
                if try await !hasWork(host) { return true }
                if rests.withLock({ $0 }) > 0 { break }
            }
            // The rest that was seen may be the one from before the next session is taken up.
            let left = try await work(host)
            fruitless = left < last ? 0 : fruitless + 1
            last = left
            rests.withLock { $0 = 0 }
            await supervisor.kick()
        }
        return false
    }

    private func hasWork(_ host: String) async throws -> Bool { try await work(host) > 0 }

    /// How many sessions of this host are still to be sent: all but those that wait for a user.
    private func work(_ host: String) async throws -> Int {
        var count = 0
        for state in [SessionState.queuedOffline, .uploading, .awaitingConfirmation, .failedRetryable] {
            let page = try await queue.sessions(.state(state), limit: 1000)
            count += page.sessions.count { summary in
                summary.session.targetHost == host && !summary.holds.contains { $0.reason == .conflict }
            }
        }
        return count
    }

    private func configuration(_ rests: Locked<Int>) -> UploadConfiguration {
        var configuration = UploadConfiguration()
        configuration.parallelUploads = 1
        configuration.retry = RetryPolicy(base: .milliseconds(5), cap: .milliseconds(20))
        configuration.limits.completeGaps = [.milliseconds(5), .milliseconds(5)]
        configuration.limits.startsPerHour = 1000
        configuration.limits.chunkedFrom = Int64(Plan.chunk)
        configuration.courtesy = .seconds(5)
        configuration.sleep = { duration in
            // Longer than anything here takes: it rests.
            if duration > .seconds(5) { rests.withLock { $0 += 1 } }
            try await Task.sleep(for: duration)
        }
        return configuration
    }
}
