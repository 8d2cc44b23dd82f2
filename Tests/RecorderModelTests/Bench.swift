import Foundation
import ObjectTransfer
import Recorder
import RecorderModel
import TestSupport
import Testing

/// A recorder with a link to it, on a folder of files.
final class Bench {
    let directory: TemporaryDirectory
    let model: RecorderModel

    /// The objects of the golden vectors and one of several frames.
    static let samples: [(String, [UInt8])] = [
        ("a.wav", (1...50).map { UInt8($0) }), ("b.jpg", (0..<100).map { UInt8($0 * 2) }),
        ("c.wav", (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }),
    ]

    init(
        faults: [String] = [], security: LinkSecurity = .authenticated,
        pairing: PairingMethod = .numericComparison, subscribed: Bool = true
    ) throws {
        directory = TemporaryDirectory()
        try Bench.write(Bench.samples, to: directory.path + "/one")
        var configuration = RecorderConfiguration(
            serial: "T-1", folder: try CaptureFolder(path: directory.path, hashing: true))
        configuration.pairing = pairing
        for fault in faults { try configuration.faults.apply(fault) }
        model = RecorderModel(configuration)
        connect(security, subscribed: subscribed)
    }

    func connect(_ security: LinkSecurity = .authenticated, subscribed: Bool = true) {
        model.connect(security: security)
        guard subscribed else { return }
        for id in [
            ObjectTransferService.actionControlPoint, ObjectTransferService.listControlPoint,
            RecorderProfile.objectData,
        ] { try? model.subscribe(id, true) }
    }

    static func write(_ files: [(String, [UInt8])], to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, bytes) in files {
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name))
        }
    }

    /// Writes to a control point and returns what it indicates, after all work is done.
    func ask(_ point: GATTCharacteristicID, _ bytes: [UInt8]) throws -> [[UInt8]] {
        let reply = try model.write(bytes, to: point)
        return indications(reply.early + reply.late, from: point)
    }

    func indications(_ outputs: [RecorderOutput], from point: GATTCharacteristicID) -> [[UInt8]] {
        outputs.flatMap { output -> [[UInt8]] in
            switch output {
            case .indicate(point, let value): [value]
            case .workPending: indications(model.work(), from: point)
            default: []
            }
        }
    }

    func list(_ bytes: UInt8...) throws -> [[UInt8]] {
        try ask(ObjectTransferService.listControlPoint, bytes)
    }

    func act(_ request: ObjectActionRequest) throws -> ObjectActionResponse {
        let answers = try ask(ObjectTransferService.actionControlPoint, request.wire)
        return try ObjectActionResponse(wire: try #require(answers.last))
    }

    func goTo(_ id: UInt64) throws {
        let request = ObjectListRequest.goTo(try #require(ObjectID(id)))
        let answers = try ask(ObjectTransferService.listControlPoint, request.wire)
        #expect(answers == [[0x70, 0x05, 0x01]])
    }

    func control(_ command: ObjectDataControl) throws {
        _ = try model.write(command.wire, to: RecorderProfile.objectDataControl)
    }

    /// Pulls steps of the notification plane until nothing is ready, `now` never moving.
    func frames(payload: Int = 240, at now: ContinuousClock.Instant = .now, limit: Int = 10_000) -> (
        frames: [ObjectDataFrame], end: DataStep
    ) {
        pull(count: payload + ObjectDataFrame.headerLength, limit: limit) {
            self.model.nextFrame(into: $0, now: now)
        } collect: {
            try? ObjectDataFrame(wire: $0)
        }
    }

    /// Pulls steps of the channel until nothing is ready.
    func channelBytes(limit: Int = 10_000) -> (bytes: [UInt8], end: DataStep) {
        let (pieces, end): ([[UInt8]], DataStep) = pull(count: 1000, limit: limit) {
            self.model.nextChannelBytes(into: $0, now: .now)
        } collect: {
            $0
        }
        return (pieces.flatMap { $0 }, end)
    }

    private func pull<Piece>(
        count: Int, limit: Int, _ next: (UnsafeMutableRawBufferPointer) -> DataStep,
        collect: ([UInt8]) -> Piece?
    ) -> ([Piece], DataStep) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        var pieces: [Piece] = []
        for _ in 0..<limit {
            switch next(buffer) {
            case .send(let count):
                if let piece = collect(Array(buffer[..<count])) { pieces.append(piece) }
            case .lost: break
            case let end: return (pieces, end)
            }
        }
        return (pieces, .idle)
    }
}
