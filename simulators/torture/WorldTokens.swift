import FoundationEssentials

/// The tokens of one login after the other, each good until its successor is made: who lets one get lost is found out.
struct WorldTokens {
    private struct Pair {
        let access: String
        let refresh: String
        let isFromLogin: Bool
        /// Whether the client has used it, so that it must be on its disk.
        var isUsed = false
    }

    private(set) var violations: [String] = []
    private(set) var logins = 0
    private(set) var refreshes = 0
    private var pairs: [Pair] = []
    private var isExpired = false
    /// Whether the client was told that its refresh token is dead.
    private var isRefused = false

    /// The access token is refused from now on, until it is refreshed.
    mutating func expire() { isExpired = true }

    mutating func logIn() -> WorldCloud.Answer {
        if let newest = pairs.last, !isRefused, newest.isUsed || !newest.isFromLogin {
            violations.append("a login although there was one")
        }
        logins += 1
        return issue(isFromLogin: true)
    }

    mutating func refresh(_ token: String) -> WorldCloud.Answer {
        guard let newest = pairs.last, newest.refresh == token else {
            if !pairs.contains(where: { $0.refresh == token }) {
                violations.append("a refresh token that was never given")
            } else if pairs.last?.isUsed == true {
                violations.append("a refresh token whose successor had been used")
            }
            isRefused = true
            return .failed(401)
        }
        refreshes += 1
        return issue(isFromLogin: false)
    }

    mutating func accept(_ access: String) -> Bool {
        guard let newest = pairs.last, newest.access == access else { return false }
        // It reaches its disk before it is used.
        pairs[pairs.count - 1].isUsed = true
        return !isExpired
    }

    private mutating func issue(isFromLogin: Bool) -> WorldCloud.Answer {
        let number = pairs.count + 1
        pairs.append(Pair(access: "access-\(number)", refresh: "refresh-\(number)", isFromLogin: isFromLogin))
        isExpired = false
        isRefused = false
        return .data(
            "{\"user\":{\"id\":\"user-1\",\"username\":\"ada\"},\"token\":\"access-\(number)\",\"refreshToken\":\"refresh-\(number)\","
                + "\"expiresAt\":\"2099-01-01T00:00:00Z\"}")
    }

    /// Whether the newest refresh token is in the file, or the file says why not.
    func fault(in path: String) -> String? {
        guard let newest = pairs.last else { return nil }
        let content = FileManager.default.contents(atPath: path)
        let stored = content.flatMap { try? JSONDecoder().decode(Stored.self, from: $0) }
        if content != nil, stored == nil { return "the credentials cannot be read" }
        if stored?.refreshToken == newest.refresh { return nil }
        if newest.isUsed { return "\(newest.refresh) was used and is not on the disk" }
        // The answer to a login was lost: nothing was promised yet.
        if newest.isFromLogin { return nil }
        guard let stored, stored.refreshToken == pairs.dropLast().last?.refresh, stored.refreshInflight else {
            return "\(newest.refresh) is not on the disk, and nothing there says that its answer was lost"
        }
        return nil
    }

    private struct Stored: Decodable {
        let refreshToken: String
        let refreshInflight: Bool
    }
}
