import Foundation
import ObjectTransfer
import Recorder
import RecorderModel
import TestSupport
import Testing

@Suite struct CaptureFolderTests {
    private let directory = TemporaryDirectory()

    private func write(_ path: String, _ text: String) throws {
        let url = URL(fileURLWithPath: directory.path + "/" + path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    private func model(_ state: RecorderState = RecorderState(), serial: String = "S-1") throws
        -> RecorderModel
    {
        RecorderModel(
            RecorderConfiguration(
                serial: serial, folder: try CaptureFolder(path: directory.path, hashing: true), state: state))
    }

    private func manifests(_ model: RecorderModel) throws -> [Manifest] {
        model.connect(security: .authenticated)
        for id in [ObjectTransferService.listControlPoint, RecorderProfile.objectData] {
            try model.subscribe(id, true)
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 514, alignment: 16)
        defer { buffer.deallocate() }
        return try model.objects.filter { $0.type == RecorderProfile.manifestType }.map { object in
            _ = try model.write(
                ObjectListRequest.goTo(object.id).wire, to: ObjectTransferService.listControlPoint)
            let start = ObjectDataControl.start(
                offset: 0, length: object.currentSize ?? 0, credits: .max)
            _ = try model.write(start.wire, to: RecorderProfile.objectDataControl)
            var bytes: [UInt8] = []
            while case .send(let count) = model.nextFrame(into: buffer, now: .now) {
                bytes += buffer[4..<count]
            }
            return try Manifest(json: bytes)
        }
    }

    @Test func eachSubFolderIsACaptureAndWhatLiesBesideThemIsNot() throws {
        try write("b/2.wav", "22")
        try write("b/1.JPG", "1")
        try write("a/x.opus", "xxx")
        try write("a/notes.txt", "")
        try write("a/.hidden.wav", "")
        try write("loose.wav", "")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/a/link.wav", withDestinationPath: directory.path + "/loose.wav")
        let model = try model()
        #expect(
            model.objects.map { "\($0.id) \($0.name)" } == [
                "000000000100 x.opus", "000000000101 manifest.json", "000000000102 1.JPG",
                "000000000103 2.wav",
                "000000000104 manifest.json",
            ])
        #expect(try CaptureFolder(path: directory.path).remarks.count == 1)
        let manifests = try manifests(model)
        #expect(manifests.map(\.title) == ["a", "b"])
        #expect(manifests.map { $0.files.map(\.mimeType) } == [["audio/ogg"], ["image/jpeg", "audio/wav"]])
        #expect(
            manifests[0].files[0].sha256 == "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"
        )
        #expect(manifests.allSatisfy { $0.problems.isEmpty && $0.events.isEmpty })
    }

    @Test func aFolderWithoutSubFoldersIsOneCapture() throws {
        try write("1.wav", "1")
        let model = try model()
        #expect(model.objects.map(\.name) == ["1.wav", "manifest.json"])
        #expect(model.status.sealedCaptures == 1)
    }

    @Test func aDescriptionDecidesWhatIsServed() throws {
        try write("c/z.wav", "z")
        try write("c/a.bin", "a")
        try write("c/other.wav", "o")
        try write(
            "c/capture.json",
            """
            {"captureId": "1428b268-c435-5e54-a110-533fb5eb4511", "startedAt": "2026-11-28T14:00:00.500+01:00",
             "durationMs": 9, "files": [{"name": "z.wav"}, {"name": "a.bin", "kind": "PHOTO", "mimeType": "image/x-raw"}],
             "events": [{"id": "5e8f140b-bc4c-51a9-a4a4-a3fadb14acd9", "relativeTimeMs": 5, "type": "PHOTO", "file": "a.bin"}]}
            """)
        let manifest = try #require(try manifests(model()).first)
        #expect(manifest.captureID == "1428b268-c435-5e54-a110-533fb5eb4511")
        #expect(manifest.startedAt.text == "2026-11-28T14:00:00.500+01:00")
        #expect(manifest.title == nil && manifest.endedAt == nil && manifest.durationMs == 9)
        #expect(manifest.files.map(\.name) == ["z.wav", "a.bin"])
        #expect(manifest.files.map(\.kind) == [.audio, .photo])
        #expect(manifest.events.map(\.objectID) == [manifest.files[1].objectID])
    }

    @Test func anUnsealedCaptureHasNoManifest() throws {
        try write("c/z.wav", "z")
        try write("c/capture.json", "{\"sealed\": false}")
        #expect(try model().objects.map(\.name) == ["z.wav"])
    }

    @Test(arguments: [
        "", "[]", "{\"files\": [{\"name\": \"absent.wav\"}]}", "{\"startedAt\": \"yesterday\"}",
        "{\"files\": [{\"name\": \"../../x.wav\"}]}",
        "{\"files\": [{\"name\": \"z.wav\"}, {\"name\": \"z.wav\"}]}",
    ]) func aDescriptionThatIsNoneIsAnError(text: String) throws {
        try write("c/z.wav", "z")
        try write("c/capture.json", text)
        #expect(throws: RecorderModelError.self) { try CaptureFolder(path: directory.path) }
    }

    @Test func noFolderIsAnError() {
        #expect(throws: RecorderModelError.self) { try CaptureFolder(path: "/nonexistent") }
    }

    @Test func aRestartServesTheSameIdentities() throws {
        try write("a/1.wav", "1")
        let (first, second, other) = (try model(), try model(), try model(serial: "S-2"))
        #expect(first.status.storageGeneration == second.status.storageGeneration)
        let ids = try [first, second, other].map { try manifests($0).map(\.captureID) }
        #expect(ids[0] == ids[1])
        #expect(ids[0] != ids[2])
        // Without a state file another folder is another storage, because identifiers mean other files.
        try write("a/0.wav", "0")
        #expect(try model().status.storageGeneration != first.status.storageGeneration)
    }

    @Test func stateKeepsIdentifiersDeletionsAndBonds() throws {
        try write("a/1.wav", "1")
        try write("a/2.wav", "2")
        let first = try model()
        first.connect(security: .authenticated)
        try first.subscribe(ObjectTransferService.listControlPoint, true)
        try first.subscribe(ObjectTransferService.actionControlPoint, true)
        _ = try first.write([5, 0, 1, 0, 0, 0, 0], to: ObjectTransferService.listControlPoint)
        _ = try first.write([2], to: ObjectTransferService.actionControlPoint)
        _ = first.setBond(.authenticated, with: "AA")
        let file = directory.path + "/state.json"
        try RecorderState.save(["S-1": first.state], to: file)
        let state = try #require(try RecorderState.load(file)["S-1"])
        #expect(state == first.state)
        try write("a/0.wav", "0")
        let second = try model(state)
        #expect(
            second.objects.map { "\($0.id) \($0.name)" } == [
                "000000000101 2.wav", "000000000102 manifest.json", "000000000103 0.wav",
            ])
        #expect(second.bonds == ["AA": .authenticated])
        #expect(try RecorderState.load(directory.path + "/absent").isEmpty)
        try write("broken.json", "{")
        #expect(throws: RecorderModelError.self) { try RecorderState.load(directory.path + "/broken.json") }
    }

    @Test func formattingBeginsANewGenerationWithTheSameNumbers() throws {
        try write("a/1.wav", "1")
        let model = try model()
        let before = model.status.storageGeneration
        _ = model.format()
        #expect(model.objects.isEmpty)
        #expect(model.status.storageGeneration == before + 1)
        _ = model.rescan(try CaptureFolder(path: directory.path))
        #expect(model.objects.map(\.id.value) == [0x100, 0x101])
        #expect(model.status.storageGeneration == before + 1)
    }
}
