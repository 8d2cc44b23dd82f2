import CCurl
import Testing

@testable import HTTP

@Suite struct HTTPValueTests {
    @Test(arguments: [
        ("https://api.example.org/v1?a=b", "https://api.example.org", "/v1?a=b"),
        ("HTTPS://API.Example.org", "https://api.example.org", "/"),
        ("https://api.example.org:443/", "https://api.example.org", "/"),
        ("https://api.example.org:8443?x", "https://api.example.org:8443", "/?x"),
        ("http://localhost:80/", "http://localhost", "/"),
        ("http://127.8.9.10:8005/a", "http://127.8.9.10:8005", "/a"),
        ("http://[::1]:9/a", "http://[::1]:9", "/a"),
        ("https://[2001:db8::1]/", "https://[2001:db8::1]", "/"),
    ])
    func urlsHaveOneSpelling(text: String, origin: String, target: String) throws {
        let url = try HTTPURL(text)
        #expect(url.origin == origin)
        #expect(url.target == target)
    }

    @Test(arguments: [
        "", "api.example.org", "ftp://a/", "file:///etc/passwd", "https://", "https:///x", "https://a:0/",
        "https://a:65536/", "https://a:+1/", "https://a:/", "https://u:p@a/", "https://a/#f", "https://a b/",
        "https://a/\\..", "https://ä.example/", "https://a/\u{0}", "https://[::1/", "https://[::1]x/",
        "https://[example]/", "http://example.org/", "http://127.0.0.1.evil.org/", "http://127.1/",
        "http://127.0.0.256/", "http://localhost.evil.org/", "http://0x7f000001/",
        "http://localhost@evil.org/",
    ])
    func otherTextsAreNoUsableURLs(text: String) {
        #expect(throws: HTTPError.self) { _ = try HTTPURL(text) }
    }

    @Test func aUsersPasswordInAURLIsNotRepeatedInTheError() {
        #expect {
            _ = try HTTPURL("https://user:hunter2@host/")
        } throws: { error in
            !"\(error)".contains("hunter2")
        }
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", Int64(784_111_777)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2028 23:59:60 GMT", 1_835_481_600),
    ])
    func theThreeDateFormsAreRead(text: String, seconds: Int64) {
        #expect(HTTPDate.parse(text) == seconds)
    }

    @Test(arguments: ["", "0", "yesterday", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 31 Feb 2026 00:00:00 GMT"])
    func otherDatesAreNot(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    /// With the values for which CURLINFO_RETRY_AFTER of libcurl 7.88 gives nonsense.
    @Test(arguments: [
        ("0", Duration.seconds(0)), ("120", .seconds(120)), (" 7 ", .seconds(7)), ("3601", .seconds(3600)),
        ("99999999999999999999", .seconds(3600)), ("-5", nil), ("1.5", nil), ("abc", nil), ("", nil),
        ("Sun, 06 Nov 1994 08:50:07 GMT", .seconds(30)), ("Sun, 06 Nov 1994 08:00:00 GMT", .seconds(0)),
        ("Fri, 06 Nov 2093 08:50:07 GMT", .seconds(3600)),
    ])
    func retryAfterIsReadWithinBounds(text: String, expected: Duration?) {
        #expect(RetryAfter.parse(text, serverNow: 784_111_777) == expected)
    }

    @Test func aRetryAfterDateNeedsTheServersClock() {
        #expect(RetryAfter.parse("Sun, 06 Nov 1994 08:50:07 GMT", serverNow: nil) == nil)
    }

    @Test func aSecretIsNeverShown() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in [
            "\(secret)", String(reflecting: secret), "\([secret])", "\(Optional(secret) as Any)", dumped,
        ] {
            #expect(!text.contains("hunter2"))
        }
        var request = HTTPRequest(.get, try! HTTPURL("https://a/"))
        request.bearer = secret
        #expect(!"\(request)".contains("hunter2"))
        #expect(!String(reflecting: request.bearer).contains("hunter2"))
    }

    // MARK: Watchdog

    @Test func theWatchdogSeesSilenceAndTrickleButNotThinking() {
        let start = ContinuousClock.now
        let limits = StallLimits(silence: .seconds(90), floor: 1024, window: .seconds(600))
        func verdicts(_ steps: [(seconds: Int, total: Int64, isWaiting: Bool)]) -> [StallWatchdog.Verdict] {
            var watchdog = StallWatchdog(limits: limits, now: start)
            return steps.map { step in
                watchdog.observe(
                    total: step.total, isWaiting: step.isWaiting, now: start + .seconds(step.seconds))
            }
        }
        #expect(verdicts([(5, 10, false), (94, 10, false), (95, 10, false)]) == [.alive, .alive, .silent])
        #expect(verdicts([(5, 10, true), (500, 10, true), (3000, 10, true)]) == [.alive, .alive, .alive])
        let trickle = stride(from: 60, through: 600, by: 60).map { ($0, Int64($0), false) }
        #expect(verdicts(trickle).last == .trickle)
        let steady = stride(from: 60, through: 1200, by: 60).map { ($0, Int64($0) * 2048, false) }
        #expect(verdicts(steady).allSatisfy { $0 == .alive })
    }

    // MARK: libcurl's failures

    @Test(arguments: [
        (UInt32(6), 0, HTTPError.Code.resolve), (7, 0, .connect), (28, 0, .timeout), (35, 0, .tls),
        (60, 9, .tlsNotYetValid), (60, 10, .tlsUntrusted), (60, 0, .tlsUntrusted), (90, 0, .tlsUntrusted),
        (52, 0, .emptyReply), (55, 0, .send), (56, 0, .receive), (65, 0, .send), (18, 0, .truncated),
        (1, 0, .notHTTP), (8, 0, .notHTTP), (27, 0, .other),
    ])
    func libcurlsFailuresHaveNames(code: UInt32, verdict: Int, expected: HTTPError.Code) {
        #expect(CurlFailure.kind(of: CURLcode(rawValue: code), tlsVerdict: verdict) == expected)
    }
}
