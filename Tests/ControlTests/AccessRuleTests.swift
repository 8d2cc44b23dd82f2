import Glibc
import Testing

@testable import Control

private struct Accounts: UserAccounts {
    var groupExists = true
    func account(of user: UInt32) -> UserAccount? {
        switch user {
        case 1000: UserAccount(name: "ada", group: 100)
        case 1001: UserAccount(name: "bob", group: 100)
        case 1002: UserAccount(name: "eve'; rm", group: 100)
        case 1003: UserAccount(name: "carl", group: 990)
        default: nil
        }
    }
    func groupID(of group: String) -> UInt32? { groupExists && group == "celestiad" ? 990 : nil }
    func groups(of account: UserAccount) -> [UInt32] {
        account.name == "ada" ? [account.group, 990] : [account.group]
    }
}

@Suite struct AccessRuleTests {
    private let rule = AccessRule(daemonUser: 200, accounts: Accounts())

    @Test(arguments: [0, 200, 1000, 1003] as [UInt32])
    func rootTheDaemonAndTheGroupMay(_ user: UInt32) throws {
        try rule.check(user)
    }

    @Test func othersAreToldWhoTheyAreAndWhatToDo() {
        let cases: [(AccessRule, UInt32, String, String)] = [
            (
                rule, 1001, "you are bob (uid 1001): celestiad is for root and members of group celestiad",
                "sudo usermod -aG celestiad bob"
            ),
            (
                rule, 4242,
                "you are uid 4242, which has no name: celestiad is for root and members of group celestiad",
                "run it as root: sudo celestiad …"
            ),
            (
                rule, 1002,
                "you are eve'; rm (uid 1002): celestiad is for root and members of group celestiad",
                "run it as root: sudo celestiad …"
            ),
            (
                AccessRule(daemonUser: 200, accounts: Accounts(groupExists: false)), 1000,
                "you are ada (uid 1000): celestiad is for root and members of group celestiad",
                "run it as root: sudo celestiad …"
            ),
        ]
        for (rule, user, message, hint) in cases {
            #expect(throws: ControlError(.notAuthorized, message, hint: hint)) { try rule.check(user) }
        }
    }

    @Test func theSystemKnowsRoot() {
        let accounts = SystemUserAccounts()
        let root = accounts.account(of: 0)
        #expect(root == UserAccount(name: "root", group: 0))
        #expect(root.map(accounts.groups)?.contains(0) == true)
        #expect(accounts.groupID(of: "root") == 0)
        #expect(accounts.groupID(of: "no-such-group-here") == nil)
        #expect(accounts.account(of: 4_000_000_000) == nil)
    }
}
