internal import ObjectTransfer

/// Everything that a recorder can be told to do wrong, each fault written as `name` or `name=value`.
package struct RecorderFaults: Sendable, Hashable {
    /// How responses of the control points come.
    enum Indications: String, Sendable, Hashable, CaseIterable {
        /// Before the write is answered (Zephyr before April 2024).
        case early
        /// After a copy of the response before.
        case stale
        /// Not at all.
        case never
    }

    /// Which objects a fault is about.
    enum Target: Sendable, Hashable {
        case all
        case object(ObjectID)
        /// The next time only.
        case once

        func includes(_ id: ObjectID) -> Bool {
            if case .object(let own) = self { own == id } else { true }
        }
    }

    /// Cut the link when so many data bytes were sent in all, smallest first.
    var cutAfter: [Int64] = []
    var refusesReads = false
    /// Every so many frames one is lost on the way.
    var losesEvery: Int?
    var wrongChecksum: Target?
    var bytesPerSecond: Int64?
    /// Sends on after the end of what was asked for.
    var isEndless = false
    var locked: Target?
    var indications: Indications?
    /// The Object Transfer Channel is refused.
    var refusesChannel = false
    var isRecording = false
    var isClockUnset = false
    /// A new bond is refused.
    package internal(set) var refusesPairing = false
    var content = ContentFaults()

    /// No fault at all.
    package init() {}

    /// Every fault with its values, for help texts.
    package static let help: [(spelling: String, meaning: String)] = [
        ("cut-after=N[,N…]", "cut the link when N data bytes were sent in all"),
        ("refuse-reads", "refuse OACP Read and START"),
        ("refuse-channel", "refuse the L2CAP channel"),
        ("refuse-pairing", "refuse to pair"),
        ("lose-every=N", "lose every Nth data notification"),
        ("wrong-checksum[=once|OBJECT]", "answer Calculate Checksum with a wrong one"),
        ("rate=BYTES", "send so many data bytes a second"),
        ("endless", "send on after the end of a read"),
        ("locked[=once|OBJECT]", "answer Object Locked"),
        ("indications=early|stale|never", "answer the control points early, after an old answer, or never"),
        ("listing=\(names(ContentFaults.Listing.self))", "a directory listing that is not as it should be"),
        ("manifest=\(names(ContentFaults.ManifestFault.self))", "manifests that are not as they should be"),
        ("hostile-names", "names with slashes, NULs, .., 120 bytes of emoji"),
        ("recording", "say that a capture is being recorded"),
        ("clock-unset", "say that the clock is not set, whatever is written"),
    ]

    private static func names<Fault: CaseIterable & RawRepresentable>(_ type: Fault.Type) -> String
    where Fault.RawValue == String {
        type.allCases.map(\.rawValue).joined(separator: "|")
    }

    /// Adds one fault, or takes it back with the value `off`. Throws `fault` when there is no such fault.
    package mutating func apply(_ text: String) throws(RecorderModelError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count > 1 ? String(parts[1]) : nil
        let isOn = value != "off"
        switch name {
        case "cut-after": cutAfter = isOn ? try Self.numbers(value, in: text).sorted() : []
        case "refuse-reads": refusesReads = try Self.flag(value, in: text)
        case "refuse-channel": refusesChannel = try Self.flag(value, in: text)
        case "refuse-pairing": refusesPairing = try Self.flag(value, in: text)
        case "lose-every": losesEvery = isOn ? Int(clamping: try Self.numbers(value, in: text)[0]) : nil
        case "wrong-checksum": wrongChecksum = isOn ? try Self.target(value, in: text) : nil
        case "rate": bytesPerSecond = isOn ? try Self.numbers(value, in: text)[0] : nil
        case "endless": isEndless = try Self.flag(value, in: text)
        case "locked": locked = isOn ? try Self.target(value, in: text) : nil
        case "indications": indications = isOn ? try Self.choice(value, in: text) : nil
        case "listing": content.listing = isOn ? try Self.choice(value, in: text) : nil
        case "manifest": content.manifest = isOn ? try Self.choice(value, in: text) : nil
        case "hostile-names": content.hasHostileNames = try Self.flag(value, in: text)
        case "recording": isRecording = try Self.flag(value, in: text)
        case "clock-unset": isClockUnset = try Self.flag(value, in: text)
        default: throw RecorderModelError(.fault, "there is no fault named \(name)")
        }
    }

    private static func flag(_ value: String?, in text: String) throws(RecorderModelError) -> Bool {
        switch value {
        case nil, "on": return true
        case "off": return false
        default: throw RecorderModelError(.fault, "\(text): the value is on or off")
        }
    }

    private static func numbers(_ value: String?, in text: String) throws(RecorderModelError) -> [Int64] {
        let numbers = (value ?? "").split(separator: ",").map { Int64($0) ?? 0 }
        guard !numbers.isEmpty, numbers.allSatisfy({ $0 > 0 }) else {
            throw RecorderModelError(.fault, "\(text): the value is a number above zero")
        }
        return numbers
    }

    private static func target(_ value: String?, in text: String) throws(RecorderModelError) -> Target {
        switch value {
        case nil, "on": return .all
        case "once": return .once
        default:
            guard let id = ObjectID(hex: value ?? "") else {
                throw RecorderModelError(.fault, "\(text): an object is twelve hexadecimal digits")
            }
            return .object(id)
        }
    }

    private static func choice<Fault: CaseIterable & RawRepresentable>(
        _ value: String?, in text: String
    ) throws(RecorderModelError) -> Fault where Fault.RawValue == String {
        guard let fault = Fault(rawValue: value ?? "") else {
            throw RecorderModelError(.fault, "\(text): the value is one of \(names(Fault.self))")
        }
        return fault
    }
}
