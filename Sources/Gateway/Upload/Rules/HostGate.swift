package import Cloud

/// Whether anything may be sent to the host: shut by what concerns every session alike, opened by a probe. Pure.
///
/// A breaker as well: several attempts in a row that fail without one success between them shut it too.
package struct HostGate: Sendable, Equatable {
    /// Why nothing is sent.
    package enum Reason: String, Sendable, CaseIterable {
        /// Somebody must log in.
        case authRequired = "auth_required"
        /// The hub's clock is wrong, so no certificate is valid.
        case clockUnsynced = "clock_unsynced"
        /// What answers is not the API.
        case hostNotCelestia = "host_not_celestia"
        case redirected
        case tlsUntrusted = "tls_untrusted"
        /// No connection, or nothing but errors.
        case unreachable

        /// What ends it, for people.
        package var hint: String {
            switch self {
            case .authRequired: Cloud.HoldReason.authRequired.hint
            case .clockUnsynced: Cloud.HoldReason.clockUnsynced.hint
            case .hostNotCelestia: Cloud.HoldReason.hostNotCelestia.hint
            case .redirected: Cloud.HoldReason.redirected.hint
            case .tlsUntrusted: Cloud.HoldReason.tlsUntrusted.hint
            case .unreachable: "check the network; uploads go on by themselves when the cloud answers again"
            }
        }

        /// Whether another network, or one at all, may end it: a portal answers in the cloud's place, too.
        package var mayBeTheNetwork: Bool {
            switch self {
            case .authRequired: false
            case .clockUnsynced, .hostNotCelestia, .redirected, .tlsUntrusted, .unreachable: true
            }
        }

        /// The probe that shows it to be over needs a login.
        package var isProbedWithToken: Bool { self == .authRequired }
    }

    /// So many attempts in a row without any success are the host's fault.
    package static let patience = 4

    /// nil while it is open.
    package private(set) var reason: Reason?
    /// What happened, for people.
    package private(set) var message = ""
    /// When the next probe is due while it is shut.
    package private(set) var nextProbe: ContinuousClock.Instant?
    /// Shuts since the last success.
    private var shuts = 0
    private var failures = 0

    package init() {}

    package var isOpen: Bool { reason == nil }

    /// Shuts it; each time in a row for longer, and for as long as the server wished.
    package mutating func shut(
        _ reason: Reason, _ message: String, after wish: Duration? = nil, at now: ContinuousClock.Instant,
        _ policy: RetryPolicy,
        using generator: inout some RandomNumberGenerator
    ) {
        shuts = min(shuts + 1, 1_000_000)
        self.reason = reason
        self.message = message
        nextProbe = now.advanced(by: policy.delay(failures: shuts, retryAfter: wish, using: &generator))
    }

    /// One attempt failed by itself; `sawSuccess`: some call had succeeded since the last failure.
    package mutating func failed(
        _ message: String, after wish: Duration? = nil, sawSuccess: Bool, at now: ContinuousClock.Instant,
        _ policy: RetryPolicy,
        using generator: inout some RandomNumberGenerator
    ) {
        failures = sawSuccess ? 1 : failures + 1
        guard isOpen, failures >= Self.patience else { return }
        failures = 0
        shut(
            .unreachable, "several attempts in a row failed, the last one: \(message)", after: wish, at: now,
            policy, using: &generator)
    }

    /// Calls succeed: nothing is the host's fault.
    package mutating func succeeded() {
        shuts = 0
        failures = 0
    }

    /// The probe found nothing wrong. The count of shuts stays until a real call succeeds.
    package mutating func open() {
        reason = nil
        message = ""
        nextProbe = nil
    }

    /// There is a reason to look at once: a login, the network's return, the user.
    package mutating func hurry(at now: ContinuousClock.Instant) {
        if reason != nil { nextProbe = now }
    }
}
