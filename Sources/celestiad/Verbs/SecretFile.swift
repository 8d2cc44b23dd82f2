import Control
import Gateway
import Glibc

/// A secret in a file or on standard input.
enum SecretFile {
    private static let limit = 4096

    /// The first line of `path`, `-` being standard input. `what` names it in errors, which never contain it.
    static func firstLine(of path: String, _ what: String, _ console: Console) async throws(ControlError)
        -> String
    {
        let bytes = path == "-" ? try await console.input.all(limit: limit) : try read(path, what, console)
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty, let text = String(validating: line, as: UTF8.self) else {
            throw ControlError(
                .invalidArgument, "there is no \(what) in \(path == "-" ? "standard input" : path)")
        }
        return text
    }

    private static func read(
        _ path: String, _ what: String, _ console: Console
    ) throws(ControlError) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else {
            throw ControlError(
                .invalidArgument, "the \(what) file \(path) cannot be read: \(reason())",
                hint: "name a file that you may read; - is standard input")
        }
        defer { close(fd) }
        var info = stat()
        if fstat(fd, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_mode & 0o077 != 0 {
            console.note(
                "warning: other users may read the \(what) file → chmod 600 \(Terminal.shellWord(Text.clean(path)))"
            )
        }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = Glibc.read(fd, &bytes, bytes.count)
        guard count >= 0 else {
            throw ControlError(.invalidArgument, "the \(what) file \(path) cannot be read: \(reason())")
        }
        return Array(bytes.prefix(count))
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
