import Cloud
import Foundation
import Testing

@testable import CaptureQueue
@testable import Gateway

/// What each failure of a call means for a session, and for what was written down before it.
@Suite struct UploadEndTests {
    private static let table: [(Outcome, unreachable: Bool, UploadEnd.Kind, UploadFailure.IntentFate)] = [
        (.retry(after: nil), false, .retry(after: nil), .withdraw),
        (.retry(after: .seconds(7)), false, .retry(after: .seconds(7)), .withdraw),
        (.retry(after: nil), true, .shut(.unreachable), .withdraw),
        (.ambiguous(after: .seconds(3)), false, .retry(after: .seconds(3)), .doubt),
        (.reauth, false, .retry(after: nil), .withdraw),
        (.reinit, false, .retry(after: nil), .withdraw),
        (.conflict(serverRevision: 4), false, .retry(after: nil), .withdraw),
        (.hold(.quota(required: 9, remaining: 1)), false, .hold(.quota, required: 9), .withdraw),
        (.hold(.authRequired), false, .shut(.authRequired), .withdraw),
        (.hold(.hostNotCelestia), false, .shut(.hostNotCelestia), .doubt),
        (.hold(.redirected), false, .shut(.redirected), .doubt),
        (.hold(.clockUnsynced), false, .shut(.clockUnsynced), .withdraw),
        (.hold(.tlsUntrusted), false, .shut(.tlsUntrusted), .withdraw),
        (.hold(.forbidden), false, .retry(after: .seconds(900)), .withdraw),
        (.hold(.gatewayLimit), false, .retry(after: .seconds(3600)), .withdraw),
        (.terminal(.rejected), false, .hold(.rejected), .withdraw),
        (.terminal(.credentialsRejected), false, .hold(.rejected), .withdraw),
        (.terminal(.alreadyExists), false, .hold(.rejected), .withdraw),
        (.terminal(.gone), false, .hold(.rejected), .withdraw),
        (.terminal(.localFile), false, .hold(.rejected), .withdraw),
        (.terminal(.invalidCall), false, .hold(.rejected), .withdraw),
    ]

    @Test func everyOutcomeHasItsEnd() {
        for (outcome, isUnreachable, kind, fate) in Self.table {
            let failure = UploadFailure(outcome, isUnreachable: isUnreachable)
            #expect(UploadEnd(failure).kind == kind, "\(outcome)")
            #expect(failure.intentFate == fate, "\(outcome)")
        }
    }

    /// F-19: whatever a server or network says, nothing of it ends a session for good.
    @Test func noAnswerIsTerminal() {
        for call in CallKind.allCases {
            for status in [
                200, 204, 301, 400, 401, 403, 404, 408, 409, 410, 413, 422, 423, 425, 429, 500, 502, 503, 504,
            ] {
                for body in [
                    CallResult.Body.empty, .foreign, .envelope(code: Int64(status), isUsable: false),
                ] {
                    let outcome = Outcome.of(CallResult(call: call, status: status, body: body))
                    switch UploadEnd(UploadFailure(outcome)).kind {
                    case .retry, .hold, .shut: break
                    case .done, .stopped, .stored, .broken: Issue.record("\(call) \(status) \(body)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        (QueueError.Code.assetMissing, UploadEnd.Kind.stored), (.assetCorrupt, .stored),
        (.receiptMismatch, .stored),
        (.identityClash, .hold(.conflict)), (.illegalTransition, .stopped), (.notFound, .stopped),
        (.diskFull, .retry(after: .seconds(60))), (.io, .retry(after: .seconds(60))),
        (.storageSuspect, .broken(QueueError(.storageSuspect, "x"))),
        (.corrupt, .broken(QueueError(.corrupt, "x"))),
    ]) func queueErrors(_ code: QueueError.Code, _ kind: UploadEnd.Kind) {
        #expect(UploadEnd(QueueError(code, "x")).kind == kind)
    }

    @Test func theGraverEndDecides() {
        let order: [UploadEnd.Kind] = [
            .done, .retry(after: nil), .hold(.quota), .hold(.rejected), .shut(.unreachable), .stopped,
            .stored,
        ]
        for (index, kind) in order.enumerated() {
            for other in order[index...] {
                #expect(UploadEnd.graver(UploadEnd(kind), UploadEnd(other)).kind == other)
                #expect(UploadEnd.graver(UploadEnd(other), UploadEnd(kind)).kind == other)
            }
        }
    }
}

/// The order of work on a session.
@Suite struct UploadMachineTests {
    private typealias View = UploadMachine.View

    @Test func whatIsStoredDecidesTheStep() {
        let table: [(UploadMachine.View, UploadMachine.Step)] = [
            (View(isInDoubt: true, isSynced: true), .reconcile),
            (View(), .upsert),
            (View(isBaseStale: true, hasPending: true), .reconcile),
            (View(isSynced: true, isBaseStale: true, hasPending: true), .quota),
            (View(isSynced: true, hasPending: true), .quota),
            (View(isSynced: true), .confirm),
            (View(isSynced: true, isBaseStale: true), .confirm),
        ]
        for (view, step) in table {
            var machine = UploadMachine()
            #expect(machine.handle(.stored(view)) == step, "\(view)")
        }
    }

    @Test func quotaOnceThenTheFiles() {
        var machine = UploadMachine()
        let view = View(isSynced: true, hasPending: true)
        #expect(machine.handle(.stored(view)) == .quota)
        #expect(machine.handle(.quotaKnown(view)) == .assets)
        #expect(machine.handle(.sent(.done, View(isSynced: true))) == .confirm)
        #expect(machine.handle(.sent(.done, View())) == .upsert)
        #expect(machine.handle(.sent(.hold(.quota, required: 5), view)) == .end(.hold(.quota, required: 5)))
    }

    /// C-32: bounded rounds, then the user.
    @Test func conflictsAreReconciledFiveTimes() {
        var machine = UploadMachine()
        for _ in 0..<UploadMachine.maximumRounds {
            #expect(machine.handle(.stored(View())) == .upsert)
            #expect(machine.handle(.failed(UploadFailure(.conflict(serverRevision: 3)))) == .reconcile)
        }
        #expect(machine.handle(.stored(View())) == .upsert)
        #expect(
            machine.handle(.failed(UploadFailure(.conflict(serverRevision: 3)))) == .end(.hold(.conflict)))
    }

    @Test func aDoubtfulUpsertIsLookedUp() {
        var machine = UploadMachine()
        #expect(machine.handle(.stored(View())) == .upsert)
        #expect(machine.handle(.failed(UploadFailure(.ambiguous(after: nil)))) == .reconcile)
        #expect(machine.handle(.stored(View(isInDoubt: true))) == .reconcile)
        #expect(
            machine.handle(.failed(UploadFailure(.retry(after: .seconds(1)))))
                == .end(.retry(after: .seconds(1))))
    }
}

/// The way of one file: steps × outcomes.
@Suite struct AssetMachineTests {
    private typealias Step = AssetMachine.Step
    private typealias Input = AssetMachine.Input

    private static let large = Int64(40 << 20)
    private static let mebibyte = Int64(1 << 20)

    private static func upload(_ acked: UInt8 = 0, chunkSize: Int64 = 8 << 20) -> ChunkedUpload {
        ChunkedUpload(
            uploadID: "u", chunkSize: chunkSize, totalChunks: Int((large - 1) / chunkSize + 1),
            expiresAt: .init(timeIntervalSince1970: 0), acked: [acked])
    }

    private static func machine(
        _ size: Int64 = large, at step: Step, limits: AssetMachine.Limits = AssetMachine.Limits()
    ) -> AssetMachine {
        var machine = AssetMachine(size: size, limits: limits)
        let acked: UInt8 = step == .complete ? 0b11111 : 0
        let isOpen =
            switch step {
            case .chunk, .complete: true
            default: false
            }
        #expect(machine.handle(.begin(isOpen ? upload(acked) : nil, starts: 0, hasExpired: false)) == step)
        return machine
    }

    /// Feeds inputs and compares the step after each.
    private static func expect(
        _ machine: AssetMachine, _ inputs: [(Input, Step)], location: SourceLocation = #_sourceLocation
    ) {
        var machine = machine
        for (input, step) in inputs { #expect(machine.handle(input) == step, sourceLocation: location) }
    }

    private static func failed(_ outcome: Outcome, _ status: Int? = nil) -> Input {
        .failed(UploadFailure(outcome, status: status))
    }

    /// C-46: exactly 16 MiB is chunked, one byte less is not.
    @Test func theThreshold() {
        #expect(
            Self.machine(16 << 20, at: .open(chunkSize: 8 << 20)) != Self.machine((16 << 20) - 1, at: .send))
    }

    @Test func theStraightWay() {
        Self.expect(Self.machine(5, at: .send), [(.confirmed, .end(.done))])
        Self.expect(
            Self.machine(at: .open(chunkSize: 8 << 20)),
            [
                (.opened(Self.upload()), .chunk(0)),
                (.acked(Self.upload(0b00001), counted: 1), .chunk(1)),
                (.acked(Self.upload(0b00011), counted: 2), .chunk(2)),
                (.acked(Self.upload(0b00111), counted: 3), .chunk(3)),
                (.acked(Self.upload(0b01111), counted: 4), .chunk(4)),
                // C-62: being counted complete is not completion.
                (.acked(Self.upload(0b11111), counted: 5), .complete), (.confirmed, .end(.done)),
            ])
    }

    /// F-17: goes on after the last acknowledged chunk; C-66: an expired one is not tried.
    @Test func resuming() {
        var machine = AssetMachine(size: Self.large)
        #expect(machine.handle(.begin(Self.upload(0b00111), starts: 1, hasExpired: false)) == .chunk(3))
        machine = AssetMachine(size: Self.large)
        #expect(machine.handle(.begin(Self.upload(0b00111), starts: 1, hasExpired: true)) == .forget)
        #expect(machine.handle(.forgotten) == .open(chunkSize: 8 << 20))
    }

    /// C-60: three uploads an hour, those in doubt included.
    @Test func startsAreLimited() {
        var machine = AssetMachine(size: Self.large)
        #expect(
            machine.handle(.begin(nil, starts: 3, hasExpired: false)) == .end(.retry(after: .seconds(1200))))
        machine = AssetMachine(size: Self.large)
        #expect(machine.handle(.begin(nil, starts: 1, hasExpired: false)) == .open(chunkSize: 8 << 20))
        Self.expect(
            machine,
            [
                (Self.failed(.ambiguous(after: nil)), .lookUp), (.found(.absent), .open(chunkSize: 8 << 20)),
                (Self.failed(.ambiguous(after: nil)), .lookUp),
                (.found(.absent), .end(.retry(after: .seconds(1200)))),
            ])
    }

    @Test func aSmallFilesDetours() {
        let ambiguous = Self.failed(.ambiguous(after: .seconds(1)))
        Self.expect(
            Self.machine(5, at: .send),
            [
                (ambiguous, .lookUp), (.found(.absent), .send), (ambiguous, .lookUp),
                (.found(.absent), .send),
                (ambiguous, .end(.retry(after: .seconds(1)))),
            ])
        Self.expect(Self.machine(5, at: .send), [(ambiguous, .lookUp), (.found(.confirmed), .end(.done))])
        // C-44: 404 on the session.
        Self.expect(
            Self.machine(5, at: .send),
            [(Self.failed(.reinit), .lookUp), (.found(.sessionGone), .end(.hold(.remoteDeleted)))])
        Self.expect(
            Self.machine(5, at: .send),
            [(Self.failed(.reinit), .lookUp), (.found(.absent), .end(.retry(after: nil)))])
        Self.expect(
            Self.machine(5, at: .send),
            [(Self.failed(.hold(.quota(required: nil, remaining: nil))), .end(.hold(.quota, required: 5)))])
        Self.expect(
            Self.machine(5, at: .send),
            [(Self.failed(.terminal(.localFile)), .verify), (.intact, .end(.retry(after: nil)))])
        Self.expect(Self.machine(5, at: .send), [(Self.failed(.terminal(.rejected)), .end(.hold(.rejected)))])
    }

    /// C-4: a gateway that takes less than the API.
    @Test func gatewayLimits() {
        let limit = Self.failed(.hold(.gatewayLimit))
        Self.expect(
            Self.machine(10 << 20, at: .send), [(limit, .open(chunkSize: 4 << 20))])
        Self.expect(Self.machine(3 << 20, at: .send), [(limit, .open(chunkSize: 2 << 20))])
        Self.expect(
            Self.machine(400 << 10, at: .send), [(limit, .end(.retry(after: .seconds(3600))))])
        var machine = Self.machine(at: .chunk(0))
        for size in [4 << 20, 2 << 20, 1 << 20, 512 << 10] as [Int64] {
            #expect(machine.handle(limit) == .forget)
            #expect(machine.handle(.forgotten) == .open(chunkSize: size))
            #expect(
                machine.handle(.opened(Self.upload(chunkSize: size))) == .chunk(0) || size < Self.mebibyte)
            if size == 2 << 20 { break }
        }
    }

    /// C-64, C-65: unknown or expired: what the server has decides.
    @Test func aChunksDetours() {
        Self.expect(
            Self.machine(at: .chunk(0)),
            [
                (Self.failed(.reinit, 410), .lookUp), (.found(.absent), .forget),
                (.forgotten, .open(chunkSize: 8 << 20)),
            ])
        Self.expect(
            Self.machine(at: .chunk(0)),
            [(Self.failed(.reinit, 404), .lookUp), (.found(.confirmed), .end(.done))])
        Self.expect(
            Self.machine(at: .chunk(0)),
            [(Self.failed(.retry(after: .seconds(9))), .end(.retry(after: .seconds(9))))])
        Self.expect(
            Self.machine(at: .chunk(0)),
            [(Self.failed(.reinit), .lookUp), (Self.failed(.retry(after: nil)), .end(.retry(after: nil)))])
    }

    /// C-61: one short count is looked at twice, then all are sent again, once; then anew.
    @Test func shortCounts() {
        var machine = Self.machine(at: .chunk(0))
        #expect(machine.handle(.acked(Self.upload(0b00001), counted: 0)) == .chunk(0))
        #expect(machine.handle(.acked(Self.upload(0b00001), counted: 1)) == .chunk(1))
        machine = Self.machine(at: .chunk(0))
        #expect(machine.handle(.acked(Self.upload(0b00111), counted: 1)) == .chunk(0))
        #expect(machine.handle(.acked(Self.upload(0b00111), counted: 1)) == .chunk(0))
        for index in 1...4 {
            #expect(machine.handle(.acked(Self.upload(0b11111), counted: 1)) == .chunk(index))
        }
        #expect(machine.handle(.acked(Self.upload(0b11111), counted: 1)) == .complete)
    }

    /// C-68: three times more with growing gaps, then look, only then anew.
    @Test func aMergeWithoutAnAnswer() {
        let silence = Self.failed(.ambiguous(after: nil))
        let gaps: [(Input, Step)] = [5, 20, 60].flatMap { seconds -> [(Input, Step)] in
            [(silence, .wait(.seconds(seconds))), (.waited, .complete)]
        }
        Self.expect(
            Self.machine(at: .complete), gaps + [(silence, .lookUp), (.found(.confirmed), .end(.done))])
        Self.expect(
            Self.machine(at: .complete),
            gaps + [(silence, .lookUp), (.found(.absent), .forget), (.forgotten, .open(chunkSize: 8 << 20))])
    }

    /// C-69: 400 means missing chunks, 404 and 410 a missing upload.
    @Test func aMergeThatIsRefused() {
        var steps: [(Input, Step)] = [(Self.failed(.reinit, 400), .lookUp), (.found(.absent), .chunk(0))]
        for index in 1...4 { steps.append((.acked(Self.upload(0b11111), counted: 5), .chunk(index))) }
        steps.append((.acked(Self.upload(0b11111), counted: 5), .complete))
        steps += [(Self.failed(.reinit, 400), .lookUp), (.found(.absent), .forget)]
        Self.expect(Self.machine(at: .complete), steps)
        for status in [404, 410] {
            Self.expect(
                Self.machine(at: .complete),
                [(Self.failed(.reinit, status), .lookUp), (.found(.absent), .forget)])
        }
    }
}
