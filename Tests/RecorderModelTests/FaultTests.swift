import ObjectTransfer
import Recorder
import RecorderModel
import Testing

@Suite struct FaultTests {
    @Test(arguments: [
        ("malformed", true), ("truncated", true), ("duplicate", true), ("noise", true), ("flood", true),
        ("total", false),
    ]) func listingsGoWrong(kind: String, isNoticed: Bool) throws {
        let bench = try Bench(faults: ["listing=\(kind)"])
        try bench.goTo(0)
        let size = try ObjectSize(wire: bench.model.read(ObjectTransferService.objectSize)).current
        try bench.control(.start(offset: 0, length: size, credits: .max))
        let listing = DirectoryListing(wire: bench.frames().frames.flatMap { Array($0.payload) })
        #expect(listing.problems.isEmpty != isNoticed)
        if !isNoticed { #expect(listing.objects.count == 4) }
    }

    @Test(arguments: ["malformed", "foreign", "oversized", "dangling", "deep"])
    func manifestsGoWrong(kind: String) throws {
        let bench = try Bench(faults: ["manifest=\(kind)"])
        try bench.goTo(0x103)
        let size = try ObjectSize(wire: bench.model.read(ObjectTransferService.objectSize)).current
        try bench.control(.start(offset: 0, length: size, credits: .max))
        let bytes = bench.frames(payload: 510).frames.flatMap { Array($0.payload) }
        #expect(bytes.count == Int(size))
        if kind == "deep" { return }  // whoever parses it must survive; that is not the model's to show
        guard let manifest = try? Manifest(json: bytes) else { return }
        #expect(!manifest.problems.isEmpty || manifest.files.contains { $0.objectID.value == 0xDEAD_0000 })
    }

    @Test func hostileNamesFitOnTheWire() throws {
        let bench = try Bench(faults: ["hostile-names"])
        let names = bench.model.objects.map(\.name)
        #expect(names.contains("../../etc/passwd"))
        #expect(names.allSatisfy { $0.utf8.count <= 120 })
        _ = try bench.model.apply(fault: "hostile-names=off")
        #expect(bench.model.objects.map(\.name).first == "a.wav")
    }

    @Test func checksumsGoWrongOnceOrForOneObjectOrAlways() throws {
        func checksums(_ fault: String) throws -> [Bool] {
            let bench = try Bench(faults: [fault])
            let cases: [(UInt64, UInt32, UInt32)] = [
                (0x100, 50, 0x00F7_7475), (0x100, 50, 0x00F7_7475), (0x101, 100, 0xC07A_28F5),
            ]
            return try cases.map {
                try bench.goTo($0)
                return try bench.act(.calculateChecksum(offset: 0, length: $1)).checksum == $2
            }
        }
        #expect(try checksums("wrong-checksum=once") == [false, true, true])
        #expect(try checksums("wrong-checksum=000000000101") == [true, true, false])
        #expect(try checksums("wrong-checksum") == [false, false, false])
    }

    @Test func lockedOnceIsLockedOnce() throws {
        let bench = try Bench(faults: ["locked=once"])
        try bench.goTo(0x100)
        #expect(try bench.act(.delete).result == .objectLocked)
        #expect(try bench.act(.delete).result == .success)
    }

    @Test func indicationsComeEarlyStaleOrNever() throws {
        let point = ObjectTransferService.listControlPoint
        func reply(_ fault: String, after first: [UInt8]? = nil) throws -> WriteReply {
            let bench = try Bench(faults: [fault])
            if let first { _ = try bench.model.write(first, to: point) }
            return try bench.model.write([0x01], to: point)
        }
        let answer = RecorderOutput.indicate(point, [0x70, 0x01, 0x01])
        #expect(try reply("indications=early") == WriteReply(early: [answer]))
        #expect(try reply("indications=never") == WriteReply())
        #expect(
            try reply("indications=stale", after: [0x02])
                == WriteReply(late: [.indicate(point, [0x70, 0x02, 0x01]), answer]))
    }

    @Test func aRefusedChannelIsRefused() throws {
        let bench = try Bench(faults: ["refuse-channel"])
        #expect(!bench.model.openChannel())
        let open = try Bench(security: .open)
        #expect(!open.model.openChannel())
    }

    @Test(arguments: [
        "cut", "cut-after", "cut-after=0", "cut-after=x", "lose-every=-1", "endless=maybe", "listing=odd",
        "wrong-checksum=5", "rate=", "",
    ]) func aFaultThatIsNoneIsAnError(text: String) {
        var faults = RecorderFaults()
        #expect(throws: RecorderModelError.self) { try faults.apply(text) }
        #expect(faults == RecorderFaults())
    }

    @Test func everyFaultOfTheHelpCanBeTakenBack() throws {
        for (spelling, _) in RecorderFaults.help {
            let name = String(spelling.prefix { $0 != "=" && $0 != "[" })
            var faults = RecorderFaults()
            try faults.apply("\(name)=off")
            #expect(faults == RecorderFaults())
        }
    }

    @Test func clearingTakesEverythingBack() throws {
        let bench = try Bench(faults: ["endless", "locked", "hostile-names"])
        _ = bench.model.clearFaults()
        #expect(bench.model.faults == RecorderFaults())
        #expect(bench.model.objects.map(\.name).first == "a.wav")
    }
}
