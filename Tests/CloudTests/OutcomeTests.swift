import HTTP
import Testing

@testable import Cloud

/// The whole matrix: every kind of call against every failure, status, envelope and body.
@Suite struct OutcomeTests {
    typealias Case = (call: CallKind, status: Int, body: CallResult.Body, outcome: Outcome)

    private static let json = CallResult.Body.envelope(code: 0, isUsable: false)
    private static let good = CallResult.Body.envelope(code: 0, isUsable: true)

    private static func of(
        _ call: CallKind, _ status: Int, _ body: CallResult.Body,
        _ authorization: CallResult.Authorization = .current
    ) -> Outcome {
        Outcome.of(CallResult(call: call, status: status, body: body, authorization: authorization))
    }

    private static let unrepeatable: Set<CallKind> = [
        .register, .refresh, .changePassword, .upsertSession, .uploadAsset, .initUpload, .completeUpload,
    ]

    // MARK: No answer

    /// One row per failure: before anything was sent, and after; `nil` means by whether the call may be repeated.
    @Test(arguments: HTTPError.Code.allCases)
    func aFailureBelowHTTPLeadsWhereItMust(code: HTTPError.Code) {
        let fixed: [HTTPError.Code: Outcome] = [
            .tlsNotYetValid: .hold(.clockUnsynced), .tlsUntrusted: .hold(.tlsUntrusted),
            .invalidRequest: .terminal(.invalidCall), .source: .terminal(.localFile),
        ]
        for call in CallKind.allCases {
            let unsent = Outcome.of(CallResult(call: call, transport: HTTPFailure(code, requestSent: false)))
            let sent = Outcome.of(CallResult(call: call, transport: HTTPFailure(code, requestSent: true)))
            if let outcome = fixed[code] {
                #expect(unsent == outcome && sent == outcome)
                continue
            }
            let mayRepeat = !Self.unrepeatable.contains(call)
            if code == .notHTTP {
                #expect(unsent == .hold(.hostNotCelestia))
                #expect(sent == (mayRepeat ? .hold(.hostNotCelestia) : .ambiguous(after: nil)))
            } else {
                #expect(unsent == .retry(after: nil))
                #expect(sent == (mayRepeat ? .retry(after: nil) : .ambiguous(after: nil)), "\(call) \(code)")
            }
        }
    }

    // MARK: Success

    @Test(arguments: CallKind.allCases)
    func successNeedsAUsableEnvelope(call: CallKind) {
        let unknown: Outcome = Self.unrepeatable.contains(call) ? .ambiguous(after: nil) : .retry(after: nil)
        let isDownload = call == .downloadAsset
        for status in [200, 201, 299] {
            #expect(Self.of(call, status, Self.good) == (isDownload ? .retry(after: nil) : .success))
            #expect(Self.of(call, status, Self.json) == unknown)
            // C-3: a captive portal's page.
            #expect(Self.of(call, status, .foreign) == .hold(.hostNotCelestia))
            #expect(Self.of(call, status, .content) == (isDownload ? .success : .hold(.hostNotCelestia)))
        }
        for code: Int64 in [200, 204, 299] {
            let outcome = Self.of(call, 200, .envelope(code: code, isUsable: true))
            #expect(outcome == (isDownload ? .retry(after: nil) : .success), "C-1")
        }
    }

    @Test(arguments: CallKind.allCases)
    func anEnvelopesOwnErrorCountsUnderA2xx(call: CallKind) {
        for status in [400, 401, 403, 404, 409, 410, 413, 429, 500, 503] {
            let inner = Self.of(call, 200, .envelope(code: Int64(status), isUsable: true))
            #expect(inner == Self.of(call, status, .envelope(code: Int64(status), isUsable: false)))
        }
        for code: Int64 in [-1, 1, 10_001] {
            #expect(Self.of(call, 200, .envelope(code: code, isUsable: true)) != .success)
        }
    }

    @Test(arguments: CallKind.allCases)
    func anHTTPErrorWithCodeZeroIsStillAnError(call: CallKind) {
        for status in [400, 403, 409, 410, 429, 500] {
            guard !(call == .unbindDevice && status == 410) else { continue }
            #expect(Self.of(call, status, Self.good) != .success, "\(call) \(status)")
        }
    }

    @Test func anEmptyAnswerIsSuccessOnlyWhereNothingIsNeeded() {
        for call in [CallKind.logout, .changePassword, .unbindDevice, .triggerSync] {
            #expect(Self.of(call, 204, .empty) == .success)
        }
        #expect(Self.of(.quota, 204, .empty) == .retry(after: nil))
        #expect(Self.of(.refresh, 200, .empty) == .ambiguous(after: nil))
        #expect(Self.of(.downloadAsset, 200, .empty) == .success)
    }

    // MARK: Statuses that mean the same for all

    @Test(arguments: CallKind.allCases)
    func temporaryRefusalsAreRetriedWithTheServersWish(call: CallKind) {
        for status in [408, 421, 423, 425, 429, 503] {
            for body in [Self.json, .foreign, .empty] {
                let result = CallResult(call: call, status: status, body: body, retryAfter: .seconds(9))
                #expect(Outcome.of(result) == .retry(after: .seconds(9)))
            }
        }
        for status in [500, 502, 504, 507, 599] {
            let outcome = Self.of(call, status, .foreign)
            #expect(
                outcome == (Self.unrepeatable.contains(call) ? .ambiguous(after: nil) : .retry(after: nil)))
        }
    }

    @Test(arguments: CallKind.allCases)
    func redirectsAndStrangersHold(call: CallKind) {
        for status in 300...308 { #expect(Self.of(call, status, .foreign) == .hold(.redirected)) }
        for status in [0, 101, 600, 999] {
            #expect(Self.of(call, status, .foreign) == .hold(.hostNotCelestia))
        }
        for status in [407, 511] { #expect(Self.of(call, status, .foreign) == .hold(.hostNotCelestia)) }
        // A gateway's own page never speaks for the API.
        for status in [400, 404, 405, 409, 410, 415, 422] {
            #expect(Self.of(call, status, .foreign) == .hold(.hostNotCelestia), "\(call) \(status)")
            #expect(Self.of(call, status, .empty) == .hold(.hostNotCelestia), "\(call) \(status)")
        }
        #expect(Self.of(call, 403, .foreign) == .hold(.forbidden), "C-5: not a reason to refresh")
    }

    // MARK: 401

    @Test(arguments: CallKind.allCases)
    func unauthorizedRefreshesOnceThenRetriesThenHolds(call: CallKind) {
        for body in [Self.json, .foreign, .empty] {
            let outcomes = [CallResult.Authorization.current, .refreshed, .revoked].map {
                Self.of(call, 401, body, $0)
            }
            switch call {
            case .login: #expect(outcomes.allSatisfy { $0 == .terminal(.credentialsRejected) }, "C-24")
            case .register, .health: #expect(outcomes.allSatisfy { $0 == .terminal(.rejected) })
            case .refresh: #expect(outcomes.allSatisfy { $0 == .hold(.authRequired) }, "C-18")
            case .changePassword:
                #expect(outcomes == [.reauth, .terminal(.credentialsRejected), .hold(.authRequired)])
            default: #expect(outcomes == [.reauth, .retry(after: nil), .hold(.authRequired)], "C-20")
            }
        }
    }

    @Test func aRefreshTokenThatIsRefusedInAnyWordsNeedsALogin() {
        for status in [400, 403, 404, 410, 422] {
            #expect(Self.of(.refresh, status, Self.json) == .hold(.authRequired))
        }
    }

    // MARK: 413

    @Test(arguments: CallKind.allCases)
    func quotaAndGatewayLimitAreToldApart(call: CallKind) {
        let quota = CallResult(
            call: call, status: 413, body: Self.json, requiredBytes: 100, remainingBytes: -5)
        #expect(Outcome.of(quota) == .hold(.quota(required: 100, remaining: -5)), "C-75")
        #expect(Self.of(call, 413, .foreign) == .hold(.gatewayLimit), "C-4")
        #expect(Self.of(call, 413, .empty) == .hold(.gatewayLimit), "C-4")
        let bare = Self.of(call, 413, Self.json)
        let isQuota = [.uploadAsset, .initUpload, .completeUpload].contains(call)
        #expect(bare == .hold(isQuota ? .quota(required: nil, remaining: nil) : .gatewayLimit))
    }

    // MARK: 404, 409, 410, 400

    /// What each call makes of the API's own 404, 409, 410 and 400.
    @Test(arguments: [
        (
            CallKind.health, Outcome.hold(.hostNotCelestia), Outcome.retry(after: nil),
            Outcome.hold(.hostNotCelestia), Outcome.terminal(.rejected)
        ),
        (
            .register, .hold(.hostNotCelestia), .terminal(.alreadyExists), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (.login, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia), .terminal(.rejected)),
        (.refresh, .hold(.authRequired), .retry(after: nil), .hold(.authRequired), .hold(.authRequired)),
        (.logout, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia), .terminal(.rejected)),
        (
            .getProfile, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (
            .updateProfile, .hold(.hostNotCelestia), .terminal(.alreadyExists), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (
            .changePassword, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (
            .bindDevice, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (.updateDevice, .reinit, .retry(after: nil), .reinit, .terminal(.rejected)),
        (.unbindDevice, .success, .retry(after: nil), .success, .terminal(.rejected)),
        (
            .listSessions, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (
            .upsertSession, .hold(.hostNotCelestia), .conflict(serverRevision: 12), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
        (.uploadAsset, .reinit, .conflict(serverRevision: 12), .reinit, .terminal(.rejected)),
        (.initUpload, .reinit, .conflict(serverRevision: 12), .reinit, .terminal(.rejected)),
        (.uploadChunk, .reinit, .retry(after: nil), .reinit, .reinit),
        (.completeUpload, .reinit, .ambiguous(after: nil), .reinit, .reinit),
        (.downloadAsset, .terminal(.gone), .retry(after: nil), .terminal(.gone), .terminal(.rejected)),
        (.quota, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia), .terminal(.rejected)),
        (
            .triggerSync, .hold(.hostNotCelestia), .retry(after: nil), .hold(.hostNotCelestia),
            .terminal(.rejected)
        ),
    ])
    func theAPIsOwnRefusalsMeanWhatTheCallMakesOfThem(
        call: CallKind, notFound: Outcome, conflict: Outcome, expired: Outcome, bad: Outcome
    ) {
        #expect(Self.of(call, 404, Self.json) == notFound)
        let clash = CallResult(call: call, status: 409, body: Self.json, serverRevision: 12)
        #expect(Outcome.of(clash) == conflict)
        #expect(Self.of(call, 410, Self.json) == expired)
        #expect(Self.of(call, 400, Self.json) == bad)
        #expect(Self.of(call, 422, Self.json) == bad)
    }

    /// F-19: what must never end a recording.
    @Test(arguments: [
        CallKind.upsertSession, .uploadAsset, .initUpload, .uploadChunk, .completeUpload, .quota,
    ])
    func nothingTheNetworkOrTheServersStateDoesIsTerminal(call: CallKind) {
        let statuses = [401, 403, 404, 408, 409, 410, 413, 423, 425, 429] + Array(500...599)
        for status in statuses {
            for body in [Self.json, .foreign, .empty] {
                for authorization in [CallResult.Authorization.current, .refreshed, .revoked] {
                    if case .terminal = Self.of(call, status, body, authorization) {
                        Issue.record("\(call) \(status) \(body) is terminal")
                    }
                }
            }
        }
        for code in HTTPError.Code.allCases where code != .source && code != .invalidRequest {
            for isSent in [true, false] {
                let outcome = Outcome.of(
                    CallResult(call: call, transport: HTTPFailure(code, requestSent: isSent)))
                if case .terminal = outcome { Issue.record("\(call) \(code) is terminal") }
            }
        }
    }
}
