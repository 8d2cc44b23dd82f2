import DBus

/// What a caller has sent, within bounds.
struct CallArguments {
    let call: IncomingCall

    init(_ call: IncomingCall) {
        self.call = call
    }

    /// The options that every method takes last.
    var options: [String: DBusValue] { call.arguments.last?.asProperties ?? [:] }

    var offset: Int { Int(clamping: max(0, options["offset"]?.asInt64 ?? 0)) }

    var limit: Int? {
        options["limit"]?.asInt64.map { Int(min(max(1, $0), Int64(SessionQuery.maximumLimit))) }
    }

    /// What something is named by: short text. Throws `invalidArgument`.
    func identifier(_ index: Int) throws(ControlError) -> String {
        try Self.name(call.arguments[index].asString ?? "")
    }

    /// Text among the options, under the same rule.
    func option(_ name: String, limit: Int = 256) throws(ControlError) -> String? {
        guard let text = options[name]?.asString else { return nil }
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
