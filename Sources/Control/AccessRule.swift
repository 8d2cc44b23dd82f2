import Dispatch
import Glibc

/// Who may use the daemon: root, the user it runs as, and the members of one group. Reading and changing are one right,
/// because titles of sessions are as private as their sound.
package struct AccessRule: Sendable {
    private let daemonUser: UInt32
    private let group: String
    private let accounts: any UserAccounts

    /// `daemonUser` is the user that the daemon runs as; `group` the group whose members may use it.
    package init(
        daemonUser: UInt32 = geteuid(), group: String = "celestiad",
        accounts: any UserAccounts = SystemUserAccounts()
    ) {
        self.daemonUser = daemonUser
        self.group = group
        self.accounts = accounts
    }

    /// Throws `notAuthorized`, with a message for the caller, when `user` may not use the daemon.
    func check(_ user: UInt32) throws(ControlError) {
        if user == 0 || user == daemonUser { return }
        let account = accounts.account(of: user)
        let groupID = accounts.groupID(of: group)
        if let account, let groupID, accounts.groups(of: account).contains(groupID) { return }
        let who =
            account.map { "you are \($0.name) (uid \(user))" } ?? "you are uid \(user), which has no name"
        throw ControlError(
            .notAuthorized, "\(who): celestiad is for root and members of group \(group)",
            hint: Self.remedy(account: account?.name, group: groupID == nil ? nil : group))
    }

    /// The same, off the caller's thread: names may come from a server.
    func checkElsewhere(_ user: UInt32) async throws(ControlError) {
        let result: Result<Void, ControlError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(ControlError) in try check(user) })
            }
        }
        try result.get()
    }

    /// One command that works: the right counts from the next call on, without a new login.
    private static func remedy(account: String?, group: String?) -> String {
        guard let account, let group, account.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x27 }) else {
            return "run it as root: sudo celestiad …"
        }
        return "sudo usermod -aG \(group) \(account)"
    }
}

/// The users and groups of the machine.
package protocol UserAccounts: Sendable {
    func account(of user: UInt32) -> UserAccount?
    func groupID(of group: String) -> UInt32?
    /// Every group of the account, the primary one included.
    func groups(of account: UserAccount) -> [UInt32]
}

/// One user of the machine.
package struct UserAccount: Sendable, Hashable {
    package let name: String
    /// The primary group.
    package let group: UInt32

    package init(name: String, group: UInt32) {
        self.name = name
        self.group = group
    }
}

/// What getpwuid(3), getgrnam(3) and getgrouplist(3) say.
package struct SystemUserAccounts: UserAccounts {
    package init() {}

    package func account(of user: UInt32) -> UserAccount? {
        var buffer = [CChar](repeating: 0, count: Self.bufferSize)
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let name = entry.pw_name
        else { return nil }
        return UserAccount(name: String(cString: name), group: entry.pw_gid)
    }

    package func groupID(of group: String) -> UInt32? {
        var buffer = [CChar](repeating: 0, count: Self.bufferSize)
        var entry = Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        guard getgrnam_r(group, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.gr_gid
    }

    package func groups(of account: UserAccount) -> [UInt32] {
        var groups = [gid_t](repeating: 0, count: Self.maximumGroups)
        var count = Int32(groups.count)
        guard getgrouplist(account.name, account.group, &groups, &count) >= 0 else { return [account.group] }
        return Array(groups.prefix(Int(count)))
    }

    private static let bufferSize = 1 << 16
    private static let maximumGroups = 4096
}
