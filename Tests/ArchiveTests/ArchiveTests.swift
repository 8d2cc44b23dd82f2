import Archive
import Foundation
import TestSupport
import Testing

@Suite struct ArchiveTests {
    private static let files: [(name: String, bytes: [UInt8])] = [
        ("top/empty", []), ("top/one", [1]), ("top/block", [UInt8](repeating: 7, count: 512)),
        ("top/more", (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
    ]

    /// As tar(1) reads it.
    @Test(arguments: [false, true]) func tarReadsIt(_ isCompressed: Bool) throws {
        var archive = TarArchive()
        for file in Self.files { archive.add(file.name, file.bytes, time: 1_796_000_000) }
        let folder = TemporaryDirectory()
        let path = folder.path + "/it.tar"
        try Data(isCompressed ? try #require(Gzip.compressed(archive.bytes)) : archive.bytes)
            .write(to: URL(filePath: path))
        let process = Process()
        process.executableURL = URL(filePath: "/bin/tar")
        process.arguments = [isCompressed ? "-xzf" : "-xf", path, "-C", folder.path]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        for file in Self.files {
            let url = URL(filePath: folder.path + "/" + file.name)
            #expect(try Data(contentsOf: url) == Data(file.bytes))
            let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect((attributes[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_796_000_000)
        }
    }

    @Test func namesFit() {
        var archive = TarArchive()
        archive.add(String(repeating: "n", count: 300) + "ü", [], time: -1)
        #expect(archive.bytes.count == 3 * 512)
        #expect(archive.bytes[99] == UInt8(ascii: "n") && archive.bytes[100] == UInt8(ascii: "0"))
    }

    @Test func nothingCompressedIsStillAFile() {
        #expect(Gzip.compressed([])?.prefix(2) == [0x1F, 0x8B])
    }
}
