import Cloud
import EventLoop
import Glibc
import HTTP

/// The child's way to the world, over its standard input and output: it claims something or sends a request, and waits for
/// the answer. What was said and not answered is in doubt.
///
/// Blocks while it waits, on a thread of its own.
actor WorldLine: CloudTransport {
    nonisolated private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    /// Tells the world what it may rely on from now on.
    func claim(_ what: String) { _ = ask(Array("claim \(what)\n".utf8)) }

    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        guard let (fields, body) = content(request.body) else {
            throw HTTPError(.source, "the file to send cannot be read")
        }
        let token = request.bearer?.reveal() ?? "-"
        let words = [request.method.rawValue, request.url.description, token, fields, "\(body.count)"]
        let answer = ask(Array("http \(words.joined(separator: " "))\n".utf8) + body).split(separator: " ")
        guard answer.count == 2, let status = Int(answer[0]), let length = Int(answer[1]),
            let json = Lines.bytes(length, from: STDIN_FILENO)
        else { Self.end() }
        return HTTPResponse(
            status: status, headers: HTTPHeaders([HTTPHeaders.Field("Content-Type", "application/json")]),
            body: json, bytesSent: Int64(body.count))
    }

    func download(_ request: HTTPRequest, into sink: HTTPSink) async throws(HTTPError) -> HTTPResponse {
        try await send(request)
    }

    private func ask(_ bytes: [UInt8]) -> String {
        guard Lines.write(bytes, to: STDOUT_FILENO), let answer = Lines.next(STDIN_FILENO) else { Self.end() }
        return answer
    }

    /// The fields of a form in one word, and the bytes of its file; of anything else the bytes.
    private func content(_ body: HTTPRequest.Body) -> (String, [UInt8])? {
        switch body {
        case .none: return ("-", [])
        case .bytes(let bytes, type: _): return ("-", bytes)
        case .multipart(let parts):
            var fields: [String] = []
            var bytes: [UInt8] = []
            for part in parts {
                switch part.content {
                case .text(let text): fields.append("\(part.name)=\(text)")
                case .file(let slice, fileName: _, type: _):
                    guard let read = Self.read(slice) else { return nil }
                    bytes = read
                }
            }
            return (fields.joined(separator: "&"), bytes)
        }
    }

    private static func read(_ slice: FileSlice) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(slice.length))
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    slice.file.descriptor.rawValue, buffer.baseAddress.map { $0 + done }, buffer.count - done,
                    off_t(slice.offset) + done)
            }
            guard count > 0 else { return nil }
            done += count
        }
        return bytes
    }

    /// The world is gone.
    private static func end() -> Never { exit(3) }
}
