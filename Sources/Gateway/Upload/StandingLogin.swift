import Cloud
import FoundationEssentials
import HTTP

/// Performs the steps of `StandingLoginMachine`.
actor StandingLogin {
    private let identifier: String
    private let passwordFile: String
    private let api: CelestiaAPI
    private let log: Log
    private let configuration: UploadConfiguration
    private nonisolated let wake = Wakeup()
    private var machine = StandingLoginMachine()
    private var attempts = RetryState()
    private var random = SystemRandomNumberGenerator()

    private static let limit = 4096

    /// nil without a name or a password to log in with.
    init?(
        _ configuration: Configuration, api: CelestiaAPI, log: Log, settings: UploadConfiguration
    ) {
        guard let identifier = configuration.cloudIdentifier else { return nil }
        guard let file = configuration.passwordFile else {
            log.warning(
                "[Cloud] Identifier is set, but there is no systemd credential celestiad.password: log in with celestiad login"
            )
            return nil
        }
        self.identifier = identifier
        passwordFile = file
        self.api = api
        self.log = log
        self.configuration = settings
    }

    /// Works until the task is cancelled.
    func run() async {
        let states = await api.tokens.states()
        await withDiscardingTaskGroup { group in
            group.addTask { for await state in states { await self.note(state) } }
            while !Task.isCancelled {
                guard case .logIn(let time) = machine.next(at: configuration.monotonic()) else {
                    await wake.wait()
                    continue
                }
                let delay = configuration.monotonic().duration(to: time)
                if delay > .zero {
                    let sleep = configuration.sleep
                    _ = await firstOf({ await self.wake.wait() }, { try? await sleep(delay) })
                } else {
                    await attempt()
                }
            }
            group.cancelAll()
        }
    }

    private func note(_ state: TokenState) async {
        machine.handle(state, isOwn: await isOwn())
        wake.raise()
    }

    /// Whether the login that is stored, if any, is the one of the configuration: another one is a user's, and only he
    /// renews it.
    private func isOwn() async -> Bool {
        guard let stored = try? await api.tokens.storedLogin() else { return true }
        let names = [stored.identifier, stored.user?.username, stored.user?.email, stored.user?.phoneNumber]
        return names.contains { $0?.lowercased() == identifier.lowercased() }
    }

    private func attempt() async {
        do throws(CloudError) {
            try await api.logIn(identifier: identifier, password: try password())
            attempts.progressed()
            machine.handle(try await api.tokens.state(), isOwn: true)
            log.notice("logged in to \(api.base) by itself", .loggedIn)
        } catch {
            if error.isPermanent {
                machine.refused()
                log.error("the login by itself is given up: \(GatewayError(error))", .loginFailed)
            } else {
                let delay = attempts.failed(
                    configuration.retry, retryAfter: error.outcome.wish, using: &random)
                machine.failed(backoff: delay, at: configuration.monotonic())
                log.warning("not logged in yet: \(error.message)", .loginFailed)
            }
        }
    }

    /// Read for each attempt, so that it is not in memory all the time.
    private func password() throws(CloudError) -> Secret {
        guard let bytes = try? Data(contentsOf: URL(filePath: passwordFile)), bytes.count <= Self.limit,
            let text = String(data: bytes, encoding: .utf8),
            let line = text.split(whereSeparator: \.isNewline).first
        else {
            throw CloudError(
                .storage, "the credential celestiad.password cannot be read, or holds no password",
                outcome: .terminal(.localFile))
        }
        return Secret(String(line))
    }
}
