import Foundation
import ObjectTransfer
import Recorder
import RecorderModel
import TestSupport
import Testing

@Suite struct ObjectServerTests {
    /// The vectors of Zephyr's sample objects.
    @Test func controlPointsAnswerAsTheSpecificationSays() throws {
        let bench = try Bench()
        #expect(try bench.list(0x01) == [[0x70, 0x01, 0x01]])
        #expect(try bench.list(0x03) == [[0x70, 0x03, 0x05]])
        #expect(try bench.list(0x02) == [[0x70, 0x02, 0x01]])
        #expect(try bench.list(0x04) == [[0x70, 0x04, 0x05]])
        #expect(try bench.list(0x05, 0xFF, 0xFF, 0, 0, 0, 0) == [[0x70, 0x05, 0x08]])
        #expect(try bench.list(0x06, 0x01) == [[0x70, 0x06, 0x02]])
        #expect(try bench.list(0x05, 0x00) == [[0x70, 0x05, 0x03]])
        #expect(try bench.list(0x63) == [[0x70, 0x63, 0x02]])
        try bench.goTo(0x100)
        let actions = ObjectTransferService.actionControlPoint
        #expect(
            try bench.ask(actions, [0x03, 0, 0, 0, 0, 0x32, 0, 0, 0])
                == [[0x60, 0x03, 0x01, 0x75, 0x74, 0xF7, 0x00]])
        #expect(try bench.ask(actions, [0x03, 0, 0, 0, 0, 0x33, 0, 0, 0]) == [[0x60, 0x03, 0x03]])
        #expect(try bench.ask(actions, [0x05, 0, 0, 0, 0, 0x32, 0, 0, 0]) == [[0x60, 0x05, 0x06]])
        #expect(try bench.ask(actions, [0x07]) == [[0x60, 0x07, 0x0A]])
        #expect(try bench.ask(actions, [0x04]) == [[0x60, 0x04, 0x02]])
        #expect(try bench.ask(actions, [0x6F]) == [[0x60, 0x6F, 0x02]])
        try bench.goTo(0x101)
        #expect(try bench.act(.calculateChecksum(offset: 0, length: 100)).checksum == 0xC07A_28F5)
    }

    @Test func theDirectoryListsItselfAndEveryObject() throws {
        let bench = try Bench()
        try bench.goTo(0)
        let size = try ObjectSize(wire: bench.model.read(ObjectTransferService.objectSize)).current
        #expect(bench.model.openChannel())
        #expect(try bench.act(.read(offset: 0, length: size)).result == .success)
        let (bytes, end) = bench.channelBytes()
        #expect(end == .idle)
        #expect(Array(bytes[2..<8]) == [0, 0, 0, 0, 0, 0])
        let listing = DirectoryListing(wire: bytes)
        #expect(listing.problems.isEmpty)
        #expect(listing.objects.map(\.id) == bench.model.objects.map(\.id))
        #expect(listing.objects.map(\.name) == ["a.wav", "b.jpg", "c.wav", "manifest.json"])
        for (listed, own) in zip(listing.objects, bench.model.objects) {
            #expect(listed.describesSameContent(as: own))
        }
    }

    @Test func metadataIsOfTheCurrentObjectAndNobodysBefore() throws {
        let bench = try Bench()
        for id in [ObjectTransferService.objectName, ObjectTransferService.objectSize] {
            #expect(throws: ATTError.objectNotSelected) { try bench.model.read(id) }
        }
        try bench.goTo(0x101)
        #expect(try bench.model.read(ObjectTransferService.objectName) == Array("b.jpg".utf8))
        #expect(try bench.model.read(ObjectTransferService.objectType) == RecorderProfile.photoType.wire)
        #expect(try bench.model.read(ObjectTransferService.objectID) == [1, 1, 0, 0, 0, 0])
        #expect(try bench.model.read(ObjectTransferService.objectProperties) == [5, 0, 0, 0])
        bench.model.disconnect()
        bench.connect()
        #expect(throws: ATTError.objectNotSelected) { try bench.model.read(ObjectTransferService.objectName) }
    }

    @Test func aReadOverTheChannelIsExactAndLocksTheObject() throws {
        let bench = try Bench()
        let (_, content) = Bench.samples[2]
        try bench.goTo(0x102)
        #expect(bench.model.openChannel())
        #expect(!bench.model.openChannel())
        #expect(try bench.act(.read(offset: 7, length: 100_000)).result == .invalidParameter)
        #expect(try bench.act(.read(offset: 7, length: 99_993)).result == .success)
        #expect(try bench.act(.read(offset: 0, length: 1)).result == .objectLocked)
        #expect(try bench.act(.delete).result == .objectLocked)
        #expect(try bench.list(0x01) == [[0x70, 0x01, 0x04]])
        let (bytes, end) = bench.channelBytes()
        #expect(end == .idle)
        #expect(bytes == Array(content[7...]))
        #expect(bench.model.transfers.map(\.sent) == [99_993])
        #expect(try bench.act(.read(offset: 100_000, length: 0)).result == .success)
    }

    @Test func abortAndClosingEndARead() throws {
        let bench = try Bench()
        try bench.goTo(0x102)
        #expect(bench.model.openChannel())
        #expect(try bench.act(.read(offset: 0, length: 5000)).result == .success)
        #expect(try bench.act(.abort).result == .success)
        #expect(bench.channelBytes().bytes.isEmpty)
        #expect(try bench.act(.read(offset: 0, length: 5000)).result == .success)
        bench.model.closeChannel()
        #expect(try bench.act(.read(offset: 0, length: 5000)).result == .channelUnavailable)
    }

    @Test func deletionForgetsTheObjectAndKeepsTheFile() throws {
        let bench = try Bench()
        try bench.goTo(0x100)
        #expect(try bench.act(.delete).result == .success)
        #expect(try bench.act(.delete).result == .invalidObject)
        #expect(try bench.list(0x05, 0x00, 0x01, 0, 0, 0, 0) == [[0x70, 0x05, 0x08]])
        try bench.goTo(0)
        #expect(try bench.act(.delete).result == .procedureNotPermitted)
        #expect(bench.model.deletedObjects.map(\.value) == [0x100])
        #expect(bench.model.status.sealedCaptures == 1)
        try bench.goTo(0x103)
        #expect(try bench.act(.delete).result == .success)
        #expect(bench.model.status.sealedCaptures == 0)
        #expect(FileManager.default.fileExists(atPath: bench.directory.path + "/one/a.wav"))
    }

    @Test func anUnreadableFileFailsTheRead() throws {
        let bench = try Bench()
        try bench.goTo(0x102)
        try FileManager.default.removeItem(atPath: bench.directory.path + "/one/c.wav")
        #expect(bench.model.openChannel())
        #expect(try bench.act(.read(offset: 0, length: 10)).result == .operationFailed)
        #expect(try bench.act(.calculateChecksum(offset: 0, length: 10)).result == .operationFailed)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: bench.directory.path + "/one/c.wav"))
        #expect(try bench.act(.read(offset: 0, length: 10)).result == .success)
        let (bytes, end) = bench.channelBytes()
        #expect(bytes == [1, 2, 3])
        #expect(end == .fail)
    }
}
