import Control
import Foundation
import Testing

@testable import CaptureQueue
@testable import Gateway
@testable import celestiad

/// Whatever keeps a session from the cloud is said, with a command that exists.
@Suite struct HealthTests {
    private static let id = SessionID("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed")!
    private static let host = "https://api.example.test/v1"

    private func items(
        _ tallies: [WaitTally], counts: QueueCounts = counts()
    ) -> [HealthItem] {
        Health.items(
            account: Fixtures.account, adapterTrouble: nil,
            recorders: [],
            counts: counts, waits: tallies.map { WaitDocument($0, host: Self.host) },
            uploads: UploadStatus(active: []), disk: nil, now: Fixtures.now)
    }

    private static func counts(_ sessions: [SessionState: Int] = [:]) -> QueueCounts {
        QueueCounts(
            sessions: sessions, wantedBytes: 0, storedBytes: 0, unsentBytes: 0, unsentFiles: 0, ambiguous: 0)
    }

    @Test(arguments: HoldReason.allCases) func everyHoldIsSaid(_ reason: HoldReason) throws {
        let one = WaitTally(.hold(reason), sessions: 1, first: Self.id, detail: "it was so\u{1B}[2J")
        let item = try #require(items([one]).first)
        #expect(item.code == "sessions_wait_\(reason.rawValue)")
        #expect(item.severity == (reason == .paused ? "info" : "warning"))
        #expect(item.text.hasPrefix("1 session waits ("))
        #expect(item.text.hasSuffix(": it was so\u{FFFD}[2J"))
        let hint = try #require(item.hint)
        #expect(!hint.contains("ID"), "one session is called by its own id")
        let two = WaitTally(.hold(reason), sessions: 2, first: Self.id)
        #expect(items([two]).first?.text.hasPrefix("2 sessions wait (") == true)
        #expect(items([two]).first?.hint?.contains("celestiad sessions") == true)
    }

    @Test(arguments: [(600, "info"), (601, "warning"), (7200, "warning")])
    func anAttemptThatIsFarAwayIsSaid(_ seconds: Int, _ severity: String) {
        let tally = WaitTally(
            .retry, sessions: 2, first: Self.id, detail: "the server answered 429",
            until: Fixtures.later(seconds))
        #expect(
            items([tally]) == [
                HealthItem(
                    code: "sessions_wait_retry", severity: severity,
                    text: "2 sessions wait for another attempt: the server answered 429",
                    hint: "it is made by itself; celestiad sync makes it now")
            ])
    }

    @Test func sessionsForAnotherHostAreSaid() {
        let tally = WaitTally(.otherHost, sessions: 1, first: Self.id, detail: "https://old.example.test")
        #expect(
            items([tally]).first?.text
                == "1 session is for https://old.example.test, but this hub is set up for \(Self.host)")
    }

    @Test func theQueueGivesTheReason() {
        let tally = WaitTally(.hold(.conflict), sessions: 1, first: Self.id, detail: "other bytes")
        let document = QueueDocument(
            Self.counts(), QueueWaits([tally], ready: 3), host: Self.host, oldest: nil, nextTry: nil,
            holds: [], uploads: UploadStatus(active: []))
        #expect(document.reason == "1 session waits (conflict): other bytes")
        #expect(document.readySessions == 3)
        #expect(document.waits?.map(\.needsUser) == [true])
    }

    /// Files come and go without a broker: a warning, with what to do.
    @Test(arguments: [
        (BrokerTrouble.Kind.libraryAbsent, "mqtt_library_absent", "sudo apt-get install libmosquitto1"),
        (.settings, "mqtt_settings", "sudo systemctl reload celestiad"),
        (.unreachable, "mqtt_unreachable", "it is tried again by itself"),
        (.refused, "mqtt_refused", "[MQTT] Username and PasswordFile"),
    ]) func aBrokerThatIsNotToldIsSaid(_ kind: BrokerTrouble.Kind, _ code: String, _ hint: String) throws {
        let board = Board(now: { Fixtures.now })
        board.note(kind, of: "ha.local:1883", "it was so\u{1B}[2J")
        let items = Health.items(
            account: Fixtures.account, adapterTrouble: nil, recorders: [],
            counts: Self.counts(), uploads: UploadStatus(active: []), disk: nil, broker: board.brokerTrouble,
            now: Fixtures.now)
        let item = try #require(items.first)
        #expect(items.count == 1 && item.code == code && item.severity == "warning")
        #expect(item.text.hasPrefix("Home Assistant is told nothing: ") && !item.text.contains("\u{1B}"))
        #expect(item.hint?.contains(hint) == true)
        #expect(item.since == Fixtures.now)
        board.clearBrokerTrouble()
        #expect(board.brokerTrouble == nil)
    }
}
