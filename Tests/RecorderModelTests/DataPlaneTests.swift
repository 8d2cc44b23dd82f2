import ObjectTransfer
import Recorder
import RecorderModel
import Testing

@Suite struct DataPlaneTests {
    private let content = Bench.samples[2].1

    @Test func framesCarryTheBytesAndNeverMoreThanTheirCredits() throws {
        let bench = try Bench()
        try bench.goTo(0x102)
        try bench.control(.start(offset: 10, length: 99_990, credits: 3))
        var (frames, end) = bench.frames()
        #expect(frames.map(\.offset) == [10, 250, 490])
        #expect(end == .idle)
        try bench.control(.credit(1000))
        let more = bench.frames()
        #expect(more.end == .idle)
        frames += more.frames
        #expect(frames.flatMap(\.payload) == Array(content[10...]))
        // Nothing is left of it: further credits bring nothing.
        try bench.control(.credit(1000))
        #expect(bench.frames().frames.isEmpty)
        #expect(bench.model.sentBytes == 99_990)
    }

    @Test func stopAndANewStartEndATransfer() throws {
        let bench = try Bench()
        try bench.goTo(0x102)
        try bench.control(.start(offset: 0, length: 1000, credits: 1))
        _ = bench.frames()
        try bench.control(.stop)
        try bench.control(.credit(5))
        #expect(bench.frames().frames.isEmpty)
        try bench.control(.start(offset: 0, length: 1000, credits: 1))
        try bench.control(.start(offset: 500, length: 10, credits: 9))
        #expect(bench.frames().frames.map(\.offset) == [500])
    }

    @Test func aStartThatCannotBeIsRefused() throws {
        let bench = try Bench()
        let control = RecorderProfile.objectDataControl
        let start = ObjectDataControl.start(offset: 0, length: 51, credits: 1).wire
        #expect(throws: ATTError.objectNotSelected) { try bench.model.write(start, to: control) }
        try bench.goTo(0x100)
        let cases: [([UInt8], ATTError)] = [
            (start, .writeRequestRejected),
            (
                ObjectDataControl.start(offset: .max, length: .max, credits: 1).wire, .writeRequestRejected
            ),
            ([], .invalidLength), ([0x09], .invalidLength), (start + [0], .invalidLength),
        ]
        for (bytes, error) in cases {
            #expect(throws: error) { try bench.model.write(bytes, to: control) }
        }
    }

    @Test func theLinkIsCutAtExactlyTheByte() throws {
        let bench = try Bench(faults: ["cut-after=5000,1000"])
        for sent in [1000, 5000] as [Int64] {
            try bench.goTo(0x102)
            try bench.control(.start(offset: 0, length: 100_000, credits: .max))
            #expect(bench.frames().end == .cut)
            #expect(bench.model.sentBytes == sent)
            bench.model.disconnect()
            #expect(bench.frames().end == .idle)
            bench.connect()
        }
        try bench.goTo(0x102)
        try bench.control(.start(offset: 0, length: 100_000, credits: .max))
        #expect(bench.frames().end == .idle)
        #expect(bench.model.transfers.map(\.sent) == [1000, 4000, 100_000])
    }

    @Test func everyNthFrameIsLost() throws {
        let bench = try Bench(faults: ["lose-every=3"])
        try bench.goTo(0x102)
        try bench.control(.start(offset: 0, length: 1440, credits: 6))
        #expect(bench.frames().frames.map(\.offset) == [0, 240, 720, 960])
    }

    @Test func aSlowRecorderWaitsAndCatchesUp() throws {
        let bench = try Bench(faults: ["rate=24000"])
        try bench.goTo(0x102)
        try bench.control(.start(offset: 0, length: 100_000, credits: .max))
        let start = ContinuousClock.now
        var total = 0
        // Ten seconds, looked at every five milliseconds, bring what ten seconds can bring.
        for step in 0..<2000 {
            total += bench.frames(at: start + .milliseconds(5 * step)).frames.count
            if step == 0 { #expect(total == 1) }
        }
        #expect(total == 417)  // all of it, in 4.2 s
        let faster = try Bench(faults: ["rate=24000"])
        try faster.goTo(0x102)
        try faster.control(.start(offset: 0, length: 100_000, credits: .max))
        let early = (0..<200).reduce(0) { sum, step in
            sum + faster.frames(at: start + .milliseconds(5 * step)).frames.count
        }
        #expect((95...105).contains(early))  // one second: 24,000 bytes
    }

    @Test func anEndlessRecorderSendsOnAndOn() throws {
        let bench = try Bench(faults: ["endless"])
        try bench.goTo(0x100)
        try bench.control(.start(offset: 0, length: 50, credits: 1))
        let start = ContinuousClock.now
        let frames = (0..<100).flatMap { bench.frames(at: start + .milliseconds($0)).frames }
        #expect(frames.count > 50)
        #expect(frames.dropFirst().allSatisfy { $0.offset >= 50 })
    }

    @Test func refusedReadsAreRefusedOnBothPlanes() throws {
        let bench = try Bench(faults: ["refuse-reads"])
        try bench.goTo(0x100)
        let start = ObjectDataControl.start(offset: 0, length: 1, credits: 1).wire
        #expect(throws: ATTError.writeRequestRejected) {
            try bench.model.write(start, to: RecorderProfile.objectDataControl)
        }
        #expect(bench.model.openChannel())
        #expect(try bench.act(.read(offset: 0, length: 1)).result == .procedureNotPermitted)
    }
}
