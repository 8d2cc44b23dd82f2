internal import FoundationEssentials
internal import Glibc
internal import ObjectTransfer
internal import Recorder

/// A folder of captures as it lies on the disk: one capture per sub-folder, and one for files beside them.
/// simulators/README.md describes the format.
package struct CaptureFolder: Sendable, Hashable {
    struct File: Sendable, Hashable {
        let name: String
        let path: String
        let kind: Manifest.Kind
        let mimeType: String
        let size: UInt32
        let modified: Int64
        let sha256: String?
    }

    struct Capture: Sendable, Hashable {
        let name: String
        let files: [File]
        let description: CaptureDescription
    }

    /// By name.
    var captures: [Capture] = []
    /// What was left out, and why, for a person.
    package private(set) var remarks: [String] = []

    private static let descriptionName = "capture.json"
    private static let maximumDescription = 1 << 20

    /// A folder without captures.
    package init() {}

    /// Looks at the folder; with `hashing`, also computes the SHA-256 of every file. Throws `captures` when the
    /// folder cannot be read, or a capture.json is not as described.
    package init(path: String, hashing: Bool = false) throws(RecorderModelError) {
        let names = try Self.entries(of: path)
        let folders = names.filter { Self.kind(of: path + "/" + $0) == S_IFDIR }
        guard !folders.isEmpty else {
            try add(Self.lastComponent(of: path), at: path, names, hashing: hashing)
            return
        }
        for name in folders {
            let folder = path + "/" + name
            try add(name, at: folder, try Self.entries(of: folder), hashing: hashing)
        }
    }

    private mutating func add(
        _ name: String, at path: String, _ names: [String], hashing: Bool
    ) throws(RecorderModelError) {
        var description = CaptureDescription(title: name)
        if names.contains(Self.descriptionName) {
            description = try CaptureDescription(
                file: path + "/" + Self.descriptionName, maximum: Self.maximumDescription)
        }
        let wanted =
            description.files ?? names.filter { $0 != Self.descriptionName }.map { .init(name: $0) }
        var files: [File] = []
        for described in wanted {
            guard names.contains(described.name), Self.kind(of: path + "/" + described.name) == S_IFREG else {
                guard description.files != nil else { continue }
                throw RecorderModelError(
                    .captures, "\(path) has no file \(described.name), which its capture.json names")
            }
            guard !files.contains(where: { $0.name == described.name }) else {
                throw RecorderModelError(.captures, "\(path): capture.json names \(described.name) twice")
            }
            if let file = try file(described, in: path, hashing: hashing) { files.append(file) }
        }
        guard !files.isEmpty else {
            remarks.append("\(path) holds no audio or photo")
            return
        }
        captures.append(Capture(name: name, files: files, description: description))
    }

    private mutating func file(
        _ described: CaptureDescription.File, in folder: String, hashing: Bool
    ) throws(RecorderModelError) -> File? {
        let path = folder + "/" + described.name
        guard let media = described.media else {
            remarks.append("\(path) is neither audio nor photo by its name")
            return nil
        }
        var status = stat()
        guard stat(path, &status) == 0, let size = UInt32(exactly: status.st_size) else {
            remarks.append("\(path) is larger than an object can be (4 GiB - 1)")
            return nil
        }
        return File(
            name: described.name, path: path, kind: media.kind, mimeType: media.mimeType, size: size,
            modified: Int64(status.st_mtim.tv_sec), sha256: hashing ? try Self.sha256(of: path) : nil)
    }

    /// The names in a folder, sorted, without hidden ones.
    private static func entries(of path: String) throws(RecorderModelError) -> [String] {
        guard let directory = opendir(path) else {
            throw RecorderModelError(
                .captures, "cannot read the captures folder \(path): \(systemText(errno))")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The file type bits; links are not followed.
    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func lastComponent(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? "captures"
    }

    private static func sha256(of path: String) throws(RecorderModelError) -> String {
        guard let reader = ContentReader(.file(path: path)) else {
            throw RecorderModelError(.captures, "cannot read \(path): \(systemText(errno))")
        }
        let hash = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = reader.read(at: offset, into: buffer)
            guard count > 0 else { return hexDigits(hash.finish()) }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }
}

/// The system's text for an errno value.
func systemText(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
