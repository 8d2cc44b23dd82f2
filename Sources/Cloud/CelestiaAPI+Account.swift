package import Dates
package import HTTP

extension CelestiaAPI {
    // MARK: Health and login

    /// Whether the API answers and says that it is well. Without a token; for probes, not before each call.
    package func health() async throws(CloudError) {
        try await runner.run(call(.health, try request(.health, .get, ["health"])), token: nil)
    }

    /// The same for who has neither account nor state directory; returns the cloud's time.
    package static func probe(
        _ base: APIBase, transport: any CloudTransport
    ) async throws(CloudError) -> Timestamp? {
        let clock = ServerClock()
        let call = Call<Void>(kind: .health, request: try base.request(.health, .get, ["health"])) { _, _ in
            ()
        }
        try await CallRunner(transport: transport, clock: clock).run(call, token: nil)
        return clock.now
    }

    /// Creates an account and logs in. Throws `invalidArgument` below the contract's minima.
    @discardableResult
    package func register(
        username: String, identifier: String, password: Secret
    ) async throws(CloudError) -> CloudUser? {
        guard username.unicodeScalars.count >= 2 else {
            throw .invalid("the user name needs at least 2 characters", call: .register)
        }
        try check(password)
        let body = ["username": username, "identifier": identifier, "password": password.reveal()]
        let request = try request(.register, .post, ["auth", "register"]).json(body)
        return try await grant(.register, request, identifier: identifier)
    }

    /// Logs in; the tokens are durable when this returns. A wrong password is terminal: never repeat it.
    @discardableResult
    package func logIn(identifier: String, password: Secret) async throws(CloudError) -> CloudUser? {
        let body = ["identifier": identifier, "password": password.reveal()]
        let request = try request(.login, .post, ["auth", "login"]).json(body)
        return try await grant(.login, request, identifier: identifier)
    }

    private func grant(
        _ kind: CallKind, _ request: HTTPRequest, identifier: String
    ) async throws(CloudError) -> CloudUser? {
        let before = await tokens.loginCount
        var grant = try await runner.run(call(kind, request, as: AuthGrant.self), token: nil)
        if Credentials.usableID(of: grant.user) == nil {
            // Whose it is decides what is sent: the profile tells it where the login did not.
            let profile = try self.request(.getProfile, .get, ["user", "profile"])
            let user = try? await runner.run(
                call(.getProfile, profile, as: CloudUser.self), token: grant.token)
            grant = AuthGrant(
                user: user ?? grant.user, token: grant.token, refreshToken: grant.refreshToken,
                expiresAt: grant.expiresAt)
        }
        guard try await tokens.adopt(grant, identifier: identifier, ifStill: before) else {
            // Nobody will use it.
            let logout = try self.request(.logout, .post, ["auth", "logout"])
            _ = try? await runner.run(call(.logout, logout), token: grant.token)
            throw CloudError(
                .superseded, "somebody else logged in, or out, meanwhile", outcome: .retry(after: nil),
                call: kind, hint: "celestiad status says who is logged in")
        }
        return grant.user
    }

    /// Tells the server and forgets the tokens, the latter whatever the server says (C-7). Returns the
    /// server's refusal, if any; throws `storage` when the tokens could not be forgotten.
    @discardableResult
    package func logOut() async throws(CloudError) -> CloudError? {
        var refusal: CloudError?
        let count = await tokens.leave()
        var authorized = authorized
        authorized.leaves = true
        do throws(CloudError) {
            try await authorized.run(call(.logout, try request(.logout, .post, ["auth", "logout"])))
        } catch {
            refusal = error
        }
        try await tokens.logOut(ifStill: count)
        return refusal
    }

    // MARK: Profile

    package func profile() async throws(CloudError) -> CloudUser {
        let request = try request(.getProfile, .get, ["user", "profile"])
        return try await authorized.run(call(.getProfile, request, as: CloudUser.self))
    }

    package func updateProfile(_ update: ProfileUpdate) async throws(CloudError) -> CloudUser {
        let request = try request(.updateProfile, .put, ["user", "profile"]).json(update)
        return try await authorized.run(call(.updateProfile, request, as: CloudUser.self))
    }

    /// A wrong old password is `terminal(.credentialsRejected)`.
    package func changePassword(old: Secret, new: Secret) async throws(CloudError) {
        try check(new)
        let body = ["oldPassword": old.reveal(), "newPassword": new.reveal()]
        let request = try request(.changePassword, .post, ["user", "change-password"]).json(body)
        try await authorized.run(call(.changePassword, request))
    }

    private func check(_ password: Secret) throws(CloudError) {
        guard password.reveal().unicodeScalars.count >= 6 else {
            throw .invalid("the password needs at least 6 characters")
        }
    }

    // MARK: Devices

    /// Binds a recorder, or updates it when the server knows its `peripheralUUID` (C-26). The returned id must
    /// be kept: it is given nowhere else.
    package func bindDevice(_ binding: DeviceBinding) async throws(CloudError) -> CloudDevice {
        let request = try request(.bindDevice, .post, ["devices"]).json(binding)
        return try await authorized.run(call(.bindDevice, request, as: CloudDevice.self))
    }

    /// `reinit` when the server does not know the device any more: bind it again (C-29).
    package func updateDevice(id: String, _ update: DeviceUpdate) async throws(CloudError) -> CloudDevice {
        let request = try request(.updateDevice, .put, ["devices", id]).json(update)
        return try await authorized.run(call(.updateDevice, request, as: CloudDevice.self))
    }

    /// A device that the server does not know counts as unbound.
    package func unbindDevice(id: String) async throws(CloudError) {
        let request = try request(.unbindDevice, .delete, ["devices", id])
        try await authorized.run(call(.unbindDevice, request))
    }

    // MARK: Quota and checkpoint

    package func quota() async throws(CloudError) -> StorageQuota {
        let request = try request(.quota, .get, ["storage", "quota"])
        return try await authorized.run(call(.quota, request, as: StorageQuota.self))
    }

    /// To be called when all metadata and all assets are synced (C-76); repeating is harmless.
    @discardableResult
    package func triggerSync() async throws(CloudError) -> SyncCheckpoint? {
        let request = try request(.triggerSync, .post, ["sync", "trigger"])
        let call = Call<SyncCheckpoint?>(kind: .triggerSync, request: request) { envelope, _ in
            .some(envelope.data(SyncCheckpoint.self))
        }
        return try await authorized.run(call)
    }
}
