import Glibc

/// A system call that failed: which one, and the kernel's reason.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The errno value.
    package let errno: Int32
    /// The call, as the manual names it.
    package let call: String

    /// Takes the calling thread's current `errno`.
    package init(_ call: String) {
        self.init(call, errno: Glibc.errno)
    }

    package init(_ call: String, errno: Int32) {
        self.call = call
        self.errno = errno
    }

    package var description: String { "\(call): \(Self.text(of: errno))" }

    /// The system's text for an errno value.
    package static func text(of errno: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 128)
        // glibc's Swift module exposes the XSI strerror_r, which fills the buffer.
        guard strerror_r(errno, &buffer, buffer.count) == 0 else { return "error \(errno)" }
        return buffer.withUnsafeBufferPointer { bytes in
            String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
