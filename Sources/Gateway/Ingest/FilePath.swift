package import Glibc

/// A path as the file system has it: any bytes but zero, whether they are text or not.
package struct FilePath: Sendable, Hashable, Comparable, ExpressibleByStringLiteral {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ text: String) { bytes = Array(text.utf8) }

    package init(stringLiteral text: String) { self.init(text) }

    /// Something in the folder that this is.
    package func appending(_ name: [UInt8]) -> FilePath {
        FilePath(bytes: bytes + [UInt8(ascii: "/")] + name)
    }

    /// What is behind the last slash.
    package var name: FilePath {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return self }
        return FilePath(bytes: Array(bytes[(slash + 1)...]))
    }

    /// For people, and as a key: verbatim where it is UTF-8; otherwise with every byte beyond ASCII as `\xNN`.
    package var text: String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.reduce(into: "") { text, byte in
            if byte < 0x80 {
                text.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                text += "\\x" + String(byte, radix: 16)
            }
        }
    }

    /// Runs `body` with the path as a C string.
    package func withCString<T>(_ body: (UnsafePointer<CChar>) -> T) -> T {
        (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // Never empty: it ends with a zero.
            buffer.baseAddress.map(body)!
        }
    }

    package static func < (left: FilePath, right: FilePath) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

/// What is in a folder, without names that begin with a dot.
package struct FolderListing: Sendable {
    package struct Entry: Sendable {
        package let path: FilePath
        /// As lstat tells it: a symbolic link is a symbolic link.
        package let status: stat
    }

    package private(set) var entries: [Entry] = []
    /// Whether the folder could not be read to its end, or something in it not be looked at.
    package private(set) var isCut = false

    /// nil when the folder cannot be opened; `errno` says why.
    package init?(_ folder: FilePath, followingLinks: Bool) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followingLinks ? 0 : O_NOFOLLOW)
        let descriptor = folder.withCString { open($0, flags) }
        guard descriptor >= 0, let stream = fdopendir(descriptor) else {
            let number = errno
            if descriptor >= 0 { close(descriptor) }
            errno = number
            return nil
        }
        defer { closedir(stream) }
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: UInt8.self, capacity: 256) { start in
                    Array(UnsafeBufferPointer(start: start, count: 256).prefix { $0 != 0 })
                }
            }
            guard name.first != UInt8(ascii: ".") else { continue }
            var buffer = stat()
            let path = folder.appending(name)
            let result = FilePath(bytes: name).withCString {
                fstatat(descriptor, $0, &buffer, AT_SYMLINK_NOFOLLOW)
            }
            if result == 0 {
                entries.append(Entry(path: path, status: buffer))
            } else if errno != ENOENT {
                isCut = true
            }
            errno = 0
        }
        if errno != 0 { isCut = true }
    }
}
