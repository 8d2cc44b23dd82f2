import Control
import Foundation
import Testing

@testable import celestiad

/// What `sync --wait` waits for, what it ends with, and what it says.
@Suite struct SyncOutcomeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Whether it ends at once.
        let isOver: Bool
        let remarks: [String]
        var exitCode = ExitCode.partial
        let change: @Sendable (inout StatusDocument) -> Void

        init(
            _ testDescription: String, isOver: Bool, _ remarks: [String], _ exitCode: ExitCode = .partial,
            change: @escaping @Sendable (inout StatusDocument) -> Void
        ) {
            self.testDescription = testDescription
            self.isOver = isOver
            self.remarks = remarks
            self.exitCode = exitCode
            self.change = change
        }
    }

    private static func health(_ code: String, _ text: String, _ hint: String) -> HealthItem {
        HealthItem(code: code, severity: "error", text: text, hint: hint)
    }

    private static func link(
        _ state: String, _ reason: String? = nil, nextTry: Date? = nil, since: Date = Fixtures.now
    ) -> @Sendable (inout StatusDocument) -> Void {
        {
            $0.recorders[0].lastSync = nil
            $0.recorders[0].link = LinkDocument(
                state: state, reason: reason, since: since, nextTry: nextTry)
        }
    }

    static let cases = [
        Case("nothing is left", isOver: true, [], .success) { _ in },
        Case("a transfer", isOver: false, ["files are on their way"]) { $0.transfers = Fixtures.transfers },
        Case(
            "a recorder that is being synced", isOver: false,
            ["Küche 🎙: not everything on it is in the queue yet (syncing)"]
        ) { $0.recorders[0].lastSync = Fixtures.ago(1) },
        Case(
            "captures that came meanwhile", isOver: false,
            ["Küche 🎙: not everything on it is in the queue yet (syncing)"]
        ) { $0.recorders[0].pendingCaptures = 1 },
        Case(
            "out of reach: it may come back", isOver: false,
            ["Küche 🎙: it is not in reach → keep it near and awake"], change: link("absent")),
        Case(
            "a link that is tried again", isOver: false,
            ["Küche 🎙: the link was lost → it is tried again by itself"],
            change: link("backing_off", "the link was lost", nextTry: Fixtures.later(2))),
        Case(
            "a lost bond that the sync has found", isOver: true,
            ["Küche 🎙: it does not know this hub → celestiad pair --device CR1-0042 --repair"],
            change: link("backing_off", "it does not know this hub")),
        Case(
            "a lost bond of before: the sync tries again", isOver: false,
            ["Küche 🎙: it does not know this hub → celestiad pair --device CR1-0042 --repair"],
            change: link("backing_off", "it does not know this hub", since: Fixtures.ago(1))),
        Case(
            "files that could not be pulled", isOver: true,
            [
                "Küche 🎙: not everything could be pulled: a file was left out → celestiad device CR1-0042 says more"
            ]
        ) {
            $0.recorders[0].lastSync = nil
            $0.recorders[0].incompleteSync = Fixtures.now
        },
        Case(
            "no bluetoothd", isOver: true, ["bluetoothd is not running → systemctl start bluetooth"]
        ) {
            link("absent", "bluetoothd is not running")(&$0)
            $0.health = [
                health("bluetoothd_absent", "bluetoothd is not running", "systemctl start bluetooth")
            ]
        },
        Case(
            "the adapter is off, and nothing is missing", isOver: true, [], .success
        ) { $0.health = [health("adapter_off", "the Bluetooth adapter is off", "bluetoothctl power on")] },
        Case(
            "no space", isOver: true, ["Küche 🎙: the disk is low → free some space"], .diskLow
        ) {
            link("backing_off", "1 MiB does not fit", nextTry: Fixtures.later(60))(&$0)
            $0.health = [health("disk_low", "the disk is low", "free some space")]
        },
        Case("a session that can be sent", isOver: false, ["2 files still to upload: slow"]) {
            $0.queue.pendingAssets = 2
            $0.queue.readySessions = 1
            $0.queue.reason = "slow"
        },
        Case(
            "nobody is logged in", isOver: true, ["2 files still to upload: not logged in → celestiad login"]
        ) {
            $0.account.state = "expired"
            $0.queue.pendingAssets = 2
            $0.queue.readySessions = 1
        },
        Case("a hold that a user ends", isOver: true, ["1 session waits → celestiad session retry 1"]) {
            $0.queue.waits = [wait("rejected", "celestiad session retry 1", needsUser: true)]
        },
        Case("no storage, as the cloud said just now", isOver: true, ["1 session waits → buy"]) {
            $0.queue.waits = [wait("quota", "buy")]
            $0.queue.quotaAskedAt = Fixtures.later(1)
        },
        Case("no storage, but that was yesterday", isOver: false, ["1 session waits → buy"]) {
            $0.queue.waits = [wait("quota", "buy")]
            $0.queue.quotaAskedAt = Fixtures.ago(86_400)
        },
        Case("an attempt in time", isOver: false, ["1 session waits → wait"]) {
            $0.queue.waits = [wait("retry", "wait", until: Fixtures.later(60))]
        },
        Case("an attempt that is made too late", isOver: true, ["1 session waits → wait"]) {
            $0.queue.waits = [wait("retry", "wait", until: Fixtures.later(61))]
        },
        Case(
            "one waits for the user and another one goes on", isOver: false,
            ["1 session waits → decide", "2 files still to upload"]
        ) {
            $0.queue.waits = [wait("conflict", "decide", needsUser: true)]
            $0.queue.pendingAssets = 2
            $0.queue.readySessions = 1
        },
        Case(
            "failed for good", isOver: true,
            ["1 session cannot be uploaded → celestiad sessions --state failed_terminal says why"]
        ) { $0.queue.states = [StateCount(state: "failed_terminal", sessions: 1)] },
        Case(
            "the recorder of a part is gone", isOver: true,
            [
                "1 session is not complete yet → the recorder has the rest; celestiad devices shows what is paired"
            ]
        ) { $0.queue.states = [StateCount(state: "draft", sessions: 1)] },
    ]

    private static func wait(
        _ cause: String, _ hint: String, needsUser: Bool = false, until: Date? = nil
    ) -> WaitDocument {
        WaitDocument(
            cause: cause, sessions: 1, text: "1 session waits", hint: hint, needsUser: needsUser, until: until
        )
    }

    @Test(arguments: cases) func outcome(_ one: Case) {
        var status = Fixtures.status
        status.transfers = []
        status.health = []
        status.recorders[0].lastSync = Fixtures.now
        status.recorders[0].pendingCaptures = 0
        status.queue = QueueDocument()
        one.change(&status)
        let outcome = SyncOutcome(status, start: Fixtures.now, end: Fixtures.later(60))
        #expect(outcome.isOver == one.isOver)
        #expect(outcome.remarks == one.remarks)
        if one.isOver { #expect(outcome.exitCode == one.exitCode) }
    }

    @Test func anotherRecorderDoesNotMatter() {
        var status = Fixtures.status
        status.transfers = []
        status.queue = QueueDocument()
        Self.link("absent")(&status)
        #expect(
            SyncOutcome(status, start: Fixtures.now, end: Fixtures.later(60), recorder: "CR1-0043").isOver)
        #expect(
            !SyncOutcome(status, start: Fixtures.now, end: Fixtures.later(60), recorder: "CR1-0042").isOver)
    }

    @Test func whatWasDoneIsSaid() {
        var before = Fixtures.status
        before.queue.states = [StateCount(state: "imported", sessions: 12)]
        var after = before
        #expect(SyncFollow.summary(from: before, to: after) == "nothing to do: all is in the cloud already")
        after.queue.states = [StateCount(state: "imported", sessions: 14)]
        #expect(SyncFollow.summary(from: before, to: after) == "all is in the cloud: 2 new sessions")
        after = before
        after.recorders = []
        #expect(
            SyncFollow.summary(from: before, to: after)
                == "nothing to do: no recorder is paired → celestiad pair")
    }
}
