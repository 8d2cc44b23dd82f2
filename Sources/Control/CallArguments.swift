import DBus

/// What a caller has sent, within bounds.
struct CallArguments {
    let call: IncomingCall

    init(_ call: IncomingCall) {
        self.call = call
    }

    /// The options that every method takes last.
    var options: [String: DBusValue] { call.arguments.last?.asProperties ?? [:] }

    /// The offset of a list; 0 without one. Throws `invalidArgument`, as every option of a wrong type does.
    var offset: Int {
        get throws(ControlError) { Int(clamping: max(0, try number("offset") ?? 0)) }
    }

    /// How much of a list is wanted, within what is allowed.
    var limit: Int? {
        get throws(ControlError) {
            try number("limit").map { Int(min(max(1, $0), Int64(SessionQuery.maximumLimit))) }
        }
    }

    /// Whether a flag among the options is set.
    func flag(_ name: String) throws(ControlError) -> Bool {
        guard let value = options[name] else { return false }
        guard let flag = value.asBool else { throw Self.wrongType(name, "a boolean (b)") }
        return flag
    }

    func number(_ name: String) throws(ControlError) -> Int64? {
        guard let value = options[name] else { return nil }
        guard let number = value.asInt64 else { throw Self.wrongType(name, "a whole number (x)") }
        return number
    }

    func seconds(_ name: String) throws(ControlError) -> UInt32? {
        guard let value = options[name] else { return nil }
        guard let number = value.asUInt32 else { throw Self.wrongType(name, "a number of seconds (u)") }
        return number
    }

    private static func wrongType(_ name: String, _ wanted: String) -> ControlError {
        ControlError(.invalidArgument, "the option \(name) takes \(wanted)")
    }

    /// What something is named by: short text. Throws `invalidArgument`.
    func identifier(_ index: Int) throws(ControlError) -> String {
        try Self.name(call.arguments[index].asString ?? "")
    }

    /// Text among the options, under the same rule.
    func option(_ name: String, limit: Int = 256) throws(ControlError) -> String? {
        guard let value = options[name] else { return nil }
        guard let text = value.asString else { throw Self.wrongType(name, "text (s)") }
        return try Self.name(text, limit: limit)
    }

    func file(_ index: Int) -> SharedFD? { call.arguments[index].asFD }

    private static func name(_ text: String, limit: Int = 256) throws(ControlError) -> String {
        guard (1...limit).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw ControlError(
                .invalidArgument, "a name must have 1 to \(limit) bytes without control characters")
        }
        return text
    }
}
