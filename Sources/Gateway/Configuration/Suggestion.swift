/// Finds what somebody meant who mistyped.
package enum Suggestion {
    /// The candidate nearest to `word`, when it is near enough to be a slip.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        // The beginning of one, or more than one.
        let short = word.lowercased()
        if let longer = candidates.first(where: { $0.lowercased().hasPrefix(short) && short.count >= 4 }) {
            return longer
        }
        let ranked = candidates.map { ($0, distance(word.lowercased(), $0.lowercased())) }
        guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= max(2, word.count / 4) else { return nil }
        return best.0
    }

    /// The Levenshtein distance.
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substituted = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}
