internal import CDBus
import Glibc

/// Takes values out of a libdbus message. libdbus has validated the message (depth, UTF-8, paths, signatures);
/// a type that it should not have let through is an error all the same.
struct MessageReader {
    /// What a message may become: a value takes a hundred times the memory of its byte on the wire.
    struct Limits {
        var values: Int
        var bytes: Int

        /// Of a call, which anybody on the bus can send.
        static let call = Limits(values: 1024, bytes: 64 << 10)
        /// Of what we asked for: all objects of bluetoothd come in one reply.
        static let reply = Limits(values: 1 << 20, bytes: 16 << 20)
    }

    private var left: Limits

    static func arguments(of message: OpaquePointer, limits: Limits) throws(DBusError) -> [DBusValue] {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(message, &iterator) != 0 else { return [] }
        var reader = MessageReader(left: limits)
        return try reader.values(&iterator)
    }

    private mutating func spend(bytes: Int) throws(DBusError) {
        left.bytes -= bytes
        guard left.bytes >= 0 else { throw Self.tooLarge }
    }

    private static let tooLarge = DBusError(.malformed, "the message is too large")

    private mutating func values(_ iterator: inout DBusMessageIter) throws(DBusError) -> [DBusValue] {
        var values: [DBusValue] = []
        while dbus_message_iter_get_arg_type(&iterator) != 0 {
            values.append(try value(&iterator))
            dbus_message_iter_next(&iterator)
        }
        return values
    }

    private mutating func value(_ iterator: inout DBusMessageIter) throws(DBusError) -> DBusValue {
        left.values -= 1
        guard left.values >= 0 else { throw Self.tooLarge }
        let type = dbus_message_iter_get_arg_type(&iterator)
        switch UInt8(truncatingIfNeeded: type) {
        case UInt8(ascii: "y"): return .byte(Self.basic(&iterator, 0))
        case UInt8(ascii: "b"): return .boolean(Self.basic(&iterator, dbus_bool_t(0)) != 0)
        case UInt8(ascii: "n"): return .int16(Self.basic(&iterator, 0))
        case UInt8(ascii: "q"): return .uint16(Self.basic(&iterator, 0))
        case UInt8(ascii: "i"): return .int32(Self.basic(&iterator, 0))
        case UInt8(ascii: "u"): return .uint32(Self.basic(&iterator, 0))
        case UInt8(ascii: "x"): return .int64(Self.basic(&iterator, 0))
        case UInt8(ascii: "t"): return .uint64(Self.basic(&iterator, 0))
        case UInt8(ascii: "d"): return .double(Self.basic(&iterator, 0))
        case UInt8(ascii: "s"): return .string(try text(&iterator))
        case UInt8(ascii: "g"): return .signature(try text(&iterator))
        case UInt8(ascii: "o"): return .objectPath(ObjectPath(trusted: try text(&iterator)))
        case UInt8(ascii: "h"):
            // libdbus hands out a duplicate that is ours to close.
            let fd = Self.basic(&iterator, Int32(-1))
            guard fd >= 0 else { throw DBusError(.malformed, "the message's descriptor did not arrive") }
            return .unixFD(SharedFD(fd))
        case UInt8(ascii: "v"):
            var inside = Self.recurse(&iterator)
            return .variant(try value(&inside))
        case UInt8(ascii: "r"):
            var inside = Self.recurse(&iterator)
            return .structure(try values(&inside))
        case UInt8(ascii: "a"):
            return try array(&iterator)
        default:
            throw DBusError(.malformed, "the message has a value of unknown type \(type)")
        }
    }

    private mutating func array(_ iterator: inout DBusMessageIter) throws(DBusError) -> DBusValue {
        let element = dbus_message_iter_get_element_type(&iterator)
        var inside = Self.recurse(&iterator)
        if element == Int32(UInt8(ascii: "y")) { return .bytes(try bytes(&inside)) }
        guard let type = Self.elementType(&iterator) else {
            throw DBusError(.malformed, "the message has an array of unknown type")
        }
        guard case .dictionary(let key, let value) = type else {
            guard case .array(let element) = type else {
                throw DBusError(.malformed, "the message has an array of unknown type")
            }
            return .array(of: element, try values(&inside))
        }
        var entries: [DBusValue: DBusValue] = [:]
        while dbus_message_iter_get_arg_type(&inside) != 0 {
            var entry = Self.recurse(&inside)
            let entryKey = try self.value(&entry)
            dbus_message_iter_next(&entry)
            entries[entryKey] = try self.value(&entry)
            dbus_message_iter_next(&inside)
        }
        return .dictionary(key: key, value: value, entries)
    }

    private static func elementType(_ iterator: inout DBusMessageIter) -> DBusType? {
        guard let characters = dbus_message_iter_get_signature(&iterator) else { return nil }
        defer { dbus_free(characters) }
        return DBusType.parse(String(cString: characters))?.first
    }

    private mutating func bytes(_ iterator: inout DBusMessageIter) throws(DBusError) -> [UInt8] {
        var base: UnsafePointer<UInt8>?
        var count: Int32 = 0
        dbus_message_iter_get_fixed_array(&iterator, &base, &count)
        guard let base, count > 0 else { return [] }
        try spend(bytes: Int(count))
        return Array(UnsafeBufferPointer(start: base, count: Int(count)))
    }

    private static func recurse(_ iterator: inout DBusMessageIter) -> DBusMessageIter {
        var inside = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inside)
        return inside
    }

    private static func basic<Value: BitwiseCopyable>(
        _ iterator: inout DBusMessageIter, _ initial: Value
    ) -> Value {
        var value = initial
        dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    private mutating func text(_ iterator: inout DBusMessageIter) throws(DBusError) -> String {
        var characters: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &characters)
        guard let characters else { return "" }
        try spend(bytes: strlen(characters))
        return String(cString: characters)
    }
}
