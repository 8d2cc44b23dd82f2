import Control

/// `celestiad logout`
enum LogoutVerb {
    static let verb = Verb(
        name: "logout", summary: "Log out of the cloud; the queue keeps what it has."
    ) { invocation throws(ControlError) in
        try await invocation.connect().logout()
        invocation.console.note(
            "logged out; captures stay in the queue, and go to the account that logs in next")
        return .success
    }
}
