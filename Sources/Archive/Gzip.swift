internal import CZlib

/// gzip files (RFC 1952), by zlib.
package enum Gzip {
    /// The bytes compressed as one member; nil when there is no memory for it.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        [UInt8](unsafeUninitializedCapacity: celestia_gzip_bound(bytes.count)) { buffer, count in
            count = bytes.withUnsafeBufferPointer { input in
                celestia_gzip(input.baseAddress, input.count, buffer.baseAddress, buffer.count)
            }
        }.nonEmpty
    }
}

extension [UInt8] {
    /// A gzip file is never empty.
    fileprivate var nonEmpty: [UInt8]? { isEmpty ? nil : self }
}
