/// The decoded Directory Listing Object (object 0; OTS 4): which objects a server has.
package struct DirectoryListing: Sendable, Hashable {
    /// Something in a listing that is not as it should be; the rest of the listing stands.
    package enum Problem: Sendable, Hashable, CustomStringConvertible {
        /// The record at this offset does not have the layout of one, for this reason.
        case malformedRecord(offset: Int, reason: String)
        /// The listing ends inside the record at this offset.
        case truncated(offset: Int)
        /// The object was listed more than once; the last record counts.
        case duplicate(ObjectID)
        /// The identifier is one of the reserved ones.
        case reservedID(ObjectID)
        /// The object was listed, but its metadata cannot be read.
        case unreadable(ObjectID, reason: String)
        /// There are more objects than ``maximumObjects``; those after are not listed.
        case tooManyObjects

        package var description: String {
            switch self {
            case .malformedRecord(let offset, let reason): "malformed record at byte \(offset): \(reason)"
            case .truncated(let offset): "the listing ends inside the record at byte \(offset)"
            case .duplicate(let id): "object \(id) is listed more than once"
            case .reservedID(let id): "object \(id) has a reserved identifier"
            case .unreadable(let id, let reason): "object \(id): \(reason)"
            case .tooManyObjects: "more than \(maximumObjects) objects are listed"
            }
        }
    }

    /// More objects than this are not listed.
    package static let maximumObjects = 4096
    /// No listing of ``maximumObjects`` (and the directory itself) is longer.
    package static let maximumBytes = (maximumObjects + 1) * maximumRecordLength

    static let minimumRecordLength = 13
    static let maximumRecordLength = 172
    static let maximumNameLength = 120

    /// The objects in the order of the listing, without the directory itself.
    package private(set) var objects: [ObjectMetadata] = []
    /// What is wrong with the listing, in its order.
    package private(set) var problems: [Problem] = []

    private var positions: [ObjectID: Int] = [:]

    /// Whether the listing ended inside a record, so that reading it again may tell more.
    package var isTruncated: Bool {
        problems.contains { if case .truncated = $0 { true } else { false } }
    }

    /// Whether a part of its bytes is no record.
    package var isDamaged: Bool {
        problems.contains { problem in
            switch problem {
            case .malformedRecord, .truncated: true
            case .duplicate, .reservedID, .unreadable, .tooManyObjects: false
            }
        }
    }

    /// Whether objects may be there that are not listed, because a part of the listing could not be read.
    package var mayHideObjects: Bool {
        problems.contains { problem in
            switch problem {
            case .malformedRecord, .truncated, .unreadable, .tooManyObjects: true
            case .duplicate, .reservedID: false
            }
        }
    }

    /// Decodes `bytes`; any input gives a listing, with everything doubtful in ``problems``.
    package init(wire bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            guard let length = recordLength(at: offset, in: bytes) else { return }
            do throws(ObjectTransferError) {
                guard length >= Self.minimumRecordLength else {
                    throw .malformed("a record of \(length) bytes")
                }
                let record = try DirectoryRecord(bytes[offset..<offset + length])
                guard add(record.object) else { return }
            } catch {
                problems.append(.malformedRecord(offset: offset, reason: error.message))
            }
            offset += length
        }
    }

    /// Where the record at `offset` ends, relative to it; nil (and a problem) when the rest of the listing
    /// cannot be read.
    private mutating func recordLength(at offset: Int, in bytes: [UInt8]) -> Int? {
        let rest = bytes[offset...]
        guard rest.count >= 2 else {
            problems.append(.truncated(offset: offset))
            return nil
        }
        let length = Int(rest[offset]) | Int(rest[offset + 1]) << 8
        if offset == 0, length == bytes.count & 0xffff, let own = DirectoryRecord.ownLength(of: rest) {
            // Zephyr up to 3.1 overwrites the first length with that of the whole listing.
            return own
        }
        // A record with an empty name has one byte less than the minimum and can still be stepped over.
        guard length >= Self.minimumRecordLength - 1 else {
            problems.append(.malformedRecord(offset: offset, reason: "a record of \(length) bytes"))
            return nil
        }
        guard length <= rest.count else {
            problems.append(.truncated(offset: offset))
            return nil
        }
        return length
    }

    /// Takes an object into the listing; false when there is no room for more.
    private mutating func add(_ object: ObjectMetadata) -> Bool {
        if object.id == .directory { return true }
        guard object.id.isOrdinary else {
            problems.append(.reservedID(object.id))
            return true
        }
        if let position = positions[object.id] {
            problems.append(.duplicate(object.id))
            objects[position] = object
            return true
        }
        guard objects.count < Self.maximumObjects else {
            problems.append(.tooManyObjects)
            return false
        }
        positions[object.id] = objects.count
        objects.append(object)
        return true
    }
}

extension DirectoryListing {
    /// Adds an object that was found by stepping through the list instead of reading object 0; false when
    /// it is there already or there is no room, that is, when stepping must end.
    mutating func addStepped(_ object: ObjectMetadata) -> Bool {
        let known = positions[object.id] != nil
        return add(object) && !known
    }

    /// A listing of nothing.
    init() {
        self.init(wire: [])
    }

    /// Puts what is known better in the place of what was listed.
    mutating func replace(_ object: ObjectMetadata) {
        guard let position = positions[object.id] else { return }
        objects[position] = object
    }

    /// Takes an object out that cannot be looked at.
    mutating func remove(_ id: ObjectID, because error: ObjectTransferError) {
        objects.removeAll { $0.id == id }
        positions = Dictionary(uniqueKeysWithValues: objects.enumerated().map { ($1.id, $0) })
        problems.append(.unreadable(id, reason: error.message))
    }
}

/// One record of the directory listing.
struct DirectoryRecord {
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let longType = Flags(rawValue: 1 << 0)
        static let currentSize = Flags(rawValue: 1 << 1)
        static let allocatedSize = Flags(rawValue: 1 << 2)
        static let created = Flags(rawValue: 1 << 3)
        static let modified = Flags(rawValue: 1 << 4)
        static let properties = Flags(rawValue: 1 << 5)
        static let extended = Flags(rawValue: 1 << 7)
    }

    let object: ObjectMetadata
    let flags: Flags
    /// What was not read: extended flags and fields of later versions.
    let unread: Int

    /// Reads a record from its length field on; bytes after the known fields are ignored.
    init(_ bytes: ArraySlice<UInt8>) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        _ = try reader.u16()
        let id = try ObjectID(from: &reader)
        let nameLength = Int(try reader.u8())
        guard nameLength <= DirectoryListing.maximumNameLength else {
            throw .malformed("a name of \(nameLength) bytes")
        }
        let name = decodeObjectName(try reader.take(nameLength))
        flags = Flags(rawValue: try reader.u8())
        let type = try ObjectType(wire: try reader.take(flags.contains(.longType) ? 16 : 2))
        var object = ObjectMetadata(id: id, name: name, type: type)
        if flags.contains(.currentSize) { object.currentSize = try reader.u32() }
        if flags.contains(.allocatedSize) { object.allocatedSize = try reader.u32() }
        if flags.contains(.created) { object.created = try ObjectDate(from: &reader) }
        if flags.contains(.modified) { object.modified = try ObjectDate(from: &reader) }
        if flags.contains(.properties) { object.properties = ObjectProperties(rawValue: try reader.u32()) }
        self.object = object
        unread = reader.remaining
    }

    /// The length that the fields of the first record add up to; nil when they do not fit, or when
    /// extended fields make that unknowable.
    static func ownLength(of bytes: ArraySlice<UInt8>) -> Int? {
        guard let record = try? DirectoryRecord(bytes), !record.flags.contains(.extended) else { return nil }
        return bytes.count - record.unread
    }
}

extension ObjectMetadata {
    /// The record of this object in a directory listing; the name is cut to 120 bytes.
    package var directoryRecord: [UInt8] {
        var name: [UInt8] = []
        for scalar in self.name.unicodeScalars {
            let encoded = Array(String(scalar).utf8)
            guard name.count + encoded.count <= DirectoryListing.maximumNameLength else { break }
            name += encoded
        }
        var flags: DirectoryRecord.Flags = type.short == nil ? [.longType] : []
        var fields: [UInt8] = []
        if let currentSize {
            flags.insert(.currentSize)
            fields.append(littleEndian: currentSize)
        }
        if let allocatedSize {
            flags.insert(.allocatedSize)
            fields.append(littleEndian: allocatedSize)
        }
        if let created {
            flags.insert(.created)
            fields += created.wire
        }
        if let modified {
            flags.insert(.modified)
            fields += modified.wire
        }
        if let properties {
            flags.insert(.properties)
            fields += properties.wire
        }
        let body = id.wire + [UInt8(name.count)] + name + [flags.rawValue] + type.wire + fields
        var record: [UInt8] = []
        record.append(littleEndian: UInt16(body.count + 2))
        return record + body
    }
}
