import Foundation

/// A directory of its own for one test, removed with everything in it when the value goes.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() {
        let url = FileManager.default.temporaryDirectory.appending(path: "celestiad-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            fatalError("no temporary directory: \(error)")
        }
        path = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
