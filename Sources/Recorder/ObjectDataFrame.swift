package import ObjectTransfer

/// One notification of Object Data (0004): a piece of the object and where it belongs.
package struct ObjectDataFrame: Sendable, Hashable {
    /// Bytes in front of the payload.
    package static let headerLength = 4

    /// Where the payload begins in the object.
    package var offset: UInt32
    /// The bytes; never none.
    package var payload: ArraySlice<UInt8>

    /// A frame of `payload`.
    package init(offset: UInt32, payload: ArraySlice<UInt8>) {
        self.offset = offset
        self.payload = payload
    }

    /// The bytes of the notification.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerLength + payload.count)
        bytes.append(littleEndian: offset)
        bytes += payload
        return bytes
    }

    /// Reads a notification without copying its payload.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        guard bytes.count > Self.headerLength else {
            throw ObjectTransferError(.malformed, "a data frame of \(bytes.count) bytes")
        }
        offset =
            UInt32(bytes[0]) | UInt32(bytes[1]) << 8 | UInt32(bytes[2]) << 16 | UInt32(bytes[3]) << 24
        payload = bytes[Self.headerLength...]
    }
}

/// A write to Object Data Control (0005); it acts on the current object.
package enum ObjectDataControl: Sendable, Hashable {
    /// Sends `length` bytes from `offset`, at most `credits` frames for now.
    case start(offset: UInt32, length: UInt32, credits: UInt16)
    /// Allows so many frames more.
    case credit(UInt16)
    /// Ends the transfer.
    case stop

    /// The bytes to write.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .start(let offset, let length, let credits):
            bytes.append(0x01)
            bytes.append(littleEndian: offset)
            bytes.append(littleEndian: length)
            bytes.append(littleEndian: credits)
        case .credit(let more):
            bytes.append(0x02)
            bytes.append(littleEndian: more)
        case .stop:
            bytes.append(0x03)
        }
        return bytes
    }

    /// Reads what a hub wrote; anything but one whole command is malformed.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        let opcode = try reader.u8()
        switch opcode {
        case 0x01:
            self = .start(
                offset: try reader.u32(), length: try reader.u32(), credits: try reader.u16())
        case 0x02: self = .credit(try reader.u16())
        case 0x03: self = .stop
        default: throw ObjectTransferError(.malformed, "unknown object data command \(opcode)")
        }
        guard reader.remaining == 0 else {
            throw ObjectTransferError(.malformed, "an object data command is too long")
        }
    }
}
