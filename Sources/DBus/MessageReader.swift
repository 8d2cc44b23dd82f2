internal import CDBus

/// Takes values out of a libdbus message. libdbus has validated the message (depth, UTF-8, paths, signatures);
/// a type that it should not have let through is an error all the same.
enum MessageReader {
    static func arguments(of message: OpaquePointer) throws(DBusError) -> [DBusValue] {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(message, &iterator) != 0 else { return [] }
        return try values(&iterator)
    }

    private static func values(_ iterator: inout DBusMessageIter) throws(DBusError) -> [DBusValue] {
        var values: [DBusValue] = []
        while dbus_message_iter_get_arg_type(&iterator) != 0 {
            values.append(try value(&iterator))
            dbus_message_iter_next(&iterator)
        }
        return values
    }

    private static func value(_ iterator: inout DBusMessageIter) throws(DBusError) -> DBusValue {
        let type = dbus_message_iter_get_arg_type(&iterator)
        switch UInt8(truncatingIfNeeded: type) {
        case UInt8(ascii: "y"): return .byte(basic(&iterator, 0))
        case UInt8(ascii: "b"): return .boolean(basic(&iterator, dbus_bool_t(0)) != 0)
        case UInt8(ascii: "n"): return .int16(basic(&iterator, 0))
        case UInt8(ascii: "q"): return .uint16(basic(&iterator, 0))
        case UInt8(ascii: "i"): return .int32(basic(&iterator, 0))
        case UInt8(ascii: "u"): return .uint32(basic(&iterator, 0))
        case UInt8(ascii: "x"): return .int64(basic(&iterator, 0))
        case UInt8(ascii: "t"): return .uint64(basic(&iterator, 0))
        case UInt8(ascii: "d"): return .double(basic(&iterator, 0))
        case UInt8(ascii: "s"): return .string(text(&iterator))
        case UInt8(ascii: "g"): return .signature(text(&iterator))
        case UInt8(ascii: "o"): return .objectPath(ObjectPath(trusted: text(&iterator)))
        case UInt8(ascii: "h"):
            // libdbus hands out a duplicate that is ours to close.
            let fd = basic(&iterator, Int32(-1))
            guard fd >= 0 else { throw DBusError(.malformed, "the message's descriptor did not arrive") }
            return .unixFD(SharedFD(fd))
        case UInt8(ascii: "v"):
            var inside = recurse(&iterator)
            return .variant(try value(&inside))
        case UInt8(ascii: "r"):
            var inside = recurse(&iterator)
            return .structure(try values(&inside))
        case UInt8(ascii: "a"):
            return try array(&iterator)
        default:
            throw DBusError(.malformed, "the message has a value of unknown type \(type)")
        }
    }

    private static func array(_ iterator: inout DBusMessageIter) throws(DBusError) -> DBusValue {
        let element = dbus_message_iter_get_element_type(&iterator)
        var inside = recurse(&iterator)
        if element == Int32(UInt8(ascii: "y")) { return .bytes(bytes(&inside)) }
        guard let type = elementType(&iterator) else {
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
            var entry = recurse(&inside)
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

    private static func bytes(_ iterator: inout DBusMessageIter) -> [UInt8] {
        var base: UnsafePointer<UInt8>?
        var count: Int32 = 0
        dbus_message_iter_get_fixed_array(&iterator, &base, &count)
        guard let base, count > 0 else { return [] }
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

    private static func text(_ iterator: inout DBusMessageIter) -> String {
        var characters: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &characters)
        return characters.map { String(cString: $0) } ?? ""
    }
}
