import DBus

/// Reads the properties of one object that changed. What is missing stays as it was, what is invalidated or not of its
/// type becomes nil, and everything is bounded: values come from devices that anybody can build.
struct PropertyReader {
    /// Longest text kept, in bytes; longer ones are cut.
    static let longestText = 512
    /// Most elements of a list kept.
    static let longestList = 128
    /// Longest value kept: the longest attribute (Core 5.4, Vol 3 Part F 3.2.9).
    static let longestValue = 512

    private let changed: [String: DBusValue]
    private let invalidated: Set<String>

    init(_ changed: [String: DBusValue], invalidated: [String] = []) {
        self.changed = changed
        self.invalidated = Set(invalidated)
    }

    private func update<Value>(_ name: String, _ field: inout Value?, _ read: (DBusValue) -> Value?) {
        if let value = changed[name] {
            field = read(value)
        } else if invalidated.contains(name) {
            field = nil
        }
    }

    func text(_ name: String, _ field: inout String?) {
        update(name, &field) { $0.asString.map(Self.bounded) }
    }

    func flag(_ name: String, _ field: inout Bool?) {
        update(name, &field, \.asBool)
    }

    func path(_ name: String, _ field: inout ObjectPath?) {
        update(name, &field, \.asObjectPath)
    }

    func int16(_ name: String, _ field: inout Int16?) {
        update(name, &field, \.asInt16)
    }

    func uint16(_ name: String, _ field: inout UInt16?) {
        update(name, &field, \.asUInt16)
    }

    func percentage(_ name: String, _ field: inout UInt8?) {
        update(name, &field) { value in
            value.asInt64.flatMap { (0...100).contains($0) ? UInt8($0) : nil }
        }
    }

    func texts(_ name: String, _ field: inout [String]?) {
        update(name, &field) { $0.asStrings?.prefix(Self.longestList).map(Self.bounded) }
    }

    /// UUIDs, in BlueZ's own lower case.
    func uuids(_ name: String, _ field: inout [String]?) {
        texts(name, &field)
        field = field?.map { $0.lowercased() }
    }

    func uuid(_ name: String, _ field: inout String?) {
        text(name, &field)
        field = field?.lowercased()
    }

    private static func bounded(_ text: String) -> String {
        guard text.utf8.count > longestText else { return text }
        return String(decoding: text.utf8.prefix(longestText), as: UTF8.self)
    }
}
