import TestSupport
import Testing

@testable import ObjectTransfer

/// The golden records of a Zephyr sample server.
private let directory: [UInt8] =
    [0x1D, 0, 0, 0, 0, 0, 0, 0, 0x09] + "Directory".utf8 + [0x22, 0xCB, 0x2A, 0, 0, 0, 0, 0x04, 0, 0, 0]
private let first: [UInt8] =
    [0x24, 0, 0x00, 0x01, 0, 0, 0, 0, 0x10] + "first_object.txt".utf8
    + [0x22, 0xCA, 0x2A, 0x32, 0, 0, 0, 0x4C, 0, 0, 0]
private let second: [UInt8] =
    [0x25, 0, 0x01, 0x01, 0, 0, 0, 0, 0x11] + "second_object.gif".utf8
    + [0x22, 0xCA, 0x2A, 0x64, 0, 0, 0, 0x04, 0, 0, 0]
private let full: [UInt8] = [
    0x2A, 0x00, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01, 0x04, 0x61, 0x2E, 0x6F, 0x70, 0x3E, 0xCA, 0x2A, 0x00,
    0x10,
    0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0xEA, 0x07, 0x0B, 0x1E, 0x04, 0x3B, 0x00, 0xEA, 0x07, 0x0B, 0x1E,
    0x04,
    0x3B, 0x00, 0x05, 0x00, 0x00, 0x00,
]

@Suite struct DirectoryListingTests {
    private static func record(_ id: UInt64, _ name: String = "x", size: UInt32 = 1) -> [UInt8] {
        ObjectMetadata(id: ObjectID(id)!, name: name, type: .unspecified, currentSize: size).directoryRecord
    }

    @Test func goldenListing() {
        let listing = DirectoryListing(wire: directory + first + second)
        #expect(listing.problems.isEmpty)
        #expect(
            listing.objects == [
                ObjectMetadata(
                    id: ObjectID(0x100)!, name: "first_object.txt", type: .unspecified, currentSize: 50,
                    properties: [.read, .write, .patch]),
                ObjectMetadata(
                    id: ObjectID(0x101)!, name: "second_object.gif", type: .unspecified, currentSize: 100,
                    properties: .read),
            ])
        #expect(listing.objects.flatMap(\.directoryRecord) == first + second)
    }

    @Test func recordWithEveryField() {
        let date = ObjectDate(year: 2026, month: 11, day: 30, hour: 4, minute: 59, second: 0)
        let object = ObjectMetadata(
            id: ObjectID(0x0123_4567_89AB)!, name: "a.op", type: .unspecified, currentSize: 0x1000,
            allocatedSize: 0x2000, created: date, modified: date, properties: [.delete, .read])
        #expect(DirectoryListing(wire: full).objects == [object])
        #expect(object.directoryRecord == full)
    }

    /// Zephyr up to 3.1 puts the length of all into the first record.
    @Test func firstLengthIsThatOfTheListing() {
        var old = directory + first + second
        (old[0], old[1]) = (UInt8(old.count & 0xFF), UInt8(old.count >> 8))
        #expect(DirectoryListing(wire: old) == DirectoryListing(wire: directory + first + second))
        #expect(DirectoryListing(wire: first).objects.count == 1)
    }

    @Test func longTypes() {
        let type = BluetoothUUID("ce1e57a0-0011-4c41-8b1d-5e0f6d2a9b37")!
        let object = ObjectMetadata(id: ObjectID(0x105)!, name: "a", type: type, currentSize: 7)
        #expect(DirectoryListing(wire: directory + object.directoryRecord).objects == [object])
    }

    @Test func extendedFieldsAreSteppedOver() {
        var extended = first
        extended[9 + 16] |= 0x80
        extended += [1, 2, 3]
        extended[0] += 3
        #expect(
            DirectoryListing(wire: extended + second).objects.map(\.name) == [
                "first_object.txt", "second_object.gif",
            ])
        #expect(DirectoryListing(wire: extended).objects.count == 1)
    }

    @Test func namesLoseTheirNUL() {
        #expect(DirectoryListing(wire: Self.record(0x100, "a.txt\0")).objects.first?.name == "a.txt")
    }

    @Test func lastDuplicateWins() {
        let listing = DirectoryListing(
            wire: Self.record(0x100, "a", size: 1) + Self.record(0x101, "b")
                + Self.record(0x100, "c", size: 2))
        #expect(listing.objects.map(\.name) == ["c", "b"])
        #expect(listing.problems == [.duplicate(ObjectID(0x100)!)])
    }

    @Test(arguments: 1..<37)
    func truncatedTailIsReported(cut: Int) {
        let listing = DirectoryListing(wire: first + second.dropLast(cut))
        #expect(listing.objects.map(\.id.value) == [0x100])
        #expect(cut == second.count ? listing.problems.isEmpty : listing.isTruncated)
    }

    @Test func reservedIdentifiersAreReported() {
        let listing = DirectoryListing(wire: directory + Self.record(0xFF) + Self.record(0x100))
        #expect(listing.objects.map(\.id.value) == [0x100])
        #expect(listing.problems == [.reservedID(ObjectID(0xFF)!)])
    }

    @Test func badRecordIsSteppedOver() {
        var longName = first
        longName[8] = 0x20
        var emptyName: [UInt8] = [12, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xCA, 0x2A]
        let listing = DirectoryListing(wire: directory + longName + emptyName + second)
        #expect(listing.objects.map(\.id.value) == [0x101])
        #expect(listing.problems.count == 2)
        emptyName[0] = 11
        let lost = DirectoryListing(wire: directory + emptyName + second)
        #expect(lost.objects.isEmpty && lost.problems.count == 1)
    }

    @Test func objectsAreCapped() {
        let bytes = (0..<5000).flatMap { Self.record(0x100 + UInt64($0)) }
        let listing = DirectoryListing(wire: bytes)
        #expect(listing.objects.count == DirectoryListing.maximumObjects)
        #expect(listing.problems == [.tooManyObjects])
    }

    @Test func namesAreCutOnACharacter() {
        let record = Self.record(0x100, String(repeating: "🎙", count: 40))
        #expect(record[8] == 120)
        #expect(DirectoryListing(wire: record).objects.first?.name == String(repeating: "🎙", count: 30))
    }

    @Test(arguments: 0..<60)
    func noBytesTrapTheParser(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            var bytes = directory + first + second + full
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = random.bytes(1)[0]
            }
            bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            let listing = DirectoryListing(wire: bytes)
            #expect(listing.objects.count <= 4)
            _ = DirectoryListing(wire: random.bytes(Int.random(in: 0...400, using: &random)))
        }
    }
}
