import HTTP

/// Adds the token to calls, and when one is refused, refreshes once and replays exactly that one (C-19…C-21).
struct AuthorizedClient: Sendable {
    let runner: CallRunner
    let tokens: TokenStore
    /// Whose the calls are; nil: whoever is logged in.
    let account: String?
    /// Whether the calls end the login.
    var leaves = false

    func run<Value: Sendable>(_ call: Call<Value>) async throws(CloudError) -> Value {
        let token = try own(try await tokens.token())
        do throws(CloudError) {
            let value = try await runner.run(call, token: token.secret)
            await tokens.accepted(generation: token.generation)
            return value
        } catch {
            guard error.outcome == .reauth else { throw error }
        }
        let fresh = try own(try await tokens.refresh(of: token.generation, toLeave: leaves))
        do throws(CloudError) {
            let value = try await runner.run(call, token: fresh.secret, authorization: .refreshed)
            await tokens.accepted(generation: fresh.generation)
            return value
        } catch {
            guard error.isUnauthorized, !error.isPermanent else { throw error }
            let isOut = await tokens.refusedAfterRefresh(generation: fresh.generation)
            throw isOut ? error.held : error
        }
    }

    private func own(_ token: AccessToken) throws(CloudError) -> AccessToken {
        guard account == nil || token.account == account else {
            throw CloudError(
                .notLoggedIn, "another account is logged in", outcome: .retry(after: nil),
                hint: "log in to the account that it is for")
        }
        return token
    }
}

extension CloudError {
    /// A 401, as status or as the envelope's code.
    fileprivate var isUnauthorized: Bool {
        status == 401 || (envelopeCode == 401 && (200...299).contains(status ?? 0))
    }

    /// The same with the outcome that two refused requests lead to.
    fileprivate var held: CloudError {
        guard let call else { return self }
        return CloudError(
            .notLoggedIn, message,
            outcome: .of(CallResult(call: call, status: 401, authorization: .revoked)), call: call,
            hint: HoldReason.authRequired.hint, status: status, envelopeCode: envelopeCode)
    }
}
