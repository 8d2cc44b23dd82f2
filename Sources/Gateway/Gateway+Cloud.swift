package import Cloud
import Dates
package import FoundationEssentials
package import HTTP

/// What users ask of the cloud itself.
extension Gateway {
    /// What the cloud answers now.
    package struct CloudReport: Sendable {
        /// nil: it is well.
        package var trouble: CloudError?
        package var roundTrip: Duration?
        /// The server's time when it answered.
        package var serverTime: Date?
        /// nil when it could not be asked for.
        package var quota: StorageQuota?
    }

    /// Asks the cloud for its health, and for the quota where there is a login.
    package nonisolated func cloudReport() async -> CloudReport {
        var report = CloudReport()
        let began = ContinuousClock.now
        do throws(CloudError) {
            try await api.health()
            report.roundTrip = began.duration(to: .now)
        } catch {
            report.trouble = error
        }
        guard report.trouble == nil else { return report }
        report.serverTime = api.clock.now.map { Date(timeIntervalSince1970: Double($0.secondsSince1970)) }
        guard case .valid = try? await api.tokens.state() else { return report }
        do throws(CloudError) {
            report.quota = try await api.quota()
        } catch {
            // A login that has ended is no fault of the cloud's, and shown as what it is.
            if error.code != .notLoggedIn { report.trouble = error }
        }
        return report
    }

    /// Makes an account and logs in to it; throws `busy` while another is logged in.
    package nonisolated func register(
        username: String, identifier: String, password: Secret
    ) async throws(GatewayError) {
        if case .valid(let login) = try? await api.tokens.state() {
            throw GatewayError(
                .busy, "\(Terminal.printable(login.name)) is logged in",
                hint: "Log out first: celestiad logout")
        }
        _ = try await asking { () async throws(CloudError) in
            try await api.register(username: username, identifier: identifier, password: password)
        }
        log.notice("made an account at \(api.base) and logged in to it", .loggedIn)
    }

    package nonisolated func profile() async throws(GatewayError) -> CloudUser {
        try await asking { () async throws(CloudError) in try await api.profile() }
    }

    package nonisolated func editProfile(_ update: ProfileUpdate) async throws(GatewayError) -> CloudUser {
        let user = try await asking { () async throws(CloudError) in try await api.updateProfile(update) }
        board.announce(.account)
        return user
    }

    package nonisolated func changePassword(old: Secret, new: Secret) async throws(GatewayError) {
        try await asking { () async throws(CloudError) in
            try await api.changePassword(old: old, new: new)
        }
        log.notice("the password of the account was changed")
    }

    /// What the account has of what `isWanted`, with tombstones where asked for.
    package nonisolated func cloudSessions(
        deleted: Bool, where isWanted: @escaping @Sendable (RemoteSession) -> Bool
    ) async throws(GatewayError) -> SessionList {
        try await asking { () async throws(CloudError) in
            try await api.sessions(includeDeleted: deleted, where: isWanted)
        }
    }

    /// The errors of the cloud as the user is told of them.
    nonisolated func asking<Value: Sendable>(
        _ call: () async throws(CloudError) -> Value
    ) async throws(GatewayError) -> Value {
        do throws(CloudError) {
            return try await call()
        } catch {
            throw GatewayError(error)
        }
    }
}
