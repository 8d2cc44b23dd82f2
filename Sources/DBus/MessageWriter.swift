internal import CDBus

/// Puts values into a libdbus message. Everything is checked before it reaches libdbus, which aborts the
/// process on a value that the wire cannot carry.
enum MessageWriter {
    static func append(_ values: [DBusValue], to message: OpaquePointer) throws(DBusError) {
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        for value in values { try append(value, to: &iterator, depth: 0) }
    }

    private static func append(
        _ value: DBusValue, to iterator: inout DBusMessageIter, depth: Int
    ) throws(DBusError) {
        guard depth < 32 else { throw DBusError(.invalidArgument, "the value is nested too deep") }
        switch value {
        case .byte(let value): try basic(value, "y", &iterator)
        case .boolean(let value): try basic(dbus_bool_t(value ? 1 : 0), "b", &iterator)
        case .int16(let value): try basic(value, "n", &iterator)
        case .uint16(let value): try basic(value, "q", &iterator)
        case .int32(let value): try basic(value, "i", &iterator)
        case .uint32(let value): try basic(value, "u", &iterator)
        case .int64(let value): try basic(value, "x", &iterator)
        case .uint64(let value): try basic(value, "t", &iterator)
        case .double(let value): try basic(value, "d", &iterator)
        case .unixFD(let fd): try basic(fd.rawValue, "h", &iterator)
        case .objectPath(let path): try text(path.text, "o", &iterator)
        case .string(let string): try text(string, "s", &iterator)
        case .signature(let signature):
            guard DBusType.parse(signature) != nil else {
                throw DBusError(.invalidArgument, "\(signature) is not a signature")
            }
            try text(signature, "g", &iterator)
        case .bytes(let bytes): try append(bytes, to: &iterator)
        case .variant(let inner):
            guard let type = inner.type else { throw emptyStructure }
            try container("v", type.signature, &iterator) {
                (inside: inout DBusMessageIter) throws(DBusError) in
                try append(inner, to: &inside, depth: depth + 1)
            }
        case .structure(let fields):
            guard value.type != nil else { throw emptyStructure }
            try container("r", nil, &iterator) { (inside: inout DBusMessageIter) throws(DBusError) in
                for field in fields { try append(field, to: &inside, depth: depth + 1) }
            }
        case .array(let element, let values):
            try container("a", element.signature, &iterator) {
                (inside: inout DBusMessageIter) throws(DBusError) in
                for value in values {
                    guard value.type == element else { throw mixed }
                    try append(value, to: &inside, depth: depth + 1)
                }
            }
        case .dictionary(let key, let value, let entries):
            try append(entries, key: key, value: value, to: &iterator, depth: depth)
        }
    }

    private static func append(
        _ entries: [DBusValue: DBusValue], key: DBusType, value: DBusType,
        to iterator: inout DBusMessageIter, depth: Int
    ) throws(DBusError) {
        guard key.isBasic else { throw mixed }
        let signature = "{\(key.signature)\(value.signature)}"
        try container("a", signature, &iterator) { (inside: inout DBusMessageIter) throws(DBusError) in
            for (entryKey, entryValue) in ordered(entries, by: key) {
                guard entryKey.type == key, entryValue.type == value else { throw mixed }
                try container("e", nil, &inside) { (entry: inout DBusMessageIter) throws(DBusError) in
                    try append(entryKey, to: &entry, depth: depth + 2)
                    try append(entryValue, to: &entry, depth: depth + 2)
                }
            }
        }
    }

    /// Objects go in the order of their paths: bluetoothd gives attributes their handles in the order in which it reads
    /// them, and devices remember handles.
    private static func ordered(
        _ entries: [DBusValue: DBusValue], by key: DBusType
    ) -> [(key: DBusValue, value: DBusValue)] {
        guard key == .objectPath else { return Array(entries) }
        return entries.sorted { left, right in
            (left.key.asObjectPath ?? .root) < (right.key.asObjectPath ?? .root)
        }
    }

    private static func append(_ bytes: [UInt8], to iterator: inout DBusMessageIter) throws(DBusError) {
        guard bytes.count <= 1 << 26 else { throw DBusError(.invalidArgument, "the byte array is too long") }
        try container("a", "y", &iterator) { (inside: inout DBusMessageIter) throws(DBusError) in
            let appended = bytes.withUnsafeBufferPointer { buffer in
                // libdbus takes the address of the pointer to the first element.
                var base = buffer.baseAddress
                return withUnsafePointer(to: &base) {
                    dbus_message_iter_append_fixed_array(&inside, code("y"), $0, Int32(buffer.count))
                }
            }
            guard appended != 0 else { throw outOfMemory }
        }
    }

    private static func basic<Value: BitwiseCopyable>(
        _ value: Value, _ type: Unicode.Scalar, _ iterator: inout DBusMessageIter
    ) throws(DBusError) {
        var value = value
        guard dbus_message_iter_append_basic(&iterator, code(type), &value) != 0 else { throw outOfMemory }
    }

    private static func text(
        _ string: String, _ type: Unicode.Scalar, _ iterator: inout DBusMessageIter
    ) throws(DBusError) {
        guard !string.utf8.contains(0) else {
            throw DBusError(.invalidArgument, "a string on the bus cannot contain NUL")
        }
        let appended = string.withCString { characters in
            var characters: UnsafePointer<CChar>? = characters
            return dbus_message_iter_append_basic(&iterator, code(type), &characters)
        }
        guard appended != 0 else { throw outOfMemory }
    }

    private static func container(
        _ type: Unicode.Scalar, _ signature: String?, _ iterator: inout DBusMessageIter,
        _ fill: (inout DBusMessageIter) throws(DBusError) -> Void
    ) throws(DBusError) {
        // As an array's element, where a dictionary entry is a type too.
        if let signature, DBusType.parse("a" + signature) == nil {
            throw DBusError(.invalidArgument, "\(signature) is not a type that the wire can carry")
        }
        var inside = DBusMessageIter()
        guard dbus_message_iter_open_container(&iterator, code(type), signature, &inside) != 0 else {
            throw outOfMemory
        }
        do throws(DBusError) {
            try fill(&inside)
        } catch {
            dbus_message_iter_abandon_container(&iterator, &inside)
            throw error
        }
        guard dbus_message_iter_close_container(&iterator, &inside) != 0 else { throw outOfMemory }
    }

    private static func code(_ type: Unicode.Scalar) -> Int32 { Int32(type.value) }

    static let outOfMemory = DBusError(.invalidArgument, "libdbus has no memory or descriptors left")
    private static let emptyStructure = DBusError(.invalidArgument, "a structure needs at least one field")
    private static let mixed = DBusError(.invalidArgument, "the elements of an array must be of one type")
}
