import TestSupport
import Testing

@testable import ObjectTransfer

@Suite struct CodecTests {
    static let id = ObjectID(0x100)!

    static let actions: [(ObjectActionRequest, [UInt8])] = [
        (.create(size: 0x0102_0304, type: ObjectType(0x2ACA)), [0x01, 4, 3, 2, 1, 0xCA, 0x2A]),
        (.delete, [0x02]),
        (.calculateChecksum(offset: 0, length: 50), [0x03, 0, 0, 0, 0, 0x32, 0, 0, 0]),
        (.execute([9, 8]), [0x04, 9, 8]),
        (.read(offset: 0x100, length: 0x1000), [0x05, 0, 1, 0, 0, 0, 0x10, 0, 0]),
        (.write(offset: 1, length: 2, truncate: true), [0x06, 1, 0, 0, 0, 2, 0, 0, 0, 2]),
        (.abort, [0x07]),
    ]

    @Test(arguments: actions)
    func actionRequests(request: ObjectActionRequest, wire: [UInt8]) throws {
        #expect(request.wire == wire)
        #expect(try ObjectActionRequest(wire: wire) == request)
    }

    static let lists: [(ObjectListRequest, [UInt8])] = [
        (.first, [0x01]), (.last, [0x02]), (.previous, [0x03]), (.next, [0x04]),
        (.goTo(id), [0x05, 0, 1, 0, 0, 0, 0]), (.order(0x11), [0x06, 0x11]),
        (.requestNumberOfObjects, [0x07]), (.clearMarking, [0x08]),
    ]

    @Test(arguments: lists)
    func listRequests(request: ObjectListRequest, wire: [UInt8]) throws {
        #expect(request.wire == wire)
        #expect(try ObjectListRequest(wire: wire) == request)
    }

    static let actionResponses: [([UInt8], ObjectActionResponse)] = [
        ([0x60, 0x05, 0x01], ObjectActionResponse(to: .read, .success)),
        (
            [0x60, 0x03, 0x01, 0x75, 0x74, 0xF7, 0x00],
            ObjectActionResponse(to: .calculateChecksum, .success, checksum: 0x00F7_7475)
        ),
        ([0x60, 0x02, 0x09], ObjectActionResponse(to: .delete, .objectLocked)),
    ]

    @Test(arguments: actionResponses)
    func actionResponse(wire: [UInt8], response: ObjectActionResponse) throws {
        #expect(try ObjectActionResponse(wire: wire) == response)
        #expect(response.wire == wire)
    }

    static let listResponses: [([UInt8], ObjectListResponse)] = [
        ([0x70, 0x05, 0x01], ObjectListResponse(to: .goTo, .success)),
        ([0x70, 0x04, 0x05], ObjectListResponse(to: .next, .outOfBounds)),
        ([0x70, 0x01, 0x07], ObjectListResponse(to: .first, .noObject)),
        ([0x70, 0x05, 0x08], ObjectListResponse(to: .goTo, .objectIDNotFound)),
        (
            [0x70, 0x07, 0x01, 3, 0, 0, 0],
            ObjectListResponse(to: .requestNumberOfObjects, .success, count: 3)
        ),
    ]

    @Test(arguments: listResponses)
    func listResponse(wire: [UInt8], response: ObjectListResponse) throws {
        #expect(try ObjectListResponse(wire: wire) == response)
        #expect(response.wire == wire)
    }

    /// ESP pads its indications, Zephyr adds garbage where a checksum failed.
    @Test func trailingBytesOfResponsesAreIgnored() throws {
        let padding = [UInt8](repeating: 0, count: 18)
        #expect(try ObjectActionResponse(wire: [0x60, 0x05, 0x01] + padding).checksum == nil)
        let failed = try ObjectActionResponse(wire: [0x60, 0x03, 0x03, 1, 2, 3, 4])
        #expect(failed == ObjectActionResponse(to: .calculateChecksum, .invalidParameter))
        #expect(try ObjectListResponse(wire: [0x70, 0x05, 0x01, 0, 0, 0, 0]).result == .success)
    }

    @Test(
        arguments: [
            [], [0x60], [0x60, 0x05], [0x60, 0x03, 0x01], [0x60, 0x03, 0x01, 1, 2, 3], [0x61, 0x05, 0x01],
            [0x60, 0x99, 0x01], [0x60, 0x05, 0x00], [0x60, 0x05, 0x0B],
        ] as [[UInt8]])
    func malformedActionResponses(wire: [UInt8]) {
        #expect(throws: ObjectTransferError.self) { try ObjectActionResponse(wire: wire) }
    }

    static let refused: [([UInt8], ObjectTransferError.Code)] = [
        ([], .malformed), ([0x00], .action(.opcodeNotSupported)), ([0x08], .action(.opcodeNotSupported)),
        ([0x05, 0, 0, 0, 0], .action(.invalidParameter)), ([0x02, 0], .action(.invalidParameter)),
        ([0x01, 0, 0, 0, 0, 1], .action(.invalidParameter)),
    ]

    @Test(arguments: refused)
    func serversKnowWhatTheyOweForABadRequest(wire: [UInt8], code: ObjectTransferError.Code) {
        let error = #expect(throws: ObjectTransferError.self) { try ObjectActionRequest(wire: wire) }
        #expect(error?.code == code)
    }

    @Test func characteristics() throws {
        let date = ObjectDate(year: 2026, month: 11, day: 30, hour: 4, minute: 59, second: 0)
        #expect(date.wire == [0xEA, 0x07, 0x0B, 0x1E, 0x04, 0x3B, 0x00])
        #expect(try ObjectDate(wire: date.wire) == date)
        let features = ObjectTransferFeatures(
            actions: [.create, .delete, .read, .write, .patch], lists: .goTo)
        #expect(features.wire == [0x33, 0x01, 0, 0, 1, 0, 0, 0])
        #expect(try ObjectTransferFeatures(wire: features.wire) == features)
        let size = ObjectSize(current: 50, allocated: 100)
        #expect(try ObjectSize(wire: size.wire) == size)
        #expect(try ObjectProperties(wire: [0x4C, 0, 0, 0x80]).contains([.read, .write, .patch]))
        #expect(try ObjectID(wire: [0xAB, 0x89, 0x67, 0x45, 0x23, 0x01]).description == "0123456789ab")
        #expect(decodeObjectName([0x61, 0, 0]) == "a")
    }

    static let uuids: [(String, String?)] = [
        ("1825", "00001825-0000-1000-8000-00805f9b34fb"),
        ("0x1825", "00001825-0000-1000-8000-00805f9b34fb"),
        ("00001825-0000-1000-8000-00805F9B34FB", "00001825-0000-1000-8000-00805f9b34fb"),
        ("CE1E57A0-0001-4c41-8b1d-5e0f6d2a9b37", "ce1e57a0-0001-4c41-8b1d-5e0f6d2a9b37"),
        ("12345678", "12345678-0000-1000-8000-00805f9b34fb"),
        ("", nil), ("182", nil), ("18 5", nil), ("+825", nil), ("ce1e57a000014c418b1d5e0f6d2a9b37", nil),
        ("ce1e57a0-0001-4c41-8b1d-5e0f6d2a9b3", nil), ("ce1e57a0-0001-4c41-8b1d-5e0f6d2a9b377", nil),
        ("ce1e57a0x0001-4c41-8b1d-5e0f6d2a9b37", nil), ("１８２５", nil),
    ]

    @Test(arguments: uuids)
    func uuidTexts(text: String, canonical: String?) {
        #expect(BluetoothUUID(text)?.description == canonical)
    }

    @Test func uuidWireForms() throws {
        #expect(BluetoothUUID(0x2ACA).wire == [0xCA, 0x2A])
        #expect(BluetoothUUID(0x2ACA).short == 0x2ACA)
        let long = BluetoothUUID("ce1e57a0-0010-4c41-8b1d-5e0f6d2a9b37")!
        #expect(long.wire.first == 0x37 && long.wire.last == 0xCE && long.short == nil)
        #expect(try BluetoothUUID(wire: long.wire[...]) == long)
        #expect(throws: ObjectTransferError.self) { try BluetoothUUID(wire: [1, 2, 3, 4]) }
    }

    static let checksums: [([UInt8], UInt32)] = [
        (Array("123456789".utf8), 0xCBF4_3926), ([], 0), (Array(1...50), 0x00F7_7475),
        ((0..<100).map { UInt8($0 * 2) }, 0xC07A_28F5),
    ]

    @Test(arguments: checksums)
    func crc32(bytes: [UInt8], expected: UInt32) {
        #expect(CRC32.checksum(bytes) == expected)
        var resumed = CRC32(resuming: CRC32.checksum(Array(bytes.prefix(3))))
        resumed.update(bytes.dropFirst(3))
        #expect(resumed.value == expected)
    }

    @Test(arguments: 0..<40)
    func noBytesTrapADecoder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var bytes = random.bytes(Int.random(in: 0...24, using: &random))
            if let first = [0x60, 0x70, 0x05, 0x03].randomElement(using: &random), !bytes.isEmpty {
                bytes[0] = UInt8(first)
            }
            if let response = try? ObjectActionResponse(wire: bytes) {
                #expect(bytes.starts(with: response.wire.prefix(3)))
            }
            if let request = try? ObjectActionRequest(wire: bytes), case .write = request {
            } else if let request = try? ObjectActionRequest(wire: bytes) {
                #expect(try! ObjectActionRequest(wire: request.wire) == request)
            }
            if let request = try? ObjectListRequest(wire: bytes) { #expect(request.wire == bytes) }
            _ = try? ObjectListResponse(wire: bytes)
            _ = try? ObjectTransferFeatures(wire: bytes)
            _ = try? ObjectDate(wire: bytes)
            _ = try? BluetoothUUID(wire: bytes[...])
            _ = decodeObjectName(bytes[...])
        }
    }
}
