import EventLoop
import Foundation
import TestSupport

@testable import CaptureQueue

/// A queue in a directory of its own, with a clock and a disk that the test sets.
struct QueueFixture {
    static let host = "https://api.example.test/celestia-trace/v1"
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    let directory: TemporaryDirectory
    let clock = Locked(QueueFixture.start)
    let space = Locked(FreeSpace(free: 1 << 40, total: 1 << 40))
    let loop: EventLoop
    let queue: CaptureQueue
    let report: StartReport

    init(
        _ directory: TemporaryDirectory = TemporaryDirectory(),
        _ adjust: (inout QueueConfiguration) -> Void = { _ in }
    ) async throws {
        self.directory = directory
        loop = try EventLoop.start(name: "queue")
        var configuration = QueueConfiguration(
            directory: directory.path + "/state", now: { [clock] in clock.withLock { $0 } })
        configuration.freeSpace = { [space] _ in space.withLock { $0 } }
        configuration.journalInterval = 1000
        configuration.ballastBytes = 0
        adjust(&configuration)
        queue = CaptureQueue(configuration, executor: loop)
        report = try await queue.open()
    }

    var state: String { directory.path + "/state" }

    func path(_ session: SessionID, _ name: String) -> String { "\(state)/spool/\(session)/\(name)" }

    func advance(_ seconds: Double) { clock.withLock { $0 += seconds } }

    /// What a kill at this moment would leave: a copy of everything, taken while nothing runs.
    func snapshot() throws -> TemporaryDirectory {
        let copy = TemporaryDirectory()
        try FileManager.default.copyItem(atPath: state, toPath: copy.path + "/state")
        return copy
    }

    /// A kill between the file's rename and the COMMIT: the database of before, the spool of now.
    func snapshot(databaseOf earlier: TemporaryDirectory) throws -> TemporaryDirectory {
        let copy = try snapshot()
        for name in ["queue.db", "queue.db-wal"] {
            try? FileManager.default.removeItem(atPath: "\(copy.path)/state/\(name)")
            if FileManager.default.fileExists(atPath: "\(earlier.path)/state/\(name)") {
                try FileManager.default.copyItem(
                    atPath: "\(earlier.path)/state/\(name)", toPath: "\(copy.path)/state/\(name)")
            }
        }
        return copy
    }

    /// Registers a capture of files with these sizes.
    @discardableResult
    func register(_ id: String = Sample.captureID, sizes: [Int] = [2500]) async throws -> RegisteredCapture {
        try await queue.register(Sample.capture(id, sizes: sizes))
    }

    /// Stores every file of a capture and returns its session.
    func stored(_ id: String = Sample.captureID, sizes: [Int] = [2500]) async throws -> SessionID {
        let capture = try await register(id, sizes: sizes)
        for (asset, size) in zip(capture.added, sizes) {
            _ = try await queue.beginPull(asset)
            _ = try await queue.append(Sample.bytes(size), to: asset, at: 0)
            _ = try await queue.finishPull(asset)
        }
        return capture.sessionID
    }

    /// The session's upsert as a supervisor would do it.
    func upsert(_ session: SessionID, revision: Int64 = 1) async throws {
        _ = try await queue.beginIntent(.upsert, session: session, payloadDigest: "p")
        try await queue.commitUpsert(
            session: session, remoteID: "remote-\(session)", revision: revision, payloadDigest: "p")
    }

    /// Sends every pending asset by the small route.
    func sendAssets(_ session: SessionID) async throws {
        for asset in try await queue.uploadJob(session).pending {
            _ = try await queue.beginIntent(.asset, session: session, asset: asset.id, payloadDigest: "a")
            try await queue.commitAsset(asset.id, Sample.remote(asset), sessionRevision: 2)
        }
    }

    func imported(_ id: String = Sample.captureID, sizes: [Int] = [2500]) async throws -> SessionID {
        let session = try await stored(id, sizes: sizes)
        _ = try await queue.beginUpload(session)
        try await upsert(session)
        try await sendAssets(session)
        try await queue.markImported(session)
        return session
    }

    func state(of session: SessionID) async throws -> SessionState? {
        try await queue.session(session)?.summary.session.state
    }

    func exists(_ session: SessionID, _ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path(session, name))
    }
}

/// Captures, bytes and answers that the tests share.
enum Sample {
    static let captureID = "0B8F4B1E-6F0A-4C56-9F3B-0A1B2C3D4E5F"
    static let serial = "CR1-000042"
    static let generation: UInt32 = 7

    static func id(_ number: Int) -> String { "00000000-0000-4000-8000-" + pad(number, 12) }

    static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    static func capture(
        _ id: String = captureID, sizes: [Int] = [2500], serial: String = serial,
        host: String = QueueFixture.host,
        sha256: String? = nil
    ) -> CaptureRegistration {
        let assets = sizes.enumerated().map { index, size in
            AssetRegistration(
                kind: index % 2 == 0 ? .audio : .photo, name: "file-\(index).wav", mimeType: "audio/wav",
                byteSize: Int64(size), sha256: sha256,
                sourceKey: String(id.suffix(10)).lowercased() + pad(index, 2),
                fingerprint: "size=\(size)")
        }
        let origin = RecorderOrigin(
            serial: serial, storageGeneration: generation, manifestObjectID: String(id.suffix(10)) + "FF")
        return CaptureRegistration(
            captureID: id, sourceKind: .recorder, origin: origin, originDeviceID: serial, targetHost: host,
            title: "Interview",
            startedAt: CaptureTime(text: "2026-11-30T07:00:00+01:00", instant: QueueFixture.start),
            endedAt: CaptureTime(text: "2026-11-30T07:10:00.5+01:00", instant: QueueFixture.start + 600.5),
            durationMs: 600_500, assets: assets,
            events: [
                EventRegistration(
                    id: "E-1", relativeTimeMs: 5, type: .note, text: "hi", sourceKey: assets.first?.sourceKey)
            ],
            provenance: ProvenanceSeed(
                deviceName: "Recorder", deviceModel: "CR1", appSurface: "celestia_recorder",
                image: ["equipment": "CR1"], chain: [["step": "captured on CR1"]]))
    }

    static func remote(_ asset: AssetRecord) -> RemoteAsset {
        RemoteAsset(
            id: "remote-\(asset.id)", clientID: asset.clientID, sizeBytes: asset.byteSize,
            sha256: asset.sha256?.hex.uppercased() ?? "")
    }

    private static func pad(_ number: Int, _ width: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(isolation: isolated (any Actor)? = #isolation, of body: () async throws -> Void) async -> QueueError
    .Code?
{
    do {
        try await body()
        return nil
    } catch {
        return (error as? QueueError)?.code
    }
}

/// Changes one bit of a file, as a bad disk does.
func flip(_ path: String) throws {
    var data = try Data(contentsOf: URL(filePath: path))
    data[1000] ^= 1
    try data.write(to: URL(filePath: path))
}
