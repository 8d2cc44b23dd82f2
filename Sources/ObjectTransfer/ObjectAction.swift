/// The op codes of the Object Action Control Point (OTS 3.3.2).
package enum ObjectActionOpcode: UInt8, Sendable, Hashable, CaseIterable {
    case create = 0x01
    case delete = 0x02
    case calculateChecksum = 0x03
    case execute = 0x04
    case read = 0x05
    case write = 0x06
    case abort = 0x07
}

/// A request to the Object Action Control Point; it acts on the current object.
package enum ObjectActionRequest: Sendable, Hashable {
    /// Makes an object of `size` bytes.
    case create(size: UInt32, type: ObjectType)
    /// Deletes the current object.
    case delete
    /// Asks for the CRC-32 of `length` bytes from `offset`.
    case calculateChecksum(offset: UInt32, length: UInt32)
    /// Executes the current object.
    case execute([UInt8])
    /// Asks for `length` bytes from `offset` on the data channel.
    case read(offset: UInt32, length: UInt32)
    /// Announces `length` bytes for `offset` on the data channel; `truncate` ends the object there.
    case write(offset: UInt32, length: UInt32, truncate: Bool)
    /// Ends a read or write that runs.
    case abort

    /// The op code of the request.
    package var opcode: ObjectActionOpcode {
        switch self {
        case .create: .create
        case .delete: .delete
        case .calculateChecksum: .calculateChecksum
        case .execute: .execute
        case .read: .read
        case .write: .write
        case .abort: .abort
        }
    }

    /// The bytes to write to the control point.
    package var wire: [UInt8] {
        var bytes = [opcode.rawValue]
        switch self {
        case .create(let size, let type):
            bytes.append(littleEndian: size)
            bytes += type.wire
        case .calculateChecksum(let offset, let length), .read(let offset, let length):
            bytes.append(littleEndian: offset)
            bytes.append(littleEndian: length)
        case .write(let offset, let length, let truncate):
            bytes.append(littleEndian: offset)
            bytes.append(littleEndian: length)
            bytes.append(truncate ? 0x02 : 0x00)
        case .execute(let parameters):
            bytes += parameters
        case .delete, .abort:
            break
        }
        return bytes
    }

    /// Reads what a client wrote. Throws the response that a server owes for it: `opcodeNotSupported` for an
    /// unknown op code, `invalidParameter` for wrong lengths; an empty write has no op code to answer.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        guard let opcode = ObjectActionOpcode(rawValue: try reader.u8()) else {
            throw ObjectTransferError(.action(.opcodeNotSupported), "unknown object action op code")
        }
        do {
            self = try Self.read(opcode, from: &reader)
            guard reader.remaining == 0 else { throw ObjectTransferError.malformed("parameters too long") }
        } catch {
            throw ObjectTransferError(.action(.invalidParameter), "object action \(opcode): \(error)")
        }
    }

    private static func read(
        _ opcode: ObjectActionOpcode, from reader: inout ByteReader
    ) throws(ObjectTransferError) -> Self {
        switch opcode {
        case .create: .create(size: try reader.u32(), type: try ObjectType(wire: reader.rest()))
        case .delete: .delete
        case .calculateChecksum: .calculateChecksum(offset: try reader.u32(), length: try reader.u32())
        case .execute: .execute(Array(reader.rest()))
        case .read: .read(offset: try reader.u32(), length: try reader.u32())
        case .write:
            .write(
                offset: try reader.u32(), length: try reader.u32(), truncate: try reader.u8() & 0x02 != 0)
        case .abort: .abort
        }
    }
}

/// The result codes of the Object Action Control Point.
package enum ObjectActionResult: UInt8, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case success = 0x01
    case opcodeNotSupported = 0x02
    case invalidParameter = 0x03
    case insufficientResources = 0x04
    case invalidObject = 0x05
    case channelUnavailable = 0x06
    case unsupportedType = 0x07
    case procedureNotPermitted = 0x08
    case objectLocked = 0x09
    case operationFailed = 0x0A

    /// The name that the specification gives the result.
    package var description: String {
        switch self {
        case .success: "Success"
        case .opcodeNotSupported: "Op Code Not Supported"
        case .invalidParameter: "Invalid Parameter"
        case .insufficientResources: "Insufficient Resources"
        case .invalidObject: "Invalid Object"
        case .channelUnavailable: "Channel Unavailable"
        case .unsupportedType: "Unsupported Type"
        case .procedureNotPermitted: "Procedure Not Permitted"
        case .objectLocked: "Object Locked"
        case .operationFailed: "Operation Failed"
        }
    }
}

/// An indication of the Object Action Control Point: the response to one request.
package struct ObjectActionResponse: Sendable, Hashable {
    /// The op code that marks a response.
    package static let opcode: UInt8 = 0x60

    /// The request that is answered.
    package var request: ObjectActionOpcode
    /// How it went.
    package var result: ObjectActionResult
    /// The CRC-32; only of a successful Calculate Checksum.
    package var checksum: UInt32?

    /// A response to `request`.
    package init(to request: ObjectActionOpcode, _ result: ObjectActionResult, checksum: UInt32? = nil) {
        (self.request, self.result, self.checksum) = (request, result, checksum)
    }

    /// The bytes to indicate.
    package var wire: [UInt8] {
        var bytes = [Self.opcode, request.rawValue, result.rawValue]
        if let checksum { bytes.append(littleEndian: checksum) }
        return bytes
    }

    /// Reads an indication. Bytes after the expected ones are ignored (ESP pads, Zephyr sends garbage
    /// where a checksum failed); the checksum is looked at only after success.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        guard try reader.u8() == Self.opcode else { throw .malformed("not an object action response") }
        guard let request = ObjectActionOpcode(rawValue: try reader.u8()) else {
            throw .malformed("a response to an unknown object action")
        }
        let code = try reader.u8()
        guard let result = ObjectActionResult(rawValue: code) else {
            throw .malformed("unknown object action result \(code)")
        }
        self.init(to: request, result)
        if request == .calculateChecksum, result == .success { checksum = try reader.u32() }
    }
}
