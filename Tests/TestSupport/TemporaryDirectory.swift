import Foundation

/// A directory of its own for one test, removed with everything in it when the value goes.
package final class TemporaryDirectory: Sendable {
    package let path: String
    private let isOwned: Bool

    package init() {
        let url = FileManager.default.temporaryDirectory.appending(path: "celestiad-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            fatalError("no temporary directory: \(error)")
        }
        path = url.path
        isOwned = true
    }

    /// Another process's, which removes it.
    package init(existing path: String) {
        self.path = path
        isOwned = false
    }

    deinit {
        if isOwned { try? FileManager.default.removeItem(atPath: path) }
    }
}
