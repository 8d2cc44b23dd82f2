import Control

/// `celestiad logout`
enum LogoutVerb {
    static let verb = Verb(
        name: "logout", summary: "Log out of the cloud; the queue keeps what it has."
    ) { invocation throws(ControlError) in
        try await invocation.connect().logout()
        invocation.console.note(
            "logged out; what is queued stays this account's, and waits until somebody logs in to it again")
        return .success
    }
}
