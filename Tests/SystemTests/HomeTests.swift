import Foundation
import Glibc
import TestSupport
import Testing

extension SystemTests {
    /// F-11: nothing depends on a development machine's files.
    @Suite struct HomeTests {
        /// What tempts: keys and settings of other programs of the house, and of libraries.
        private static let decoys = [
            ".api-key", ".fichero/api-key", ".celestia/token", ".config/celestiad/celestiad.conf",
            ".config/celestiad.conf", ".local/share/celestiad/credentials", ".netrc", ".curlrc", ".sqliterc",
        ]

        @Test func nothingIsReadFromTheHomeDirectory() async throws {
            let home = TemporaryDirectory()
            for decoy in Self.decoys {
                let file = URL(fileURLWithPath: "\(home.path)/\(decoy)")
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data("[Cloud]\nURL=https://decoy.example/v1\n".utf8).write(to: file)
            }
            let watch = try OpeningWatch(home.path)
            let captures = try Captures("interview", ["one.wav": 70_000])
            let environment = [
                "HOME": home.path, "XDG_CONFIG_HOME": home.path + "/.config",
                "XDG_DATA_HOME": home.path + "/.local/share",
            ]
            try await Laboratory.run(captures, environment: environment) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
            #expect(try watch.opened() == [])
            // That nothing was seen must not be for want of eyes.
            _ = try Data(contentsOf: URL(fileURLWithPath: home.path + "/.api-key"))
            #expect(try watch.opened() == [".api-key"])
        }
    }
}

/// Sees which files below a directory are opened, by whomever.
private final class OpeningWatch {
    private let notifier: Int32

    init(_ root: String) throws {
        notifier = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        try #require(notifier >= 0)
        let below = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
        for name in [""] + below {
            var isDirectory: ObjCBool = false
            let path = "\(root)/\(name)"
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
                isDirectory.boolValue
            else { continue }
            try #require(inotify_add_watch(notifier, path, UInt32(IN_OPEN)) >= 0)
        }
    }

    deinit { close(notifier) }

    /// The names of the files that were opened since the last time.
    func opened() throws -> Set<String> {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(notifier, &buffer, buffer.count)
        guard count > 0 else { return [] }
        var names: Set<String> = []
        var offset = 0
        let header = MemoryLayout<inotify_event>.size
        while offset + header <= count {
            let event = buffer.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            }
            let name = buffer[(offset + header)..<(offset + header + Int(event.len))].prefix { $0 != 0 }
            names.insert(String(decoding: name, as: UTF8.self))
            offset += header + Int(event.len)
        }
        return names
    }
}
