/// How a file is cut for the chunked route; the server's numbers win over what was asked for (C-56).
package struct ChunkPlan: Sendable, Equatable {
    /// Files of this size and more take the chunked route (C-46).
    package static let threshold: Int64 = 16 << 20

    package let fileSize: Int64
    package let chunkSize: Int64
    package let count: Int

    /// Throws `malformed` when the numbers do not describe the file exactly.
    package init(fileSize: Int64, chunkSize: Int64, totalChunks: Int64) throws(CloudError) {
        guard fileSize >= 1, chunkSize >= 1, totalChunks >= 1 else {
            throw Self.malformed("a size or count below 1")
        }
        let (quotient, remainder) = fileSize.quotientAndRemainder(dividingBy: chunkSize)
        guard totalChunks == quotient + (remainder > 0 ? 1 : 0), let count = Int(exactly: totalChunks) else {
            throw Self.malformed("\(totalChunks) chunks of \(chunkSize) bytes for \(fileSize) bytes")
        }
        // A bitmap is kept per upload: more than this is a server that asks for single bytes.
        guard count <= 1_000_000 else { throw Self.malformed("\(totalChunks) chunks") }
        self.fileSize = fileSize
        self.chunkSize = chunkSize
        self.count = count
    }

    /// Offset and length of a chunk; nil outside 0..<count. Only the last is shorter, and not always.
    package func range(of index: Int) -> (offset: Int64, length: Int64)? {
        guard (0..<count).contains(index) else { return nil }
        let offset = Int64(index) * chunkSize
        return (offset, min(chunkSize, fileSize - offset))
    }

    /// The next smaller size to ask for after a gateway refused `size`; nil when there is none.
    package static func sizeBelow(_ size: Int64) -> Int64? {
        APIAssumptions.requestedChunkSizes.first { $0 < size }
    }

    private static func malformed(_ what: String) -> CloudError {
        CloudError(
            .malformed, "the server's upload plan does not fit: \(what)", outcome: .retry(after: nil),
            call: .initUpload)
    }
}
