import EventLoop
import Foundation
import TestSupport
import Testing

@testable import HTTP

/// Files on their way out and in.
@Suite struct HTTPBodyTests {
    /// Byte i is i modulo 251, as the server's `/bytes` has it.
    private static func pattern(_ count: Int) -> [UInt8] {
        let block = (0..<251).map { UInt8($0) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes.append(contentsOf: block.prefix(count - bytes.count)) }
        return bytes
    }

    private func upload(
        _ server: MisbehavingServer, _ slice: FileSlice, path: String = "/echo"
    ) throws -> HTTPRequest {
        var request = try server.request(.post, path)
        request.body = .multipart([
            MultipartPart(name: "clientId", text: "c-1"),
            MultipartPart(name: "file", file: slice, fileName: "memo \"1\".m4a", type: "audio/mp4"),
        ])
        return request
    }

    @Test func aSliceTravelsAsAPartWithItsNameAndType() async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Array("0123456789".utf8))
        let echo = try await server.echo(
            try upload(server, FileSlice(file: file, offset: 3, length: 4)))
        let parts = echo.text.components(separatedBy: "\r\n")
        #expect(echo.header("content-type")?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(parts[1] == "Content-Disposition: form-data; name=\"clientId\"")
        #expect(parts[3] == "c-1")
        #expect(parts[5] == "Content-Disposition: form-data; name=\"file\"; filename=\"memo %221%22.m4a\"")
        #expect(parts[6] == "Content-Type: audio/mp4")
        #expect(parts[8] == "3456")
    }

    @Test func aLargeSliceArrivesWholeAndItsProgressIsTold() async throws {
        let server = try MisbehavingServer()
        let bytes = Self.pattern(9 << 20)
        let file = try server.file(bytes)
        var request = try upload(server, FileSlice(file: file, offset: 0, length: Int64(bytes.count)))
        let seen = Locked<[Int64]>([])
        request.onProgress = { count in seen.withLock { $0.append(count) } }
        let echo = try await server.echo(request)
        #expect(echo.length > bytes.count)
        let progress = seen.withLock { $0 }
        #expect(progress.last == Int64(echo.length))
        #expect(progress == progress.sorted())
    }

    @Test(arguments: [(0, 11), (5, 6), (11, 1)])
    func aFileShorterThanPromisedEndsTheRequest(offset: Int64, length: Int64) async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Array("0123456789".utf8))
        let error = try await server.failure(
            try upload(server, FileSlice(file: file, offset: offset, length: length)))
        #expect(error?.code == .source, "\(String(describing: error))")
        #expect(error?.isPermanent == true)
    }

    @Test func aBodyIsRewoundWhenItsUsedConnectionDies() async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Self.pattern(1000))
        var request = try upload(
            server, FileSlice(file: file, offset: 0, length: 1000), path: "/second-dies")
        request.isRepeatable = true
        _ = try await server.client.send(request)
        #expect(try await server.client.send(request).status == 200)
    }

    @Test func anEarlyRefusalIsSeenOrIsAnErrorThatSaysTheRequestWasSent() async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Self.pattern(4 << 20))
        let request = try upload(server, FileSlice(file: file, offset: 0, length: 4 << 20), path: "/early")
        do throws(HTTPError) {
            #expect(try await server.client.send(request).status == 413)
        } catch {
            #expect(error.requestSent, "\(error)")
        }
    }

    // MARK: Downloads

    private func content(_ file: SharedFile) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = pread(file.descriptor.rawValue, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    @Test func aDownloadFillsItsFile() async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Array("old content that is longer".utf8))
        let response = try await server.client.download(
            try server.request(.get, "/bytes/10"), into: HTTPSink(file: file, limit: 100))
        #expect(response.bytesStored == 10)
        #expect(response.body.isEmpty)
        #expect(content(file) == Self.pattern(10))
    }

    @Test(arguments: [("/bytes/1000", 206, 900), ("/bytes/1000?ignore-range", 200, 1000)])
    func aDownloadContinuesOnlyWhereTheServerContinues(
        path: String, status: Int, stored: Int64
    ) async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Self.pattern(100))
        let response = try await server.client.download(
            try server.request(.get, path), into: HTTPSink(file: file, resumeAt: 100, limit: 2000))
        #expect(response.status == status)
        #expect(response.bytesStored == stored)
        #expect(content(file) == Self.pattern(1000))
    }

    @Test(arguments: [
        ("/bytes/1000?wrong-range", Int64(2000), HTTPError.Code.notHTTP),
        ("/bytes/1000", 500, .bodyTooLarge),
    ])
    func aDownloadThatDoesNotFitLeavesTheFileAsItWas(
        path: String, limit: Int64, code: HTTPError.Code
    ) async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Self.pattern(100))
        await #expect {
            _ = try await server.client.download(
                try server.request(.get, path), into: HTTPSink(file: file, resumeAt: 100, limit: limit))
        } throws: { error in
            (error as? HTTPError)?.code == code
        }
        #expect(content(file).prefix(100) == Self.pattern(100)[...])
    }

    @Test func anErrorsTextDoesNotGoIntoTheFile() async throws {
        let server = try MisbehavingServer()
        let file = try server.file(Array("kept".utf8))
        let response = try await server.client.download(
            try server.request(.get, "/status/404"), into: HTTPSink(file: file, limit: 100))
        #expect(response.body == Array("body".utf8))
        #expect(content(file) == Array("kept".utf8))
    }
}
