/// Which objects failed, over all links of one recorder: one bad object must not block the others. Lives
/// in memory with the supervisor of the recorder.
package struct FailureLedger: Sendable, Hashable {
    /// After so many failures in a row an object is tried after all others.
    package static let deferAfter = 2
    /// After so many failures in a row an object is left alone until the daemon starts again.
    package static let giveUpAfter = 8

    private var fruitless: [AssetKey: Int] = [:]
    private var mismatches: [AssetKey: Int] = [:]

    /// A ledger without entries.
    package init() {}

    /// Notes that a try brought no bytes.
    package mutating func noteFailure(of key: AssetKey) {
        fruitless[key, default: 0] += 1
    }

    /// Notes that the whole was read and differs from the recorder's checksum.
    package mutating func noteMismatch(of key: AssetKey) {
        mismatches[key, default: 0] += 1
    }

    /// Notes that bytes came: a link that is cut while they come says nothing about the object.
    package mutating func noteProgress(of key: AssetKey) {
        fruitless[key] = nil
    }

    /// Notes that the object is held whole.
    package mutating func noteSuccess(of key: AssetKey) {
        fruitless[key] = nil
        mismatches[key] = nil
    }

    /// Whether the object is tried after all others.
    package func isDeferred(_ key: AssetKey) -> Bool { failures(of: key) >= Self.deferAfter }

    /// Whether the object is left alone.
    package func isGivenUp(_ key: AssetKey) -> Bool { failures(of: key) >= Self.giveUpAfter }

    private func failures(of key: AssetKey) -> Int {
        fruitless[key, default: 0] + mismatches[key, default: 0]
    }
}
