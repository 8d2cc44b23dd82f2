/// The type of an object: a 16-bit assigned number or a vendor's 128-bit UUID (OTS 3.3).
package typealias ObjectType = BluetoothUUID

extension ObjectType {
    /// An object whose type is not specified (0x2ACA).
    package static let unspecified = ObjectType(0x2ACA)
    /// The directory listing object (0x2ACB).
    package static let directoryListing = ObjectType(0x2ACB)
}

/// The Object Size characteristic (OTS 3.4).
package struct ObjectSize: Sendable, Hashable {
    /// Bytes that the object has now.
    package var current: UInt32
    /// Bytes that are set aside for it.
    package var allocated: UInt32

    /// A size of `current` bytes in `allocated` ones.
    package init(current: UInt32, allocated: UInt32) {
        self.current = current
        self.allocated = allocated
    }

    /// The eight bytes of the characteristic.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: current)
        bytes.append(littleEndian: allocated)
        return bytes
    }

    /// Reads the characteristic; bytes after the eighth are ignored.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        current = try reader.u32()
        allocated = try reader.u32()
    }
}

/// What may be done with an object (OTS 3.9); unknown bits are kept.
package struct ObjectProperties: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The object may be deleted.
    package static let delete = ObjectProperties(rawValue: 1 << 0)
    /// The object may be executed.
    package static let execute = ObjectProperties(rawValue: 1 << 1)
    /// The object may be read.
    package static let read = ObjectProperties(rawValue: 1 << 2)
    /// The object may be written.
    package static let write = ObjectProperties(rawValue: 1 << 3)
    /// The object may grow by a write.
    package static let append = ObjectProperties(rawValue: 1 << 4)
    /// The object may be shortened by a write.
    package static let truncate = ObjectProperties(rawValue: 1 << 5)
    /// A part of the object may be overwritten.
    package static let patch = ObjectProperties(rawValue: 1 << 6)
    /// The object is marked.
    package static let marked = ObjectProperties(rawValue: 1 << 7)

    /// The four bytes of the characteristic.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: rawValue)
        return bytes
    }

    /// Reads the characteristic; bytes after the fourth are ignored.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        self.init(rawValue: try reader.u32())
    }
}

/// A date and time to the second, as OTS writes it in seven bytes; our profile takes it as UTC. It need not
/// be a real date: year, month or day 0 mean "unknown".
package struct ObjectDate: Sendable, Hashable {
    /// The year, or 0 for unknown.
    package var year: UInt16
    /// 1…12, or 0 for unknown.
    package var month: UInt8
    /// 1…31, or 0 for unknown.
    package var day: UInt8
    /// 0…23.
    package var hour: UInt8
    /// 0…59.
    package var minute: UInt8
    /// 0…59.
    package var second: UInt8

    /// The date with these fields, unchecked.
    package init(year: UInt16, month: UInt8, day: UInt8, hour: UInt8, minute: UInt8, second: UInt8) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// The seven bytes of the characteristic.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: year)
        return bytes + [month, day, hour, minute, second]
    }

    /// Reads the characteristic; bytes after the seventh are ignored.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        try self.init(from: &reader)
    }

    init(from reader: inout ByteReader) throws(ObjectTransferError) {
        year = try reader.u16()
        month = try reader.u8()
        day = try reader.u8()
        hour = try reader.u8()
        minute = try reader.u8()
        second = try reader.u8()
    }
}

/// What a server says of one object, from a directory record or from the characteristics 2ABE…2AC4.
package struct ObjectMetadata: Sendable, Hashable {
    /// The object.
    package var id: ObjectID
    /// Its name as sent, without trailing NULs; hostile text, never a path.
    package var name: String
    /// Its type.
    package var type: ObjectType
    /// Bytes that it has now, where the server says so.
    package var currentSize: UInt32?
    /// Bytes that are set aside for it, where the server says so.
    package var allocatedSize: UInt32?
    /// When it was created, where the server says so.
    package var created: ObjectDate?
    /// When it was changed last, where the server says so.
    package var modified: ObjectDate?
    /// What may be done with it, where the server says so.
    package var properties: ObjectProperties?

    /// Metadata with these fields.
    package init(
        id: ObjectID, name: String, type: ObjectType, currentSize: UInt32? = nil,
        allocatedSize: UInt32? = nil, created: ObjectDate? = nil, modified: ObjectDate? = nil,
        properties: ObjectProperties? = nil
    ) {
        (self.id, self.name, self.type) = (id, name, type)
        (self.currentSize, self.allocatedSize) = (currentSize, allocatedSize)
        (self.created, self.modified, self.properties) = (created, modified, properties)
    }

    /// Whether `other` can be the same, unchanged object: everything that both sides know is equal. The
    /// name is left out because servers cut it, and so are the properties and the allocated size, which
    /// say nothing about content.
    package func describesSameContent(as other: ObjectMetadata) -> Bool {
        func agree<Value: Equatable>(_ left: Value?, _ right: Value?) -> Bool {
            left == nil || right == nil || left == right
        }
        return id == other.id && type == other.type && agree(currentSize, other.currentSize)
            && agree(created, other.created) && agree(modified, other.modified)
    }
}

/// Decodes an object name: UTF-8 with invalid parts replaced, and without the trailing NULs that some
/// servers append.
package func decodeObjectName(_ bytes: ArraySlice<UInt8>) -> String {
    var bytes = bytes
    while bytes.last == 0 { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
}
