/// An INI file as BlueZ and systemd write them: `[Section]`, `Key=Value`, comments with `#` or `;` at the start of a
/// line.
enum INIFile {
    struct Entry: Equatable {
        let section: String
        let key: String
        let value: String
        let line: Int
    }

    private static let maximumBytes = 1 << 20

    /// The settings, and what of it is none.
    static func parse(_ text: String, name: String) -> (entries: [Entry], problems: [GatewayError]) {
        guard text.utf8.count <= maximumBytes else {
            let problem = GatewayError(
                .configuration, "\(name) is larger than 1 MiB and cannot be a configuration file")
            return ([], [problem])
        }
        var entries: [Entry] = []
        var problems: [GatewayError] = []
        var section: String?
        // Editors of Windows begin a UTF-8 file with a byte order mark.
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, raw) in lines.enumerated() {
            let line = trimmed(raw)
            guard let first = line.first, first != "#", first != ";" else { continue }
            let place = "\(name):\(index + 1)"
            if first == "[" {
                guard line.last == "]", line.count > 2 else {
                    problems.append(bad(place, line, "A section is written [Name]."))
                    continue
                }
                section = String(line.dropFirst().dropLast())
                continue
            }
            guard let equals = line.firstIndex(of: "=") else {
                problems.append(
                    bad(place, line, "A setting is written Key=Value, a comment starts with #."))
                continue
            }
            guard let section else {
                problems.append(bad(place, line, "Settings come after a [Section] line."))
                continue
            }
            entries.append(
                Entry(
                    section: section, key: trimmed(line[..<equals]),
                    value: trimmed(line[line.index(after: equals)...]), line: index + 1))
        }
        return (entries, problems)
    }

    private static func bad(_ place: String, _ line: String, _ hint: String) -> GatewayError {
        GatewayError(
            .configuration, "\(place): \"\(Terminal.printable(line))\" is not understood", hint: hint)
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var view = Substring(text)
        while let first = view.first, first.isWhitespace { view.removeFirst() }
        while let last = view.last, last.isWhitespace { view.removeLast() }
        return String(view)
    }
}
