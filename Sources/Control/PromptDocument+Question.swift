extension PromptDocument {
    /// The kinds that this program asks.
    package enum Kind {
        package static let confirm = "confirm"
        package static let passkey = "passkey"
        package static let display = "display"
        package static let justWorks = "just_works"
    }

    init(_ serial: Int, _ question: PairingQuestion) {
        switch question {
        case .confirm(let passkey):
            self.init(serial: serial, kind: Kind.confirm, passkey: Self.digits(passkey))
        case .enterPasskey: self.init(serial: serial, kind: Kind.passkey)
        case .display(let passkey):
            self.init(serial: serial, kind: Kind.display, passkey: Self.digits(passkey))
        case .justWorks: self.init(serial: serial, kind: Kind.justWorks)
        }
    }

    /// A passkey as people see it: six digits.
    package static func digits(_ passkey: UInt32) -> String {
        let digits = String(passkey)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// The passkey that six digits say, nil when they are not.
    package static func passkey(_ digits: String) -> UInt32? {
        guard digits.utf8.count == 6, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return UInt32(digits)
    }
}
