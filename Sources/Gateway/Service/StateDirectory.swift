import FoundationEssentials
import Glibc

/// The state directory holds recordings and tokens: it must be this user's own, and nobody else's business. What is
/// wrong with it is said before anything is opened in it.
enum StateDirectory {
    /// What the system says of it, and who we are.
    struct Facts: Equatable {
        var isDirectory = true
        var owner: uid_t = 0
        var mode: mode_t = 0o700
        /// Whether we may read, write and enter it.
        var isUsable = true
        var user: uid_t = 0
    }

    enum Verdict: Equatable {
        case good
        /// Others may look in or write: to be taken from them.
        case open
        /// With what is wrong and what to do.
        case bad(String, hint: String)
    }

    private static let key = "[General] StateDirectory (CELESTIAD_STATE_DIRECTORY) names another directory."

    /// Makes a directory that is there fit for use; one that is not there is made by the queue. Returns whether it was
    /// open to others. Throws `storage`.
    static func prepare(_ path: String) throws(GatewayError) -> Bool {
        guard let facts = facts(of: path) else { return false }
        switch verdict(facts, path, name: name) {
        case .good: return false
        case .bad(let message, let hint): throw GatewayError(.storage, message, hint: hint)
        case .open:
            guard chmod(path, 0o700) == 0 else {
                throw GatewayError(
                    .storage,
                    "the state directory \(path) is open to other users, and that cannot be changed: "
                        + String(cString: strerror(errno)), hint: "sudo chmod 700 \(Terminal.shellWord(path))"
                )
            }
            return true
        }
    }

    /// The rule. `name` says what a user is called.
    static func verdict(_ facts: Facts, _ path: String, name: (uid_t) -> String) -> Verdict {
        guard facts.isDirectory else {
            return .bad(
                "the state directory \(path) is no directory: Not a directory",
                hint: "Move the file away; \(key)")
        }
        let user = name(facts.user)
        guard facts.owner == facts.user else {
            return .bad(
                "the state directory \(path) belongs to \(name(facts.owner)), but celestiad runs as \(user)",
                hint: "Run it as that user, or: sudo chown -R \(user): \(Terminal.shellWord(path)); \(key)")
        }
        guard facts.isUsable else {
            return .bad(
                "celestiad runs as \(user), who may not write in the state directory \(path): Permission denied",
                hint: "sudo chmod 700 \(Terminal.shellWord(path)); \(key)")
        }
        return facts.mode & 0o077 == 0 ? .good : .open
    }

    private static func facts(of path: String) -> Facts? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        return Facts(
            isDirectory: info.st_mode & S_IFMT == S_IFDIR, owner: info.st_uid, mode: info.st_mode & 0o7777,
            isUsable: access(path, R_OK | W_OK | X_OK) == 0, user: geteuid())
    }

    /// The user's name, or the number where there is none.
    private static func name(_ user: uid_t) -> String {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            guard let text = buffer.baseAddress,
                getpwuid_r(user, &record, text, buffer.count, &found) == 0, found != nil,
                let name = record.pw_name
            else { return "user \(user)" }
            return String(cString: name)
        }
    }
}
