import Glibc

/// A directory of its own for one test, removed with everything in it when the value goes.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() {
        var template = Array("/tmp/celestiad-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("mkdtemp: errno \(errno)") }
        path = template.withUnsafeBufferPointer { bytes in
            String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    deinit {
        _ = nftw(path, { entry, _, _, _ in entry.map { remove($0) } ?? 0 }, 16, Int32(FTW_DEPTH | FTW_PHYS))
    }
}
