import Control
import EventLoop
import FoundationEssentials
import Gateway
import Glibc

/// Where a verb prints and asks. Data go to standard output; everything else to standard error.
struct Console: Sendable {
    let write: @Sendable (String) -> Void
    let writeError: @Sendable (String) -> Void
    let input: any LineSource
    var outputIsTerminal = false
    var errorIsTerminal = false
    var inputIsTerminal = false
    var hasUnicode = true
    /// Columns of the terminal.
    var width: @Sendable () -> Int? = { nil }
    /// Its rows.
    var rows: @Sendable () -> Int? = { nil }
    var hasColor = false
    /// Whether standard error is systemd's journal, which takes the level of a line from a prefix (sd-daemon(3)).
    var errorIsJournal = false
    var now: @Sendable () -> Date = { Date() }
    var offset: @Sendable (Int64) -> Int = { _ in 0 }

    /// How documents are laid out on standard output now.
    var layout: Layout { layout(isTerminal: outputIsTerminal) }
    /// The same for standard error.
    var errorLayout: Layout { layout(isTerminal: errorIsTerminal) }

    private func layout(isTerminal: Bool) -> Layout {
        Layout(
            width: isTerminal ? width() ?? 80 : Layout.unlimited, hasColor: hasColor && isTerminal,
            now: now(),
            offset: offset)
    }

    /// Data, one line each.
    func print(_ lines: [String]) {
        write(encoded(lines))
    }

    func print(_ line: String) { print([line]) }

    /// A document as JSON for a program, one line.
    func printJSON(_ document: some Encodable) throws(ControlError) {
        write(try DocumentCoding.json(Versioned(document: document)) + "\n")
    }

    /// What is not data: progress, remarks.
    func note(_ line: String) {
        writeError(encoded([line]))
    }

    /// An error: what happened, why, what to do next.
    func fail(_ error: ControlError) {
        let layout = errorLayout
        let level = errorIsJournal ? "<\(LogLevel.error.rawValue)>" : ""
        note(level + layout.paint("celestiad:", .red) + " " + Text.clean(error.message, limit: 1000))
        for line in (error.hint ?? "").split(separator: "\n") {
            note(level + "  → " + Text.clean(String(line), limit: 1000))
        }
    }

    func encoded(_ lines: [String]) -> String {
        lines.map { (hasUnicode ? $0 : Text.ascii($0)) + "\n" }.joined()
    }

    // MARK: Asking

    /// Asks a question that takes a line; nil when the input has ended. Only where `inputIsTerminal`.
    func ask(_ question: String, echo: Bool = true) async -> String? {
        writeError(hasUnicode ? question : Text.ascii(question))
        let answer = await input.line(echo: echo)
        if !echo || answer == nil { writeError("\n") }
        return answer
    }

    /// Asks for a yes; everything else is a no.
    func confirm(_ question: String) async -> Bool {
        let answer = await ask("\(question) [y/N] ")
        return ["y", "yes"].contains(answer?.lowercased().trimmingSpace() ?? "")
    }
}

/// A document with the version of all documents beside its own keys.
private struct Versioned<Document: Encodable>: Encodable {
    let document: Document

    private enum Key: CodingKey {
        case schemaVersion
    }

    func encode(to encoder: any Encoder) throws {
        try document.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(StatusDocument.currentSchemaVersion, forKey: .schemaVersion)
    }
}

/// Where lines come from.
protocol LineSource: Sendable {
    /// The next line without its end; nil at the end of the input or when the task is cancelled.
    func line(echo: Bool) async -> String?
    /// Everything up to the end of the input. Throws `invalidArgument` when it is longer than `limit`.
    func all(limit: Int) async throws(ControlError) -> [UInt8]
}

extension StringProtocol {
    func trimmingSpace() -> String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

extension Console {
    /// The process's own terminal or files.
    static func standard(environment: [String: String], input: any LineSource) -> Console {
        let isDumb = environment["TERM"] == nil || environment["TERM"] == "dumb"
        let locale = environment["LC_ALL"] ?? environment["LC_CTYPE"] ?? environment["LANG"] ?? ""
        let folded = locale.lowercased()
        return Console(
            write: { text in
                let error = writeAll(text, to: STDOUT_FILENO)
                if error != 0 { end(error) }
            },
            writeError: { _ = writeAll($0, to: STDERR_FILENO) },
            input: input,
            outputIsTerminal: isatty(STDOUT_FILENO) == 1 && !isDumb,
            errorIsTerminal: isatty(STDERR_FILENO) == 1 && !isDumb,
            inputIsTerminal: isatty(STDIN_FILENO) == 1,
            hasUnicode: folded.contains("utf-8") || folded.contains("utf8"),
            width: { terminalSize { $0.ws_col } }, rows: { terminalSize { $0.ws_row } },
            hasColor: environment["NO_COLOR", default: ""].isEmpty,
            errorIsJournal: Log.isStandardError(environment["JOURNAL_STREAM"]), offset: secondsEastOfUTC)
    }

    private static func terminalSize(_ extent: (winsize) -> UInt16) -> Int? {
        var size = winsize()
        for fd in [STDOUT_FILENO, STDERR_FILENO]
        where ioctl(fd, UInt(TIOCGWINSZ), &size) == 0 && extent(size) > 0 {
            return Int(extent(size))
        }
        return nil
    }

    @Sendable private static func secondsEastOfUTC(_ seconds: Int64) -> Int {
        var time = time_t(seconds)
        var fields = tm()
        return localtime_r(&time, &fields) == nil ? 0 : fields.tm_gmtoff
    }

    /// Nothing of this program's is of use without its data: a reader that has gone ends it as it ends others, and what
    /// was not written is no success.
    private static func end(_ error: Int32) -> Never {
        guard error == EPIPE else {
            let reason = String(cString: strerror(error))
            _ = writeAll(
                "celestiad: the output could not be written: \(reason)\n  → name another file, or make room for this one\n",
                to: STDERR_FILENO)
            _exit(ExitCode.failure.rawValue)
        }
        signal(SIGPIPE, SIG_DFL)
        kill(getpid(), SIGPIPE)
        _exit(128 + SIGPIPE)
    }

    /// Returns the error number, or 0.
    private static func writeAll(_ text: String, to fd: Int32) -> Int32 {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            bytes = bytes.dropFirst(count)
        }
        return 0
    }
}
