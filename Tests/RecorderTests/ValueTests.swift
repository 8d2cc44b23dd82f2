import Dates
import ObjectTransfer
import TestSupport
import Testing

@testable import Recorder

@Suite struct ValueTests {
    @Test func profileIdentifiers() {
        #expect(RecorderProfile.captureService.description == "ce1e57a0-0001-4c41-8b1d-5e0f6d2a9b37")
        #expect(
            RecorderProfile.objectDataControl.characteristic.description
                == "ce1e57a0-0005-4c41-8b1d-5e0f6d2a9b37")
        #expect(RecorderProfile.photoType.description == "ce1e57a0-0012-4c41-8b1d-5e0f6d2a9b37")
        #expect(RecorderProfile.serialNumber.characteristic.short == 0x2A25)
    }

    @Test func captureStatus() throws {
        let status = CaptureStatus(
            flags: [.recording, .storageLow], totalMiB: 1024, freeMiB: 3, storageGeneration: 0xDEAD_BEEF,
            sealedCaptures: 7)
        let wire: [UInt8] = [1, 5, 0, 4, 0, 0, 3, 0, 0, 0, 0xEF, 0xBE, 0xAD, 0xDE, 7, 0]
        #expect(status.wire == wire)
        #expect(try CaptureStatus(wire: wire + [9, 9]) == status)
        for bad in [[], Array(wire.dropLast()), [2] + wire.dropFirst()] {
            let error = #expect(throws: RecorderError.self) { try CaptureStatus(wire: bad) }
            #expect(error?.code == .malformedStatus)
        }
    }

    @Test func clock() throws {
        let clock = ClockValue(unixMilliseconds: 1_796_000_000_123, zoneOffsetMinutes: -210)
        #expect(clock.wire.count == 10)
        #expect(try ClockValue(wire: clock.wire) == clock)
        #expect(throws: ObjectTransferError.self) { try ClockValue(wire: clock.wire + [0]) }
        #expect(throws: ObjectTransferError.self) { try ClockValue(wire: Array(clock.wire.dropLast())) }
    }

    @Test func dataFrames() throws {
        let frame = try ObjectDataFrame(wire: [0, 1, 0, 0x80, 7, 8])
        #expect(frame.offset == 0x8000_0100 && frame.payload == [7, 8])
        #expect(frame.wire == [0, 1, 0, 0x80, 7, 8])
        #expect(throws: ObjectTransferError.self) { try ObjectDataFrame(wire: [0, 0, 0, 0]) }
    }

    static let commands: [(ObjectDataControl, [UInt8])] = [
        (.start(offset: 1, length: 2, credits: 64), [1, 1, 0, 0, 0, 2, 0, 0, 0, 64, 0]),
        (.credit(16), [2, 16, 0]), (.stop, [3]),
    ]

    @Test(arguments: commands)
    func dataCommands(command: ObjectDataControl, wire: [UInt8]) throws {
        #expect(command.wire == wire)
        #expect(try ObjectDataControl(wire: wire) == command)
        #expect(throws: ObjectTransferError.self) { try ObjectDataControl(wire: wire + [0]) }
        #expect(throws: ObjectTransferError.self) { try ObjectDataControl(wire: Array(wire.dropLast())) }
    }

    @Test func aTimeKeepsItsText() {
        let times = ["2026-11-30T05:59:00.5+01:00", "2026-11-30T04:59:00Z", "2026-11-30t04:58:00z"]
            .map(WrittenTime.init)
        #expect(
            times.compactMap { $0 }.sorted().map(\.text) == [times[2], times[1], times[0]].map { $0?.text })
        #expect(WrittenTime("2026-11-30") == nil)
    }

    static let names: [(String, String)] = [
        ("memo.opus", "memo.opus"), ("../../etc/passwd", "_.._etc_passwd"), ("a/b\\c", "a_b_c"),
        ("..", "fallback"), ("", "fallback"), ("   ", "fallback"), ("a\0b", "ab"), ("a\nb\tc", "a b c"),
        ("\u{1B}[31mred", "[31mred"), ("\u{202E}gnp.exe", "gnp.exe"), ("\u{2066}x\u{2069}", "x"),
        ("a\u{2028}b", "a b"), ("  two   spaces ", "two spaces"), (".hidden", "hidden"),
        ("Stra\u{00DF}e \u{1F399}", "Stra\u{00DF}e \u{1F399}"), ("\u{FEFF}bom", "bom"),
        (String(repeating: "\u{1F399}", count: 40), String(repeating: "\u{1F399}", count: 30)),
        ("a" + String(repeating: "\u{00E9}", count: 100), "a" + String(repeating: "\u{00E9}", count: 59)),
    ]

    @Test(arguments: names)
    func safeNames(raw: String, safe: String) {
        #expect(SafeName(raw, fallback: "fallback").text == safe)
    }

    @Test(arguments: 0..<30)
    func everyNameIsSafe(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let raw = String(decoding: random.bytes(Int.random(in: 0...300, using: &random)), as: UTF8.self)
            let name = SafeName(raw, fallback: "fallback").text
            #expect(!name.isEmpty && name.utf8.count <= 120 && !name.contains("/") && name != "..")
            #expect(!name.unicodeScalars.contains { $0.properties.generalCategory == .control })
        }
    }

    static let serials: [([UInt8], String?)] = [
        (Array("CR-0001".utf8), "CR-0001"), (Array(" CR-0001 \0\0".utf8), "CR-0001"), ([], nil),
        ([0, 0], nil),
        (Array("a/b".utf8), nil), (Array("a\u{202E}b".utf8), nil), ([0x41, 0xFF], nil),
        ([UInt8](repeating: 0x41, count: 64), String(repeating: "A", count: 64)),
        ([UInt8](repeating: 0x41, count: 65), nil),
    ]

    @Test(arguments: serials)
    func serialNumbers(value: [UInt8], serial: String?) {
        #expect((try? RecorderIdentity.serial(from: value)) == serial)
    }

    static let policies: [(DeletePolicy, Custody, Bool)] = [
        (.afterUpload, .none, false), (.afterUpload, .queued, false), (.afterUpload, .uploaded, true),
        (.afterQueue, .none, false), (.afterQueue, .queued, true), (.afterQueue, .uploaded, true),
        (.never, .none, false), (.never, .queued, false), (.never, .uploaded, false),
    ]

    @Test(arguments: policies)
    func deletePolicy(policy: DeletePolicy, custody: Custody, allows: Bool) {
        #expect(policy.allows(custody) == allows)
    }

    @Test func ledger() {
        let key = AssetKey(serial: "s", storageGeneration: 1, objectID: ObjectID(0x100)!)
        var ledger = FailureLedger()
        ledger.noteFailure(of: key)
        #expect(!ledger.isDeferred(key))
        ledger.noteFailure(of: key)
        #expect(ledger.isDeferred(key) && !ledger.isGivenUp(key))
        ledger.noteProgress(of: key)
        #expect(!ledger.isDeferred(key))
        for _ in 0..<FailureLedger.giveUpAfter {
            ledger.noteMismatch(of: key)
            ledger.noteProgress(of: key)
        }
        #expect(ledger.isGivenUp(key))
        ledger.noteSuccess(of: key)
        #expect(!ledger.isDeferred(key))
    }
}
