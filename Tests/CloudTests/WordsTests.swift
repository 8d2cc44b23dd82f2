import HTTP
import Testing

@testable import Cloud

/// What people are told of a call that did not work: who, what, when next, what to do.
@Suite struct WordsTests {
    private static func answer(
        _ status: Int, _ body: String?, type: String? = "application/json", retryAfter: Duration? = nil
    ) -> RefusedAnswer {
        RefusedAnswer(
            host: "api.example.org", status: status, type: type, retryAfter: retryAfter,
            envelope: body.flatMap { Envelope(Array($0.utf8)) })
    }

    @Test(
        arguments: [
            (
                answer(429, #"{"code":429,"message":"slow\u001b[31m down"}"#, retryAfter: .seconds(7200)),
                "api.example.org answered 429: “slow [31m down”, to be asked again in 2 h",
                "the service asks for patience: try again later"
            ),
            (
                answer(503, #"{"code":503,"message":"maintenance"}"#, retryAfter: .seconds(90)),
                "api.example.org answered 503: “maintenance”, to be asked again in 90 s",
                "the service has trouble of its own: try again later"
            ),
            (
                answer(418, #"{"code":418,"message":""}"#), "api.example.org answered 418 without a reason",
                "the service does not take this; an update of celestiad may help"
            ),
            (
                answer(502, nil, type: "text/html"),
                "api.example.org answered 502 with a body of type text/html that is not the API's",
                "the service has trouble of its own: try again later"
            ),
            (
                answer(302, nil, type: nil), "api.example.org answered 302 with a body that is not the API's",
                "check [Cloud] URL, and whether this network asks for a sign-in of its own"
            ),
            (
                answer(200, #"{"code":9,"message":"no"}"#), "api.example.org answered 200: “no”",
                nil
            ),
        ] as [(RefusedAnswer, String, String?)])
    func answers(_ answer: RefusedAnswer, _ message: String, _ hint: String?) {
        let error = answer.error(.upsertSession, .retry(after: nil))
        #expect(error.message == message)
        #expect(error.hint == hint)
        #expect(error.description == "sending what a session is: \(message)")
    }

    @Test func aHoldHasAHintOfItsOwn() {
        let error = Self.answer(413, nil).error(.uploadAsset, .hold(.gatewayLimit))
        #expect(error.hint == HoldReason.gatewayLimit.hint)
    }

    @Test(
        arguments: [
            (
                .tls, "OpenSSL/3.0.17: error:0A00010B:SSL routines::wrong version number",
                "what answers at h:1 does not speak TLS"
            ),
            (.tls, "alert handshake failure", "no secure connection to h:1 (alert handshake failure)"),
            (.connect, "refused", "no connection to h:1 (refused)"),
            (.emptyReply, "", "h:1 closed the connection without an answer"),
            (
                .bodyTooLarge, "more than 1 MiB",
                "h:1 answered with more than the API ever does (more than 1 MiB)"
            ),
        ] as [(HTTPError.Code, String, String)])
    func failuresBelowHTTP(_ code: HTTPError.Code, _ text: String, _ words: String) {
        #expect(HTTPError(code, text).explanation(host: "h:1") == words)
    }

    /// Only what no operator can mend has none.
    @Test(arguments: HTTPError.Code.allCases) func everyFailureHasAHint(_ code: HTTPError.Code) {
        let ours: [HTTPError.Code] = [.invalidRequest, .source, .sink, .sinkFull, .cancelled, .other]
        #expect((HTTPError(code, "").hint == nil) == ours.contains(code))
        if !ours.contains(code) { #expect(HTTPError(code, "").explanation(host: "h:1").contains("h:1")) }
    }

    @Test(arguments: CallKind.allCases) func everyCallIsSaidInWords(_ call: CallKind) {
        #expect(call.title.contains(" "))
    }
}
