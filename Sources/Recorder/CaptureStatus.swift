package import ObjectTransfer

/// The Capture Status characteristic (0002): what the recorder does and how full it is.
package struct CaptureStatus: Sendable, Hashable {
    /// What the recorder does at the moment.
    package struct Flags: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// A capture is being recorded.
        package static let recording = Flags(rawValue: 1 << 0)
        /// The recorder accepts a new bond.
        package static let pairingMode = Flags(rawValue: 1 << 1)
        /// The storage is nearly full.
        package static let storageLow = Flags(rawValue: 1 << 2)
        /// The recorder does not know the time.
        package static let clockNotSet = Flags(rawValue: 1 << 3)
    }

    /// The version of the value that is known here.
    package static let version: UInt8 = 1

    /// What the recorder does.
    package var flags: Flags
    /// The size of the storage in MiB.
    package var totalMiB: UInt32
    /// The free part of it in MiB.
    package var freeMiB: UInt32
    /// Changes when the storage is formatted; object identifiers are unique within a generation.
    package var storageGeneration: UInt32
    /// How many captures have a manifest.
    package var sealedCaptures: UInt16

    /// A status with these fields.
    package init(
        flags: Flags, totalMiB: UInt32, freeMiB: UInt32, storageGeneration: UInt32, sealedCaptures: UInt16
    ) {
        (self.flags, self.totalMiB, self.freeMiB) = (flags, totalMiB, freeMiB)
        (self.storageGeneration, self.sealedCaptures) = (storageGeneration, sealedCaptures)
    }

    /// The sixteen bytes of the value.
    package var wire: [UInt8] {
        var bytes = [Self.version, flags.rawValue]
        bytes.append(littleEndian: totalMiB)
        bytes.append(littleEndian: freeMiB)
        bytes.append(littleEndian: storageGeneration)
        bytes.append(littleEndian: sealedCaptures)
        return bytes
    }

    /// Reads the value; a longer one is a later revision of version 1, whose tail is ignored.
    package init(wire bytes: [UInt8]) throws(RecorderError) {
        do throws(ObjectTransferError) {
            var reader = ByteReader(bytes)
            let version = try reader.u8()
            guard version == Self.version else {
                throw ObjectTransferError(.malformed, "version \(version) is not known")
            }
            flags = Flags(rawValue: try reader.u8())
            totalMiB = try reader.u32()
            freeMiB = try reader.u32()
            storageGeneration = try reader.u32()
            sealedCaptures = try reader.u16()
        } catch {
            throw RecorderError(.malformedStatus, "capture status: \(error)")
        }
    }
}

/// The Clock characteristic (0003): the hub's time, written on every connect.
package struct ClockValue: Sendable, Hashable {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    package var unixMilliseconds: Int64
    /// The offset of the local time zone from UTC in minutes.
    package var zoneOffsetMinutes: Int16

    /// A time and a zone.
    package init(unixMilliseconds: Int64, zoneOffsetMinutes: Int16) {
        self.unixMilliseconds = unixMilliseconds
        self.zoneOffsetMinutes = zoneOffsetMinutes
    }

    /// The ten bytes of the value.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: unixMilliseconds)
        bytes.append(littleEndian: zoneOffsetMinutes)
        return bytes
    }

    /// Reads the value; the ten bytes must be all.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        unixMilliseconds = try reader.integer(Int64.self)
        zoneOffsetMinutes = try reader.integer(Int16.self)
        guard reader.remaining == 0 else {
            throw ObjectTransferError(.malformed, "a clock value has 10 bytes, not \(bytes.count)")
        }
    }
}
