import Glibc

/// Takes out of text what tells of people and recordings, and puts the same stand-in for the same thing everywhere:
/// e-mail addresses, tokens, file names and paths, names that are known, Bluetooth addresses and ids. Pure.
struct Redactor {
    private var known: [(text: String, standIn: String)] = []
    private var addresses: [String: String] = [:]
    private var recorders = 0

    /// What ends a word; each stays.
    private static let delimiters: Set<Character> = [
        " ", "\t", "\n", "\r", "\"", "'", "“", "”", "(", ")", "[", "]", "{", "}", "<", ">", ",", ";", "=",
        "|",
    ]
    /// What sound, pictures and text end with.
    private static let endings = [
        ".wav", ".opus", ".ogg", ".oga", ".m4a", ".mp3", ".mp4", ".mov", ".aac", ".flac", ".amr", ".jpg",
        ".jpeg",
        ".png", ".heic", ".heif", ".webp", ".gif", ".tif", ".tiff", ".dng", ".raw", ".cr2", ".nef", ".arw",
        ".txt",
        ".pdf", ".vtt", ".srt", ".docx",
    ]
    /// Paths that say nothing of anybody.
    private static let plainPaths = [
        "/sys/", "/proc/", "/usr/", "/run/", "/etc/", "/dev/", "/org/", "/life/", "/lib/",
        "/var/lib/celestiad",
        "/var/run/",
    ]
    private static let shortToken = 24

    // MARK: What is known

    /// The name or id of a recorder: `<recorder-1>` and so on; several names of one share the number.
    mutating func knowRecorder(_ names: [String?]) {
        recorders += 1
        for name in names { know(name, as: "<recorder-\(recorders)>") }
    }

    /// A text that is to be replaced wherever it stands.
    mutating func know(_ text: String?, as standIn: String) {
        guard let text, !text.trimmingSpace().isEmpty, !known.contains(where: { $0.text == text }) else {
            return
        }
        known.append((text, standIn))
        // What holds another goes first.
        known.sort { $0.text.count > $1.text.count }
    }

    // MARK: Text

    mutating func text(_ text: String) -> String {
        var text = text
        for entry in known { text = Self.replace(entry.text, by: entry.standIn, in: text) }
        text = Self.withoutFiles(text)
        var result = ""
        var word = ""
        var isSecretNext = false
        for character in text {
            guard Self.delimiters.contains(character) else {
                word.append(character)
                continue
            }
            result += take(&word, &isSecretNext)
            result.append(character)
        }
        return result + take(&word, &isSecretNext)
    }

    private mutating func take(_ word: inout String, _ isSecretNext: inout Bool) -> String {
        defer { word = "" }
        guard !word.isEmpty else { return "" }
        if isSecretNext, word != ":" {
            isSecretNext = word.lowercased() == "bearer"
            return isSecretNext ? word : "<secret>"
        }
        let lower = word.lowercased()
        let name = lower.last == ":" ? String(lower.dropLast()) : lower
        isSecretNext =
            [
                "bearer", "authorization", "password", "token", "secret", "passkey", "refreshtoken",
                "accesstoken",
            ]
            .contains { name == $0 || name.hasSuffix("_\($0)") || name.hasSuffix("-\($0)") }
            && (lower.last == ":" || name == "bearer")
        return redacted(word)
    }

    private mutating func redacted(_ word: String) -> String {
        var end = ""
        var word = word
        while let last = word.last, ".:!?…".contains(last) {
            end = String(last) + end
            word.removeLast()
        }
        if word.contains("@") { return "<e-mail>" + end }
        if word.first == "/", !Self.plainPaths.contains(where: { word.hasPrefix($0) }), word != "/" {
            return "<path>" + end
        }
        if let port = Self.behindIPAddress(word) { return "<ip>" + port + end }
        word = withoutAddresses(word)
        word = Self.withoutIDs(word)
        return Self.withoutTokens(word) + end
    }

    /// Anywhere, except that a short text must stand for itself.
    private static func replace(_ needle: String, by standIn: String, in text: String) -> String {
        guard needle.count < 4 else { return text.replacing(needle, with: standIn) }
        func joins(_ character: Character?) -> Bool { character.map { $0.isLetter || $0.isNumber } ?? false }
        var result = ""
        var rest = text[...]
        while let range = rest.firstRange(of: needle) {
            let before = rest[..<range.lowerBound].last ?? result.last
            let after = rest[range.upperBound...].first
            result += rest[..<range.lowerBound]
            result += joins(before) || joins(after) ? needle : standIn
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// A file's name may hold blanks: all is taken from what certainly stands before it up to its ending.
    private static func withoutFiles(_ text: String) -> String {
        let characters = Array(text)
        let lower = characters.map { $0.lowercased() }
        var result: [Character] = []
        var begin = 0
        var index = 0
        while index < characters.count {
            if "\"“”\n(".contains(characters[index])
                || characters[index] == " " && index > 0 && ":→".contains(characters[index - 1])
            {
                result += characters[begin...index]
                begin = index + 1
            } else if characters[index] == ".", let ending = ending(at: index, of: lower) {
                result += "<file>"
                index += ending - 1
                begin = index + 1
            }
            index += 1
        }
        return String(result + characters[begin...])
    }

    /// The length of the file ending that begins here.
    private static func ending(at index: Int, of lower: [String]) -> Int? {
        endings.first { ending in
            let end = index + ending.count
            guard end <= lower.count, lower[index..<end].joined() == ending else { return false }
            return end == lower.count || !(lower[end].first.map { $0.isLetter || $0.isNumber } ?? false)
        }?.count
    }

    /// What stands behind an IP address, which is a port or nothing; nil where there is none, or this machine's own.
    private static func behindIPAddress(_ word: String) -> String? {
        var address = Substring(word)
        var port = Substring()
        if word.count(where: { $0 == ":" }) == 1, let colon = word.firstIndex(of: ":") {
            (address, port) = (word[..<colon], word[colon...])
        }
        var bytes = in6_addr()
        let text = String(address)
        guard inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1,
            !text.hasPrefix("127."), text != "::1", text != "0.0.0.0", text != "::"
        else { return nil }
        return String(port)
    }

    /// `C0:FF:EE:00:00:42`, also as in BlueZ's paths, with `_`.
    private mutating func withoutAddresses(_ word: String) -> String {
        let characters = Array(word)
        var result = ""
        var index = 0
        while index < characters.count {
            if let address = Self.address(at: index, of: characters) {
                let standIn = addresses[address] ?? "<address-\(addresses.count + 1)>"
                addresses[address] = standIn
                result += standIn
                index += 17
            } else {
                result.append(characters[index])
                index += 1
            }
        }
        return result
    }

    private static func address(at index: Int, of characters: [Character]) -> String? {
        guard index + 17 <= characters.count, index == 0 || !isHex(characters[index - 1]),
            index + 17 == characters.count || !isHex(characters[index + 17])
        else { return nil }
        for offset in 0..<17 {
            let character = characters[index + offset]
            guard offset % 3 == 2 ? ":_-".contains(character) : isHex(character) else { return nil }
        }
        return String(characters[index..<index + 17].map { "_-".contains($0) ? ":" : $0 }).uppercased()
    }

    /// UUIDs and hashes: their first eight digits tell them apart.
    private static func withoutIDs(_ word: String) -> String {
        runs(of: word) {
            isHex($0) || $0 == "-"
        } each: { run in
            let digits = run.count { $0 != "-" }
            return digits >= 32 ? String(run.prefix(8)) + "…" : String(run)
        }
    }

    /// What is long and of letters and digits mixed is no word.
    private static func withoutTokens(_ word: String) -> String {
        guard !word.hasPrefix("/") else { return word }
        return runs(of: word) {
            $0.isASCII && ($0.isLetter || $0.isNumber) || "_-+/=".contains($0)
        } each: { run in
            let isMixed = run.contains(where: \.isNumber) && run.contains(where: \.isLetter)
            return run.count >= shortToken && isMixed ? "<token>" : String(run)
        }
    }

    private static func runs(
        of word: String, _ belongs: (Character) -> Bool, each replace: (Substring) -> String
    ) -> String {
        var result = ""
        var rest = word[...]
        while let first = rest.first {
            let run = rest.prefix { belongs($0) == belongs(first) }
            result += belongs(first) ? replace(run) : String(run)
            rest = rest[run.endIndex...]
        }
        return result
    }

    private static func isHex(_ character: Character) -> Bool {
        character.isASCII && character.isHexDigit
    }
}
