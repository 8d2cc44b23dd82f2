/// Which objects failed, over all links of one recorder: one bad object must not block the others. Lives
/// in memory with the supervisor of the recorder.
package struct FailureLedger: Sendable, Hashable {
    /// After so many failures in a row an object is tried after all others.
    package static let deferAfter = 2
    /// After so many failures in a row an object is left alone until the daemon starts again.
    package static let giveUpAfter = 8

    /// An object that so many complete listings in a row did not have is gone.
    package static let goneAfter = 2

    private var fruitless: [AssetKey: Int] = [:]
    private var mismatches: [AssetKey: Int] = [:]
    private var absences: [AssetKey: Int] = [:]

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

    /// Notes which of the wanted objects a complete listing did not have; returns those that are gone for good. Once is
    /// not enough: a recorder may be slow to mount its storage.
    package mutating func noteAbsent(_ keys: [AssetKey]) -> [AssetKey] {
        absences = Dictionary(keys.map { ($0, absences[$0, default: 0] + 1) }, uniquingKeysWith: { $1 })
        return keys.filter { absences[$0, default: 0] >= Self.goneAfter }
    }

    /// Whether the object is tried after all others.
    package func isDeferred(_ key: AssetKey) -> Bool { failures(of: key) >= Self.deferAfter }

    /// Whether the object is left alone.
    package func isGivenUp(_ key: AssetKey) -> Bool { failures(of: key) >= Self.giveUpAfter }

    /// How often it failed in a row.
    package func failures(of key: AssetKey) -> Int {
        fruitless[key, default: 0] + mismatches[key, default: 0]
    }
}
