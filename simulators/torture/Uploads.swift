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
        guard isDone else { throw Failure("the uploads to \(host) came to no end") }
    }

    /// Whether the uploads were done; they are hurried a few times, as a user would who sees that they rest.
    private func waitUntilDone(
        _ host: String, _ api: CelestiaAPI, _ supervisor: UploadSupervisor, _ rests: Locked<Int>
    ) async throws -> Bool {
        for _ in 0..<8 {
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
            rests.withLock { $0 = 0 }
            await supervisor.kick()
        }
        return false
    }

    /// Whether a session of this host is still to be sent: all but those that wait for a user.
    private func hasWork(_ host: String) async throws -> Bool {
        for state in [SessionState.queuedOffline, .uploading, .awaitingConfirmation, .failedRetryable] {
            let page = try await queue.sessions(.state(state), limit: 1000)
            for summary in page.sessions where summary.session.targetHost == host {
                if !summary.holds.contains(where: { $0.reason == .conflict }) { return true }
            }
        }
        return false
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
