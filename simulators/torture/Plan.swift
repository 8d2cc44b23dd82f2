import CaptureQueue
import FoundationEssentials

/// What is captured, told by its number alone: a child that was killed and its successor see the same.
struct Plan: Sendable {
    let seed: UInt64

    static let hosts = ["https://one.example/v1", "https://two.example/v1"]
    static let serial = "TORTURE-1"
    static let generation: UInt32 = 3
    /// Files at least as large go up in chunks of this size.
    static let chunk = 16_384

    /// What is done with a capture besides taking and uploading it.
    enum Fate: Sendable {
        case upload, cancelled, purged, migrated
        /// A file from elsewhere than the recorder.
        case imported
        /// The same, and the disk lets it rot before it is sent.
        case rotting
        /// The cloud tells another SHA-256 than that of what it got.
        case falsified

        /// Whether the user ends the session, or the one that it became.
        var isEndedByUser: Bool {
            switch self {
            case .cancelled, .purged, .migrated: true
            case .upload, .imported, .rotting, .falsified: false
            }
        }
    }

    func fate(_ number: Int) -> Fate {
        switch number % 13 {
        case 2, 8: .imported
        case 3: .migrated
        case 4: .purged
        case 5: .falsified
        case 7: .rotting
        case 10: .cancelled
        default: .upload
        }
    }

    func captureID(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "70000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    func objectID(_ number: Int, _ file: Int) -> String {
        let digits = String(number * 16 + file + 1, radix: 16)
        return String(repeating: "0", count: 12 - digits.count) + digits
    }

    func files(_ number: Int) -> Int { 1 + Int(mix(number, 1) % 3) }

    func size(_ number: Int, _ file: Int) -> Int { 1 + Int(mix(number, 100 + file) % 60_000) }

    func bytes(_ number: Int, _ file: Int) -> [UInt8] {
        var generator = Generator(seed: mix(number, 1000 + file))
        var bytes: [UInt8] = []
        let count = size(number, file)
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes += $0 } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    func assetID(_ number: Int, _ file: Int) -> AssetID {
        Identity.asset(
            serial: Self.serial, storageGeneration: Self.generation, objectID: objectID(number, file))
    }

    func registration(_ number: Int) -> CaptureRegistration {
        let start = Date(timeIntervalSince1970: 1_796_000_000 + Double(number))
        return CaptureRegistration(
            captureID: captureID(number), sourceKind: .recorder,
            origin: RecorderOrigin(
                serial: Self.serial, storageGeneration: Self.generation,
                manifestObjectID: objectID(number, 15)),
            originDeviceID: Self.serial, targetHost: Self.hosts[0], title: "capture \(number)",
            startedAt: CaptureTime(text: start.formatted(.iso8601), instant: start), durationMs: 1000,
            assets: (0..<files(number)).map { file in
                AssetRegistration(
                    kind: .audio, name: "\(file).wav", mimeType: "audio/wav",
                    byteSize: Int64(size(number, file)),
                    sha256: nil, sourceKey: objectID(number, file))
            }, events: [],
            provenance: ProvenanceSeed(deviceName: nil, deviceModel: nil, appSurface: "torture"))
    }

    private func mix(_ number: Int, _ salt: Int) -> UInt64 {
        var generator = Generator(seed: seed ^ UInt64(number) &* 0x9E37 ^ UInt64(salt) << 40)
        return generator.next()
    }
}

/// Reproducible randomness (SplitMix64): a failing run is named by its seed.
struct Generator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
