import CaptureQueue
import Cloud
import EventLoop
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Gateway

/// A queue, a client and a supervisor against a cloud simulator of its own, with delays of milliseconds.
final class UploadFixture {
    private static let setUp: Void = try! HTTPClient.globalSetUp()

    let cloud: CloudSimulator
    /// What stands before the cloud, if anything does.
    let proxy: TCPProxy?
    let directory: TemporaryDirectory
    let api: CelestiaAPI
    let queue: CaptureQueue
    let board = Board { Date() }
    let lines = Lines()
    var configuration: UploadConfiguration
    private let client: HTTPClient
    private(set) var supervisor: UploadSupervisor
    private var task: Task<Result<Void, QueueError>, Never>?

    static var quick: UploadConfiguration {
        var configuration = UploadConfiguration()
        configuration.retry = RetryPolicy(
            base: .milliseconds(5), cap: .milliseconds(100), retryAfterCap: .milliseconds(50))
        configuration.limits.completeGaps = [.milliseconds(5), .milliseconds(10), .milliseconds(20)]
        configuration.limits.startsPerHour = 1000
        return configuration
    }

    /// `earlier`: the fixture whose cloud and data directory this one goes on with, as after a restart.
    init(
        _ options: [String] = [], _ configuration: UploadConfiguration = UploadFixture.quick,
        earlier: UploadFixture? = nil, logIn: Bool = true, throughProxy: Bool = false,
        http: HTTPConfiguration = HTTPConfiguration(),
        transport: (HTTPClient) -> any CloudTransport = { $0 },
        random: any RandomNumberGenerator & Sendable = SeededGenerator(seed: 7)
    ) async throws {
        Self.setUp
        self.configuration = configuration
        cloud = try earlier?.cloud ?? CloudSimulator(options)
        proxy = try earlier?.proxy ?? (throughProxy ? TCPProxy(inFrontOf: cloud.address) : nil)
        directory = earlier?.directory ?? TemporaryDirectory()
        client = try HTTPClient(loop: EventLoop.start(name: "http"), configuration: http)
        api = CelestiaAPI(
            base: try APIBase(proxy?.address(cloud.address) ?? cloud.address), transport: transport(client),
            directory: directory.path, machine: "m1",
            executor: try EventLoop.start(name: "tokens"))
        var settings = QueueConfiguration(directory: directory.path + "/state")
        settings.reservedBytes = 0
        settings.reservedPercent = 0
        queue = CaptureQueue(settings, executor: try EventLoop.start(name: "queue"))
        _ = try await queue.open()
        supervisor = Self.supervisor(queue, api, board, lines, configuration, random)
        if logIn, earlier == nil { try await api.logIn(identifier: "ada", password: Secret("countess")) }
    }

    private static func supervisor(
        _ queue: CaptureQueue, _ api: CelestiaAPI, _ board: Board, _ lines: Lines,
        _ configuration: UploadConfiguration, _ random: any RandomNumberGenerator & Sendable
    ) -> UploadSupervisor {
        UploadSupervisor(
            queue: queue, api: api, board: board,
            log: Log(level: .debug) { lines.append("\($0.name): \($1)") },
            configuration: configuration, random: random)
    }

    // MARK: Life

    func start() {
        let supervisor = supervisor
        task = Task {
            do throws(QueueError) {
                try await supervisor.run()
                return .success(())
            } catch {
                return .failure(error)
            }
        }
    }

    /// Ends the supervisor gracefully.
    func stop() async throws {
        supervisor.stop()
        try await task?.value.get()
        task = nil
    }

    /// Ends everything in the middle of whatever goes on; the data directory is free afterwards.
    func crash() async throws {
        task?.cancel()
        _ = await task?.value
        task = nil
        try await queue.close()
    }

    // MARK: Captures

    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    static func bytes(_ count: Int, seed: Int = 1) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            for index in 0..<count {
                buffer[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 9 &+ seed)
            }
            filled = count
        }
    }

    /// A capture with every file stored.
    @discardableResult
    func capture(
        _ number: Int, sizes: [Int], host: String? = nil, title: String? = "Interview"
    ) async throws -> SessionID {
        let id = Self.id(number)
        let assets = sizes.enumerated().map { index, size in
            AssetRegistration(
                kind: index % 2 == 0 ? .audio : .photo, name: "file-\(index).wav", mimeType: "audio/wav",
                byteSize: Int64(size), sha256: nil, sourceKey: String(id.suffix(10)) + "\(10 + index)")
        }
        let start = Date(timeIntervalSince1970: 1_784_888_430.25)
        let registered = try await queue.register(
            CaptureRegistration(
                captureID: id, sourceKind: .recorder,
                origin: RecorderOrigin(
                    serial: "CR1-000042", storageGeneration: 7, manifestObjectID: String(id.suffix(10)) + "ff"
                ),
                originDeviceID: "CR1-000042", targetHost: host ?? api.base.description, title: title,
                startedAt: CaptureTime(text: "2026-07-24T10:20:30.250Z", instant: start),
                endedAt: CaptureTime(text: "2026-07-24T10:30:30.250Z", instant: start + 600),
                durationMs: 600_000, assets: assets,
                events: [EventRegistration(id: "E-\(number)", relativeTimeMs: 5, type: .note, text: "hi")],
                provenance: ProvenanceSeed(deviceName: "R", deviceModel: "CR1", appSurface: "celestiad")))
        for (index, (asset, size)) in zip(registered.added, sizes).enumerated() where size > 0 {
            _ = try await queue.beginPull(asset)
            _ = try await queue.append(Self.bytes(size, seed: number + index), to: asset, at: 0)
            _ = try await queue.finishPull(asset)
        }
        for (asset, size) in zip(registered.added, sizes) where size == 0 {
            _ = try await queue.beginPull(asset)
            _ = try await queue.finishPull(asset)
        }
        return registered.sessionID
    }

    // MARK: Waiting and looking

    struct Timeout: Error, CustomStringConvertible {
        let description: String
    }

    /// Waits until the queue is as `condition` says.
    func until(
        _ seconds: Double = 90, _ what: String = "the condition",
        _ condition: @escaping () async throws -> Bool
    ) async throws {
        let changes = await queue.changes()
        if try await condition() { return }
        let limit = ContinuousClock.now.advanced(by: .seconds(seconds))
        let timer = Task { [queue] in
            try await Task.sleep(for: .seconds(seconds))
            await queue.announceForTests()
        }
        defer { timer.cancel() }
        for await _ in changes {
            if try await condition() { return }
            guard ContinuousClock.now < limit else { break }
        }
        throw Timeout(description: "\(what) did not come about; the log: \(lines.all.suffix(30))")
    }

    func state(_ id: SessionID) async throws -> SessionState? {
        try await queue.session(id)?.summary.session.state
    }

    func holds(_ id: SessionID) async throws -> [QueueHoldReason] {
        try await queue.session(id)?.summary.holds.map(\.reason) ?? []
    }

    func untilImported(_ ids: [SessionID]) async throws {
        var waiting = ids[...]
        try await until(600, "the import of \(ids.count) sessions") {
            // Imported is final.
            while let id = waiting.last {
                guard try await self.state(id) == .imported else { return false }
                waiting.removeLast()
            }
            return true
        }
    }

    /// Every session once, every asset once, with the bytes that were captured; no rule of the contract broken.
    func expectCloud(
        holds sessions: [SessionID], assets: Int, advice: Bool = true,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let state = try await cloud.state()
        #expect(
            Set(state.sessions.compactMap(\.clientId)) == Set(sessions.map(\.text)), sourceLocation: location)
        #expect(state.sessions.count == sessions.count, sourceLocation: location)
        #expect(state.sessions.map(\.assets.count).reduce(0, +) == assets, sourceLocation: location)
        for id in sessions {
            let detail = try #require(try await queue.session(id))
            let remote = state.sessions.first { $0.clientId == id.text }
            let session = detail.summary.session
            #expect(session.remoteID == remote?.id, sourceLocation: location)
            // The revision is the server's, or known to have moved on (C-34); never one that the server did not give.
            #expect(
                session.revision == remote?.revision
                    || session.isBaseStale && session.revision ?? 0 < remote?.revision ?? 0,
                "\(id) is at \(session.revision ?? 0), the server at \(remote?.revision ?? 0)",
                sourceLocation: location)
            #expect(detail.intents.isEmpty, sourceLocation: location)
            for asset in detail.assets where asset.exclusion == nil {
                let held = remote?.assets.filter { $0.clientId == asset.clientID } ?? []
                #expect(held.map(\.sha256) == [asset.sha256?.hex ?? "?"], sourceLocation: location)
            }
        }
        #expect(try await cloud.violations() == [], sourceLocation: location)
        if advice {
            let advice = try await cloud.advice()
            #expect(advice == [], sourceLocation: location)
        }
    }
}

extension CaptureQueue {
    /// Wakes the readers of `changes` without a change, so that a wait can end.
    fileprivate func announceForTests() {
        try? releaseQueueHold(.metered, host: "none")
        try? holdQueue(.metered, host: "none")
    }
}
