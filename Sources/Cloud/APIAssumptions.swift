/// The values for which the API's contract gives none, in one place. What else is assumed is in docs/celestia-api.md
/// ("Assumptions"), whose numbers these are, with the code that would change.
package enum APIAssumptions {
    /// 1. The envelope's code of a success: 0, or an HTTP success.
    static func isSuccess(code: Int64) -> Bool {
        code == 0 || (200...299).contains(code)
    }

    /// 4. A repeated init may open a second upload, which reserves quota until it expires: so many an hour and file.
    package static let uploadStartsPerHour = 3

    /// 12. The chunk sizes to ask for: first, and each time a gateway finds a body too large.
    package static let requestedChunkSizes: [Int64] = [8 << 20, 4 << 20, 2 << 20, 1 << 20, 512 << 10]

    /// 12. How long a merge of chunks may take before its answer counts as lost.
    static let completionTimeout = Duration.seconds(900)
}
