import ObjectTransfer
import Testing

@testable import Recorder

@Suite struct CaptureCatalogTests {
    private func object(_ id: UInt64, _ type: ObjectType, size: UInt32? = 10) -> ObjectMetadata {
        ObjectMetadata(id: ObjectID(id)!, name: "listed-\(id)", type: type, currentSize: size)
    }

    private func manifest(
        _ number: Int, at time: String, files: [UInt64], kind: Manifest.Kind = .audio, size: UInt32 = 10
    ) -> ManifestReading {
        .decoded(
            Manifest(
                captureID: "00000000-0000-4000-8000-00000000000\(number)", startedAt: WrittenTime(time)!,
                durationMs: 1,
                files: files.map {
                    Manifest.File(
                        objectID: ObjectID($0)!, kind: kind, name: "../\($0)", mimeType: "audio/ogg",
                        sizeBytes: size)
                }))
    }

    private func catalog(
        _ objects: [ObjectMetadata], _ manifests: [UInt64: ManifestReading], recording: Bool = false
    ) -> CaptureCatalog {
        CaptureCatalog(
            listing: DirectoryListing(wire: objects.flatMap(\.directoryRecord)),
            manifests: Dictionary(uniqueKeysWithValues: manifests.map { (ObjectID($0)!, $1) }), serial: "S",
            storageGeneration: 7, isRecording: recording)
    }

    private let audio = RecorderProfile.audioType
    private let photo = RecorderProfile.photoType
    private let sealed = RecorderProfile.manifestType

    @Test func oldestFirst() {
        let catalog = catalog(
            [
                object(0x100, audio), object(0x101, sealed), object(0x102, audio), object(0x103, photo),
                object(0x104, sealed),
            ],
            [
                0x101: manifest(1, at: "2026-11-30T12:00:00Z", files: [0x100]),
                0x104: manifest(2, at: "2026-11-30T12:30:00+01:00", files: [0x103, 0x102]),
            ])
        #expect(catalog.captures.map { $0.assets.map(\.key.objectID.value) } == [[0x103, 0x102], [0x100]])
        #expect(catalog.captures[1].assets[0].name.text == "_256")
        #expect(catalog.captures[1].assets[0].key.description == "S/7/000000000100")
        #expect(catalog.problems.isEmpty && catalog.isComplete)
    }

    @Test func unnamedObjectsAreSalvagedOnlyAtRest() {
        let objects = [object(0x102, photo), object(0x100, audio), object(0x103, .unspecified)]
        let atRest = catalog(objects, [:])
        #expect(atRest.captures.map(\.origin) == [.salvage])
        #expect(atRest.captures[0].assets.map(\.key.objectID.value) == [0x100, 0x102])
        #expect(atRest.captures[0].assets.map(\.kind) == [.audio, .photo])
        #expect(atRest.problems.count == 2)
        #expect(catalog(objects, [:], recording: true).captures.isEmpty)
    }

    @Test func unreadManifestForbidsSalvage() {
        let objects = [object(0x100, audio), object(0x101, sealed)]
        #expect(catalog(objects, [0x101: .unread("busy")]).captures.isEmpty)
        #expect(catalog(objects, [:]).captures.isEmpty)
        let malformed = catalog(objects, [0x101: .malformed("not JSON")])
        #expect(malformed.captures.map(\.origin) == [.salvage])
        #expect(!malformed.isComplete)
    }

    /// The manifest that names an object may be among what the listing hides.
    @Test func aListingThatHidesObjectsForbidsSalvage() {
        let whole = object(0x100, audio).directoryRecord
        for damage: [UInt8] in [[], [200, 0, 1, 2], [14, 0] + Array(repeating: 0xFF, count: 12)] {
            let catalog = CaptureCatalog(
                listing: DirectoryListing(wire: whole + damage), manifests: [:], serial: "S",
                storageGeneration: 7, isRecording: false)
            #expect(catalog.captures.isEmpty == !damage.isEmpty)
        }
    }

    @Test func missingAndForeignFiles() {
        let catalog = catalog(
            [object(0x100, audio), object(0x101, sealed), object(0x102, sealed)],
            [
                0x101: manifest(1, at: "2026-11-30T12:00:00Z", files: [0x100, 0x999, 0x102]),
                0x102: manifest(2, at: "2026-11-30T13:00:00Z", files: [0x100]),
            ])
        #expect(catalog.captures.map { $0.assets.count } == [1, 0])
        #expect(catalog.captures[0].missing.map(\.objectID) == [ObjectID(0x999)!])
        #expect(catalog.problems.count == 2 && !catalog.isComplete)
    }

    /// An object that a faulty listing leaves out may be there all the same.
    @Test func onlyAListingWithoutAFaultProvesWhatIsNotThere() {
        let objects = [object(0x100, audio), object(0x102, photo)]
        #expect(catalog(objects, [:]).present == Set(objects.map(\.id)))
        #expect(catalog([], [:]).present == [])
        let twice = catalog(objects + [object(0x100, audio)], [:])
        #expect(twice.present == nil)
    }

    @Test func sameCaptureTwice() {
        let catalog = catalog(
            [object(0x100, audio), object(0x101, sealed), object(0x102, sealed)],
            [
                0x101: manifest(1, at: "2026-11-30T12:00:00Z", files: [0x100]),
                0x102: manifest(1, at: "2026-11-30T12:00:00Z", files: [0x100]),
            ])
        #expect(catalog.captures.count == 1 && catalog.problems.count == 1 && !catalog.isComplete)
    }

    @Test func sizesThatDifferAreReported() {
        let catalog = catalog(
            [object(0x100, audio, size: 9), object(0x101, sealed)],
            [0x101: manifest(1, at: "2026-11-30T12:00:00Z", files: [0x100])])
        #expect(catalog.captures[0].assets[0].sizeBytes == 9)
        #expect(catalog.problems.count == 1)
    }
}
