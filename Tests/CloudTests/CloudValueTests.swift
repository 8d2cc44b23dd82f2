import Dates
import HTTP
import Testing

@testable import Cloud

@Suite struct CloudValueTests {
    // MARK: Address

    @Test(arguments: [
        ("https://api.ccdw.life/celestia-trace/v1", "https://api.ccdw.life/celestia-trace/v1/sessions"),
        ("https://api.ccdw.life/celestia-trace/v1///", "https://api.ccdw.life/celestia-trace/v1/sessions"),
        ("https://api.ccdw.life", "https://api.ccdw.life/sessions"),
        ("http://127.0.0.1:8005/v1", "http://127.0.0.1:8005/v1/sessions"),
    ])
    func endpointsAreJoinedToTheWholeBasePath(base: String, url: String) throws {
        #expect(try APIBase(base).url(["sessions"]).description == url)
    }

    @Test(arguments: [
        "http://api.ccdw.life/v1", "https://u@h/v1", "https://h/v1?x=1", "https://h/v1#f", "https://h/../v1",
        "h/v1", "",
    ])
    func otherAddressesAreRefused(text: String) {
        #expect(throws: CloudError.self) { _ = try APIBase(text) }
    }

    @Test(arguments: [
        ("a/../b", "a%2F..%2Fb"), ("..", "%2E%2E"), (".", "%2E"), ("A?b#c%", "A%3Fb%23c%25"), ("ä", "%C3%A4"),
        ("3f2c-4.5_6~7", "3f2c-4.5_6~7"),
    ])
    func anIdStaysOneSegment(id: String, encoded: String) throws {
        #expect(try APIBase("https://h/v1").url(["x", id]).target == "/v1/x/\(encoded)")
    }

    @Test(arguments: ["", String(repeating: "x", count: 201)])
    func anUnusableIdIsRefused(id: String) throws {
        let base = try APIBase("https://h/v1")
        #expect(throws: CloudError.self) { _ = try base.url(["x", id]) }
    }

    // MARK: Names

    @Test(arguments: [
        ("memo.m4a", "memo.m4a"), ("a\"b\\c/d.wav", "a_b_c_d.wav"), ("..", "file"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("", "file"), (".hidden", "hidden"), ("a\r\nb\u{0}c", "a__b_c"), ("Grüße.jpg", "Grüße.jpg"),
        ("evil\u{202E}gpj.exe", "evilgpj.exe"),
    ])
    func namesAreMadeSafeForTheWire(name: String, expected: String) {
        #expect(WireName.sanitize(name) == expected)
    }

    @Test func longNamesAreCutBetweenScalarsAndKeepTheirExtension() {
        let name = WireName.sanitize(String(repeating: "🎙", count: 120) + ".m4a")
        #expect(name.utf8.count <= 200)
        #expect(name.hasSuffix("🎙.m4a"))
        #expect(!name.contains("\u{FFFD}"))
    }

    // MARK: Chunks

    @Test(arguments: [
        (Int64(16 << 20), Int64(8 << 20), 2, Int64(8 << 20)), (43_400_000, 8 << 20, 6, 1_456_960),
        (1, 8 << 20, 1, 1),
        (10, 3, 4, 1),
    ])
    func aPlanCoversTheFileExactly(size: Int64, chunk: Int64, count: Int, last: Int64) throws {
        let plan = try ChunkPlan(fileSize: size, chunkSize: chunk, totalChunks: Int64(count))
        #expect(plan.range(of: count - 1)?.length == last)
        #expect((0..<count).reduce(0) { $0 + (plan.range(of: $1)?.length ?? 0) } == size)
        #expect(plan.range(of: count) == nil && plan.range(of: -1) == nil)
    }

    @Test(arguments: [
        (Int64(0), Int64(1), Int64(0)), (10, 0, 1), (10, -3, 4), (10, 3, 3), (10, 3, 5), (10, 10, 2),
        (.max, 1, .max), (.max, .max, 2),
    ])
    func aPlanThatDoesNotFitIsRefused(size: Int64, chunk: Int64, count: Int64) {
        #expect(throws: CloudError.self) {
            _ = try ChunkPlan(fileSize: size, chunkSize: chunk, totalChunks: count)
        }
    }

    @Test func chunkSizesStepDownToAnEnd() {
        var sizes = [Int64(8 << 20)]
        while let next = ChunkPlan.sizeBelow(sizes[sizes.count - 1]) { sizes.append(next) }
        #expect(sizes == [8_388_608, 4_194_304, 2_097_152, 1_048_576, 524_288])
    }

    // MARK: Retry

    /// SplitMix64: the same draws in every run.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64 = 42

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    private func delays(failures: Int, retryAfter: Duration? = nil) -> [Duration] {
        var generator = Seeded()
        return (0..<500).map { _ in
            RetryPolicy().delay(failures: failures, retryAfter: retryAfter, using: &generator)
        }.sorted()
    }

    @Test(arguments: [(1, 2.0), (2, 4), (3, 8), (9, 512), (10, 900), (11, 900), (1_000_000, 900)])
    func delaysGrowToTheirCapWithFullJitter(failures: Int, ceiling: Double) {
        let delays = delays(failures: failures)
        #expect(delays[0] >= .zero && delays[0] < .seconds(ceiling * 0.05))
        #expect(delays[499] > .seconds(ceiling) && delays[499] <= .seconds(ceiling * 1.2))
    }

    @Test(arguments: [(30, 30), (86_400, 3600), (-5, 0)])
    func theServersWishIsAFloorWithinItsCap(wish: Int, floor: Int) {
        let delays = delays(failures: 1, retryAfter: .seconds(wish))
        #expect(delays[0] >= .seconds(floor))
        #expect(delays[499] <= .seconds(max(2, floor)) * 1.2)
    }

    @Test func progressBeginsTheCountAnew() {
        var generator = SystemRandomNumberGenerator()
        var state = RetryState()
        for _ in 0..<5 { _ = state.failed(RetryPolicy(), using: &generator) }
        #expect(state.failures == 5)
        state.progressed()
        #expect(state.failures == 0)
        let first = state.failed(RetryPolicy(), using: &generator)
        #expect(first <= .seconds(2.4))
    }

    // MARK: Calls

    @Test func theCallsThatMustNotBeRepeatedUnaskedUseFreshConnections() {
        for call in [CallKind.register, .login, .refresh, .initUpload, .completeUpload, .changePassword] {
            #expect(call.needsFreshConnection)
        }
        #expect(!CallKind.uploadChunk.needsFreshConnection)
    }

    @Test func onlyCallsWithAFileHaveALowSpeedRule() {
        for call in CallKind.allCases {
            let hasFile = [.uploadAsset, .uploadChunk, .downloadAsset].contains(call)
            #expect((call.deadlines().lowSpeed != nil) == hasFile)
        }
        #expect(CallKind.completeUpload.deadlines().total == .seconds(900))
        #expect(CallKind.uploadChunk.deadlines(bytes: 8 << 20).total == .seconds(60 + 512))
    }
}
