/// The op codes of the Object List Control Point (OTS 3.3.3).
package enum ObjectListOpcode: UInt8, Sendable, Hashable, CaseIterable {
    case first = 0x01
    case last = 0x02
    case previous = 0x03
    case next = 0x04
    case goTo = 0x05
    case order = 0x06
    case requestNumberOfObjects = 0x07
    case clearMarking = 0x08
}

/// A request to the Object List Control Point.
package enum ObjectListRequest: Sendable, Hashable {
    /// Makes the first object current.
    case first
    /// Makes the last object current.
    case last
    /// Makes the object before the current one current.
    case previous
    /// Makes the object after the current one current.
    case next
    /// Makes this object current; resets the list filters.
    case goTo(ObjectID)
    /// Sorts the list: 1…5, with bit 4 for descending.
    case order(UInt8)
    /// Asks how many objects the list has.
    case requestNumberOfObjects
    /// Clears the mark of every object.
    case clearMarking

    /// The op code of the request.
    package var opcode: ObjectListOpcode {
        switch self {
        case .first: .first
        case .last: .last
        case .previous: .previous
        case .next: .next
        case .goTo: .goTo
        case .order: .order
        case .requestNumberOfObjects: .requestNumberOfObjects
        case .clearMarking: .clearMarking
        }
    }

    /// The bytes to write to the control point.
    package var wire: [UInt8] {
        switch self {
        case .goTo(let id): [opcode.rawValue] + id.wire
        case .order(let key): [opcode.rawValue, key]
        case .first, .last, .previous, .next, .requestNumberOfObjects, .clearMarking: [opcode.rawValue]
        }
    }

    /// Reads what a client wrote. Throws the response that a server owes for it: `opcodeNotSupported` for an
    /// unknown op code, `invalidParameter` for wrong lengths; an empty write has no op code to answer.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        guard let opcode = ObjectListOpcode(rawValue: try reader.u8()) else {
            throw ObjectTransferError(.list(.opcodeNotSupported), "unknown object list op code")
        }
        do {
            switch opcode {
            case .first: self = .first
            case .last: self = .last
            case .previous: self = .previous
            case .next: self = .next
            case .goTo: self = .goTo(try ObjectID(from: &reader))
            case .order: self = .order(try reader.u8())
            case .requestNumberOfObjects: self = .requestNumberOfObjects
            case .clearMarking: self = .clearMarking
            }
            guard reader.remaining == 0 else { throw ObjectTransferError.malformed("parameters too long") }
        } catch {
            throw ObjectTransferError(.list(.invalidParameter), "object list \(opcode): \(error)")
        }
    }
}

/// The result codes of the Object List Control Point.
package enum ObjectListResult: UInt8, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case success = 0x01
    case opcodeNotSupported = 0x02
    case invalidParameter = 0x03
    case operationFailed = 0x04
    case outOfBounds = 0x05
    case tooManyObjects = 0x06
    case noObject = 0x07
    case objectIDNotFound = 0x08

    /// The name that the specification gives the result.
    package var description: String {
        switch self {
        case .success: "Success"
        case .opcodeNotSupported: "Op Code Not Supported"
        case .invalidParameter: "Invalid Parameter"
        case .operationFailed: "Operation Failed"
        case .outOfBounds: "Out Of Bounds"
        case .tooManyObjects: "Too Many Objects"
        case .noObject: "No Object"
        case .objectIDNotFound: "Object ID Not Found"
        }
    }
}

/// An indication of the Object List Control Point: the response to one request.
package struct ObjectListResponse: Sendable, Hashable {
    /// The op code that marks a response.
    package static let opcode: UInt8 = 0x70

    /// The request that is answered.
    package var request: ObjectListOpcode
    /// How it went.
    package var result: ObjectListResult
    /// How many objects there are; only of a successful Request Number Of Objects.
    package var count: UInt32?

    /// A response to `request`.
    package init(to request: ObjectListOpcode, _ result: ObjectListResult, count: UInt32? = nil) {
        (self.request, self.result, self.count) = (request, result, count)
    }

    /// The bytes to indicate.
    package var wire: [UInt8] {
        var bytes = [Self.opcode, request.rawValue, result.rawValue]
        if let count { bytes.append(littleEndian: count) }
        return bytes
    }

    /// Reads an indication; bytes after the expected ones are ignored.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        guard try reader.u8() == Self.opcode else { throw .malformed("not an object list response") }
        guard let request = ObjectListOpcode(rawValue: try reader.u8()) else {
            throw .malformed("a response to an unknown object list procedure")
        }
        let code = try reader.u8()
        guard let result = ObjectListResult(rawValue: code) else {
            throw .malformed("unknown object list result \(code)")
        }
        self.init(to: request, result)
        if request == .requestNumberOfObjects, result == .success { count = try reader.u32() }
    }
}
