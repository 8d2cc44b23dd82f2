internal import FoundationEssentials
internal import Glibc

/// What a recorder keeps over a restart of the simulator.
package struct RecorderState: Sendable, Hashable, Codable {
    /// The storage generation; nil before the first start, which derives it from the files.
    package var generation: UInt32?
    /// The object of each file ("capture/file") and manifest ("capture/") that was ever served.
    package var objects: [String: UInt64] = [:]
    /// The objects that were deleted.
    package var deleted: Set<UInt64> = []
    /// The adapters that are bonded, by address, and how well.
    package var bonds: [String: LinkSecurity] = [:]

    package init() {}

    /// Reads a state file by serial number; a file that is not there is an empty state. Throws `state`.
    package static func load(_ path: String) throws(RecorderModelError) -> [String: RecorderState] {
        guard let reader = ContentReader(.file(path: path)) else {
            guard errno == ENOENT else {
                throw RecorderModelError(.state, "cannot read the state file \(path): \(systemText(errno))")
            }
            return [:]
        }
        var data = Data()
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { reader.read(at: Int64(data.count), into: $0) }
            guard count > 0 else { break }
            data.append(contentsOf: chunk[..<count])
        }
        do {
            return try JSONDecoder().decode([String: RecorderState].self, from: data)
        } catch {
            throw RecorderModelError(.state, "the state file \(path) is not one of this simulator")
        }
    }

    /// Writes the states of all recorders in place of the file. Throws `state`.
    package static func save(_ states: [String: RecorderState], to path: String) throws(RecorderModelError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        do {
            try encoder.encode(states).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw RecorderModelError(.state, "cannot write the state file \(path): \(systemText(errno))")
        }
    }
}
