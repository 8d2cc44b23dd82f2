/// The three-way merge of a session's metadata after somebody else changed it in the cloud (upload.md C-32).
///
/// | What | Rule |
/// |---|---|
/// | title | ours if only we changed it, else the server's |
/// | end, duration | ours if only we changed them, the server's if only it did, the larger if both did |
/// | start | the server's; it never changes here |
/// | events | by client id: the union, less what either side deleted; the server's words where they differ |
///
/// Without a base (the server's view was never seen) everything counts as changed on both sides.
package struct SessionMerge: Sendable, Equatable {
    package let title: String
    package let endMs: Int64?
    package let durationMs: Int64
    /// Our events that were deleted in the cloud since the base.
    package let deletions: [String]

    package init(base: SessionFacts?, local: SessionFacts, remote: SessionFacts) {
        title =
            Self.choose(base?.title, local.title, remote.title) {
                $0 == $1
            } both: { _, remote in
                remote
            }
        endMs = Self.choose(
            base.map(\.endMs), local.endMs, remote.endMs, same: SessionFacts.isClose
        ) { left, right in
            guard let left, let right else { return left ?? right }
            return max(left, right)
        }
        durationMs = Self.choose(
            base?.durationMs, local.durationMs, remote.durationMs, same: { $0 == $1 }, both: max)
        let present = Set(remote.events.map(\.id))
        let known = Set(base?.events.map(\.id) ?? [])
        deletions = local.events.map(\.id).filter { known.contains($0) && !present.contains($0) }
    }

    private static func choose<Value>(
        _ base: Value?, _ local: Value, _ remote: Value, same: (Value, Value) -> Bool,
        both: (Value, Value) -> Value
    ) -> Value {
        if same(local, remote) { return local }
        guard let base else { return both(local, remote) }
        if same(base, remote) { return local }
        return same(base, local) ? remote : both(local, remote)
    }
}
