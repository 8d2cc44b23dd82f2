import CaptureQueue
import Cloud
package import HTTP

/// Who is logged in, and what that means to what is queued.
extension Gateway {
    /// Throws `busy` while somebody else is logged in: what is queued for it would silently stop.
    package nonisolated func logIn(identifier: String, password: Secret) async throws(GatewayError) {
        if case .valid(let login) = try? await api.tokens.state() {
            let user = login.user
            let names = [login.identifier, user?.username, user?.email, user?.phoneNumber]
                .compactMap { $0?.lowercased() }
            guard names.contains(identifier.lowercased()) else {
                throw GatewayError(
                    .busy, "\(Terminal.printable(login.name)) is logged in",
                    hint:
                        "Log out first: celestiad logout. What is queued for that account stays its own, and waits until "
                        + "somebody logs in to it again.")
            }
        }
        _ = try await asking { () async throws(CloudError) in
            try await api.logIn(identifier: identifier, password: password)
        }
        await settleAccount()
        log.notice("logged in to \(api.base)", .loggedIn)
    }

    /// Forgets the tokens, whatever the cloud says.
    package nonisolated func logOut() async throws(GatewayError) {
        let login = try? await api.tokens.storedLogin()
        let refusal = try await asking { () async throws(CloudError) in try await api.logOut() }
        // At once: what is recorded from here on is nobody's.
        try? await queue.leaveAccount(host: api.base.description, after: login?.generation ?? 0)
        if let refusal {
            log.warning(
                "the cloud did not take the logout, the tokens are forgotten all the same: \(refusal)")
        }
        log.notice("logged out", .loggedOut)
    }

    /// Tells the queue who is logged in, and reads the recorders that this account wants.
    nonisolated func settleAccount() async {
        guard case .valid(let login) = try? await api.tokens.state() else { return }
        // What refuses it is told where the uploads meet it.
        try? await queue.use(login, host: api.base.description)
        await links.followAccount()
    }
}

extension CaptureQueue {
    func use(_ login: Login, host: String) throws(QueueError) {
        try use(account: login.account, name: login.name, host: host, generation: login.generation)
    }
}
